"""`honed harvest`: what goes wrong again and again in real sessions becomes drafts of tasks, for a person to accept."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from daemon.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile
from daemon.cli.output import Output
from daemon.cli.run import run
from daemon.config import ConfigError, load_config
from daemon.inbox.accepting import accept as accept_draft
from daemon.inbox.drafts import Drafts, Kept
from daemon.inbox.harvest import drafts_of
from daemon.inbox.opening import read_inbox, skill_name
from daemon.plain import plain
from daemon.tasks.load import read_set
from daemon.tasks.splits import SPLITS
from daemon.tasks.task import Split, TaskError

if TYPE_CHECKING:
    from rich.console import Console

    from daemon.config import Config


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("harvest")(harvest)


def harvest(
    *,
    show: Annotated[bool, typer.Option("--list", help="Only list the drafts that lie there.")] = False,
    accept: Annotated[str | None, typer.Option(metavar="DRAFT", help="Make a draft a task of the set.")] = None,
    split: Annotated[
        str | None, typer.Option(help="Of an accepted draft: train, selection or test.", show_default="train")
    ] = None,
    drop: Annotated[str | None, typer.Option(metavar="DRAFT", help="Remove a draft for good.")] = None,
    least: Annotated[
        int | None,
        typer.Option(min=2, help="Sessions that must show a pattern.", show_default="[inbox] harvest_sessions, else 3"),
    ] = None,
    config: ConfigFile = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Draft tasks from what went wrong in several real sessions with the skill.

    A draft lies in `drafts/` beside the task set, with a verifier that fails until a person writes one. It is no task,
    and nothing runs or scores it, until it is accepted.

    Example: honed harvest --accept correction-contradicted-1a2b3c4d
    """
    output = Output(as_json=as_json)

    async def work() -> None:
        if sum([show, accept is not None, drop is not None]) > 1:
            msg = "give one of --list, --accept and --drop"
            raise ConfigError(msg)
        if split is not None and (accept is None or split not in SPLITS):
            msg = f"--split goes with --accept, and is one of {', '.join(SPLITS)}"
            raise ConfigError(msg)
        found = load_config(config)
        if accept is not None:
            await _accept(output, found, accept, split)
            return
        drafts = Drafts(found.tasks.path)
        if drop is not None:
            await asyncio.to_thread(drafts.drop, drop)
        made = () if show or drop is not None else await _harvest(found, drafts, least)
        kept = await asyncio.to_thread(drafts.all)
        rows = [{**asdict(one), "folder": str(one.folder), "new": one.id in made} for one in kept]
        output.result({"drafts": rows, "dropped": drop}, lambda console: _render(console, kept, made))

    run(output, work)


async def _harvest(config: Config, drafts: Drafts, least: int | None) -> tuple[str, ...]:
    name = skill_name(config)
    async with read_inbox(config) as inbox:
        sessions = await inbox.sessions(name)
    found = drafts_of(sessions, name, least=least or config.inbox.harvest_sessions)
    taken = await asyncio.to_thread(_ids, config)
    return await asyncio.to_thread(drafts.write, found, taken)


def _ids(config: Config) -> frozenset[str]:
    """Ids of the set's tasks; none where it cannot be read yet."""
    try:
        return frozenset(read_set(config.tasks.path).columns.ids)
    except TaskError:
        return frozenset()


async def _accept(output: Output, config: Config, draft: str, split: Split | None) -> None:
    done = await asyncio.to_thread(accept_draft, config.tasks.path, draft, split)
    if done.note:
        output.warn(f"{done.id}: {done.note}")
    data: dict[str, Any] = {"accepted": done.id, "place": str(done.place), "split": done.split, "note": done.note}
    where = f"{done.id} is a task of {done.place} ({done.split or 'split by ratio'}): `honed tasks check` proves it"
    output.result(data, lambda console: console.print(Text(plain(where))))


def _render(console: Console, kept: tuple[Kept, ...], made: tuple[str, ...]) -> None:
    if not kept:
        console.print("no drafts: no pattern shows in enough sessions (`honed inbox patterns`)")
        return
    for one in kept:
        mark = ("new    ", "green") if one.id in made else ("       ", "")
        state = "a verifier is written" if one.verified else "needs a verifier"
        console.print(Text.assemble(mark, (one.id, "bold"), plain(f"  {one.sessions} sessions, {state}: {one.folder}")))
