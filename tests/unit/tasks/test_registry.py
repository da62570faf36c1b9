from __future__ import annotations

from types import MappingProxyType

import pytest
from structlog.testing import capture_logs

from daemon.tasks.scorers import registry
from daemon.tasks.scorers.registry import SCORERS, build_scorer, check_scorer, score_task
from daemon.tasks.scorers.scorer import Context, Options, Result, ScorerKind, VerifierError
from daemon.tasks.task import Score, ScorerSpec, Task, TaskError
from tests.support.tasks import left, task_for


class Saying:
    """A scorer that gives or raises what it was told to."""

    def __init__(self, outcome: Score | Exception) -> None:
        self._outcome = outcome

    async def score(self, task: Task, result: Result) -> Score:
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome


def say(monkeypatch: pytest.MonkeyPatch, outcome: Score | Exception) -> None:
    def build(options: Options, context: Context) -> Saying:
        return Saying(outcome)

    kind = ScorerKind("saying", 1, Options, lambda task, options: None, build)
    monkeypatch.setattr(registry, "SCORERS", MappingProxyType({"saying": kind}))


def test_every_scorer_goes_by_its_own_name() -> None:
    assert {"exact_match", "numeric", "spreadsheet_cells", "test_script", "token_f1"} <= set(SCORERS)
    assert all(name == kind.name and kind.version >= 1 for name, kind in SCORERS.items())


def test_a_wrong_name_lists_the_right_ones() -> None:
    with pytest.raises(TaskError, match=r"no scorer 'rouge': use one of anls, .*exact_match, .*numeric"):
        check_scorer(task_for("rouge", "x"))
    with pytest.raises(TaskError, match="no scorer 'rouge'"):
        build_scorer(ScorerSpec("rouge"))


def test_a_wrong_option_lists_the_right_ones() -> None:
    with pytest.raises(TaskError, match=r"scorer\.fallback: .*: exact_match takes extract, answer_tag, fallback"):
        check_scorer(task_for("exact_match", "x", options={"fallback": "none"}))
    with pytest.raises(TaskError, match="scorer exact_match: "):
        build_scorer(ScorerSpec("exact_match", {"fallback": "none"}))


async def test_a_bug_in_a_scorer_is_invalid_and_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    say(monkeypatch, KeyError("oops"))
    with (
        capture_logs() as lines,
        pytest.raises(VerifierError, match="task t: scorer saying failed: KeyError: 'oops'"),
    ):
        await score_task(task_for("saying"), left())
    assert [(line["event"], line["scorer"], line["exc_info"]) for line in lines] == [("scorer_failed", "saying", True)]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.1, 1.1])
async def test_a_value_that_is_no_score_is_invalid(monkeypatch: pytest.MonkeyPatch, value: float) -> None:
    say(monkeypatch, Score(value=value, hard=False))
    with pytest.raises(VerifierError, match="which is no score from 0 to 1"):
        await score_task(task_for("saying"), left())


async def test_feedback_passes_the_firewall(monkeypatch: pytest.MonkeyPatch) -> None:
    say(monkeypatch, Score(value=0.0, hard=False, feedback="it was Port Alder"))
    score = await score_task(task_for("saying", "Port Alder"), left())
    assert "Alder" not in score.feedback
