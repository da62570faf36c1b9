"""`honed inbox`: real agent sessions as evidence: take them in, and see what went wrong in them."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from daemon.cli.inbox_parts import pattern_data, render_list, render_patterns, render_session, render_taken, session_row
from daemon.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile
from daemon.cli.output import Output
from daemon.cli.run import run
from daemon.config import ConfigError, load_config
from daemon.inbox.opening import digest_now, intake_of, open_inbox, read_inbox, skill_name, take_in
from daemon.inbox.patterns import patterns
from daemon.inbox.use import Use, use_of
from daemon.scrubbing import register_environment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daemon.config import Config
    from daemon.inbox.intake import Taken
    from daemon.inbox.record import SessionRecord

Files = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[FILE]...", help="Session files, or folders of them.", show_default="the watched folders"),
]
OfSkill = Annotated[
    str | None, typer.Option("--skill", metavar="NAME", help="A skill's name.", show_default="the skill of honed.toml")
]
Every = Annotated[bool, typer.Option("--all", help="Of every skill, and of none.")]


def register(app: typer.Typer) -> None:
    """Add the verb and its parts."""
    group = typer.Typer(
        no_args_is_help=True,
        help="Learn from real agent sessions: take them in, see what went wrong in them.\n\n"
        "Example: honed inbox patterns",
    )
    group.command("add")(add)
    group.command("list")(list_sessions)
    group.command("show")(show)
    group.command("patterns")(show_patterns)
    app.add_typer(group, name="inbox")


def add(files: Files = None, *, config: ConfigFile = DEFAULT_CONFIG, as_json: AsJson = False) -> None:
    """Read session files of Claude Code or Codex, and keep what went wrong in them, without secrets.

    Without FILE: what is new in the state folder's `inbox/` and in the folders of `[inbox] sessions`. A session that
    is known already and did not grow changes nothing. Exit code 1 if a file that was named is no session.

    Example: honed inbox add ~/.claude/projects/-work-app
    """
    output = Output(as_json=as_json)

    async def work() -> int:
        found = load_config(config)
        taken = await (_named(found, files) if files else take_in(found))
        counts: Counter[str] = Counter(one.came for one in taken)
        rows = [
            {**asdict(one), "file": str(one.file)} for one in taken if files or one.came not in ("unchanged", "old")
        ]
        output.result({"counts": dict(sorted(counts.items())), "files": rows}, lambda c: render_taken(c, taken, counts))
        return 1 if files and counts["refused"] else 0

    run(output, work)


async def _named(config: Config, files: Sequence[Path]) -> tuple[Taken, ...]:
    register_environment()
    async with open_inbox(config) as inbox:
        return await intake_of(config, inbox).add(files)


def list_sessions(
    *,
    skill: OfSkill = None,
    every: Every = False,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many are listed at most.")] = 50,
    config: ConfigFile = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """List the sessions that are kept, the newest first, with the skill's use.

    Example: honed inbox list --all -n 10
    """
    output = Output(as_json=as_json)

    async def work() -> None:
        use, found = await _sessions(config, skill, every=every)
        name = use.skill if use else None
        rows = [session_row(record, name) for record in found[:limit]]
        data = {"skill": name, "use": _use_data(use) if use else None, "sessions": rows, "total": len(found)}
        output.result(data, lambda console: render_list(console, rows, len(found), use))

    run(output, work)


def show(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="The beginning of a session's key or own id.")],
    *,
    config: ConfigFile = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Show what is kept of one session: its skills, and what went wrong.

    Example: honed inbox show 3f1c
    """
    output = Output(as_json=as_json)

    async def work() -> None:
        async with read_inbox(load_config(config)) as inbox:
            found = await inbox.find(session)
        if len(found) != 1:
            what = f"{len(found)} sessions begin" if found else "no session begins"
            msg = f"{what} with {session!r}: give more of it (at least 4 characters), see `honed inbox list --all`"
            raise ConfigError(msg)
        output.result(found[0].model_dump(mode="json"), lambda console: render_session(console, found[0]))

    run(output, work)


def show_patterns(
    *,
    skill: OfSkill = None,
    every: Every = False,
    least: Annotated[int, typer.Option(min=1, help="Sessions that must show a pattern.")] = 1,
    config: ConfigFile = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Show what goes wrong again and again: failed calls, corrections, repetitions, turns given up.

    Counted are sessions in which the agent had opened the skill before it happened.

    Example: honed inbox patterns --least 2
    """
    output = Output(as_json=as_json)

    async def work() -> None:
        use, sessions = await _sessions(config, skill, every=every)
        name = use.skill if use else None
        found = patterns(sessions, name, least=least)
        data = {"skill": name, "use": _use_data(use) if use else None, "patterns": [pattern_data(one) for one in found]}
        output.result(data, lambda console: render_patterns(console, found, use))

    run(output, work)


async def _sessions(file: Path, skill: str | None, *, every: bool) -> tuple[Use | None, tuple[SessionRecord, ...]]:
    """The use of the skill that is asked for (None: of every skill), and the sessions."""
    config = load_config(file)
    name = None if every else skill or skill_name(config)
    async with read_inbox(config) as inbox:
        sessions = await inbox.sessions(name)
    if name is None:
        return None, sessions
    digest = await asyncio.to_thread(digest_now, config) if name == skill_name(config) else ""
    return use_of(sessions, name, digest), sessions


def _use_data(use: Use) -> dict[str, Any]:
    return {**asdict(use), "unopened": use.unopened, "failure_rate": round(use.failure_rate, 4)}
