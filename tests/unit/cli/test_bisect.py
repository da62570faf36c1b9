"""`honed bisect`: the commit that lost a task or the score, and what it says where there is none."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from daemon.cli.bisect import _bisect
from daemon.cli.output import Output
from daemon.tasks.task import TaskError
from skills_repo.history import RepositoryError
from tests.support.greeting import AHOY, KEY, KIND, SKILL_FILE, Desk, greeting_desk
from tests.support.history import step_message
from tests.support.honed_cli import git


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    monkeypatch.setenv("TEST_API_KEY", KEY)
    async with greeting_desk(tmp_path / "p") as found:
        yield found


def line(desk: Desk) -> dict[str, str]:
    """Six commits: one loses a task, a later one the score."""
    texts = {
        "good": AHOY,
        "remark": AHOY + "- Smile.\n",
        "shun": AHOY + "- Smile, and never greet 3.\n",
        "polish": AHOY + "- Smile. But never greet 3.\n",
        "lose": KIND + "- Smile. But never greet 3.\n",
        "last": KIND + "- Smile. But never greet 3 or so.\n",
    }
    return {name: desk.commit(text, f"Commit {name}") for name, text in texts.items()}


async def bisected(
    desk: Desk,
    capsys: pytest.CaptureFixture[str],
    good: str | None,
    bad: str | None = None,
    task: str | None = None,
) -> dict[str, Any]:
    capsys.readouterr()
    await _bisect(Output(as_json=True), desk.folder / "honed.toml", (good, bad), task, 1)
    found: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return found


async def test_the_score_and_one_task_were_lost_by_different_commits(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    commits = line(desk)
    (desk.folder / "notes.txt").write_text("half done")
    status = git(desk.folder, "status", "--porcelain")
    found = await bisected(desk, capsys, commits["good"])
    assert [row["sha"] for row in found["found"]] == [commits["lose"]]
    assert [(row["word"], row["score"]) for row in found["looks"][:2]] == [("good", 1.0), ("bad", 0.0)]
    assert found["bar"] == 0.5
    asked = len(desk.provider.requests)
    again = await bisected(desk, capsys, commits["good"])
    assert again["looks"] == found["looks"]
    assert len(desk.provider.requests) <= asked + 2, "what was measured is read back"
    one = await bisected(desk, capsys, commits["good"], commits["polish"], "selection-3")
    assert [row["sha"] for row in one["found"]] == [commits["shun"]]
    assert git(desk.folder, "status", "--porcelain") == status
    assert not list((desk.folder / ".git").glob("BISECT*"))


async def test_what_cannot_be_measured_is_skipped(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    good = desk.commit(AHOY, "Good")
    broken = desk.commit("no frontmatter\n", "Break")
    bad = desk.commit(KIND, "Mend, but lose")
    found = await bisected(desk, capsys, good)
    assert {row["sha"] for row in found["found"]} == {broken, bad}
    assert [(row["commit"], row["word"]) for row in found["looks"][2:]] == [(broken, "skip")]


async def test_honeds_own_edit_is_named_with_its_step_from_the_outside(desk: Desk) -> None:
    desk.commit(AHOY, "Good")
    git(desk.folder, "checkout", "--quiet", "-b", "honed/greeter")
    (desk.folder / SKILL_FILE).write_text(KIND)
    git(desk.folder, "commit", "--quiet", "--all", "--message", step_message("r-5", 2))
    edit = git(desk.folder, "rev-parse", "HEAD")
    git(desk.folder, "checkout", "--quiet", "main")
    ran = await desk.honed("bisect")
    assert ran.code == 0, ran.stderr
    assert f"lost by:\n{edit[:10]} edit skill(xlsx): add" in ran.stdout
    assert "step      2.1/1 of run r-5" in ran.stdout
    assert f"`honed revert {edit[:10]}`" in ran.stdout


async def test_where_nothing_was_lost_or_nothing_can_be_searched(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    commits = line(desk)
    for good, bad, task, words in (
        (commits["good"], commits["remark"], None, "nothing was lost between"),
        (commits["last"], commits["good"], None, "does not come after"),
        (commits["good"], commits["good"], None, "does not come after"),
        (None, None, None, "say where it was well (--good COMMIT)"),
    ):
        with pytest.raises(RepositoryError) as error:
            await bisected(desk, capsys, good, bad, task)
        assert words in str(error.value)
    with pytest.raises(TaskError, match="no train or selection task is called 'test-0'"):
        await bisected(desk, capsys, commits["good"], None, "test-0")
