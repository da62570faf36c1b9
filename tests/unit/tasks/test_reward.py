from __future__ import annotations

import math

import pytest

from daemon.tasks.scorers.reward import MAX_BYTES, failed_checks, read_reward
from daemon.tasks.scorers.scorer import VerifierError
from sandboxes.sandbox import Collected


def out(skipped: tuple[str, ...] = (), **files: bytes | str) -> Collected:
    named = {name.replace("_", "."): data if isinstance(data, bytes) else data.encode() for name, data in files.items()}
    return Collected(files=named, skipped=skipped)


def found(**files: str) -> tuple[float, str]:
    reward = read_reward(out(**files))
    return reward.value, reward.source


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1.0), ("0\n", 0.0), ("1.000", 1.0), (" 0.25 ", 0.25), (".5", 0.5), ("1e-3", 0.001), ("\ufeff1", 1.0)],
)
def test_reward_txt(text: str, value: float) -> None:
    assert found(reward_txt=text) == (value, "reward.txt")


@pytest.mark.parametrize(
    ("text", "value"),
    [("0.5", 0.5), ('{"reward": 1}', 1.0), ('{"accuracy": 0.25}', 0.25), ('{"reward": 0.5, "time": 99}', 0.5)],
)
def test_reward_json(text: str, value: float) -> None:
    assert found(reward_json=text) == (value, "reward.json")


def test_json_wins() -> None:
    assert found(reward_json="0", reward_txt="1") == (0.0, "reward.json")


@pytest.mark.parametrize(
    "text",
    [
        *("", " \n", "NaN", "nan", "inf", "-inf", "1e999", "2.0", "1.0000001", "-0.5", "-1", "one", "1 1", "1\n1"),
        *("0x1", "1_0", "1,0", "true", "1" * 300, "0." + "9" * 500, "1/2", "\u0661"),
    ],
)
def test_a_reward_txt_that_is_no_score(text: str) -> None:
    with pytest.raises(VerifierError, match=r"^reward\.txt "):
        read_reward(out(reward_txt=text))


@pytest.mark.parametrize(
    "text",
    [
        *("", "NaN", "Infinity", "1e999", "2", "-1", "true", "null", '"1"', "[1]", "{}", '{"reward": NaN}', "{"),
        *('{"reward": true}', '{"reward": null}', '{"reward": "1"}', '{"a": 1, "b": 1}', '{"reward": 0, "reward": 1}'),
        *("1" * 5000, "[" * 10_000, '{"reward": {"reward": 1}}', "1" + "0" * 400),
    ],
)
def test_a_reward_json_that_is_no_score(text: str) -> None:
    with pytest.raises(VerifierError, match=r"^reward\.json "):
        read_reward(out(reward_json=text))


def test_a_broken_json_is_not_replaced_by_the_txt() -> None:
    with pytest.raises(VerifierError, match=r"reward\.json"):
        read_reward(out(reward_json="oops", reward_txt="1"))


def test_minus_zero_is_zero() -> None:
    value, _ = found(reward_txt="-0")
    assert math.copysign(1, value) == 1


def test_missing_huge_and_odd_files() -> None:
    with pytest.raises(VerifierError, match=r"wrote neither reward\.json nor reward\.txt to /logs/verifier"):
        read_reward(out(other_txt="1"))
    with pytest.raises(VerifierError, match=r"reward\.txt has .* bytes"):
        read_reward(out(reward_txt="1" + " " * MAX_BYTES))
    with pytest.raises(VerifierError, match=r"reward\.txt is not UTF-8"):
        read_reward(out(reward_txt=b"\xff"))
    with pytest.raises(VerifierError, match=r"reward\.txt is no plain file: reward\.txt: link"):
        read_reward(out(skipped=("reward.txt: link",)))
    with pytest.raises(VerifierError, match=r"reward\.json is no plain file"):
        read_reward(out(skipped=("reward.json: fifo",), reward_txt="1"))


@pytest.mark.parametrize(
    ("report", "sentence"),
    [
        ('{"results": {"summary": {"tests": 6, "failed": 2}}}', "2 of 6 checks failed"),
        ('{"results": {"summary": {"tests": 6, "failed": 0}}}', ""),
        ('{"results": {"summary": {"tests": 1, "failed": 2}}}', ""),
        ('{"results": {"summary": {"tests": "6", "failed": "2"}}}', ""),
        ('{"results": {"summary": {"tests": true, "failed": true}}}', ""),
        ('{"results": []}', ""),
        ("[" * 50_000, ""),
        ("", ""),
    ],
)
def test_a_ctrf_report_gives_counts_alone(report: str, sentence: str) -> None:
    assert failed_checks(out(ctrf_json=report)) == sentence


def test_no_report_no_sentence() -> None:
    assert failed_checks(out()) == ""
