"""The verbs of ``jobman emulator`` about the account, its project and its buckets."""

from enum import StrEnum
from typing import Annotated

import typer

from jobman_emulator.acting import act


class _Switch(StrEnum):
    ON = "on"
    OFF = "off"


class _OsLogin(StrEnum):
    ON = "on"
    OFF = "off"
    UNSET = "unset"


_State = Annotated[_Switch, typer.Argument(metavar="on|off")]


def fill(app: typer.Typer) -> None:
    """Add the verbs to an app."""
    app.command("api", epilog="$ jobman emulator api cloudquotas.googleapis.com off")(api)
    app.command("permission", epilog="$ jobman emulator permission tpu.nodes.create off")(
        permission
    )
    app.command("os-login", epilog="$ jobman emulator os-login on")(os_login)
    app.command("bucket", epilog="$ jobman emulator bucket my-bucket 5000000000 1200")(bucket)


def api(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="API", help="Like compute.googleapis.com.")],
    state: _State,
) -> None:
    """Let an API be enabled, or refuse its calls."""
    act(ctx, "api", name=name, enabled=state is _Switch.ON)
    ctx.obj.note(f"{name} is {state}")


def permission(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="PERMISSION", help="Like tpu.nodes.create.")],
    state: _State,
) -> None:
    """Let the account have a permission, or not."""
    act(ctx, "permission", name=name, granted=state is _Switch.ON)
    ctx.obj.note(f"{name} is {state}")


def os_login(
    ctx: typer.Context,
    state: Annotated[_OsLogin, typer.Argument(metavar="on|off|unset")],
) -> None:
    """Let the project's metadata say whether OS Login is used."""
    enabled = None if state is _OsLogin.UNSET else state is _OsLogin.ON
    act(ctx, "os_login", enabled=enabled)
    ctx.obj.note(f"OS Login is {state}")


def bucket(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="BUCKET")],
    size: Annotated[int, typer.Argument(metavar="BYTES", min=0)],
    objects: Annotated[int, typer.Argument(metavar="OBJECTS", min=0)],
    *,
    storage_class: Annotated[
        str, typer.Option("--class", metavar="CLASS", help="As the metric has it.")
    ] = "REGIONAL",
    kind: Annotated[
        str, typer.Option(metavar="KIND", help="Like soft-deleted-object.")
    ] = "live-object",
    age: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="Since it was measured.")
    ] = 0.0,
) -> None:
    """Say what Cloud Monitoring knows of a bucket's size."""
    part = {"storage_class": storage_class, "kind": kind, "age": age}
    act(ctx, "bucket", name=name, bytes=size, objects=objects, **part)
    ctx.obj.note(f"{name} has {objects} objects of {size} bytes in all ({storage_class}, {kind})")
