"""Killed, stopped or out of budget anywhere in a run with all of the method in it, it comes to the same end."""

from __future__ import annotations

import asyncio
import copy
import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from daemon.budget.capped import CappedPurse
from daemon.budget.reached import BudgetReached
from daemon.budget.totals import PricedModel
from daemon.config_train import BudgetSection, CapSection, TrainSection
from daemon.journal.memory import MemoryJournal
from daemon.optimizer.report import RunReport
from daemon.rollouts.stop import RunStopped
from harnesses.harness import Assignment, Attempt
from harnesses.models.client import ModelRequest
from harnesses.outcome import Outcome
from sandboxes.gateway.policy import Price, ProviderError, ProviderFailure
from skills_repo import guarded
from skills_repo.skill import Skill
from tests.support.optimizer import (
    Killed,
    MortalJournal,
    ScriptedOptimizer,
    World,
    WorldHarness,
    edit,
    make_skill,
    reflection,
    section,
    sensible,
    task_set,
)

HELPFUL, HARMFUL = "Remember rule-g in every step.", "Forget rule-h."


def looking_back(request: ModelRequest) -> Any:
    """Steps name missing rules; the first slow update helps, the next one harms; notes say which one it was."""
    if request.schema_name == "slow_update":
        guidance = HARMFUL if "rule-g" in section(request, "present_guidance") else HELPFUL
        return {"reasoning": "r", "guidance": guidance}
    if request.schema_name == "rewrite":
        body = section(request, "current_skill").split("---")[-1].split("<!--")[0]
        rules = [row for row in ("- rule-a", "- rule-b") if row[2:] in section(request, "chosen_suggestions")]
        return {"reasoning": "r", "summary": "s", "body": "\n".join((body.strip(), *rules)) + "\n"}
    if request.schema_name in ("suggest_failures", "suggest_successes"):
        rows = [] if request.schema_name == "suggest_successes" else _suggested(request)
        return {"reasoning": "r", "patterns": [], "suggestions": rows}
    if request.schema_name == "merge_suggestions":
        return {"reasoning": "r", "suggestions": [{**row, "support": 1} for row in _suggested(request)]}
    if request.schema_name == "reflect_failures":
        reply = sensible(request)
        return reflection(*reply["edits"], edit("- rule-idle"), patterns=reply["patterns"])
    return sensible(request)


def _suggested(request: ModelRequest) -> list[dict[str, Any]]:
    rows = [rule for rule in ("rule-a", "rule-b") if rule in request.messages[0].content]
    empty = {"motivation": "", "evidence": []}
    return [{"type": "add_rule", "title": rule, "instruction": f"Add {rule}.", **empty} for rule in rows]


KILLS = 4
"""Tried of each case, at writes of its own; `test_resume.py` tries all of a small one, `make test-long` more."""


@dataclass(frozen=True)
class Case:
    """One configuration."""

    train: dict[str, Any] = field(default_factory=dict)
    given: Skill | None = None
    phases: frozenset[str] = frozenset({"step", "slow_update"})
    """Those with commits."""


CASES = {
    "strict": Case({"gate": "strict"}),
    "paired": Case({"gate": "paired", "gate_trials": 2, "gate_pool": 3}),
    "forced": Case({"gate": "strict", "slow_update": "forced"}),
    "given": Case({"gate": "strict"}, make_skill("- a given rule"), frozenset({"step", "slow_update", "initial"})),
    "ungated": Case({"gate": "off", "epochs": 2}),
    "attribution": Case({"gate": "strict", "attribution": True, "edit_budget": 3}),
    "suggestions": Case({"gate": "strict", "update_mode": "suggestions"}),
    "autonomous": Case({"gate": "strict", "schedule": "autonomous", "edit_budget": 3}),
}


