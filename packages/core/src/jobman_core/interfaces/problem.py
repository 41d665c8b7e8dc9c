"""What can be wrong on a host, and its remedy."""

import attrs


@attrs.frozen
class HostProblem:
    """A check on a host, with its remedy: both are bash scripts, run as the content of a file.

    The check exits 0 where all is well; what it prints otherwise says what is wrong, in one line.
    A remedy that exits 0 is not yet believed: the check is asked again. It may be run again and
    again; where it needs root it uses ``sudo -n``. Scripts run as the host's user in its home
    folder, with no standard input and a limit of time, and have in their environment, besides what
    the host provides:

    - ``JOBMAN_NOW``: what time it is where jobman runs, in seconds since 1970;
    - ``JOBMAN_OWN_MACHINE``: 1 on a machine that is the slice's alone, else 0;
    - ``JOBMAN_DEVICES``: patterns of accelerators' device files, with spaces between;
    - ``JOBMAN_DEVICE_LOCK``: the lock file of the accelerator's library;
    - ``JOBMAN_LIVE``: tokens of the attempts that run there, with spaces between: their programs
      have one, behind which a dot and more may follow, in ``JOBMAN_ATTEMPT_TOKEN``;
    - ``JOBMAN_KEYS``: the key files that the job brought there, below the home folder, a line each.
    """

    #: A word or two: ``disk``, ``mount``.
    name: str
    check: str
    remedy: str | None = None
    #: What the remedy does, for people: ``mount it again``; without one, what they can do.
    remedy_text: str = ""
    #: Cheap enough to be asked before every attempt.
    cheap: bool = False
    #: About the machine as a whole: left out on hosts that are only a part of somebody's machine.
    machine: bool = False
    #: The remedy disturbs no program: it may be run beside one.
    gentle: bool = False
    #: No program can do its work where it is so: an attempt fails before its start.
    fatal: bool = False
