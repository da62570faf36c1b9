"""Mathematical equivalence: math-verify's rule and the OlympiadBench judge's, both behind one bounded process."""

from __future__ import annotations

import importlib.util

import pytest

from daemon.tasks.scorers import mathematics
from daemon.tasks.scorers.olympiad import final_part, numerically_equal, preprocessed, split_answer
from daemon.tasks.scorers.registry import check_scorer
from daemon.tasks.scorers.scorer import VerifierError
from daemon.tasks.task import TaskError
from tests.support.tasks import score_answer, task_for

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("math_verify") is None, reason="the extra honed[math] is not installed"
)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a processor does in a second differs; what is equal does not."""
    monkeypatch.setattr(mathematics, "CPU_S", 20.0)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(
    ("gold", "answer", "equal"),
    [
        ("1/2", r"So it is $\boxed{\frac{1}{2}}$.", True),
        (r"\frac{1}{2}", "0.5", True),
        ("x^2+2x+1", "(x+1)^2", True),
        ("x+2", "2", False),
        ("2", "x+2", False),
        ("2", "The answer is 2.", True),
        ("2", "<answer>2</answer> and not 3", True),
        (r"\{1,2\}", r"\{2,1\}", True),
        ("(1,2)", "(2,1)", False),
        ("12", r"$12\text{ cm}$", True),
        (r"50\%", "0.5", False),
        ("0.5", "50", False),  # Qwen's grader says yes
        ("10000", "10001", False),  # likewise
        ("1/3", "0.333", False),
        ("1000", "1,000", True),
        (["1", "2"], "2", True),
        (r"\sqrt{2}", r"2^{1/2}", True),
        ("62.5%", "62.5%", True),
        ("7", "", False),
        ("7", "I do not know", False),
    ],
)
async def test_math_verify(gold: object, answer: str, equal: bool) -> None:
    assert (await score_answer("math_equal", gold, answer)).hard is equal


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(
    ("gold", "answer", "precision", "equal"),
    [
        ("x=1", "1", [1e-8], True),
        ("x=1", "x=2", [1e-8], False),
        ("a_{n} =2 n    +1", "a_n=2n+1", [1e-8], True),
        (r"(-\infty,1]\cup[10,+\infty)", r"c \in \left(-\infty, 1\right]\cup[10,+\infty)", [1e-8], True),
        ("(2,1),(3,1)", "(3,1),(2,1)", [1e-8], True),
        (r"\pm 2", "2,-2", [1e-8], True),
        ("x^2+y^2=1", r"\boxed{1-x^{2}-y^{2}=0}", [1e-8], True),
        ("x^2+y^2=1", r"\boxed{x^{2}-y^{2}=1}", [1e-8], False),
        (r"\cos ^{10}(\frac{\pi}{10})", "0.6054", [1e-4], True),
        (r"\cos ^{10}(\frac{\pi}{10})", "0.6064", [1e-4], False),
        ("0.5", "50", [1e-8], True),  # as percentages are, the judge says
        ("0.003, 5.2", "5.25, 0.0035", [0.001, 0.1], True),
        ("0.003, 5.2", "5.35, 0.003", [0.001, 0.1], False),
        ("1,2", "1", [1e-8], False),
        (r"10^{10^{10^{10}}}", "10^{10}", [1e-8], False),
        ("2", r"It takes $3$ steps.\n\nSo the final answer is $\boxed{2}$.", [1e-8], True),
        ("2", r"\boxed{2", [1e-8], False),
        ("2", "nan", [1e-8], False),
    ],
)
async def test_olympiad(gold: str, answer: str, precision: list[float], equal: bool) -> None:
    score = await score_answer("math_equal", gold, answer, rule="olympiad", precision=precision)
    assert score.hard is equal


@pytest.mark.parametrize("rule", ["math_verify", "olympiad"])
async def test_an_answer_without_bound_is_wrong_and_costs_its_second(rule: str) -> None:
    bomb = "1+" + r"9^{9^{9}}" * 3
    score = await score_answer("math_equal", "7", rf"\boxed{{{bomb}}}", rule=rule)
    assert not score.hard
    assert (await score_answer("math_equal", "7", "7", rule=rule)).hard


async def test_what_ended_the_process_is_told_in_the_detail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mathematics, "CPU_S", 1e-6)
    score = await score_answer("math_equal", "7", "x^2+7")
    assert score.feedback == "the answer could not be compared within bounds: give it in a simpler form"
    assert score.detail["ended"] == "time"


async def test_a_gold_that_takes_too_long_is_our_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mathematics, "GOLD_CPU_S", 1e-6)
    with pytest.raises(VerifierError, match="it took too long"):
        await score_answer("math_equal", "7", "7")


async def test_a_gold_without_anything_to_read_is_our_failure() -> None:
    with pytest.raises(VerifierError, match=r"answer: .* cannot be read as mathematics: mend it"):
        await score_answer("math_equal", "no number at all", "7")


@pytest.mark.parametrize(
    ("answer", "feedback"),
    [
        ("8", "not equal to the expected answer"),
        ("I do not know at all", "the answer could not be read as mathematics"),
        ("", "no answer was given"),
    ],
)
async def test_feedback(answer: str, feedback: str) -> None:
    assert (await score_answer("math_equal", "7", answer)).feedback == feedback


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (r"\boxed{1} and \boxed{\frac{a}{b}}", r"1,\frac{a}{b}"),
        ("first $1$\nthen $2$ and $3$.", "2,3"),
        (r"x \in \left[0, 1\right]", "[0, 1]"),
        (r"\mathrm{~cm} 5^\circ%", "cm 5"),
        ("5", "5"),
    ],
)
def test_the_judge_s_reading(text: str, read: str) -> None:
    assert preprocessed(text) == read


def test_braces_that_do_not_match_are_told() -> None:
    with pytest.raises(ValueError, match="braces do not match"):
        preprocessed(r"\boxed{\frac{1}{2}")


def test_pieces() -> None:
    assert split_answer("a, (b, c), [d, e)") == ["a", "(b, c)", "[d, e)"]
    assert split_answer(r"1 \pm x") == ["1 + x", "1 - x"]
    assert split_answer("") == []
    assert final_part("So the final answer is 1. So the final answer is 2") == " 2"


def test_numbers_may_be_percentages() -> None:
    assert all(numerically_equal("5", given, 1e-8) for given in ("5", "500", "0.05", "5.00000001"))
    assert not any(numerically_equal("5", given, 1e-8) for given in ("50", "nan", "inf"))


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"rule": "qwen"}, r"scorer\.rule: "),
        ({"rule": "olympiad", "precision": [0.1, 0.1]}, r"scorer\.precision: has 2 numbers for 3 pieces"),
        ({"precision": []}, r"scorer\.precision: "),
        ({"precision": [0]}, r"scorer\.precision\.0: "),
    ],
)
def test_wrong_options_are_refused(options: dict[str, object], complaint: str) -> None:
    with pytest.raises(TaskError, match=complaint):
        check_scorer(task_for("math_equal", "1,2,3", options=options))


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mathematics, "find_spec", lambda name: None)
    with pytest.raises(TaskError, match=r"math_equal needs further packages: pip install 'honed\[math\]'"):
        check_scorer(task_for("math_equal", "1"))
