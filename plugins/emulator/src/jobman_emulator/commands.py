"""The verbs of ``jobman emulator``: start it, end it, and make trouble."""

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from jobman_emulator import account_commands
from jobman_emulator.acting import act, daemon

if TYPE_CHECKING:
    from jobman_emulator.daemon import Facts

_UP = """
$ jobman emulator up                    hosts are processes of this machine
$ eval "$(jobman emulator up)"          and let this shell have the variables
$ jobman emulator up --hosts netns      hosts are network namespaces with sshd (root)
$ jobman emulator up --config emu.yaml  with capacities, quotas and times
"""
_PREEMPT = """
$ jobman emulator preempt train-000001-g1
$ jobman emulator preempt my-queued-resource --order node-first
$ jobman emulator preempt train-000001-g1 --notice 30
"""
_FAIL = """
$ jobman emulator fail-next CreateNode --code UNAVAILABLE --times 3
$ jobman emulator fail-next CreateNode --code 8 --late \\
      --message 'There is no more capacity in the zone "us-central2-b"'
$ jobman emulator fail-next CreateQueuedResource --code 13 --late
$ jobman emulator fail-next UpdateNode --code 409
"""

_Name = Annotated[str, typer.Argument(metavar="NODE", help="Its id, or its full name.")]
_Call = Annotated[str, typer.Argument(metavar="CALL", help="A method, like CreateNode.")]
_Times = Annotated[int, typer.Option(metavar="N", min=0, help="So many times.")]
_Port = Annotated[int, typer.Option(metavar="PORT", help="0 takes a free one.")]


def fill(app: typer.Typer) -> None:
    """Add the verbs to an app."""
    app.command("up", epilog=_UP)(up)
    app.command("down", epilog="$ jobman emulator down")(down)
    app.command("status", epilog="$ jobman emulator status --json")(status)
    app.command("preempt", epilog=_PREEMPT)(preempt)
    app.command("maintenance", epilog="$ jobman emulator maintenance NODE --pending")(maintenance)
    app.command("host-down", epilog="$ jobman emulator host-down NODE 2")(host_down)
    app.command("state", epilog="$ jobman emulator state NODE UNKNOWN")(set_state)
    app.command("capacity", epilog="$ jobman emulator capacity us-central2-b v4-8 2")(capacity)
    app.command("quota", epilog="$ jobman emulator quota us-east1 v6e 64")(quota)
    app.command("fail-next", epilog=_FAIL)(fail_next)
    app.command("fault", epilog="$ jobman emulator fault vanish-after-create")(fault)
    app.command("slow", epilog="$ jobman emulator slow GetNode 30")(slow)
    app.command("rate-limit", epilog="$ jobman emulator rate-limit CreateNode 10")(rate_limit)
    app.command("pace", epilog="$ jobman emulator pace --provisioning 60")(pace)
    account_commands.fill(app)
    app.command("reset", epilog="$ jobman emulator reset")(reset)


def up(
    ctx: typer.Context,
    *,
    port: _Port = 0,
    rest_port: _Port = 0,
    hosts: Annotated[
        str, typer.Option(metavar="KIND", help="process, netns (needs root) or none.")
    ] = "process",
    ssh_port: Annotated[
        int | None, typer.Option(metavar="PORT", help="Of process hosts; else 2222.")
    ] = None,
    config: Annotated[
        str | None, typer.Option(metavar="FILE", help="Times, capacities and quotas (YAML).")
    ] = None,
    foreground: Annotated[
        bool, typer.Option("--foreground", help="Stay here until Ctrl-C.")
    ] = False,
) -> None:
    """Start the emulator and print the variables that lead to it."""
    import asyncio
    from pathlib import Path

    from jobman_emulator.daemon import Options

    path = str(Path(config).absolute()) if config else None
    options = Options(hosts, port, rest_port, ssh_port, path)
    own = daemon()
    if foreground:
        from jobman_emulator.__main__ import run

        asyncio.run(own.claim())
        run(own, options, lambda facts: _show(ctx, facts))
    else:
        _show(ctx, asyncio.run(own.up(options)))


