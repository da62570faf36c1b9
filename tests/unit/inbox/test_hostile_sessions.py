"""Session files that somebody has tampered with: they are read, or refused with a reason; nothing else happens."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from daemon.inbox.reading import NoSessionError, read_session_file
from daemon.inbox.record import ASKED_CHARS, EXAMPLE_CHARS, LABEL_CHARS, MOST_INCIDENTS, MOST_SKILLS, SessionRecord
from tests.support.sessions import RECORDED, Session

LATER = 4_000_000_000.0
ODD: list[Any] = [
    None, True, -1, 1e308, 10**40, "", "x", "\ud800\u0000\x1b[2J", "/" * 3_000, [], {}, [[[]]], {"type": "text"},
    ["tool_result"], "2026-13-99T99:99:99Z", "9999-12-31T23:59:59+14:00", "0001-01-01T00:00:00Z", [{"text": 3}],
]  # fmt: skip


def tampered(value: Any, dice: random.Random, chance: float) -> Any:
    """The same with some parts replaced, removed or doubled."""
    if dice.random() < chance:
        return dice.choice(ODD)
    if isinstance(value, dict):
        kept = {key: tampered(item, dice, chance) for key, item in value.items() if dice.random() > chance / 4}
        return (
            {**kept, dice.choice(("type", "payload", "message", "content")): 3} if dice.random() < chance / 4 else kept
        )
    if isinstance(value, list):
        rows = [tampered(item, dice, chance) for item in value]
        return rows * 2 if dice.random() < chance else rows
    return value


def is_bounded(record: SessionRecord) -> bool:
    texts = [(one.example, EXAMPLE_CHARS) for one in record.incidents] + [(record.asked, ASKED_CHARS)]
    return (
        len(record.incidents) <= MOST_INCIDENTS
        and len(record.skills) <= MOST_SKILLS
        and all(len(text) <= limit + 60 for text, limit in texts)
        and all(len(one.label) <= LABEL_CHARS for one in record.incidents)
        and len(record.model_dump_json()) < 400_000
    )


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_tampered_entries_are_read_or_refused(tmp_path: Path, name: str) -> None:
    entries = [json.loads(line) for line in (RECORDED / f"{name}.jsonl").read_text().splitlines()]
    file, read = tmp_path / "a.jsonl", 0
    for seed in range(30):
        dice = random.Random(seed)
        rows = [tampered(entry, dice, dice.choice((0.01, 0.05, 0.2))) for entry in entries]
        if dice.random() < 0.2:
            dice.shuffle(rows)
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        try:
            record = read_session_file(file, LATER)
        except NoSessionError:
            continue
        read += 1
        assert is_bounded(record)
        assert SessionRecord.model_validate_json(record.model_dump_json()) == record
    assert read > 10


def test_cut_and_damaged_bytes_are_read_or_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    for seed in range(40):
        dice = random.Random(seed)
        data = bytearray((RECORDED / dice.choice(("claude.jsonl", "codex.jsonl"))).read_bytes())
        for _ in range(dice.choice((1, 20, 400))):
            data[dice.randrange(len(data))] = dice.randrange(256)
        file.write_bytes(data[: dice.randrange(len(data))])
        try:
            assert is_bounded(read_session_file(file, LATER))
        except NoSessionError:
            continue


def test_a_session_of_thousands_of_everything_is_kept_within_bounds(tmp_path: Path) -> None:
    session = Session().listed(*(f"skill-{n}" for n in range(3_000)))
    for number in range(100):
        session.said(f"No, wrong {number} " + "x" * 3_000).opened(f"skill-{number}", f"# Body {number}")
        session.called(f"tool{number} --x", "y" * 5_000, 1)
        session.used("Read", "1", file_path=f"/w/{number}", structured={"file": {
            "content": "z" * 7_000, "startLine": 1, "numLines": 1, "totalLines": 1}})  # fmt: skip
        session.answered("no")
    record = read_session_file(session.write(tmp_path / "a.jsonl"), LATER)
    assert record.turns == 100
    assert is_bounded(record)
    assert sum(len(file.content or "") for file in record.files) <= 20_000
