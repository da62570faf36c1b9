"""A project whose agent greets as its skill says, and the model behind it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.honed_cli import Ran, environment, git, honed
from tests.support.projects import SKILL, chat_project, greeting_tasks
from tests.support.upstream import Recorded, Upstream
from tests.support.wire import Step

SKILL_FILE = "skills/greeter/SKILL.md"
KEY = "sk-test-0123456789abcdef"
AHOY = SKILL + "\n- Say Ahoy and the number.\n"
KIND = SKILL + "\n- Be kind.\n"


def answer(request: Recorded) -> Step:
    """Greets well if the skill says how, except those whom it says not to greet."""
    text = json.dumps(request.body)
    number = re.search(r"Greet \w+ (\d+)", text)
    shunned = re.findall(r"never greet (\d+)", text)
    greets = number is not None and "Say Ahoy" in text and number[1] not in shunned
    return Step(text=f"Ahoy {number[1]}" if number and greets else "Hello")


@dataclass
class Desk:
    """The project and its model."""

    folder: Path
    provider: Upstream

    def commit(self, text: str, message: str) -> str:
        """Commit another skill."""
        (self.folder / SKILL_FILE).write_text(text)
        git(self.folder, "commit", "--quiet", "--all", "--message", message)
        return git(self.folder, "rev-parse", "HEAD")

    async def honed(self, *arguments: str) -> Ran:
        """Run the command."""
        return await asyncio.to_thread(honed, *arguments, cwd=self.folder, env=environment(TEST_API_KEY=KEY))


@asynccontextmanager
async def greeting_desk(folder: Path) -> AsyncIterator[Desk]:
    """Eight selection tasks, `selection-0` to `selection-7`."""
    async with Upstream([answer]) as provider:
        tasks = greeting_tasks(selection=8)
        yield Desk(chat_project(folder, provider.base_url("openai"), tasks=tasks), provider)
