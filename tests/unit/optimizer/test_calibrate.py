"""A/A: the same skill against itself."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from daemon.cli.calibrate import _render, calibration_data
from daemon.config_train import TrainSection
from daemon.journal.memory import MemoryJournal
from daemon.optimizer.calibrate import CalibrationReport, calibrate
from daemon.rollouts.rollouts import Rollouts
from daemon.rollouts.stop import RunStopped
from harnesses.harness import Assignment, Attempt
from harnesses.outcome import Outcome
from tests.support.gates import GateWorld, RateHarness, verify_rate
from tests.support.optimizer import no_wait

TRAIN = TrainSection(gate="paired")
RATES = [1.0] * 4 + [0.0] * 3 + [0.5] * 5


async def run(folder: Path, *, invalid: float = 0.0, trials: int = 6) -> tuple[CalibrationReport, GateWorld]:
    world = GateWorld(folder, RATES, seed=3, invalid=invalid)
    journal = MemoryJournal()
    rollouts = Rollouts(world.harness, verify_rate, journal, attempts_folder=folder, sleep=no_wait)
    return await calibrate(rollouts, journal, world.skill, world.tasks, train=TRAIN, trials=trials), world


async def test_it_tells_noise_task_by_task(tmp_path: Path) -> None:
    report, world = await run(tmp_path)
    assert len(world.harness.runs) == report.attempts == 12 * 6
    assert {trial for _, _, trial in world.harness.runs} == set(range(6))
    rows = {row.id: row for row in report.rows}
    assert [rows[f"t{i:03}"].flip_rate for i in range(7)] == [0.0] * 7
    flips = [rows[f"t{i:03}"].flip_rate or 0.0 for i in range(7, 12)]
    assert max(flips) > 0.3
    assert report.flip_rate == pytest.approx(sum(flips) / 12)
    assert report.noise is not None
    assert 0 < report.noise < 0.15


async def test_it_says_what_the_gates_would_make_of_it(tmp_path: Path) -> None:
    report, _ = await run(tmp_path)
    assert report.strict_accepts is not None
    assert report.paired_accepts is not None
    assert report.strict_accepts > 0.2
    assert report.paired_accepts <= 0.05
    assert report.smallest_effect is not None
    assert 0.08 < report.smallest_effect < 0.4


async def test_a_skill_that_never_wavers_has_no_noise(tmp_path: Path) -> None:
    world = GateWorld(tmp_path, [1.0, 0.0] * 5)
    journal = MemoryJournal()
    rollouts = Rollouts(world.harness, verify_rate, journal, attempts_folder=tmp_path, sleep=no_wait)
    report = await calibrate(rollouts, journal, world.skill, world.tasks, train=TRAIN, trials=2)
    assert (report.flip_rate, report.noise, report.strict_accepts, report.paired_accepts) == (0, 0, 0, 0)
    assert report.smallest_effect == pytest.approx(0.1)


async def test_nothing_valid_is_said_and_no_number(tmp_path: Path) -> None:
    report, _ = await run(tmp_path, invalid=1.0)
    assert (report.flip_rate, report.noise, report.strict_accepts, report.smallest_effect) == (None, None, None, None)
    assert (report.measured.score, report.measured.n) == (None, 0)
    out = io.StringIO()
    _render(Console(file=out, width=150), report)
    assert "too few valid trials to tell" in out.getvalue()


async def test_its_run_is_closed_in_the_journal_whatever_happens(tmp_path: Path) -> None:
    class Dead(RateHarness):
        async def run(self, assignment: Assignment) -> Attempt:
            return Attempt(**{**vars(await super().run(assignment)), "outcome": Outcome.AUTH})

    world = GateWorld(tmp_path, [1.0] * 4)
    dead = Dead(0, world.harness.rates)
    journal = MemoryJournal()
    rollouts = Rollouts(dead, verify_rate, journal, attempts_folder=tmp_path, sleep=no_wait)
    with pytest.raises(RunStopped):
        await calibrate(rollouts, journal, world.skill, world.tasks, train=TRAIN)
    assert [(record.state, record.fingerprint) for record in await journal.find_runs()] == [("failed", "calibrate")]


async def test_the_data_is_json_and_the_table_has_every_task(tmp_path: Path) -> None:
    report, world = await run(tmp_path, trials=3)
    data = json.loads(json.dumps(calibration_data(report)))
    assert data["trials"] == 3
    assert data["no_op_accepted"] == {"strict": report.strict_accepts, "paired": report.paired_accepts}
    assert [row["id"] for row in data["results"]] == [task.id for task in world.tasks]
    out = io.StringIO()
    _render(Console(file=out, width=150), report)
    for text in ("t000", "two trials of the same skill differ on", "by paired", "the smallest gain"):
        assert text in out.getvalue()
