"""Interpolation: what is ours, what is the shell's, and what it may not do."""

from collections.abc import Callable

import pytest

from jobman_core.config.job import JobFile
from jobman_core.models.job import CommandMode, JobSpec

Parse = Callable[..., JobFile]
Faults = Callable[..., list[str]]


def with_command(script: str, extra: str = "") -> str:
    lines = "".join(f"    {line}\n" for line in script.splitlines())
    return f"""\
job:
  name: hello
{extra}tpu:
  cloud: local
  accelerator: v4-32
  zone: z-1
command:
  cmd: |
{lines}"""


def script_of(spec: JobSpec) -> str:
    assert isinstance(spec.work, CommandMode)
    return spec.work.script.rstrip("\n")


@pytest.mark.parametrize(
    "script",
    [
        "echo $HOME ${HOME} ${x:-y} $(date) $$ $1 ${10} ${#a} ${a[0]} ${a%.*} `b`",
        # Shell variables that are called like a section.
        "job=1; echo ${job} ${tpu}",
        # No section of this file.
        "echo ${gcsfuse.bucket_name} ${foo.bar}",
        # Quoted for the shell, and the shell's own number followed by braces.
        r"echo \${tpu.zone} \\\${tpu.zone}",
        "echo $${tpu.zone} $$$${tpu.zone}",
        r"awk '{print $2}' <<'EOF' \n \\ \" ' EOF",
    ],
)
def test_other_dollars_of_scripts_are_the_shells(parse: Parse, script: str) -> None:
    assert script_of(parse(with_command(script)).spec("1")) == script


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo ${tpu.zone}/${tpu.accelerator}", "echo z-1/v4-32"),
        ("echo ${tpu.name} ${job.name}", "echo hello-1 hello_1"),
        (r"echo \\${tpu.zone}", r"echo \\z-1"),
        ("echo $$$${tpu.zone} $$${tpu.zone}", "echo $$$${tpu.zone} $$z-1"),
        ("echo ${oc.env:RUNNER} ${oc.env:NO,x y} ${oc.env:NO,'q'}", "echo ann x y q"),
    ],
)
def test_what_is_ours_in_scripts(parse: Parse, script: str, expected: str) -> None:
    assert script_of(parse(with_command(script)).spec("1")) == expected


def test_a_key_that_the_section_does_not_have_is_a_fault_in_scripts_too(faults: Faults) -> None:
    assert faults(with_command("echo ${tpu.zoen}")) == [
        "8:8: command.cmd: unknown interpolation ${tpu.zoen} (did you mean ${tpu.zone}?)"
    ]


def test_every_script_of_a_file_is_one(parse: Parse) -> None:
    text = with_command("true") + (
        "gcsfuse: {bucket_name: b, mount_path: /m, cache: {prefix: 'a $HOME ${tpu.zone}'}}\n"
    )
    text = text.replace("  zone: z-1\n", "  zone: z-1\n  startup_script: 'b ${HOME} ${tpu.zone}'\n")
    text = text.replace("  name: hello\n", "  name: hello\n  prefix: 'c $$ ${tpu.zone}'\n")
    spec = parse(text).spec("1")
    assert spec.sections["gcsfuse"]["cache"]["prefix"] == "a $HOME z-1"
    assert spec.candidates[0].options["startup_script"] == "b ${HOME} z-1"
    assert spec.prefix[0].run == "c $$ z-1"


def environment(values: str) -> str:
    return with_command("true", f"  environment: {{{values}}}\n")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ("A: '${tpu.zone}-${oc.env:RUNNER}'", {"A": "z-1-ann"}),
        (
            "A: '${job.environment.B}', B: '${job.environment.C}', C: 007",
            dict.fromkeys("ABC", "007"),
        ),
        # A plain `${` is written with a backslash, a backslash before it with two.
        (r"A: '\${HOME} \\${tpu.zone} \x'", {"A": r"${HOME} \z-1 \x"}),
        ("A: '$HOME $$ $(x) 5$'", {"A": "$HOME $$ $(x) 5$"}),
        ("A: '${oc.env:EMPTY}', B: '${oc.env:NO,null}'", {"A": "", "B": ""}),
    ],
)
def test_values(parse: Parse, values: str, expected: dict[str, str]) -> None:
    assert parse(environment(values)).spec("1").environment == expected


