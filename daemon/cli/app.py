"""The command line: global options and the list of verbs.

A verb's module is imported when that verb is asked for: `honed log` shall not wait for the agents' client libraries.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Annotated

import typer
from rich.markup import escape

from daemon import __version__, logs
from daemon.cli.crashes import guard_crashes
from daemon.cli.output import error_line
from daemon.cli.streams import secure_streams

_MODULES = {
    name: name.replace("eval", "evaluate")
    for name in (
        "init",
        "setup",
        "doctor",
        "estimate",
        "calibrate",
        "train",
        "status",
        "events",
        "jobs",
        "explain",
        "pause",
        "resume",
        "cancel",
        "retry",
        "reload",
        "eval",
        "log",
        "diff",
        "why",
        "revert",
        "show",
        "rebuild",
        "check",
        "bisect",
        "publish",
        "clean",
        "bench",
        "daemon",
        "harvest",
        "demo",
        "tasks",
        "inbox",
    )
}
"""Verb to its module in `daemon.cli`, in the order of `honed --help`."""


def build(verbs: Iterable[str] = tuple(_MODULES)) -> typer.Typer:
    """The command line with these verbs."""
    app = typer.Typer(
        name="honed",
        help="Keep agent skills sharp: measured edits to SKILL.md, each one a git commit.\n\nExample: honed demo",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_globals)
    for verb in verbs:
        import_module(f"daemon.cli.{_MODULES[verb]}").register(app)
    groups = [group.typer_instance for group in app.registered_groups if group.typer_instance]
    for command in (one for part in (app, *groups) for one in part.registered_commands):
        # The help is drawn as rich markup, in which the name of a section, such as [budget], would be a style.
        command.help = escape(command.help or inspect.getdoc(command.callback) or "")
    return app


def asked(arguments: Sequence[str]) -> tuple[str, ...]:
    """The verbs that these arguments need: one where it is plain which, none for the version, else all."""
    first = next((word for word in arguments if not word.startswith("-")), "")
    if tuple(arguments) == ("--version",):
        return ()
    return (first,) if first in _MODULES else tuple(_MODULES)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"honed {__version__}")
        raise typer.Exit


def _globals(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    log_json: Annotated[
        bool | None,
        typer.Option("--log-json/--log-text", help="Log lines as JSON or as text (default: text on a terminal)."),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Log every model request and engine call too.")
    ] = False,
) -> None:
    logs.configure(json_lines=log_json, verbose=verbose)


def main() -> None:
    """Entry point of the `honed` command."""
    secure_streams()
    guard_crashes()
    try:
        code = build(asked(sys.argv[1:]))(standalone_mode=False)
    except typer.TyperException as error:
        from typer.rich_utils import rich_format_error  # noqa: PLC0415 - it brings a renderer of Markdown along

        rich_format_error(error)  # type: ignore[arg-type] # the base class that Typer exports is never raised itself
        if "--json" in sys.argv[1:]:
            error_line("usage", " ".join(error.format_message().split()))
        code = error.exit_code
    sys.exit(code)
