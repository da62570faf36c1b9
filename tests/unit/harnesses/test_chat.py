from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Literal

import pytest

from harnesses.chat import FILE_CHARS, FILES_CHARS, SYSTEM, ChatHarness, ChatSettings, chat_request
from harnesses.harness import Harness, RenderedSkill
from harnesses.models.client import ModelReply, ModelRequest
from harnesses.outcome import POLICIES, Outcome
from harnesses.traces.trace import Message
from sandboxes.gateway.policy import ProviderError, ProviderFailure, Usage
from tests.support.harnesses import SKILL, assignment


class Client:
    """A model that says one thing, or fails."""

    provider = "openai"
    model = "m-1"

    def __init__(
        self,
        text: str = "42",
        *,
        stop: Literal["end", "length", "refusal", "other"] = "end",
        error: Exception | None = None,
        delay_s: float = 0.0,
    ) -> None:
        self._reply = ModelReply(text, Usage(1, 100, 20, 5, 0.01), stop, "m-1-2026")
        self._error = error
        self._delay_s = delay_s
        self.requests: list[ModelRequest] = []

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        await asyncio.sleep(self._delay_s)
        if self._error:
            raise self._error
        return self._reply

    async def close(self) -> None: ...


async def test_the_skill_stands_before_the_system_prompt(tmp_path: Path) -> None:
    client = Client()
    attempt = await ChatHarness(client).run(assignment(tmp_path, seed=7))
    (request,) = client.requests
    assert request.system == f"{SKILL.text.strip()}\n\n{SYSTEM}"
    assert request.messages[0].content == "Count the lines.\n\n<file path='input.csv'>\na\nb\n\n</file>"
    assert request.seed == 7
    assert (attempt.outcome, attempt.detail, attempt.trace.final_answer) == (Outcome.COMPLETED, "", "42")
    assert (attempt.trace.skill_listed, attempt.trace.skill_opened, attempt.trace.turns) == (True, True, 1)
    assert attempt.trace.events == (Message("42"),)
    assert attempt.trace.model == "m-1-2026"
    assert attempt.usage == Usage(1, 100, 20, 5, 0.01)
    assert attempt.engine is None
    assert (tmp_path / "attempt/chat_trace_summary.txt").read_text() == attempt.summary


async def test_without_a_skill(tmp_path: Path) -> None:
    client = Client()
    attempt = await ChatHarness(client).run(assignment(tmp_path, skill=None, files={}))
    assert client.requests[0].system == SYSTEM
    assert client.requests[0].messages[0].content == "Count the lines."
    assert (attempt.trace.skill_listed, attempt.trace.skill_opened) == (None, False)


def test_files_are_shown_as_text_within_bounds(tmp_path: Path) -> None:
    files = {
        "a.bin": b"\x00\x01",
        "b.txt": b"\xef\xbb\xbfwith mark",
        "c.txt": b"\xff\xfe",
        "d.txt": b"HEAD" + b"x" * (FILE_CHARS * 2) + b"TAIL",
        **{f"e{number}.txt": b"y" * FILE_CHARS for number in range(6)},
    }
    prompt = chat_request(assignment(tmp_path, files=files), ChatSettings()).messages[0].content
    assert "<file path='a.bin'>(not text: 2 bytes)</file>" in prompt
    assert "<file path='b.txt'>\nwith mark\n</file>" in prompt
    assert "<file path='c.txt'>(not text: 2 bytes)</file>" in prompt
    assert "HEAD" in prompt
    assert "TAIL" in prompt
    assert "<file path='e5.txt'>(left out: the files are too large together)</file>" in prompt
    assert len(prompt) < FILES_CHARS + 2_000


@pytest.mark.parametrize(
    ("client", "outcome"),
    [
        (Client(stop="refusal", text="no"), Outcome.AGENT_REFUSED),
        (Client(stop="length", text="half"), Outcome.AGENT_OUTPUT_LIMIT),
        (Client(text=" \n"), Outcome.AGENT_EMPTY),
        (Client(stop="other"), Outcome.COMPLETED),
        (Client(error=ProviderError(ProviderFailure.AUTH, "openai at host: check KEY")), Outcome.AUTH),
        (Client(error=ProviderError(ProviderFailure.QUOTA, "x")), Outcome.QUOTA),
        (Client(error=ProviderError(ProviderFailure.CONTEXT_LENGTH, "x")), Outcome.AGENT_CONTEXT),
        (Client(error=ProviderError(ProviderFailure.TIMEOUT, "x")), Outcome.UNREACHABLE),
    ],
)
async def test_outcomes(client: Client, outcome: Outcome, tmp_path: Path) -> None:
    attempt = await ChatHarness(client).run(assignment(tmp_path))
    assert attempt.outcome is outcome
    assert bool(attempt.detail) == (outcome is not Outcome.COMPLETED)
    assert f"outcome: {outcome.value}" in attempt.summary


async def test_a_model_that_does_not_answer_in_time_is_no_score(tmp_path: Path) -> None:
    attempt = await ChatHarness(Client(delay_s=30)).run(assignment(tmp_path, deadline_s=0.05))
    assert attempt.outcome is Outcome.UNREACHABLE
    assert not POLICIES[attempt.outcome].scored
    assert "0.05 s" in attempt.detail


async def test_a_fault_of_our_own_is_told_and_never_scored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    attempt = await ChatHarness(Client(error=KeyError("bug"))).run(assignment(tmp_path))
    assert not POLICIES[attempt.outcome].scored
    assert "KeyError" in attempt.detail
    assert "attempt_failed" in capsys.readouterr().out


async def test_a_skill_that_is_no_text_is_told_and_never_scored(tmp_path: Path) -> None:
    skill = RenderedSkill("x", "sha256:x", {"SKILL.md": b"\xff\xfe"})
    attempt = await ChatHarness(Client()).run(assignment(tmp_path, skill=skill))
    assert not POLICIES[attempt.outcome].scored
    assert "UnicodeDecodeError" in attempt.detail


async def test_cancelling_goes_through(tmp_path: Path) -> None:
    task = asyncio.create_task(ChatHarness(Client(delay_s=30)).run(assignment(tmp_path)))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_disk_that_refuses_costs_the_file_alone(tmp_path: Path) -> None:
    given = assignment(tmp_path)
    given.folder.write_text("a file where the folder should be")
    attempt = await ChatHarness(Client()).run(given)
    assert attempt.outcome is Outcome.COMPLETED


def test_settings() -> None:
    harness: Harness = ChatHarness(Client(), ChatSettings(host="model.example", temperature=0.0))
    expected: dict[str, Any] = {
        "harness": "chat",
        "provider": "openai",
        "host": "model.example",
        "model": "m-1",
        "max_output_tokens": "8192",
        "temperature": "0",
        "max_requests": "200",
        "max_tokens": "2000000",
        "max_usd": "",
    }
    assert harness.settings() == expected
    assert ChatHarness(Client()).settings()["temperature"] == ""
