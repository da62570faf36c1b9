"""A run's report as one paragraph of lines, to stand as a git note on its last commit. Pure."""

from __future__ import annotations

from collections import Counter

from daemon import __version__
from daemon.optimizer.gates.measure import Measured
from daemon.optimizer.report import BeforeAfter, RunReport
from daemon.redaction import redact
from daemon.rollouts.rollouts import Rollouts
from daemon.tasks.task import TaskSet
from harnesses.models.client import ModelClient
from sandboxes.gateway.policy import Usage
from skills_repo.message import neutral


def note_of(report: RunReport, rollouts: Rollouts, client: ModelClient, tasks: TaskSet) -> tuple[str, str]:
    """The commit that a run's report is noted on, and the note."""
    return report.commits[-1] if report.commits else report.base_commit, report_note(
        report,
        target=rollouts.label,
        optimizer=f"{client.provider} / {client.model} (honed {__version__})",
        image=rollouts.settings["image"],
        tasks=tasks.digest,
    )


def report_note(report: RunReport, *, target: str, optimizer: str, image: str, tasks: str) -> str:
    """`key: value` lines, the run's id first; figures of the sealed test are its means alone, as `train` prints them.

    `image` (empty: no box) and `tasks` are digests.
    """
    outcomes = Counter(step.outcome for step in report.steps)
    counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
    rows = [
        ("run", report.run_id),
        ("ended", report.ended),
        ("metric", report.metric),
        ("selection", _pair(report.selection)),
        ("test", _pair(report.test)),
        ("steps", f"{len(report.steps)}" + (f" ({counts})" if counts else "")),
        ("edits", f"{report.proposed} proposed, {report.accepted} accepted, {report.rejected} rejected"),
        ("base", report.base_commit),
        ("best skill", report.best_digest),
        ("target", target),
        ("optimizer", optimizer),
        ("image", image),
        ("tasks", tasks),
        ("cost", _cost(report.attempts, report.target_usage + report.optimizer_usage)),
    ]
    # Every value on a line of its own, for the run's id tells paragraphs apart.
    return "".join(f"{key}: {neutral(redact(value), 300)}\n" for key, value in rows if value)


def _pair(pair: BeforeAfter) -> str:
    if pair.before is None or pair.after is None:
        return "not measured"
    before, after = _score(pair.before), _score(pair.after)
    return f"before={before} after={after} n={pair.after.n} of {pair.after.of}"


def _score(figures: Measured) -> str:
    return "none" if figures.score is None else f"{figures.score:.3f}"


def _cost(attempts: int, usage: Usage) -> str:
    usd = "unknown" if usage.usd is None else f"{usage.usd:.4f}"
    return f"attempts={attempts} tokens={usage.tokens} usd={usd}"