def test_a_value_that_is_one_interpolation_keeps_the_type(parse: Parse) -> None:
    extra = "  max_restarts: ${oc.env:N}\n  pipefail: ${job.environment.A}\n"
    text = with_command("true", extra + "  environment: {A: off}\n")
    spec = parse(text).spec("1")
    assert spec.max_restarts == 5
    assert spec.pipefail is False


def test_what_the_environment_holds_is_data(parse: Parse) -> None:
    text = with_command("echo ${oc.env:X}")
    file = parse(text, environ={"X": "$(rm -rf /) ${HOME} $$"})
    assert script_of(file.spec("1")) == "echo $(rm -rf /) ${HOME} $$"


def test_names_refer_to_each_other_without_the_suffix(parse: Parse) -> None:
    text = with_command("echo ${job.name} ${tpu.name}").replace(
        "  zone: z-1\n", "  zone: z-1\n  name: My_${job.name}\n"
    )
    spec = parse(text).spec("spot")
    assert (spec.name, spec.tpu_name) == ("hello_spot", "my-hello-spot")
    assert script_of(spec) == "echo hello_spot my-hello-spot"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (
            "A: '${job.environment.B}', B: 'x${job.environment.A}'",
            (
                "3:20: job.environment.A: the values refer to each other: job.environment.A -> "
                "job.environment.B -> job.environment.A: break the circle"
            ),
        ),
        (
            "A: '${job.environment.A}'",
            (
                "3:20: job.environment.A: the values refer to each other: job.environment.A -> "
                "job.environment.A: break the circle"
            ),
        ),
        (
            "A: '${HOME}'",
            (
                "3:20: job.environment.A: unknown interpolation ${HOME}: write ${section.key} or "
                "${oc.env:NAME}, or \\${ for a plain ${"
            ),
        ),
        (
            "A: '${tpu.zome}'",
            (
                "3:20: job.environment.A: unknown interpolation ${tpu.zome} (did you mean "
                "${tpu.zone}?)"
            ),
        ),
        (
            "A: '${job.environment}'",
            "3:20: job.environment.A: ${job.environment} is a map: name one of its values",
        ),
        (
            "A: '${oc.env:NOT_SET}'",
            (
                "3:20: job.environment.A: the variable NOT_SET is not set: set it, or write "
                "${oc.env:NOT_SET,default}"
            ),
        ),
        (
            "A: '${tpu.zone'",
            (
                "3:20: job.environment.A: unfinished interpolation '${tpu.zone': close it, or "
                "write \\${ for ${"
            ),
        ),
    ],
)
def test_what_is_wrong(faults: Faults, values: str, expected: str) -> None:
    assert faults(environment(values)) == [expected]


def test_a_name_that_refers_to_itself(faults: Faults) -> None:
    text = with_command("true").replace("name: hello", "name: ${tpu.name}")
    (fault,) = faults(text)
    assert "job.name -> job.name" in fault


def test_values_that_blow_up_are_refused(faults: Faults) -> None:
    pairs = ["A0: xxxxxxxxxx"]
    pairs += [f"A{i}: '{f'${{job.environment.A{i - 1}}}' * 10}'" for i in range(1, 12)]
    assert any("beyond reason" in fault for fault in faults(environment(", ".join(pairs))))


def test_a_long_chain_is_refused_and_not_a_traceback(faults: Faults) -> None:
    pairs = [f"A{i}: '${{job.environment.A{i + 1}}}'" for i in range(3000)]
    (fault, *_) = faults(environment(", ".join([*pairs, "A3000: x"])))
    assert "refer to each other over" in fault
