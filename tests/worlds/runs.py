"""Run a world through the real `Training`, in memory and fast, and say what is true of the skill it ships."""

from __future__ import annotations

import asyncio
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from daemon.config_train import TrainSection
from daemon.journal.journal import Journal
from daemon.journal.memory import MemoryJournal
from daemon.optimizer.loop import Training
from daemon.optimizer.report import RunReport
from daemon.optimizer.settings import Knobs
from daemon.rollouts.attempt import AttemptSettings
from daemon.rollouts.progress import Observer, Silent
from daemon.rollouts.rollouts import Rollouts
from skills_repo.fake import FakeSkillRepository
from skills_repo.history import Author, SkillHistory
from skills_repo.skill import Skill
from tests.worlds.agent import WorldAgent, verify
from tests.worlds.optimizer import SimulatedOptimizer
from tests.worlds.world import World

SKILL = Skill("demo", {"SKILL.md": b"---\nname: demo\ndescription: How to work here.\n---\n\n# demo\n"})
TRAIN = {"epochs": 4, "batch": 6, "minibatch": 3}
"""The worlds' own sizes: 24 steps over 36 train tasks; everything else is the default."""

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Where attempts' folders are made: thousands of them, on a disk, would be most of a run's time."""


async def no_wait(seconds: float) -> None:
    """A clock that does not tick."""


@dataclass
class Bench:
    """One world under one configuration: what outlives a process is here."""

    world: World
    folder: Path
    train: TrainSection
    agent: WorldAgent = field(init=False)
    client: SimulatedOptimizer = field(init=False)
    journal: Journal = field(default_factory=MemoryJournal)
    history: SkillHistory = field(
        default_factory=lambda: FakeSkillRepository(SKILL, author=Author("honed", "honed@localhost"))
    )
    workers: int = 4
    observer: Observer = field(default_factory=Silent)
    knobs: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.agent = WorldAgent(self.world)
        self.client = SimulatedOptimizer(self.world.lore, self.world.seed)

    def training(self) -> Training:
        """A new process over the same journal and history."""
        rollouts = Rollouts(
            self.agent,
            verify,
            self.journal,
            attempts_folder=self.folder,
            workers=self.workers,
            settings=AttemptSettings(tries=self.train.attempt_tries),
            observer=self.observer,
            sleep=no_wait,
        )
        return Training(
            rollouts=rollouts,
            client=self.client,
            journal=self.journal,
            history=self.history,
            tasks=self.world.tasks(),
            skill="skills/demo",
            knobs=Knobs(self.train, **self.knobs),
            observer=self.observer,
            clock=lambda: 1_700_000_000.0,
        )


@dataclass(frozen=True)
class Outcome:
    """A finished run and the truth about it."""

    report: RunReport
    skill: Skill
    """The one it ships."""
    true_before: float
    """Expected score of the initial skill on the sealed test split."""
    true_after: float
    """Of the shipped skill."""
    true_selection: float
    """Of the shipped skill on the selection split."""

    @property
    def sealed(self) -> float:
        """What the sealed test measured of the shipped skill."""
        after = self.report.test.after
        assert after is not None
        assert after.score is not None
        return after.score


async def run(bench: Bench) -> Outcome:
    """Train to the end."""
    report = await bench.training().run()
    skill = await shipped(bench, report)
    world = bench.world
    return Outcome(
        report,
        skill,
        world.true_score(SKILL, "test"),
        world.true_score(skill, "test"),
        world.true_score(skill, "selection"),
    )


async def shipped(bench: Bench, report: RunReport) -> Skill:
    """The best skill, out of the history."""
    for commit in (report.base_commit, *report.commits):
        skill = await bench.history.read(commit)
        if skill.digest == report.best_digest:
            return skill
    msg = f"no commit of run {report.run_id} holds its best skill"
    raise AssertionError(msg)


class Inline(ThreadPoolExecutor):
    """An executor without threads: a hop costs more than making a folder does, and runs have thousands."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Do it now."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:
            future.set_exception(error)
        return future


def run_world(world: World, **train: Any) -> Outcome:
    """A whole run with these `[train]` keys over `TRAIN`."""

    async def main(folder: Path) -> Outcome:
        asyncio.get_running_loop().set_default_executor(Inline(1))
        return await run(Bench(world, folder, TrainSection.model_validate({**TRAIN, **train})))

    with tempfile.TemporaryDirectory(prefix="honed-world-", dir=MEMORY) as folder:
        return asyncio.run(main(Path(folder)))
