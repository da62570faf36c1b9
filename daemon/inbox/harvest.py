"""From what goes wrong again and again to drafts of tasks. Pure: the same sessions give the same drafts.

A draft is no task: it says what was asked and what went wrong, and its verifier fails until a person writes one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz

from daemon.inbox.patterns import of_skill, patterns
from daemon.inbox.record import Kind, SessionRecord
from daemon.redaction import redact
from daemon.tasks.formats.paths import clashing, workspace_path
from harnesses.traces.text import neutral

MOST_DRAFTS = 20
"""Of one harvest: the patterns of the widest spread."""
_MOST_REQUESTS = 8
_COMPARED = 500
_BUILDS = re.compile(r"(?i)dockerfile|compose[^/]*\.ya?ml\Z|\.dockerignore\Z")
"""Files that would make the environment another image."""
_INVOKED = re.compile(r"\A(?:/[\w:.-]{1,100}|\$[\w:.-]{1,100})(?=\s|\Z)\s*")
"""A request may begin by naming the skill; whether an attempt does is the configuration's."""


@dataclass(frozen=True)
class Draft:
    """A task in the making."""

    id: str
    """The same for the same pattern of the same skill."""
    skill: str
    kind: Kind
    label: str
    sessions: tuple[str, ...]
    """Keys, ordered."""
    prompt: str
    said: tuple[str, ...]
    """What went wrong, in the words of several sessions."""
    requests: tuple[str, ...]
    """What else was asked when it went wrong."""
    files: Mapping[str, str]
    """For the workspace: content by path, as far as it is known."""
    unknown: tuple[str, ...]
    """Files that were read and whose content is not known, or whose place no workspace has."""


def drafts_of(sessions: Sequence[SessionRecord], skill: str, *, least: int) -> tuple[Draft, ...]:
    """Drafts of the patterns that at least so many sessions with the skill show (sessions the newest first)."""
    found = patterns(sessions, skill, least=least)
    made = (_draft(sessions, skill, one.kind, one.label) for one in found)
    return tuple(draft for draft in made if draft is not None)[:MOST_DRAFTS]


def draft_id(skill: str, kind: Kind, label: str) -> str:
    """Readable, and the same for the same pattern of the same skill."""
    words = re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")[:40].strip("-")
    digest = hashlib.sha256(f"{skill}\0{kind}\0{label}".encode("utf-8", "replace")).hexdigest()[:8]
    return "-".join(part for part in (kind, words, digest) if part)


def _draft(sessions: Sequence[SessionRecord], skill: str, kind: Kind, label: str) -> Draft | None:
    rows = [
        (record, one)
        for record in sessions
        for one in of_skill(record, skill)
        if (one.kind, one.label) == (kind, label)
    ]
    asked = [(_plain(one.asked), record) for record, one in rows if _plain(one.asked)]
    if not asked:
        return None
    prompt, source = _most_like([text for text, _ in asked], [record for _, record in asked])
    files, unknown = _files(source)
    return Draft(
        id=draft_id(skill, kind, label),
        skill=skill,
        kind=kind,
        label=label,
        sessions=tuple(sorted(record.key for record, _ in rows)),
        prompt=prompt,
        said=tuple(dict.fromkeys(one.example for _, one in rows if one.example))[:_MOST_REQUESTS],
        requests=tuple(text for text in dict.fromkeys(text for text, _ in asked) if text != prompt)[:_MOST_REQUESTS],
        files=files,
        unknown=unknown,
    )


def _plain(asked: str) -> str:
    return _INVOKED.sub("", neutral(redact(asked))).strip()


def _most_like(texts: Sequence[str], records: Sequence[SessionRecord]) -> tuple[str, SessionRecord]:
    """The request that is most like all others (the first of several), and its session."""
    compared = [text[:_COMPARED] for text in texts[:50]]
    scores = [sum(fuzz.token_set_ratio(one, other) for other in compared) for one in compared]
    best = scores.index(max(scores))
    return texts[best], records[best]


def _files(record: SessionRecord) -> tuple[dict[str, str], tuple[str, ...]]:
    """What a workspace may hold of the files that the session read first; no skill's own."""
    known: dict[str, str] = {}
    unknown: list[str] = []
    for file in record.files:
        if file.path.endswith("SKILL.md"):
            continue
        try:
            workspace_path(file.path)
        except ValueError:
            unknown.append(file.path)
            continue
        if file.content is None or _BUILDS.search(file.path) or clashing([*known, file.path]) is not None:
            unknown.append(file.path)
        else:
            known[file.path] = redact(file.content)
    return known, tuple(unknown)
