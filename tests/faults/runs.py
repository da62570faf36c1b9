"""One whole run of `honed train`'s road, in this process, as often as it takes to come to its end.

A run that a failure stops is begun again, as a person or the daemon would: it goes on where it was. An attempt that
stays invalid after all its tries is left out of the decision that asked for it. Which ones, and in which order they
were asked, is remembered: a fault-free run that has to do without the same ones has to decide the same.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from daemon.config import load_config
from daemon.journal.records import AttemptKey, AttemptRecord, Decision
from daemon.journal.sqlite import SqliteJournal
from daemon.rollouts.attempt import Attempts, AttemptSettings
from daemon.rollouts.progress import Silent
from daemon.rollouts.stop import RunStopped
from daemon.tasks.task import Task
from daemon.training.train import train_with
from daemon.wiring import open_parts
from harnesses.clis import CliBinary
from sandboxes.choose import Choice, choose_engine
from sandboxes.fake import FakeSandbox
from sandboxes.gateway.heard import Answered
from sandboxes.gateway.policy import ProviderError
from skills_repo.skill import Skill
from tests.faults.dice import Dice
from tests.faults.engine import FaultySandbox
from tests.faults.project import KEY
from tests.faults.small_cli import play

MOST_PASSES = 60
"""More are no bad luck: something fails for ever."""
Measure = Any


@dataclass
class Withheld:
    """The results of attempts without a score that decisions were made of, by an attempt's content, in order."""

    settled: dict[str, deque[AttemptRecord | None]] = field(default_factory=lambda: defaultdict(deque))
    _open: list[tuple[str, AttemptRecord | None]] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many."""
        return sum(one is not None for row in self.settled.values() for one in row)

    def note(self, key: str, record: AttemptRecord) -> None:
        """A result; it counts once a decision is made of it."""
        self._open.append((key, record if record.score is None else None))

    def decided(self) -> None:
        """A decision was journaled."""
        for key, record in self._open:
            self.settled[key].append(record)
        self._open.clear()

    def stopped(self) -> None:
        """The run was stopped before another decision: what is asked again decides."""
        self._open.clear()

    def next(self, key: str) -> AttemptRecord | None:
        """What the faulty run had in this place, if it had no score; else none."""
        row = self.settled.get(key)
        return row.popleft() if row else None


@dataclass
class Told:
    """What was seen of a run beside its record."""

    passes: int = 0
    stops: Counter[str] = field(default_factory=Counter)
    retries: int = 0
    """Of requests, by the gateway and by the model clients."""
    withheld: Withheld = field(default_factory=Withheld)
    broken: dict[str, str] = field(default_factory=dict)
    """Attempts whose box failed, and how."""


async def run(folder: Path, dice: Dice, *, given: Withheld | None = None) -> Told:
    """Train the project to its end; `given` are attempts that are to have no score."""
    told = Told()
    with _small_world(folder, dice, told), _noting(told.withheld, given):
        while not await _pass(folder, told):
            if told.passes >= MOST_PASSES:
                raise RuntimeError(f"{folder}: still not at its end after {told.passes} passes: {told.stops}")
    return told


async def _pass(folder: Path, told: Told) -> bool:
    """Once; false if a failure stopped it."""

    def heard(one: Answered) -> None:
        told.retries += one.retries

    told.passes += 1
    try:
        async with open_parts(load_config(folder / "honed.toml"), Silent(), heard=heard) as parts:
            await train_with(parts, _Silent())
    except (RunStopped, ProviderError) as error:
        told.withheld.stopped()
        told.stops[_kind(error)] += 1
        return False
    return True


def _kind(error: RunStopped | ProviderError) -> str:
    if isinstance(error, RunStopped):
        return error.outcome.value if error.outcome else "optimizer failed" if "optimizer" in str(error) else str(error)
    return error.kind.value


class _Silent:
    """A `Teller` to nobody."""

    def say(self, line: str) -> None:
        """Nothing."""

    def warn(self, line: str) -> None:
        """Nothing."""


@contextmanager
def _small_world(folder: Path, dice: Dice, told: Told) -> Iterator[None]:
    """The engine with its faults, a CLI in a few lines unless the project runs in Docker, and waits of no length."""
    real = '"codex"' in (folder / "honed.toml").read_text() and not (folder / "tasks" / "checks").exists()

    async def choose(*arguments: Any, **options: Any) -> Choice:
        if real:
            choice = await choose_engine(*arguments, **options)
            sandbox = FaultySandbox(choice.sandbox, dice)
        else:
            choice = Choice(FakeSandbox(play), ())
            sandbox = FaultySandbox(choice.sandbox, dice, image_digest="sha256:small")
        sandbox.broken = told.broken
        return Choice(sandbox, choice.reasons)

    async def version(cli: CliBinary) -> str:
        return "0.0.1"

    program = folder.parent / "small-cli" / "codex"
    program.parent.mkdir(exist_ok=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    with ExitStack() as stack:
        stack.enter_context(patch.dict(os.environ, {KEY: "a-key-that-opens-nothing"}))
        for where, what in {
            "daemon.wiring.choose_engine": choose,
            "daemon.wiring.AttemptSettings": partial(AttemptSettings, backoff_s=0.0),
            "sandboxes.gateway.backoff.BASE_S": 0.002,
            **({} if real else {"daemon.wiring.find_cli": lambda *_: CliBinary("codex", program.parent, "codex")}),
            **({} if real else {"daemon.wiring.ask_version": version}),
        }.items():
            stack.enter_context(patch(where, what))
        yield


@contextmanager
def _noting(withheld: Withheld, given: Withheld | None) -> Iterator[None]:
    """Note every result, and when decisions are made; withhold what is given."""
    measure, save = Attempts.measure, SqliteJournal.save_decision

    async def noted(self: Attempts, skill: Skill | None, task: Task, key: AttemptKey, run_id: str) -> AttemptRecord:
        kept = given.next(key.digest) if given is not None else None
        record = kept or await measure(self, skill, task, key, run_id)
        withheld.note(key.digest, record)
        return record

    async def saved(self: SqliteJournal, decision: Decision) -> None:
        await save(self, decision)
        withheld.decided()

    with patch.object(Attempts, "measure", noted), patch.object(SqliteJournal, "save_decision", saved):
        yield
