"""A report out of the journal is the one that the run itself gave."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from daemon.journal.journal import JournalError
from daemon.optimizer.decision import ReportDecision
from daemon.optimizer.report import RunReport
from daemon.optimizer.reporting import REPORT
from daemon.readback.report import report_of
from tests.support.optimizer import ScriptedOptimizer
from tests.support.readback import KNOBS, viewed, world


def plainly(report: RunReport) -> RunReport:
    """Without what is each process's own: how long it took, and whether it went on."""
    return replace(report, wall_s=0.0, resumed=False)


@pytest.mark.parametrize(
    "knobs",
    [
        {},
        {"epochs": 2, "slow_update": "gated", "meta_skill": True},
        {"epochs": 2, "slow_update": "forced"},
        {"gate": "paired"},
        {"gate": "off"},
    ],
    ids=["plain", "slow update", "forced", "paired", "ungated"],
)
async def test_it_is_the_run_s_own(tmp_path: Path, knobs: dict[str, Any]) -> None:
    made = world(tmp_path, train=KNOBS.model_copy(update=knobs))
    report = await made.training().run()
    assert report.steps
    assert plainly(report_of(await viewed(made))) == plainly(report)


async def test_so_it_is_of_a_run_whose_optimizer_gave_nothing(tmp_path: Path) -> None:
    made = world(tmp_path, client=ScriptedOptimizer(lambda *_: "nonsense"))
    report = await made.training().run()
    assert report.failed
    assert plainly(report_of(await viewed(made))) == plainly(report)


async def test_a_run_that_has_not_come_to_its_report_says_so(tmp_path: Path) -> None:
    made = world(tmp_path)
    await made.training().run()
    view = await viewed(made)
    unfinished = replace(view, decisions=tuple(d for d in view.decisions if d.kind != REPORT))
    with pytest.raises(JournalError, match=r"has not come to its report \(`honed show "):
        report_of(unfinished)


async def test_a_later_run_leaves_it_as_it_was(tmp_path: Path) -> None:
    made = world(tmp_path)
    await made.training().run()
    view = await viewed(made)
    [noted] = [d for d in view.decisions if d.kind == REPORT]
    await made.training().run()
    assert [d for d in (await viewed(made, view.run.run_id)).decisions if d.kind == REPORT] == [noted]
    assert ReportDecision.model_validate(noted.payload).ended == report_of(view).ended
