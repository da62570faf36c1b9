"""A session file becomes a bounded record without secrets, whatever the file holds."""

from __future__ import annotations

import json
import os
import tracemalloc
from pathlib import Path

import pytest

from daemon.inbox.reading import SETTLED_S, NoSessionError, read_session_file
from daemon.inbox.record import SessionRecord
from harnesses.traces.skill_sightings import body_digest
from tests.support.sessions import BODY, RECORDED, SKILL, Session, troubled

LATER = 4_000_000_000.0


def labels(record: SessionRecord) -> list[tuple[str, str, int]]:
    return [(one.kind, one.label, one.count) for one in record.incidents]


def test_the_recorded_sessions_of_both_clis_tell_the_same_story() -> None:
    claude, codex = (read_session_file(RECORDED / f"{name}.jsonl", LATER) for name in ("claude", "codex"))
    assert [row for row in labels(claude) if not row[1].startswith("Edit")] == labels(codex)
    assert labels(codex) == [
        ("error", "python3: no such file", 3),
        ("repeated", "python3: the same call with the same result", 1),
        ("correction", "contradicted", 1),
        ("abandoned", "stopped by the person", 1),
    ]
    for record in (claude, codex):
        seen = record.skill("answer-writer")
        assert seen is not None
        assert (seen.listed, seen.opened) == (True, True)
        assert seen.digest
        assert record.turns == 3
        assert all(one.skills == ("answer-writer",) for one in record.incidents)
    assert [(one.path, one.content) for one in claude.files] == [("input.csv", "a\nb\n")]


@pytest.mark.parametrize("name", ["claude_provider", "codex_provider"])
def test_a_failed_provider_is_nobody_s_fault_and_the_skill_was_listed_and_not_opened(name: str) -> None:
    record = read_session_file(RECORDED / f"{name}.jsonl", LATER)
    assert labels(record) == []
    seen = record.skill("answer-writer")
    assert seen is not None
    assert (seen.listed, seen.opened) == (True, False)


def test_the_key_is_the_session_s_own_whatever_the_file_is_called(tmp_path: Path) -> None:
    one = read_session_file(troubled().write(tmp_path / "a.jsonl"), LATER)
    other = read_session_file(troubled().answered("more").write(tmp_path / "b" / "copy.jsonl"), LATER)
    assert one.key == other.key
    assert one.digest != other.digest
    assert read_session_file(troubled(2).write(tmp_path / "c.jsonl"), LATER).key != one.key
    seen = one.skill(SKILL)
    assert seen is not None
    assert seen.digest == body_digest(BODY)


SECRETS = ["sk-ant-api03-" + "a" * 40, "hunter2hunter", "joe@example.com", "/home/joe"]


def test_no_secret_and_no_name_is_kept_wherever_it_stands(tmp_path: Path) -> None:
    key, password, email, home = SECRETS
    session = Session(folder=f"{home}/app").listed().said(f"Use {key} and ask {email}").opened()
    session.called(f"curl -H 'Authorization: Bearer {key}' {home}/x", f"password: {password}\nKeyError: '{key}'", 1)
    session.used("Fetch", json.dumps({"api_key": key, "password": password}), failed=True, token=password)
    session.used("Read", "1", file_path=f"{home}/app/.env", structured={"file": {
        "content": f"PASSWORD={password}\n", "startLine": 1, "numLines": 1, "totalLines": 1}})  # fmt: skip
    session.answered("done").said(f"No, {email} said {key}").answered()
    text = read_session_file(session.write(tmp_path / f"{key}.jsonl"), LATER).model_dump_json()
    assert not [secret for secret in SECRETS if secret in text]
    assert "KeyError" in text
    assert "~/app" in text


def test_a_secret_across_the_place_where_a_text_is_shortened_is_gone_as_well(tmp_path: Path) -> None:
    for pad in range(200, 300, 7):
        key = "sk-ant-" + "Z" * 60
        session = Session().said("x" * pad + key + "y" * 5_000).answered().said("No " + "x" * pad + key + "y" * 900)
        text = read_session_file(session.answered().write(tmp_path / "a.jsonl"), LATER).model_dump_json()
        assert "ZZZZ" not in text


