"""From a configuration to its inbox: where it lies, which folders it watches, and a skill's use out of it.

Cheap to import. A scheduler asks `read_use`; whoever watches folders calls `take_in`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from daemon.config import Config
from daemon.inbox.inbox import Inbox
from daemon.inbox.intake import Intake, Taken
from daemon.inbox.memory import MemoryInbox
from daemon.inbox.record import SessionRecord
from daemon.inbox.sqlite import FILE, SqliteInbox
from daemon.inbox.use import Use, use_of
from daemon.places import state_folder
from daemon.private import private_folder, refuse_misplaced
from daemon.scrubbing import register_environment, scrub
from harnesses.traces.skill_sightings import body_digest
from skills_repo.skill import SKILL_FILE


def skill_name(config: Config) -> str:
    """The skill's name, as sessions list it."""
    return config.skill.path.rstrip("/").rsplit("/", 1)[-1]


def drop_folder(config: Config) -> Path:
    """Where people and programs may put session files: `inbox/` in the state folder."""
    return state_folder(config) / "inbox"


def watched(config: Config) -> tuple[Path, ...]:
    """Every folder whose sessions are taken in: the drop folder, and those of `[inbox] sessions`."""
    named = (Path(one).expanduser() for one in config.inbox.sessions)
    return (drop_folder(config), *(config.file.parent / one for one in named))


def digest_now(config: Config) -> str:
    """Of the skill's body as it lies in the repository, scrubbed as sessions are; empty if it cannot be read."""
    try:
        return body_digest(scrub((config.skill.repository / config.skill.path / SKILL_FILE).read_text("utf-8")))
    except (OSError, UnicodeDecodeError):
        return ""


@asynccontextmanager
async def open_inbox(config: Config) -> AsyncIterator[Inbox]:
    """The inbox to write to, made where it is missing. Raises `JournalError`, `OSError`."""
    await asyncio.to_thread(_lay, config)
    inbox = SqliteInbox(state_folder(config) / FILE)
    try:
        yield inbox
    finally:
        await inbox.close()


@asynccontextmanager
async def read_inbox(config: Config) -> AsyncIterator[Inbox]:
    """The inbox to read alone; an empty one where there is none. Raises `JournalError`."""
    file = state_folder(config) / FILE
    there = await asyncio.to_thread(file.exists)
    inbox: Inbox = SqliteInbox(file, read_only=True) if there else MemoryInbox()
    try:
        yield inbox
    finally:
        await inbox.close()


@dataclass(frozen=True)
class InboxSessions:
    """Reads a configuration's inbox whenever it is asked; an inbox that is not there has no sessions."""

    config: Config

    async def of(self, skill: str) -> tuple[SessionRecord, ...]:
        """Sessions in which the skill was listed or opened, the newest first. Raises `JournalError`."""
        async with read_inbox(self.config) as inbox:
            return await inbox.sessions(skill)


def intake_of(config: Config, inbox: Inbox, clock: Callable[[], float] = time.time) -> Intake:
    """What takes sessions into an inbox, within the configuration's bounds."""
    return Intake(inbox, config.inbox.keep, config.inbox.keep_days, clock)


async def take_in(config: Config, clock: Callable[[], float] = time.time) -> tuple[Taken, ...]:
    """Take in what is new in the watched folders: what a daemon calls now and then, and `honed inbox add` for people.

    An inbox is made only once there is something to put into it. Raises `JournalError`, `OSError`.
    """
    folders = watched(config)
    if not await asyncio.to_thread(_any_there, folders):
        return ()
    register_environment()
    async with open_inbox(config) as inbox:
        return await intake_of(config, inbox, clock).sweep(folders)


async def read_use(config: Config) -> Use:
    """How much the configured skill is used, and how often that goes wrong. Raises `JournalError`."""
    name = skill_name(config)
    async with read_inbox(config) as inbox:
        return use_of(await inbox.sessions(name), name, await asyncio.to_thread(digest_now, config))


def _any_there(folders: Sequence[Path]) -> bool:
    """Some of the folders are there."""
    return any(folder.is_dir() for folder in folders)


def _lay(config: Config) -> None:
    folder = drop_folder(config)
    private_folder(state_folder(config))
    refuse_misplaced(folders=[folder], files=[state_folder(config) / FILE])
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    ignore = folder.parent / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")
