"""Codex's session file (`sessions/…/rollout-*.jsonl`): what stdout cannot tell.

Namely: whether the skill was listed and its body injected, the model, the number of model replies, and tool calls that
Codex did not run (bad patches, bad arguments, commands it refuses). A refusal of the model leaves no mark here either.
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


@dataclass
class RolloutFacts:
    """What one rollout file told."""

    root: bool = False
    """It is the main thread's file, not a sub-agent's."""
    model: str = ""
    skill_listed: bool = False
    skill_injected: bool = False
    replies: int = 0
    failed_calls: list[str] = field(default_factory=list)
    """Tool, what it was given and why it failed, for calls that stdout has no event of."""


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
    facts = RolloutFacts()
    calls: dict[str, str] = {}
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
                _item(facts, calls, payload, probe)
    return facts


def _item(facts: RolloutFacts, calls: dict[str, str], item: dict[str, Any], probe: SkillProbe | None) -> None:
    key = text_of(item, "call_id")
    match item.get("type"):
        case "message":
            _message(facts, item, probe)
        case "function_call" | "custom_tool_call":
            given = text_of(item, "arguments") or text_of(item, "input")
            calls[key] = f"{text_of(item, 'name')}: {shorten(given, 600)}"
        case "function_call_output" | "custom_tool_call_output":
            call, output = calls.pop(key, ""), _output(item)
            if call and _failed(output) and len(facts.failed_calls) < _FAILURES:
                facts.failed_calls.append(f"{call}\n-> {shorten(output, 1_500)}")


def _message(facts: RolloutFacts, item: dict[str, Any], probe: SkillProbe | None) -> None:
    text = content_text(item.get("content"))
    match item.get("role"):
        case "developer" if probe and "<skills_instructions>" in text:
            facts.skill_listed = facts.skill_listed or probe.listed_in(text)
        case "user" if probe and probe.injected_by(text):
            facts.skill_injected = True


def _output(item: dict[str, Any]) -> str:
    output = item.get("output")
    if isinstance(output, dict):
        return content_text(output.get("content"))
    return content_text(output)


_FAILED = re.compile(r"\w+ (?:verification )?failed\b|failed to |unsupported |unable to |Script failed\b")


def _failed(output: str) -> bool:
    """Codex's own words for a call that it did not run (it refuses `rm -rf`, say); a command's output has a header."""
    return _FAILED.match(output) is not None
