"""A `World` made of a task's files: a chat model looks into them by a few tools, and may run scripts on them.

It is never over by itself: the model ends it by a reply without a call. Invariant: the tools are the same for every
task of a kind, and few.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from harnesses.episode import EpisodeStatus, Tool, ToolResult
from harnesses.file_tools import TOOLS, listed, use_files
from harnesses.script_tool import SCRIPT_TOOL, Scripts

SYSTEM = (
    "Solve the user's task. Its files are not shown to you: look into them by calling your tools. When you are done, "
    "reply without a call: that reply is your final answer, in the form that the task asks for."
)
LAST_WORD = "You have one reply left: give your final answer now, without a call."


class ToolRoom:
    """One attempt's files and tools."""

    def __init__(self, files: Mapping[str, bytes], turns: int, scripts: Scripts | None = None) -> None:
        self._files = files
        self._turns = turns
        self._scripts = scripts

    @property
    def tools(self) -> tuple[Tool, ...]:
        """As `World.tools`."""
        return TOOLS if self._scripts is None else (*TOOLS, SCRIPT_TOOL)

    @property
    def opening(self) -> str:
        """As `World.opening`."""
        files = "\n".join(f"  {line}" for line in listed(self.files))
        return f"The files:\n{files or '  (none)'}\nYou have {self._turns} replies, the final answer among them."

    @property
    def status(self) -> EpisodeStatus:
        """As `World.status`."""
        return EpisodeStatus()

    @property
    def files(self) -> Mapping[str, bytes]:
        """As they are now."""
        return self._files if self._scripts is None else self._scripts.files

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        """As `World.call`; raises `SandboxError` where the box of the scripts fails."""
        if self._scripts is not None and tool == SCRIPT_TOOL.name:
            return await self._scripts.run(arguments)
        return await asyncio.to_thread(use_files, self.files, tool, arguments)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[ToolRoom]:
        """A `WorldOpener`: there is nothing to start."""
        yield self
