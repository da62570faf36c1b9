"""What models and tasks wrote is printed as text: it can neither colour a table nor break it."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from daemon.cli.progress import ProgressLines
from daemon.cli.train_report import Setting, edits_table, render_report
from daemon.config_train import TrainSection
from daemon.optimizer.decision import RolloutSummary, StepDecision
from daemon.optimizer.gates.power import smallest_effect
from daemon.optimizer.report import BeforeAfter, EditFate, RunReport
from daemon.rollouts.progress import Event, RunEnded, RunStarted, SlowUpdateDecided, StepDecided
from daemon.tasks.published import PUBLISHED
from sandboxes.gateway.policy import Usage
from skills_repo.edits import Edit, Op


@dataclass(frozen=True)
class _Report:
    edits: tuple[EditFate, ...]


def test_markup_in_an_edit_is_text() -> None:
    edit = Edit(Op.APPEND, content="- Close [/b] and [red]list[/red] rows[0:3].")
    report = _Report((EditFate(1, edit, "accepted", "because [/i]"),))
    out = io.StringIO()
    Console(file=out, width=200).print(edits_table(report))  # type: ignore[arg-type]
    assert "append: - Close [/b] and [red]list[/red] rows[0:3]." in out.getvalue()
    assert "because [/i]" in out.getvalue()


def a_report(**fields: Any) -> RunReport:
    nothing = BeforeAfter(None, None)
    empty: dict[str, Any] = dict.fromkeys(("steps", "edits", "commits"), ())
    empty |= {"run_id": "r1", "skill": "skills/demo", "resumed": False, "ended": "3 of 3 steps made"}
    empty |= {"failed": False, "metric": "hard", "selection": nothing, "test": nothing, "base_commit": "c" * 40}
    empty |= {"best_digest": f"sha256:{'ab' * 32}", "current_is_best": True, "target_usage": Usage()}
    empty |= {"optimizer_usage": Usage(), "attempts": 4, "invalid": 0, "wall_s": 1.0}
    return RunReport(**empty | fields)


def a_step(step: int, outcome: Any) -> StepDecision:
    made: dict[str, Any] = {
        "epoch": 1,
        "when": 0.0,
        "reason": "",
        "batches": (),
        "rollout": RolloutSummary(),
        "budget": 1,
    }
    return StepDecision(step=step, outcome=outcome, base_digest="", **made)


def rendered(report: RunReport, selection: int = 30, **train: Any) -> str:
    tasks: Any = SimpleNamespace(sizes=lambda: {"selection": selection}, split_digest=PUBLISHED["OfficeQA"])
    setting = Setting("chat", "none", "", tasks, "refs/heads/honed/demo", Path("/r"), TrainSection(**train))
    out = io.StringIO()
    render_report(Console(file=out, width=200), report, setting)
    return out.getvalue()


def test_a_report_names_its_split_and_whose_it_is() -> None:
    assert f"\nsplit {PUBLISHED['OfficeQA']}, the published one of OfficeQA\n" in rendered(a_report())


@pytest.mark.parametrize(
    ("outcomes", "words"),
    [
        (["nothing_to_learn"], "1 step (1 with nothing to learn)"),
        (["budget", "budget", "rejected"], "3 steps (2 ended by their own budget, 1 rejected)"),
        (
            ["optimizer_error", "no_edits"],
            "2 steps (1 without a proposed edit, 1 without a usable reply of the optimizer)",
        ),
        ([], "no step was made"),
    ],
)
def test_a_run_without_a_commit_says_how_its_steps_ended(outcomes: list[str], words: str) -> None:
    """That the optimizer proposed nothing was said of every run without edits, whoever was at fault."""
    steps = tuple(a_step(number, outcome) for number, outcome in enumerate(outcomes, start=1))
    assert f"{words}: nothing was committed to honed/demo" in rendered(a_report(steps=steps))


def test_where_all_was_rejected_it_is_said_how_small_a_gain_could_be_seen() -> None:
    words = "your selection split sees gains of about"
    rejected = a_report(steps=(a_step(1, "rejected"), a_step(2, "no_edits")))
    assert f"{words} {100 * smallest_effect(12, TrainSection()):.0f} points: `honed calibrate`" in rendered(
        rejected, 12
    )
    assert words not in rendered(rejected, gate="strict")
    assert words not in rendered(a_report(steps=(a_step(1, "no_edits"),)))
    assert words not in rendered(a_report(steps=(a_step(1, "rejected"),), commits=("a" * 40,)))


def told(*events: Event) -> str:
    out = io.StringIO()
    lines = ProgressLines(SimpleNamespace(progress=Console(file=out, width=200)))  # type: ignore[arg-type]
    for event in events:
        lines.notify(event)
    return out.getvalue()


def test_a_run_that_the_budget_stopped_says_how_far_it_came_and_leaves_the_reason_to_the_verb() -> None:
    begun = RunStarted("r1", "skills/demo", resumed=True, steps=9, train=9, selection=9, test=9)
    steps = [
        StepDecided(n, 9, word, "", 0.5, 0.5, 1, n == 1) for n, word in enumerate(("accepted", "rejected"), start=1)
    ]
    said = told(begun, *steps, RunEnded("r1", "stopped", "[budget.run] attempts = 9 is used up"))
    assert "run r1 stopped: 2 of 9 steps done, 1 accepted: see `honed show latest`" in said
    assert "used up" not in said
    assert "run r1 failed: no key" in told(begun, RunEnded("r1", "failed", "no key"))


def test_a_forced_slow_update_is_not_passed_off_as_the_best_skill() -> None:
    said = rendered(a_report(commits=("a" * 40,), current_is_best=False))
    assert "the newest commit of honed/demo is not the best skill" in said
    assert "digest abababababab" in said
    assert "not the best" not in rendered(a_report(commits=("a" * 40,)))


def test_what_became_of_a_slow_update_is_told_while_it_happens() -> None:
    out = io.StringIO()
    output = SimpleNamespace(progress=Console(file=out, width=200))
    ProgressLines(output).notify(SlowUpdateDecided(4, 2, "rejected", "a tie is not better", 0.5, 0.5, False))  # type: ignore[arg-type]
    assert "slow update of epoch 2 rejected 0.500 -> 0.500: a tie is not better" in out.getvalue()
