"""What `honed train` says of a finished run, whoever ran it: this process, or a daemon."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from rich.table import Table
from rich.text import Text

from daemon.optimizer.gates.power import smallest_effect
from daemon.plain import plain
from daemon.tasks.published import split_told

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from daemon.config_train import TrainSection
    from daemon.optimizer.report import BeforeAfter, RunReport
    from daemon.tasks.task import TaskSet
    from daemon.wiring import Parts


@dataclass(frozen=True)
class Setting:
    """Where a run took place."""

    harness: str
    sandbox: str
    """The engine; `none` where nothing needed one."""
    image: str
    tasks: TaskSet
    branch: str
    repository: Path
    train: TrainSection

    @classmethod
    def of(cls, parts: Parts) -> Self:
        """The setting of a run of this process."""
        return cls(
            harness=parts.harness.name,
            sandbox=parts.engine.engine if parts.engine else "none",
            image=parts.engine.image_digest if parts.engine else "",
            tasks=parts.tasks,
            branch=parts.history.branch,
            repository=parts.config.skill.repository,
            train=parts.config.train,
        )


def report_data(report: RunReport, setting: Setting) -> dict[str, Any]:
    """The machine-readable result of a run."""
    return {
        "run": report.run_id,
        "skill": report.skill,
        "resumed": report.resumed,
        "ended": report.ended,
        "failed": report.failed,
        "sandbox": setting.sandbox,
        "image": setting.image,
        "harnesses": [setting.harness],
        "tasks_digest": setting.tasks.digest,
        "split_digest": setting.tasks.split_digest,
        "attempts": report.attempts,
        "invalid": report.invalid,
        "score": {"metric": report.metric, **scores_data(report)},
        "edits": {"proposed": report.proposed, "accepted": report.accepted, "rejected": report.rejected},
        "commits": list(report.commits),
        "best_is_newest": report.current_is_best,
        "branch": setting.branch,
        "repository": str(setting.repository.resolve()),
        "usage": {"target": _usage(report.target_usage), "optimizer": _usage(report.optimizer_usage)},
        "wall_s": round(report.wall_s, 2),
    }


def scores_data(report: RunReport) -> dict[str, Any]:
    """Before and after, by split."""
    return {name: _pair(pair) for name, pair in (("selection", report.selection), ("test", report.test))}


def _pair(pair: BeforeAfter) -> dict[str, float | None]:
    return {
        "before": None if pair.before is None else pair.before.score,
        "after": None if pair.after is None else pair.after.score,
    }


def _usage(usage: Any) -> dict[str, Any]:
    return {"requests": usage.requests, "tokens": usage.tokens, "usd": usage.usd}


def render_report(console: Console, report: RunReport, setting: Setting) -> None:
    """The result for people: edits and why, scores, commits, cost."""
    console.print()
    console.print(Text.assemble((plain(report.skill), "bold"), f": {plain(report.ended)}"))
    if report.edits:
        console.print(edits_table(report))
    scores = scores_table(report, setting.harness)
    if scores.row_count:
        console.print(scores)
    branch = setting.branch.removeprefix("refs/heads/")
    if report.commits:
        noun = "commit" if len(report.commits) == 1 else "commits"
        console.print(
            f"{len(report.commits)} {noun} on {branch}: see `honed log`, review with `git diff HEAD {branch}`"
        )
    else:
        console.print(f"{_steps_in_words(report)}: nothing was committed to {branch}")
        if sight := _sight(report, setting):
            console.print(sight)
    if not report.current_is_best:
        console.print(
            f"the newest commit of {branch} is not the best skill, for a slow update was forced: the scores above are "
            f"of the best one (digest {report.best_digest.removeprefix('sha256:')[:12]})"
        )
    console.print(Text(split_told(setting.tasks.split_digest)))
    total = report.target_usage + report.optimizer_usage
    money = "price unknown" if total.usd is None else f"${total.usd:.2f}"
    counts = f"{report.attempts} attempts ({report.invalid} invalid)"
    console.print(f"{counts}, {total.tokens:,} tokens, {money}, {report.wall_s:.0f} s")


def _sight(report: RunReport, setting: Setting) -> str:
    """For a run whose every candidate was rejected: how small a gain could have been seen at all."""
    train, selection = setting.train, setting.tasks.sizes()["selection"]
    if train.gate != "paired" or not any(step.outcome == "rejected" for step in report.steps):
        return ""
    points = 100 * smallest_effect(selection, train)
    return f"your selection split sees gains of about {points:.0f} points: `honed calibrate` says more"


def _steps_in_words(report: RunReport) -> str:
    """How the steps of a run without a commit ended, most frequent first."""
    if not report.steps:
        return "no step was made"
    outcomes = Counter(step.outcome for step in report.steps)
    ordered = sorted(outcomes.items(), key=lambda row: (-row[1], row[0]))
    steps = f"{len(report.steps)} {'step' if len(report.steps) == 1 else 'steps'}"
    return f"{steps} ({', '.join(f'{count} {_OUTCOMES.get(outcome, outcome)}' for outcome, count in ordered)})"


_OUTCOMES = {
    "budget": "ended by their own budget",
    "no_change": "without a candidate to judge",
    "no_edits": "without a proposed edit",
    "no_valid_attempts": "without a valid attempt",
    "nothing_to_learn": "with nothing to learn",
    "optimizer_error": "without a usable reply of the optimizer",
}


def edits_table(report: RunReport) -> Table:
    """Every proposed edit and its fate."""
    table = Table("step", "fate", "edit", "why", box=None, pad_edge=False, title="proposed edits", title_justify="left")
    for fate in report.edits:
        text = plain(" ".join(fate.edit.said.split()))
        fate_cell = Text(fate.fate, style={"accepted": "green", "rejected": "red"}.get(fate.fate, "yellow"))
        # `Text`, never a plain string: brackets in what a model wrote are no markup.
        table.add_row(str(fate.step), fate_cell, Text(_short(f"{fate.edit.op}: {text}")), Text(plain(fate.reason)))
    return table


def scores_table(report: RunReport, harness: str) -> Table:
    """Scores before and after, by split."""
    table = Table("split", "before", "after", "tasks", box=None, pad_edge=False, title=f"scores ({harness})")
    table.title_justify = "left"
    for name, pair in (("selection", report.selection), ("test (sealed)", report.test)):
        if pair.before and pair.after:
            tasks = f"{pair.after.n} of {pair.after.of}"
            table.add_row(name, _figure(pair.before.score), _figure(pair.after.score), tasks)
    return table


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _short(text: str, width: int = 90) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