def down(ctx: typer.Context) -> None:
    """End the emulator, its slices, and all that runs on them."""
    import asyncio

    before = asyncio.run(daemon().down())
    if ctx.obj.json:
        ctx.obj.document(before)
    else:
        gone = f"{before['nodes']} nodes, {before['queued_resources']} queued resources"
        ctx.obj.say(f"the emulator is down, nothing is left ({gone} are gone)")


def status(ctx: typer.Context) -> None:
    """Show what there is, and how to get to the emulator."""
    from jobman_emulator.daemon import call

    facts = daemon().facts()
    found = call(facts, "GET", "status")
    if ctx.obj.json:
        ctx.obj.document({"rest": facts.rest, "env": facts.env, "hosts": facts.hosts, **found})
        return
    _show(ctx, facts)
    width = max(map(len, found["resources"]), default=0)
    for name, state in found["resources"].items():
        ctx.obj.say(f"# {name:{width}}  {state}")
    ctx.obj.say(f"# {found['processes']} processes on the hosts")


def preempt(
    ctx: typer.Context,
    node: _Name,
    *,
    order: Annotated[
        str,
        typer.Option(
            metavar="ORDER",
            help="Of a queued resource and its node: suspending-first or node-first.",
        ),
    ] = "suspending-first",
    notice: Annotated[
        float, typer.Option(metavar="SECONDS", help="From the notice on the hosts to their end.")
    ] = 0.0,
) -> None:
    """Take a spot slice away; ends when its processes are gone."""
    act(ctx, "preempt", name=node, order=order, notice=notice)
    ctx.obj.note(f"{node} is preempted: its processes are gone")


def maintenance(
    ctx: typer.Context,
    node: _Name,
    *,
    pending: Annotated[bool, typer.Option("--pending", help="It is announced, no more.")] = False,
    over: Annotated[bool, typer.Option("--over", help="It has ended.")] = False,
) -> None:
    """Let a slice be under maintenance."""
    act(ctx, "maintenance", node=node, pending=pending, over=over)
    ctx.obj.note(f"maintenance of {node} {'is over' if over else 'is noted'}")


def host_down(
    ctx: typer.Context,
    node: _Name,
    index: Annotated[int, typer.Argument(metavar="INDEX", min=0, help="Of the host, from 0.")],
) -> None:
    """Let one host vanish, and no other; the API does not tell."""
    act(ctx, "host_down", node=node, index=index)
    ctx.obj.note(f"host {index} of {node} is gone; the API does not tell")


def set_state(
    ctx: typer.Context,
    node: _Name,
    state: Annotated[str, typer.Argument(metavar="STATE", help="As the API has it, or GONE.")],
) -> None:
    """Let a node or queued resource have a state, or be GONE."""
    act(ctx, "set_state", name=node, state=state)
    ctx.obj.note(f"{node} is {state.upper()}")


def capacity(
    ctx: typer.Context,
    zone: Annotated[str, typer.Argument(metavar="ZONE")],
    accelerator: Annotated[str, typer.Argument(metavar="TYPE", help="Like v4-8.")],
    count: Annotated[str, typer.Argument(metavar="N", help="Slices at once, or any.")],
    *,
    reserved: Annotated[bool, typer.Option("--reserved", help="Of a reservation.")] = False,
) -> None:
    """Say how many slices of a type a zone has."""
    number = _number("N", count)
    act(ctx, "capacity", zone=zone, accelerator=accelerator, count=number, reserved=reserved)
    ctx.obj.note(f"{zone} has {count} of {'reserved ' if reserved else ''}{accelerator}")


def quota(
    ctx: typer.Context,
    place: Annotated[str, typer.Argument(metavar="PLACE", help="A zone, or a region.")],
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="A family (v6e; v6e-spot and v6e-on-demand are these alone), queued-resources, "
            "external-ips, instances or disk-gb.",
        ),
    ],
    limit: Annotated[str, typer.Argument(metavar="LIMIT", help="A number, or any.")],
) -> None:
    """Say how much the project may hold.

    Dead queued resources count until they are deleted.
    """
    act(ctx, "quota", place=place, what=what, limit=_number("LIMIT", limit))
    ctx.obj.note(f"the quota of {what} in {place} is {limit}")