def test_a_half_written_last_line_waits_for_its_end(tmp_path: Path) -> None:
    file, text = tmp_path / "a.jsonl", troubled().text()
    whole = text.rstrip("\n").rsplit("\n", 1)[0] + "\n"
    file.write_text(whole + '{"type": "user", "sessionId": "x", "mess')
    record = read_session_file(file, LATER)
    assert record.bad_lines == 0
    file.write_text(text.rstrip("\n"))
    assert read_session_file(file, LATER).size > record.size, "a last line without its end is read if it is whole"


def test_a_live_session_s_last_turn_is_left_open(tmp_path: Path) -> None:
    file = Session().said("go").called("ls", "x").write(tmp_path / "a.jsonl")
    now = file.stat().st_mtime
    live = read_session_file(file, now + 1)
    assert (live.settled, labels(live)) == (False, [])
    over = read_session_file(file, now + SETTLED_S + 1)
    assert (over.settled, labels(over)) == (True, [("abandoned", "ended without an answer", 1)])


def test_garbage_between_lines_is_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    lines = troubled().text().encode().splitlines(keepends=True)
    garbage = [
        b"\x00\xff\xfe\n",
        b"[1,2]\n",
        b"null\n",
        b"\n",
        b'{"a":' * 3_000 + b"\n",
        b'{"a":' + b"[" * 700 + b"]" * 700 + b"}\n",
    ]
    file = tmp_path / "a.jsonl"
    file.write_bytes(b"".join(line + garbage[n % len(garbage)] for n, line in enumerate(lines)))
    record = read_session_file(file, LATER)
    assert record.bad_lines > 3
    assert ("correction", "contradicted", 1) in labels(record)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "no session of"),
        (b'{"a": 1}\n' * 500, "no session of"),
        (os.urandom(20_000).replace(b"\n", b"") + b"\n", "no session of"),
        (b"text\n" * 500, "no JSON objects"),
        (b'{"type":"mode","sessionId":"x"}\n', "nobody asked"),
        (b'{"type":"user","sessionId":"x","isSidechain":true,"message":{"content":"y"}}\n', "sub-agent"),
    ],
)
def test_what_is_no_session_is_refused_with_a_reason(tmp_path: Path, content: bytes, reason: str) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(content)
    with pytest.raises(NoSessionError, match=reason):
        read_session_file(file, LATER)


def test_links_pipes_and_folders_are_never_read(tmp_path: Path) -> None:
    real = troubled().write(tmp_path / "real.jsonl")
    link, pipe = tmp_path / "link.jsonl", tmp_path / "pipe.jsonl"
    link.symlink_to(real)
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="symbolic links"):
        read_session_file(link, LATER)
    for odd in (pipe, tmp_path, Path("/dev/zero")):
        with pytest.raises((NoSessionError, OSError)):
            read_session_file(odd, LATER)


def test_memory_does_not_grow_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harnesses.traces.builder.EVENTS", 20)

    def peak(times: int) -> int:
        file, block = tmp_path / "a.jsonl", Session().called("x " * 400, "y " * 2_000, 1).text()
        file.write_text(troubled().text() + block * times)
        tracemalloc.start()
        read_session_file(file, LATER)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(50)
    assert peak(480) < 1.5 * peak(120), "four times the file, all in one turn"


def test_one_huge_line_is_cut_and_the_rest_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(
        '{"type":"user","sessionId":"s","message":{"content":"' + "x" * 9_000_000 + '"}}\n' + troubled().text()
    )
    assert read_session_file(file, LATER).bad_lines == 1
    monkeypatch.setattr("daemon.inbox.reading.MOST_BYTES", 1_000)
    assert read_session_file(troubled().write(file), LATER).size >= 1_000
