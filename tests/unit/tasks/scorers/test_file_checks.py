from __future__ import annotations

from pathlib import Path

import pytest

from daemon.tasks.scorers.registry import check_scorer, score_task
from daemon.tasks.scorers.scorer import Result, VerifierError
from daemon.tasks.task import TaskError
from sandboxes.sandbox import Collected
from tests.support.tasks import task_for

FILES = {
    "index.md": b"# Index\nMonday\n",
    "notes/mon.md": b"# Monday\n",
    "notes/old/sun.md": b"# Sunday\r\nrest \r\n\r\n",
    "data.bin": b"\xff\x00\xfe",
    "we[i]rd*": b"x",
}


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    file = tmp_path / "gold.md"
    file.write_bytes(b"# Sunday\nrest\n")
    return file


@pytest.mark.parametrize(
    ("check", "why"),
    [
        ({"path": "index.md"}, ""),
        ({"path": "other.md"}, "other.md is missing"),
        ({"path": "other.md", "exists": False}, ""),
        ({"path": "index.md", "exists": False}, "index.md is there though it must not be"),
        ({"path": "*.md", "contains": ["Monday"]}, ""),
        ({"path": "*/sun.md"}, "*/sun.md is missing"),
        ({"path": "**/sun.md"}, ""),
        ({"path": "**/index.md"}, ""),
        ({"path": "notes/**"}, ""),
        ({"path": "notes/mo?.md"}, ""),
        ({"path": "*.txt"}, "*.txt is missing"),
        ({"path": "we[i]rd*"}, ""),
        ({"path": "index.md", "contains": ["Monday", "Tuesday", "Friday"]}, "index.md lacks 2 of 3 texts"),
        ({"path": "index.md", "lacks": ["Tuesday"]}, ""),
        ({"path": "index.md", "lacks": ["Tuesday", "Monday"]}, "index.md holds a text that it must not"),
        ({"path": "index.md", "matches": r"^# \w+"}, ""),
        ({"path": "index.md", "matches": r"^## \w+"}, "index.md does not fit its pattern"),
        ({"path": "data.bin", "matches": "x"}, "data.bin is not UTF-8"),
        ({"path": "data.bin", "max_bytes": 3}, ""),
        ({"path": "data.bin", "max_bytes": 2}, "data.bin has more than 2 bytes"),
        ({"path": "notes/old/sun.md", "gold": "gold.md"}, "notes/old/sun.md has wrong content"),
        ({"path": "notes/old/sun.md", "gold": "gold.md", "ignore_space": True}, ""),
        ({"path": "index.md", "gold": "gold.md", "ignore_space": True}, "index.md has wrong content"),
    ],
)
async def test_checks(gold: Path, check: dict[str, object], why: str) -> None:
    task = task_for("file_checks", options={"checks": [check]}, tests={"gold.md": gold})
    check_scorer(task)
    score = await score_task(task, Result(workspace=Collected(FILES)))
    assert (score.feedback, score.hard, score.value) == (why, not why, float(not why))


async def test_the_score_is_the_share_of_checks() -> None:
    checks = [{"path": "index.md"}, *({"path": f"{name}.md"} for name in "abcdef")]
    score = await score_task(task_for("file_checks", options={"checks": checks}), Result(workspace=Collected(FILES)))
    assert score.value == pytest.approx(1 / 7)
    assert score.feedback.endswith("e.md is missing (and 1 more)")
    assert score.detail["failed"] == [1, 2, 3, 4, 5, 6]


async def test_a_file_that_was_left_out_is_told() -> None:
    result = Result(workspace=Collected({}, ("big.csv: 900 MiB is more than 64 MiB",)))
    score = await score_task(task_for("file_checks", options={"checks": [{"path": "big.csv"}]}), result)
    assert score.feedback == "big.csv was left out: too large, or no plain file"


async def test_a_pattern_without_end_is_invalid_and_no_score() -> None:
    task = task_for("file_checks", options={"checks": [{"path": "a", "matches": "^(?:a+)+$"}]})
    with pytest.raises(VerifierError, match=r"option checks\.matches"):
        await score_task(task, Result(workspace=Collected({"a": b"a" * 64 + b"!"})))


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({}, r"scorer\.checks: "),
        ({"checks": []}, r"scorer\.checks: "),
        ({"checks": [{"path": "../x"}]}, r"scorer\.checks\.0\.path: .*plain relative path"),
        (
            {"checks": [{"path": "x", "gold": "none.md"}]},
            r"tests: has no file 'none.md', which scorer\.checks\.0\.gold",
        ),
        ({"checks": [{"path": "x", "matches": "("}]}, r"scorer\.checks\.0\.matches"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, object], complaint: str) -> None:
    with pytest.raises(TaskError, match=complaint):
        check_scorer(task_for("file_checks", options=options))
