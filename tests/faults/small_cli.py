"""A CLI in a few lines, for the fake engine: it asks the model through its door, and speaks Codex's event protocol.

As the real one is told to, it tries nothing again: a failed request is `turn.failed` and exit code 1. The script that
plays it plays verifiers as well, by running the task's test script.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp

from sandboxes.fake import FakeAnswer, FakeBox
from sandboxes.sandbox import Command

ANSWER = "answer.txt"
_TOKEN = "HONED_GATEWAY_TOKEN"
_ID = "0198-small-cli"


async def play(box: FakeBox, command: Command) -> FakeAnswer:
    """What a box of the fake engine does."""
    return await (_verify(box, command) if box.spec.role == "verifier" else _agent(box, command))


async def _agent(box: FakeBox, command: Command) -> FakeAnswer:
    asked = (box.out / "prompt.txt").read_text()
    skill = _skill(box.workspace)
    events: list[dict[str, Any]] = [{"type": "thread.started", "thread_id": _ID}, {"type": "turn.started"}]
    model = command.argv[command.argv.index("-m") + 1]
    try:
        body = {"model": model, "instructions": skill, "input": [_item("user", asked.removeprefix("$text\n"))]}
        text = await _ask(box, command.env[_TOKEN], body)
    except (aiohttp.ClientError, ValueError, OSError) as error:
        events += [{"type": "turn.failed", "error": {"message": f"stream error: {type(error).__name__}"}}]
        return FakeAnswer(_lines(events), exit_code=1)
    finally:
        _record(box, skill)
    (box.workspace / ANSWER).write_text(text)
    events += [{"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": text}}]
    events += [{"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}}]
    return FakeAnswer(_lines(events))


async def _ask(box: FakeBox, token: str, body: dict[str, Any]) -> str:
    """The reply's text; an answer without its last event is an error, as it is to Codex."""
    connector = aiohttp.UnixConnector(str(box.spec.gateway_socket))
    headers = {"authorization": f"Bearer {token}"}
    async with (
        aiohttp.ClientSession(connector=connector, headers=headers) as session,
        session.post("http://door/v1/responses", json={**body, "stream": True}) as answer,
    ):
        answer.raise_for_status()
        whole = await answer.read()
    for line in whole.splitlines():
        if line.startswith(b"data: {"):
            event = json.loads(line[6:])
            if event["type"] == "response.completed":
                return "".join(part["text"] for item in event["response"]["output"] for part in item["content"])
    raise ValueError("no response.completed")


async def _verify(box: FakeBox, command: Command) -> FakeAnswer:
    process = await asyncio.create_subprocess_exec(*command.argv, cwd=box.workspace, env=dict(command.env))
    try:
        return FakeAnswer(exit_code=await process.wait())
    finally:
        if process.returncode is None:  # the run was stopped meanwhile
            process.kill()
            await process.wait()


def _skill(workspace: Path) -> str:
    found = workspace / "SKILL.md"
    return found.read_text() if found.exists() else ""


def _skill_items(skill: str) -> list[dict[str, Any]]:
    return [_item("user", f"<skill>\n<name>text</name>\n<path>/ws/SKILL.md</path>\n{skill}\n</skill>")] if skill else []


def _item(role: str, text: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}


def _record(box: FakeBox, skill: str) -> None:
    """The session file that tells what the model was shown."""
    folder = box.out / "codex" / "sessions" / "2026" / "01" / "02"
    folder.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = [{"type": "session_meta", "payload": {"id": _ID, "source": "exec"}}]
    rows += [{"type": "response_item", "payload": item} for item in _skill_items(skill)]
    (folder / "rollout-x.jsonl").write_bytes(_lines(rows))


def _lines(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)
