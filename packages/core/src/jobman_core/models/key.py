"""Keys of files, as people read about them."""

import attrs


@attrs.frozen
class Key:
    """One key that a job file, a tasks file or the settings may have."""

    #: Dotted, with ``[]`` for the entries of a list and ``*`` for names of the user's own:
    #: ``job.queue.prefix[].run``.
    path: str
    #: What its values are, for people: ``true or false``.
    type: str
    #: As a file says it (JSON); None: there is none, or nothing to say.
    default: object
    required: bool
    #: What it is for; Markdown in one paragraph.
    text: str
    #: The distribution that brings it; None: the core does.
    plugin: str | None
