"""When the daemon starts, each project's rows, boxes, folders and git are brought to agree, if it may work or not.

A run does the same when it opens, for what came between. Invariant: nobody waits here for an engine or a repository:
what cannot be seen now is told, and is looked at again by the next run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from daemon.journal.lock import state_lock
from daemon.journal.sqlite import SqliteJournal
from daemon.kinds import kind_of
from daemon.places import may_be_there, open_history
from daemon.recovery.hand import Recovered, recover
from daemon.recovery.look import CANARIES, Place
from daemon.service.project import Project
from daemon.telling.events import Bus
from daemon.wiring import engine_of
from sandboxes.sandbox import Sandbox, SandboxError

log = structlog.get_logger(__name__)


@dataclass
class Recovering:
    """One object a daemon."""

    bus: Bus
    alone: Mapping[str, asyncio.Lock]
    """By project: whoever works in its state folder holds it."""

    async def all(self, projects: tuple[Project, ...]) -> None:
        """One after the other; where a run is at work already, it has done so itself."""
        for project in projects:
            lock = self.alone[project.name]
            if not lock.locked():
                async with lock:
                    await self.one(project)

    async def one(self, project: Project) -> None:
        """Look, act, tell; a fault is told and stops nothing."""
        if not may_be_there(project.state / "journal.sqlite"):
            return
        try:
            with state_lock(project.state):
                done = await _recover(project)
        except Exception as error:
            if not kind_of(error) and not isinstance(error, OSError):
                log.exception("not_recovered", project=project.name)  # a fault of honed, which must not end the others
            else:
                log.warning("not_recovered", project=project.name, error=str(error))
            return
        if said := _said(done):
            self.bus.publish("house", f"after a crash: {said}", project=project.name)


async def _recover(project: Project) -> Recovered:
    journal = SqliteJournal(project.state / "journal.sqlite")
    try:
        sandbox = await _engine(project) if await _may_have_boxes(project, journal) else None
        history = open_history(project.config)
        place = Place(project.state, journal, sandbox, history, project.config.skill.path)
        return await recover(place, engine_required=False)
    finally:
        await journal.close()


async def _may_have_boxes(project: Project, journal: SqliteJournal) -> bool:
    """An attempt was under way, or one that only tries whether a provider answers: elsewhere no engine is loaded."""
    if await journal.unfinished_attempts():
        return True
    return any(await asyncio.to_thread(lambda: list((project.state / "attempts").glob(CANARIES))))


async def _engine(project: Project) -> Sandbox | None:
    """None where none answers."""
    try:
        return (await engine_of(project.config)).sandbox
    except SandboxError as error:
        log.warning("engine_not_seen", action="reconcile", project=project.name, error=str(error))
        return None


def _said(done: Recovered) -> str:
    """What came of it, for people; empty: nothing was left."""
    counts = {
        "attempts wait for their score": len(done.salvage.waiting),
        "attempts are made anew": len(done.abandoned),
        "boxes and folders removed": len(done.removed),
        "runs commit what was accepted": len(done.resume),
        "runs do not go on, for a person took their edits back": len(done.dropped),
        "things could not be done": len(done.problems),
    }
    return ", ".join(f"{what}: {count}" for what, count in counts.items() if count)
