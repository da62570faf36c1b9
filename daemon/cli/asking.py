"""What the verbs that ask a daemon share: whom they ask, which skill is meant, how jobs and times are worded."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.padding import Padding
from rich.text import Text

from daemon.control.client import Client, find_daemon
from daemon.control.errors import RefusedError
from daemon.control.wire import to_data
from daemon.plain import plain
from daemon.service.desk import Status

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from daemon.cli.output import Output
    from daemon.jobs.job import Cause, Job

JobNumber = Annotated[int, typer.Argument(metavar="JOB", min=1, help="A job's number: see `honed jobs`.")]
SkillOfDaemon = Annotated[
    str | None,
    typer.Argument(metavar="SKILL", help="A skill by the name or folder of `honed status`.", show_default="all"),
]
STYLES = {
    "training": "bold green",
    "running": "bold green",
    "working": "green",
    "done": "green",
    "queued": "cyan",
    "waiting": "yellow",
    "paused": "yellow",
    "draining": "yellow",
    "failed": "red",
    "broken": "bold red",
}
_CAUSES = {
    "new": "a skill that is new to the daemon",
    "tasks": "new or changed tasks",
    "skill": "a person changed the skill",
    "taken-back": "a person took an edit back",
    "request": "a request was merged or closed",
    "config": "a changed configuration",
    "inbox": "a pattern in people's sessions",
    "schedule": "the schedule",
    "more": "the run before accepted something",
    "asked": "somebody asked for it",
    "retry": "somebody asked for it again",
}


def state_of(config: Path) -> Path:
    """The state folder of a honed.toml; raises `ConfigError` where there is no such file."""
    if not config.is_file():
        from daemon.config import load_config  # noqa: PLC0415 - heavy, and here only for what it says

        load_config(config)
    return config.absolute().parent / ".honed"


async def daemon_of(config: Path, output: Output) -> Client:
    """The daemon that keeps this project; raises `NoDaemonError`. Warns if it is of another version."""
    client = await asyncio.to_thread(find_daemon, await asyncio.to_thread(state_of, config))
    await asyncio.to_thread(client.ask, "GET", "/jobs?newest=0")
    if other := client.other_version():
        output.warn(other)
    return client


async def status_of(client: Client) -> Status:
    """How it stands; raises `ControlError`."""
    return await asyncio.to_thread(client.get, "/status", "status", Status)


async def name_of(client: Client, word: str | None) -> str:
    """What the daemon calls the skill that is meant; empty for all. Raises `RefusedError` if it keeps none such."""
    if word is None:
        return ""
    projects = (await status_of(client)).projects
    wanted = word.rstrip("/")
    for names in (
        [one.name for one in projects if one.name == wanted],
        [one.name for one in projects if one.skill == wanted],
        [one.name for one in projects if one.skill.rsplit("/", 1)[-1] == wanted],
    ):
        if len(names) == 1:
            return names[0]
        if names:
            raise RefusedError(f"{word} may be {' or '.join(names)}: give the whole name")
    raise RefusedError(f"the daemon keeps no skill {word}: it keeps {', '.join(one.name for one in projects)}")


def caused(cause: Cause) -> str:
    """Why a job is there, in words; plain."""
    return plain(" ".join((cause.detail or _CAUSES.get(cause.kind, cause.kind)).split()))


def job_line(job: Job) -> Text:
    """A job in one line."""
    text = Text.assemble(f"job {job.number} of ", (plain(job.project), "bold"), ": ")
    text.append(job.state, STYLES.get(job.state, ""))
    return text.append(f" ({caused(job.cause)})")


def job_data(job: Job) -> dict[str, Any]:
    """A job for machines."""
    data: dict[str, Any] = to_data(job)
    return data


def lasting(seconds: float) -> str:
    """A time span in its two largest units: `2 h 5 min`."""
    left = max(0, int(seconds))
    parts: list[str] = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        count, left = divmod(left, size)
        if count or (parts and unit != "s"):
            parts.append(f"{count} {unit}")
        if len(parts) == 2:
            break
    kept = [part for part in parts if not part.startswith("0 ")]
    return " ".join(kept) or "0 s"


def clock(when: float, now: float) -> str:
    """A moment in local time, with its day where that is another one than today."""
    there = time.localtime(when)
    same = time.strftime("%Y-%m-%d", there) == time.strftime("%Y-%m-%d", time.localtime(now))
    return time.strftime("%H:%M:%S" if same else "%Y-%m-%d %H:%M", there)


def score_text(score: float | None) -> str:
    """A score for people."""
    return "-" if score is None else f"{score:.3f}"


def listed(items: Iterable[str], most: int = 3) -> str:
    """The first of them, and how many more."""
    given = list(items)
    more = f" and {len(given) - most} more" if len(given) > most else ""
    return ", ".join(given[:most]) + more


def indented(console: Console, text: Text, columns: int) -> Padding | Text:
    """A line that begins further right, and where it is broken on a terminal goes on there."""
    if console.is_terminal:
        return Padding(text, (0, 0, 0, columns), expand=False)
    return Text(" " * columns) + text  # whoever reads it from a pipe wants whole lines
