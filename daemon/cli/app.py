"""The command line: global options and the list of verbs."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from typer.rich_utils import rich_format_error

from daemon import __version__, logs
from daemon.cli import calibrate, demo, doctor, estimate, evaluate, init, log, setup, show, train
from daemon.cli.output import error_line
from daemon.cli.streams import secure_streams

app = typer.Typer(
    name="honed",
    help="Keep agent skills sharp: measured edits to SKILL.md, each one a git commit.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"honed {__version__}")
        raise typer.Exit


@app.callback()
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


for _verbs in (init, setup, doctor, estimate, calibrate, train, evaluate, log, show, demo):
    _verbs.register(app)


def main() -> None:
    """Entry point of the `honed` command."""
    secure_streams()
    try:
        code = app(standalone_mode=False)
    except typer.TyperException as error:
        rich_format_error(error)  # type: ignore[arg-type] # the base class that Typer exports is never raised itself
        if "--json" in sys.argv[1:]:
            error_line("usage", " ".join(error.format_message().split()))
        code = error.exit_code
    sys.exit(code)