def fail_next(
    ctx: typer.Context,
    call: _Call,
    *,
    code: Annotated[
        str,
        typer.Option(metavar="CODE", help="Number or name of the code, or an HTTP status."),
    ],
    message: Annotated[str, typer.Option(metavar="TEXT", help="What the error says.")] = "",
    times: _Times = 1,
    late: Annotated[
        bool, typer.Option("--late", help="The call is answered well, its operation fails.")
    ] = False,
) -> None:
    """Let the next calls of a method fail."""
    act(ctx, "fail_next", call=call, code=code, message=message, times=times, late=late)
    ctx.obj.note(f"{call} fails {times} times, from the next one on")


def fault(
    ctx: typer.Context,
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="One of those above.",
        ),
    ],
    *,
    times: _Times = 1,
) -> None:
    """Order a stranger trouble for the next time it can happen.

    \b
    vanish-after-create  a node is created, and then it is not there
    stuck-create         the operation of a create never ends
    stuck-delete         a delete is taken on and never ends
    instant-delete       what is deleted is gone at once
    """  # noqa: D301 - the mark of lines that are to stay as they are
    act(ctx, "fault", kind=kind, times=times)
    ctx.obj.note(f"{kind}: the next {times} times")


def slow(
    ctx: typer.Context,
    call: _Call,
    seconds: Annotated[float, typer.Argument(metavar="SECONDS", min=0, help="0: as fast as ever.")],
    *,
    after: Annotated[
        bool, typer.Option("--after", help="It is done at once; the answer is late.")
    ] = False,
) -> None:
    """Let a method take longer from now on."""
    act(ctx, "slow", call=call, seconds=seconds, after=after)
    ctx.obj.note(f"{call} takes {seconds:g} s longer")


def rate_limit(
    ctx: typer.Context,
    call: _Call,
    per_minute: Annotated[str, typer.Argument(metavar="N", help="Calls a minute, or any.")],
) -> None:
    """Let so many calls of a method through in a minute."""
    act(ctx, "rate_limit", call=call, per_minute=_number("N", per_minute))
    ctx.obj.note(f"{call}: {per_minute} a minute")


def pace(
    ctx: typer.Context,
    *,
    provisioning: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0, help="Until hosts boot.")
    ] = None,
    deleting: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0, help="Until a name is free.")
    ] = None,
    suspending: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", min=0, help="Between the states of a preemption."),
    ] = None,
) -> None:
    """Let things take so long from now on."""
    seconds = {"provisioning": provisioning, "deleting": deleting, "suspending": suspending}
    act(ctx, "pace", **seconds)


def reset(ctx: typer.Context) -> None:
    """Take back all troubles, limits and settings; slices stay."""
    act(ctx, "reset")
    ctx.obj.note("all goes well again, with no limits")


def _show(ctx: typer.Context, facts: "Facts") -> None:
    if ctx.obj.json:
        ctx.obj.document({"rest": facts.rest, "env": facts.env, "hosts": facts.hosts})
        return
    for name, value in facts.env.items():
        ctx.obj.say(f"export {name}={shlex.quote(value)}")
    if facts.hosts == "process":
        ctx.obj.say(f"# jobs reach their hosts with ssh.port: {facts.ssh_port}")
    # At once: in the foreground nothing follows.
    ctx.obj.stdout.flush()


def _number(name: str, text: str) -> int | None:
    """Read a limit; None: there is none.

    Raises:
        InvalidInputError: it is no number.
    """
    from jobman_core.errors import InvalidInputError

    if text == "any":
        return None
    if not text.isdecimal():
        raise InvalidInputError(f"{name} is {text!r}: use a number, or any for no limit")
    return int(text)
