"""Codex's session file (`sessions/…/rollout-*.jsonl`): what stdout cannot tell.

Namely: whether the skill was listed and its body injected, the model, the number of model replies, what patches wrote,
and tool calls that Codex did not run (bad patches, bad arguments, commands it refuses), with where among the others
they were made. A refusal of the model leaves no mark here either.
The file lay beside a hostile agent: it is read within bounds, and only adds evidence about this one attempt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from harnesses.traces.fields import content_text, dict_of, text_of
from harnesses.traces.lines import parse_object, split_lines
from harnesses.traces.skill_probe import SkillProbe
from harnesses.traces.text import shorten

ROLLOUT_BYTES = 64 * 1024 * 1024
_FAILURES = 200
_PATCHES = 1_000
_END = re.compile(r"^\*\*\* End Patch\s*$", re.MULTILINE)


@dataclass(frozen=True)
class FailedCall:
    """A call that stdout has no event of."""

    tool: str
    given: str
    output: str
    """Why it failed."""
    messages: int
    """Messages of the agent before it."""
    calls: int
    """Calls that were run between the last of those and this one."""


@dataclass(frozen=True)
class Patched:
    """What a patch that was applied did to one file."""

    path: str
    hunk: str


@dataclass
class RolloutFacts:
    """What one rollout file told."""

    root: bool = False
    """It is the main thread's file, not a sub-agent's."""
    model: str = ""
    skill_listed: bool = False
    skill_injected: bool = False
    replies: int = 0
    failed_calls: list[FailedCall] = field(default_factory=list)
    patched: list[Patched] = field(default_factory=list)


@dataclass
class _Reading:
    """A file while it is read."""

    facts: RolloutFacts = field(default_factory=RolloutFacts)
    open_calls: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Call id to tool and what it was given."""
    messages: int = 0
    calls: int = 0


def find_rollouts(files: Mapping[str, bytes]) -> list[bytes]:
    """The session files among what was collected, ordered by path (which begins with the date)."""
    names = sorted(name for name in files if "/sessions/" in "/" + name and name.endswith(".jsonl"))
    return [files[name] for name in names if name.rsplit("/", 1)[-1].startswith("rollout-")]


def read_rollout(data: bytes, probe: SkillProbe | None = None) -> RolloutFacts:
    """Facts of one file; at most `ROLLOUT_BYTES` of it are read."""
    return _read(split_lines([data[:ROLLOUT_BYTES]]), probe)


def root_facts(files: Mapping[str, bytes], probe: SkillProbe | None = None) -> RolloutFacts | None:
    """Facts of the first main-thread file; None if there is none (then nothing can be said)."""
    for data in find_rollouts(files):
        facts = read_rollout(data, probe)
        if facts.root:
            return facts
    return None


def _read(lines: Iterable[bytes], probe: SkillProbe | None) -> RolloutFacts:
    reading = _Reading()
    facts = reading.facts
    for line in lines:
        entry = parse_object(line)
        if entry is None:
            continue
        payload = dict_of(entry, "payload")
        match entry.get("type"):
            case "session_meta":
                source = payload.get("source")
                facts.root = facts.root or not (isinstance(source, dict) and "subagent" in source)
            case "turn_context":
                facts.model = facts.model or text_of(payload, "model")
            case "token_usage_record":
                facts.replies += 1
            case "response_item":
                _item(reading, payload, probe)
    return facts


def _item(reading: _Reading, item: dict[str, Any], probe: SkillProbe | None) -> None:
    key = text_of(item, "call_id")
    match item.get("type"):
        case "message":
            _message(reading, item, probe)
        case "function_call" | "custom_tool_call":
            given = text_of(item, "arguments") or text_of(item, "input")
            reading.open_calls[key] = (text_of(item, "name"), given)
        case "function_call_output" | "custom_tool_call_output":
            if (call := reading.open_calls.pop(key, None)) is not None:
                _ended(reading, *call, call_output(item))


def _ended(reading: _Reading, tool: str, given: str, output: str) -> None:
    facts = reading.facts
    if not call_failed(output):
        reading.calls += 1
        if tool == "apply_patch" and len(facts.patched) < _PATCHES:
            facts.patched += hunks(given)
    elif len(facts.failed_calls) < _FAILURES:
        failed = FailedCall(tool, shorten(given, 600), shorten(output, 1_500), reading.messages, reading.calls)
        facts.failed_calls.append(failed)


def hunks(patch: str) -> list[Patched]:
    """A patch in Codex's own form, file by file."""
    parts = re.split(r"^\*\*\* (?:Add|Update|Delete) File: (.*)$", patch, flags=re.MULTILINE)
    pairs = zip(parts[1::2], parts[2::2], strict=False)
    return [Patched(path.strip(), _END.sub("", body).strip("\n")) for path, body in pairs]


def _message(reading: _Reading, item: dict[str, Any], probe: SkillProbe | None) -> None:
    text, facts = content_text(item.get("content")), reading.facts
    match item.get("role"):
        case "assistant" if text.strip():
            reading.messages += 1
            reading.calls = 0
        case "developer" if probe and "<skills_instructions>" in text:
            facts.skill_listed = facts.skill_listed or probe.listed_in(text)
        case "user" if probe and probe.injected_by(text):
            facts.skill_injected = True


def call_output(item: dict[str, Any]) -> str:
    """What came back from a call, as text."""
    output = item.get("output")
    if isinstance(output, dict):
        return content_text(output.get("content"))
    return content_text(output)


_FAILED = re.compile(r"\w+ (?:verification )?failed\b|failed to |unsupported |unable to |Script failed\b")


def call_failed(output: str) -> bool:
    """Codex's own words for a call that it did not run (it refuses `rm -rf`, say); a command's output has a header."""
    return _FAILED.match(output) is not None