def world(folder: Path, case: Case, seed: int | None = None, workers: int = 2) -> World:
    """Some tasks need rules that a step finds, some one that only the guidance has, some one that nobody finds."""
    tasks = task_set(4, 4, 1)
    needs = {"train-00": ["rule-a"], "train-01": ["rule-b"], "train-02": ["rule-h"], "train-03": ["never"]}
    needs |= {"selection-00": ["rule-a"], "selection-01": ["rule-g"], "selection-02": ["never"]}
    breaks = {f"selection-0{i}": ["rule-b", "Forget"] for i in (0, 3)}
    train = {"epochs": 3, "batch": 2, "minibatch": 1, "edit_budget": 1, "min_edit_budget": 1, "seed": 3, **case.train}
    made = World(folder, WorldHarness(needs, breaks), tasks, workers=workers)
    made.client = ScriptedOptimizer(looking_back)
    made.train = TrainSection(**train)
    if seed is not None:
        made.harness.chaos, made.client.chaos = random.Random(seed), random.Random(seed + 1)
    return made


async def story(made: World, report: RunReport) -> dict[str, Any]:
    """Everything that must be the same: decisions, commits, figures."""
    journal = made.journal.inner if isinstance(made.journal, MortalJournal) else made.journal
    return {
        "decisions": await journal.decisions(report.run_id),
        "commits": report.commits,
        "log": await made.history.log(),
        "text": (await made.history.read(await made.history.base())).text,
        "selection": report.selection,
        "test": report.test,
        "edits": report.edits,
        "optimizer": report.optimizer_usage,
        "attempts": report.attempts,
    }


_undisturbed: dict[str, tuple[dict[str, Any], int]] = {}


async def undisturbed(folder: Path, name: str) -> tuple[dict[str, Any], int]:
    """The story, and how many writes it takes; worked out once a case."""
    if name not in _undisturbed:
        plain = world(folder / "plain", CASES[name])
        plain.journal = MortalJournal(MemoryJournal())
        told = await story(plain, await plain.training(initial=CASES[name].given).run())
        _undisturbed[name] = told, plain.journal.writes
    return copy.deepcopy(_undisturbed[name])


@pytest.mark.parametrize("name", CASES)
async def test_the_case_has_in_it_what_it_is_for(tmp_path: Path, name: str) -> None:
    made = world(tmp_path, CASES[name])
    report = await made.training(initial=CASES[name].given).run()
    log = [row.trailers for row in await made.history.log() if "Honed-Run" in row.trailers]
    assert {row.get("Honed-Phase", "step") for row in log} == CASES[name].phases
    decided = await made.journal.decisions(report.run_id)
    assert {"step", "slow_update", "meta_skill"} - {one.kind for one in decided} <= (
        {"meta_skill"} if name == "ungated" else set()
    )
    text = guarded.read((await made.history.read(made.history.branch)).text)
    assert text == (HARMFUL if name == "forced" else HELPFUL)


@pytest.mark.parametrize("kills", [KILLS, pytest.param(8 * KILLS, marks=pytest.mark.long)])
@pytest.mark.parametrize("before", [True, False], ids=["lost", "written"])
@pytest.mark.parametrize("name", CASES)
async def test_killed_at_any_write_it_comes_to_the_same_end(
    tmp_path: Path, name: str, kills: int, *, before: bool
) -> None:
    case = CASES[name]
    expected, writes = await undisturbed(tmp_path, name)
    for at in sorted(random.Random(f"{name}/{before}").sample(range(2, writes), kills)):
        made = world(tmp_path / str(at), case)
        memory = MemoryJournal()
        made.journal = MortalJournal(memory, at, before=before)
        with pytest.raises(Killed):
            await made.training(initial=case.given).run()
        made.journal = MortalJournal(memory)
        report = await made.training(initial=case.given).run()
        found = await story(made, report)
        # What an attempt in flight had cost is known to nobody; all that was finished is counted once.
        assert found | {"attempts": 0} == expected | {"attempts": 0}, f"killed at write {at}"


