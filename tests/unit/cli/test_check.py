"""`honed check` from the outside, against a model that greets as the skill says."""

from __future__ import annotations

import asyncio
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.honed_cli import Ran, environment, git, honed
from tests.support.projects import SKILL, chat_project, greeting_tasks
from tests.support.upstream import Recorded, Upstream
from tests.support.wire import Step

SKILL_FILE = "skills/greeter/SKILL.md"
AHOY = "\n- Say Ahoy and the number.\n"
REMARK = "\n- Be kind.\n"


def answer(request: Recorded) -> Step:
    """Greets well if the skill says how."""
    text = json.dumps(request.body)
    number = re.search(r"Greet \w+ (\d+)", text)
    return Step(text=f"Ahoy {number[1]}" if number and "Say Ahoy" in text else "Hello")


@dataclass
class Desk:
    """A project and its model."""

    folder: Path
    provider: Upstream

    def commit(self, text: str, message: str) -> str:
        """Commit another skill."""
        (self.folder / SKILL_FILE).write_text(text)
        git(self.folder, "commit", "--quiet", "--all", "--message", message)
        return git(self.folder, "rev-parse", "HEAD")

    async def check(self, *arguments: str) -> Ran:
        """Run `honed check`."""
        env = environment(TEST_API_KEY="sk-test-0123456789abcdef")
        return await asyncio.to_thread(honed, "check", *arguments, cwd=self.folder, env=env)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with Upstream([answer]) as provider:
        tasks = greeting_tasks(selection=8)
        yield Desk(chat_project(tmp_path / "p", provider.base_url("openai"), tasks=tasks), provider)


async def test_a_change_that_lowers_the_score_fails_and_says_where(desk: Desk) -> None:
    old = desk.commit(SKILL + AHOY, "Say how")
    new = desk.commit(SKILL + REMARK, "Be kind instead")
    ran = await desk.check("--json", "--junit", "check.xml", "--markdown", "check.md")
    assert ran.code == 1, ran.stderr
    found = ran.result
    assert (found["base"], found["commit"], found["passed"], found["finding"]) == (old, new, False, "lower")
    assert (found["before"], found["after"], found["delta"], found["of"]) == (1.0, 0.0, -1.0, 8)
    assert found["broken"] == [f"selection-{number}" for number in range(8)]
    suite = ET.parse(desk.folder / "check.xml").getroot()[0]
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("9", "9")
    assert "### ❌ `skills/greeter`" in (desk.folder / "check.md").read_text()
    asked = len(desk.provider.requests)
    shown = await desk.check("HEAD", "--base", "HEAD~1")
    assert shown.code == 1
    assert "broken" in shown.stdout
    assert "1.000 -> 0.000 (-1.000" in shown.stdout
    assert f"skills/greeter, {old[:10]} to {new[:10]}: the change lowers the score" in shown.stdout
    assert len(desk.provider.requests) <= asked + 2, "what was measured is read back; the canary is asked again"
    back = await desk.check(old, "--base", new, "--json")
    assert (back.code, back.result["finding"]) == (0, "not_lower")


async def test_what_changes_nothing_of_the_skill_costs_nothing(desk: Desk) -> None:
    git(desk.folder, "commit", "--quiet", "--allow-empty", "--message", "Something else")
    ran = await desk.check("--json")
    assert (ran.code, ran.result["finding"]) == (0, "unchanged")
    git(desk.folder, "checkout", "--quiet", "--orphan", "empty")
    git(desk.folder, "rm", "--quiet", "-r", "--cached", "skills")
    git(desk.folder, "commit", "--quiet", "--message", "No skill yet")
    git(desk.folder, "checkout", "--quiet", "--force", "main")
    ran = await desk.check("main", "--base", "empty")
    assert (ran.code, ran.stdout.strip().endswith("the skill is new: there is nothing to compare it with")) == (0, True)
    assert desk.provider.requests == []
    assert not (desk.folder / ".honed").exists()


async def test_what_cannot_be_checked_is_bad_input(desk: Desk) -> None:
    desk.commit("no frontmatter\n", "Break it")
    ran = await desk.check("--json")
    assert (ran.code, ran.result["error"]["kind"]) == (2, "skill")
    ran = await desk.check("--json", "nowhere")
    assert (ran.code, ran.result["error"]["kind"]) == (2, "repository")
    assert desk.provider.requests == []
