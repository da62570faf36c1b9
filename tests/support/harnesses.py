"""Assignments and harnesses over fakes, for the unit tests of the harnesses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from harnesses.cli_harness import CliHarness, CliSettings
from harnesses.clis import CliBinary, CliName
from harnesses.harness import Assignment, RenderedSkill
from sandboxes.fake import FakeSandbox, Script
from sandboxes.gateway.fake import FakeGateway
from sandboxes.gateway.policy import Caps, Tally, Usage
from tests.support.agents import door_policy

SKILL = RenderedSkill(
    "answer-writer",
    "sha256:x",
    {
        "SKILL.md": b"---\nname: answer-writer\ndescription: Use.\n---\n\n# Answer writer\nCount the lines with wc.\n",
        "scripts/count.sh": b"#!/bin/sh\r\nwc -l\r\n",
    },
)
USED = Tally(Usage(2, 2000, 400, 100, 0.01))
"""A healthy run's tally."""


def assignment(folder: Path, **changes: Any) -> Assignment:
    """One task with the skill."""
    given: dict[str, Any] = {
        "attempt_id": "a-1",
        "task_id": "t-1",
        "prompt": "Count the lines.",
        "folder": folder / "attempt",
        "files": {"input.csv": b"a\nb\n"},
        "skill": SKILL,
        "deadline_s": 5.0,
    }
    return Assignment(**{**given, **changes})


def binary(folder: Path, name: CliName) -> CliBinary:
    """A file that passes for a CLI (it is never run)."""
    place = folder / "cli" / name
    place.mkdir(parents=True, exist_ok=True)
    (place / name).write_text("#!/bin/sh\necho 'tool 1.2.3 (x)'\n")
    (place / name).chmod(0o755)
    return CliBinary(name, place, name, "1.2.3")


H = TypeVar("H", bound=CliHarness)


def faked(
    kind: Callable[..., H],
    folder: Path,
    script: Script,
    *,
    tally: Tally = USED,
    caps: Caps | None = None,
    broken: str = "",
) -> tuple[H, FakeSandbox, FakeGateway]:
    """A CLI harness whose CLI is played by `script`."""
    from harnesses.codex import CodexHarness

    name: CliName = "codex" if kind is CodexHarness else "claude"
    sandbox = FakeSandbox(script, broken=broken)
    gateway = FakeGateway(folder / "s", tally=lambda _: tally)
    policy = door_policy("openai" if name == "codex" else "anthropic", "http://127.0.0.1:9", caps=caps)
    return kind(sandbox, gateway, CliSettings(binary(folder, name), policy)), sandbox, gateway