@pytest.mark.parametrize("workers", [1, 4, 24])
@pytest.mark.parametrize("name", CASES)
async def test_neither_workers_nor_order_of_completion_change_anything(tmp_path: Path, name: str, workers: int) -> None:
    case = CASES[name]
    expected, _ = await undisturbed(tmp_path, name)
    made = world(tmp_path / "chaos", case, workers, workers)
    found = await story(made, await made.training(initial=case.given).run())
    # How many attempts run on when a pass is settled depends on how many ran at once.
    assert found | {"attempts": 0} == expected | {"attempts": 0}


FREE = PricedModel("any", Price(0.0, 0.0, 0.0))


@pytest.mark.parametrize("cap", [{"attempts": 5}, {"tokens": 200}], ids=["attempts", "tokens"])
@pytest.mark.parametrize("name", CASES)
async def test_stopped_by_its_budget_again_and_again_it_comes_to_the_same_end(
    tmp_path: Path, name: str, cap: dict[str, int]
) -> None:
    """A cap is met wherever one can be: in overlapping reflection, a gate, a slow update, attribution, the report."""
    case, [(kind, more)] = CASES[name], cap.items()
    expected, _ = await undisturbed(tmp_path, name)
    made = world(tmp_path / "capped", case, seed=5, workers=4)
    made.journal, most, report = MortalJournal(made.journal), more, None
    while report is None:
        caps = BudgetSection(run=CapSection.model_validate({kind: most}))
        made.purse = CappedPurse(caps, made.journal, {"target": FREE, "optimizer": FREE}, clock=lambda: made.now)
        try:
            report = await made.training(initial=case.given).run()
        except BudgetReached:
            most += more
        assert len(asyncio.all_tasks()) == 1
    assert most > 2 * more
    found = await story(made, report)
    assert found | {"attempts": 0} == expected | {"attempts": 0}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", CASES)
async def test_stopped_by_dead_providers_and_signals_it_comes_to_the_same_end(
    tmp_path: Path, name: str, seed: int
) -> None:
    """Whatever else was under way then is ended, and what had come of it is read back."""
    case, dice = CASES[name], random.Random(seed)
    expected, _ = await undisturbed(tmp_path, name)
    made = world(tmp_path / "stopped", case, seed, workers=dice.choice([1, 3, 8]))
    made.journal = MortalJournal(memory := MemoryJournal())
    ends = Counter[str]()
    for _ in range(99):
        dying = Dying(made, dice.choice(["optimizer", "target", "signal"]), dice.randint(2, 9))
        try:
            report = await dying.run(case)
            break
        except (RunStopped, asyncio.CancelledError):
            ends[dying.what] += 1
        assert len(asyncio.all_tasks()) == 1
        await memory.abandon_attempts(await memory.unfinished_attempts())
    assert sum(ends.values()) > 1
    found = await story(made, report)
    # What was in flight when a signal came was paid for, and nobody knows what it cost.
    unknown = {"attempts": 0, "optimizer": None}
    assert found | unknown == expected | unknown


@dataclass
class Dying:
    """One process, in which something ends after a while."""

    made: World
    what: str
    after: int

    async def run(self, case: Case) -> RunReport:
        """Train until then."""
        reply, agent = self.made.client.reply, self.made.harness.run
        self.made.client.reply = lambda request: self._dead("optimizer") or reply(request)

        async def run(assignment: Assignment) -> Attempt:
            if self._dead("target"):
                self.made.harness.failures[assignment.task_id] = [Outcome.AUTH]
            return await agent(assignment)

        self.made.harness.run = run  # type: ignore[method-assign]
        job = asyncio.ensure_future(self.made.training(initial=case.given).run())
        try:
            for _ in range(self.after * 40 if self.what == "signal" else 0):
                await asyncio.sleep(0)
            if self.what == "signal":
                job.cancel()
            return await job
        finally:
            self.made.client.reply, self.made.harness.run = reply, agent  # type: ignore[method-assign]
            self.made.harness.failures = {}

    def _dead(self, who: str) -> Exception | None:
        self.after -= who == self.what
        return ProviderError(ProviderFailure.AUTH, "401") if who == self.what and self.after < 0 else None
