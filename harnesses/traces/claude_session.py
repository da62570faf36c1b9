"""Claude Code's session file (`projects/<folder>/<session>.jsonl`): what stdout cannot tell.

Namely: whether the skill was in the list that the model was really sent, and whether its body was handed over with the
prompt. The file lay beside a hostile agent: it is read within bounds, and only adds evidence about this one attempt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harnesses.traces.fields import content_text, dict_of, text_of, texts_of
from harnesses.traces.lines import parse_object, split_lines
from harnesses.traces.skill_probe import SkillProbe

SESSION_BYTES = 64 * 1024 * 1024


@dataclass
class SessionFacts:
    """What one session file told."""

    skill_listed: bool = False
    skill_injected: bool = False
    model: str = ""


def session_facts(files: Mapping[str, bytes], session_id: str, probe: SkillProbe | None = None) -> SessionFacts | None:
    """Facts of the session's own file among what was collected; None if it is not there."""
    name = f"{session_id}.jsonl"
    for path in sorted(files):
        parts = path.split("/")
        if session_id and parts[-1] == name and len(parts) >= 3 and parts[-3] == "projects":
            return read_session(files[path], probe)
    return None


def read_session(data: bytes, probe: SkillProbe | None = None) -> SessionFacts:
    """Facts of one file; at most `SESSION_BYTES` of it are read."""
    facts = SessionFacts()
    for line in split_lines([data[:SESSION_BYTES]]):
        entry = parse_object(line)
        if entry is None or entry.get("isSidechain") is True:
            continue
        match entry.get("type"):
            case "attachment":
                attachment = dict_of(entry, "attachment")
                if probe and attachment.get("type") == "skill_listing" and probe.name in texts_of(attachment, "names"):
                    facts.skill_listed = True
            case "assistant":
                facts.model = facts.model or text_of(dict_of(entry, "message"), "model")
            case "user" if probe and entry.get("isMeta") is True and _injected(entry, probe):
                facts.skill_injected = True
    return facts


def _injected(entry: dict[str, Any], probe: SkillProbe) -> bool:
    return probe.injected_by(content_text(dict_of(entry, "message").get("content")))
