"""A chat model at work on a task's files by tools: its room, its box where it may run scripts, and what it leaves.

Invariants: a box is opened only where scripts are allowed, and has no way out; one that fails is a failure of ours,
never a score. What is in the workspace at the end counts, however the conversation ended.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from harnesses.chat_episode import Conversation
from harnesses.classify import Verdict
from harnesses.harness import Assignment, ChatTools
from harnesses.models.client import ModelRequest
from harnesses.outcome import Outcome
from harnesses.script_tool import BoxKilledError, Scripts
from harnesses.tool_room import ToolRoom
from harnesses.traces.trace import FileChange
from harnesses.workspace import changes
from sandboxes.sandbox import BoxSpec, Collected, EngineFacts, Limits, Mount, Sandbox, SandboxError

_GRACE_S = 300.0
"""Added to the attempt's deadline before a sweep may take its box."""


@dataclass(frozen=True)
class Boxes:
    """Where the scripts of chat models run."""

    sandbox: Sandbox
    limits: Limits = field(default_factory=Limits)
    mounts: tuple[Mount, ...] = ()
    """Programs that the engine's root lacks."""


@dataclass
class ToolWork:
    """One attempt with tools: what is known of it at any point."""

    assignment: Assignment
    tools: ChatTools
    boxes: Boxes | None
    workspace: Collected = field(default_factory=lambda: Collected({}))
    """What scripts left; empty without scripts, which change nothing."""
    changed: tuple[FileChange, ...] | None = None
    """What is different in the workspace; None while nobody looked."""
    engine: EngineFacts | None = None
    _started: bool = False

    @property
    def turns(self) -> int:
        """Replies of the model at most."""
        return min(self.assignment.max_turns, self.tools.turns)

    async def run(self, talk: Conversation, request: ModelRequest) -> Verdict:
        """The whole conversation; raises what `Conversation.run` raises."""
        try:
            if self.tools.name == "python":
                return await self._in_box(talk, request)
            return await talk.run(request, ToolRoom(self.assignment.files, self.turns).open)
        except BoxKilledError as error:
            return Outcome.SANDBOX_KILLED, str(error)
        except SandboxError as error:
            return (Outcome.SANDBOX_LOST if self._started else Outcome.SANDBOX_START), str(error)
        except OSError as error:
            return Outcome.SANDBOX_LOST, f"the host failed: {type(error).__name__}: {error.strerror or error}"

    async def _in_box(self, talk: Conversation, request: ModelRequest) -> Verdict:
        assignment, boxes = self.assignment, self.boxes
        if boxes is None:
            return Outcome.SANDBOX_START, "the task lets the model run scripts, and there is no sandbox for them"
        self.engine = await boxes.sandbox.facts()
        spec = BoxSpec(
            attempt_id=assignment.attempt_id,
            folder=assignment.folder,
            deadline=time.time() + assignment.deadline_s + _GRACE_S,
            mounts=boxes.mounts,
            limits=assignment.limits(boxes.limits) if assignment.limits else boxes.limits,
            root=assignment.root,
        )
        async with boxes.sandbox.open(spec) as box:
            self._started = True
            await box.write(assignment.files)
            room = ToolRoom(assignment.files, self.turns, Scripts(box, assignment.files))
            verdict = await talk.run(request, room.open)
            self.workspace = await box.collect()
            self.changed = changes(assignment.files, self.workspace)
            return verdict
