"""The soak itself: a storm with kills, then one incarnation without, then calm, then the checks.

Everything random is drawn from one seed. Two runs with the same seed do not interleave alike, for the daemon's pace is
the machine's; what must hold at the end does not depend on it.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.soak.acts import Acts, mend
from tests.soak.checks import Tally, attempts, check
from tests.soak.engine import OwnEngine
from tests.soak.house import House, build
from tests.soak.keeper import Gauge, Keeper
from tests.soak.provider import FaultyModel

Say = Callable[[str], None]
_CALM_S = 1.0
_SETTLE_S = 900.0
_GROWTH = 1.10
_DESCRIPTORS = 4
"""More than that many after than before are a leak."""


@dataclass(frozen=True)
class Plan:
    """How much, and how wild."""

    attempts: int = 2000
    calm: int = 1000
    """Of them in the last incarnation, which nobody kills."""
    warm_up: int = 200
    """Of these before memory and descriptors are measured first."""
    minutes: float = 60.0
    """It ends then, come what may: what is missing is a fault."""
    pause_s: tuple[float, float] = (0.3, 1.5)
    """Between two acts."""
    chat: int = 9
    seed: int = 20261130


@dataclass
class Outcome:
    """What came of it."""

    plan: Plan
    tally: Tally = field(default_factory=Tally)
    acts: Counter[str] = field(default_factory=Counter)
    provider: Counter[str] = field(default_factory=Counter)
    starts: int = 0
    kills: int = 0
    calm: int = 0
    """Attempts of the last incarnation."""
    warm: Gauge | None = None
    end: Gauge | None = None
    wall_s: float = 0.0
    left_out: str = ""
    faults: list[str] = field(default_factory=list)


@dataclass
class Soak:
    """One of them, in a folder of its own."""

    plan: Plan
    house: House
    keeper: Keeper
    provider: FaultyModel
    acts: Acts
    say: Say
    began: float = field(default_factory=time.monotonic)

    def run(self) -> Outcome:
        """To the end, with the checks."""
        outcome = Outcome(self.plan)
        self.keeper.start()
        self._storm(self.plan.attempts - self.plan.calm)
        self.acts.ends = False
        self._end_with(self.keeper.term)
        self.keeper.start()
        before = attempts(self.house)
        self._storm(before + min(self.plan.warm_up, self.plan.calm))
        outcome.warm = self._at_rest()
        self._storm(max(self.plan.attempts, before + self.plan.calm))
        self._settle(outcome)
        outcome.end = self._at_rest()
        outcome.calm = attempts(self.house) - before
        self._end_with(self.keeper.term)
        self._judge(outcome)
        return outcome

    def _storm(self, until: int) -> None:
        """Acts, until so many attempts were made."""
        rng, said = self.acts.rng, 0
        while (made := attempts(self.house)) < until and not self._late():
            if made // 100 > said:
                said = made // 100
                self.say(f"{made} attempts, {self.acts.counts.total()} acts, {self.keeper.starts} starts")
            time.sleep(rng.uniform(*self.plan.pause_s))
            self.acts.undo()
            if not self.keeper.alive():
                self.keeper.start()
            self.acts.act()
        self.acts.undo()

    def _late(self) -> bool:
        return time.monotonic() - self.began > 60 * self.plan.minutes

    def _at_rest(self) -> Gauge:
        """The process while it is paused and nothing runs in it: what it needs then is what it keeps."""
        self.acts.undo()
        client = self.keeper.one.client
        client.post("/pause", project="", reason="to be measured")
        self._wait(lambda: not self._busy(), 300)
        time.sleep(_CALM_S)
        looks = []
        for _ in range(5):
            time.sleep(0.2)
            looks.append(self.keeper.gauge())
        client.post("/resume", project="")
        return Gauge(*(min(getattr(look, name) for look in looks) for name in ("rss_mb", "descriptors", "threads")))

    def _busy(self) -> bool:
        status = self.keeper.status()
        return status is None or any(one.progress is not None for one in status.projects)

    def _settle(self, outcome: Outcome) -> None:
        """No faults any more, and people mend what honed asked them to."""
        self.provider.faults = False
        self.acts.undo()
        limit = time.monotonic() + _SETTLE_S
        while time.monotonic() < limit:
            at_rest = self._wait(lambda: self.keeper.open_jobs() == 0, 10)
            if not self._needs_a_person() and at_rest:  # a job may wait for the person: asked in either case
                return
        status = self.keeper.status()
        if status is not None:
            outcome.faults += [f"trouble {one.name} of {one.project}: {one.what}" for one in status.troubles]
            waits = [job for one in status.projects for job in one.queued]
            outcome.faults += [f"job {job.number} of {job.project} waits: {job.reason}" for job in waits]
        outcome.faults.append(f"it did not settle within {_SETTLE_S:g} s")

    def _needs_a_person(self) -> bool:
        """Whoever is asked for help gives it: takes the branch over."""
        status = self.keeper.status()
        if status is None:
            return True
        asked = {one.project for one in status.troubles}
        for one in status.projects:
            if one.name in asked or one.state == "broken":
                file = Path(one.file).parent.name
                mend(next(mine for mine in self.house.projects if mine.name == file))
        return bool(asked)

    def _wait(self, holds: Callable[[], bool], limit_s: float) -> bool:
        limit = time.monotonic() + limit_s
        while not holds():
            if time.monotonic() > limit or not self.keeper.alive():
                return False
            time.sleep(0.2)
        return True

    def _end_with(self, how: Callable[[], None]) -> None:
        if self.keeper.alive():
            how()

    def _judge(self, outcome: Outcome) -> None:
        outcome.tally, found = check(self.house)
        outcome.faults += found
        outcome.faults += self.keeper.bad_exits
        outcome.faults += [f"a process is left: {one}" for one in self.keeper.left()]
        outcome.faults += [f"a temporary file is left: {path.name}" for path in self.keeper.temp.glob("*")]
        if self.acts.engine is not None:
            outcome.faults += [f"a container is left: {name}" for name in self.acts.engine.containers()]
        if outcome.tally.attempts < self.plan.attempts:
            outcome.faults.append(f"only {outcome.tally.attempts} attempts in {self.plan.minutes:g} minutes")
        outcome.faults += _grown(outcome)
        outcome.acts, outcome.provider = self.acts.counts, self.provider.counts
        outcome.starts, outcome.kills = self.keeper.starts, self.keeper.kills
        outcome.wall_s = time.monotonic() - self.began


def _grown(outcome: Outcome) -> list[str]:
    warm, end = outcome.warm, outcome.end
    if warm is None or end is None:
        return ["memory was not measured"]
    faults = []
    if end.rss_mb > warm.rss_mb * _GROWTH:
        faults.append(f"memory grew from {warm.rss_mb:.1f} MB to {end.rss_mb:.1f} MB")
    if end.descriptors > warm.descriptors + _DESCRIPTORS:
        faults.append(f"descriptors grew from {warm.descriptors} to {end.descriptors}")
    if end.threads > warm.threads + _DESCRIPTORS:
        faults.append(f"threads grew from {warm.threads} to {end.threads}")
    return faults


def soak(folder: Path, plan: Plan, say: Say, *, engine: OwnEngine | None = None) -> Outcome:
    """Build everything in an empty folder, and run it; `engine` has been started and has the image."""
    rng = random.Random(plan.seed)
    provider = FaultyModel(rng.randrange(2**32))
    with provider.serving():
        house = build(folder / "house", provider.base_url, chat=plan.chat, codex=engine is not None, rng=rng)
        keeper = Keeper(house.main, folder / "temp", engine.address if engine else "")
        acts = Acts(house, keeper, provider, rng, engine)
        try:
            return Soak(plan, house, keeper, provider, acts, say).run()
        finally:
            if keeper.daemon is not None and keeper.daemon.process.poll() is None:
                keeper.kill()
