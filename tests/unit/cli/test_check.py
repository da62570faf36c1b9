"""`honed check` against a model that greets as the skill says: from the outside, and every finding."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from daemon.cli.check import _check
from daemon.cli.output import Output
from skills_repo.history import RepositoryError
from skills_repo.skill import SkillError
from tests.support.greeting import AHOY, KEY, KIND, Desk, greeting_desk
from tests.support.honed_cli import git

NO_FILES: dict[str, Path | None] = {"junit": None, "markdown": None}


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    monkeypatch.setenv("TEST_API_KEY", KEY)
    async with greeting_desk(tmp_path / "p") as found:
        yield found


async def checked(
    desk: Desk, capsys: pytest.CaptureFixture[str], base: str, ref: str = "HEAD"
) -> tuple[int, dict[str, Any]]:
    """Exit code and result."""
    capsys.readouterr()
    code = await _check(Output(as_json=True), desk.folder / "honed.toml", (base, ref), NO_FILES)
    return code, json.loads(capsys.readouterr().out.splitlines()[-1])


async def test_a_change_that_lowers_the_score_fails_and_says_where(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    old = desk.commit(AHOY, "Say how")
    new = desk.commit(KIND, "Be kind instead")
    ran = await desk.honed("check", "--json", "--junit", "check.xml", "--markdown", "check.md")
    assert ran.code == 1, ran.stderr
    found = ran.result
    assert (found["base"], found["commit"], found["passed"], found["finding"]) == (old, new, False, "lower")
    assert (found["before"], found["after"], found["delta"], found["of"]) == (1.0, 0.0, -1.0, 8)
    assert found["broken"] == [f"selection-{number}" for number in range(8)]
    suite = ET.parse(desk.folder / "check.xml").getroot()[0]
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("9", "9")
    assert "### ❌ `skills/greeter`" in (desk.folder / "check.md").read_text()
    asked = len(desk.provider.requests)
    assert await _check(Output(), desk.folder / "honed.toml", ("HEAD~1", "HEAD"), NO_FILES) == 1
    shown = capsys.readouterr().out
    assert "broken" in shown
    assert "1.000 -> 0.000 (-1.000" in shown
    split = f"split {found['split_digest']}"
    assert split in shown
    assert split in (desk.folder / "check.md").read_text()
    told = suite.find("properties/property[@name='split_digest']")
    assert told is not None
    assert told.attrib["value"] == found["split_digest"]
    assert split in (await desk.honed("eval")).stdout
    assert f"skills/greeter, {old[:10]} to {new[:10]}: the change lowers the score" in shown
    assert len(desk.provider.requests) <= asked + 2, "what was measured is read back; the canary is asked again"
    code, back = await checked(desk, capsys, new, old)
    assert (code, back["finding"], back["before"], back["after"], back["delta"]) == (0, "not_lower", None, 1.0, None)
    assert await _check(Output(), desk.folder / "honed.toml", ("HEAD", "HEAD~1"), NO_FILES) == 0
    assert "the changed skill scores 1.000; the old one cannot be better" in capsys.readouterr().out


async def test_what_changes_nothing_of_the_skill_costs_nothing(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    git(desk.folder, "commit", "--quiet", "--allow-empty", "--message", "Something else")
    code, found = await checked(desk, capsys, "HEAD~1")
    assert (code, found["finding"]) == (0, "unchanged")
    git(desk.folder, "checkout", "--quiet", "--orphan", "empty")
    git(desk.folder, "rm", "--quiet", "-r", "--cached", "skills")
    git(desk.folder, "commit", "--quiet", "--message", "No skill yet")
    git(desk.folder, "checkout", "--quiet", "--force", "main")
    code, found = await checked(desk, capsys, "empty", "main")
    assert (code, found["finding"]) == (0, "new")
    assert desk.provider.requests == []
    assert not (desk.folder / ".honed").exists()


async def test_what_cannot_be_checked_is_bad_input(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    desk.commit("no frontmatter\n", "Break it")
    with pytest.raises(SkillError, match="has no frontmatter"):
        await checked(desk, capsys, "HEAD~1")
    with pytest.raises(RepositoryError, match="there is no commit 'nowhere'"):
        await checked(desk, capsys, "HEAD", "nowhere")
    assert desk.provider.requests == []
