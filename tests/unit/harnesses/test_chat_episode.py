"""A chat model in an episode: every way it can end, what is counted, and what the model is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harnesses.chat import TOOLS_SYSTEM, ChatHarness, ChatSettings
from harnesses.episode import EpisodeStatus
from harnesses.fake import FakeEpisode
from harnesses.harness import Attempt
from harnesses.models.client import ModelReply, ModelRequest, ToolUse
from harnesses.models.fake import ScriptedModel
from harnesses.outcome import POLICIES, Outcome
from harnesses.traces.trace import Message, ToolCall
from sandboxes.gateway.policy import Caps, ProviderError, ProviderFailure, Usage
from tests.support.harnesses import SKILL, assignment
from tests.support.waiting import LONGER_S

EACH = Usage(1, 100, 20, 5, 0.01)
Said = ModelReply | ProviderError


def calls(*commands: str, text: str = "", **changes: Any) -> ModelReply:
    uses = tuple(ToolUse(f"c{number}", "act", {"command": line}) for number, line in enumerate(commands))
    return replace(ModelReply(text, EACH, "end", "m-1", uses), **changes)


def script(*replies: Said) -> Callable[[ModelRequest], Said]:
    """The replies in turn; the last one again and again."""
    left = list(replies)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


async def played(
    folder: Path, *replies: Said, episode: FakeEpisode | None = None, caps: Caps | None = None, **changes: Any
) -> tuple[Attempt, ScriptedModel, FakeEpisode]:
    episode = episode or FakeEpisode(("open door", "win"))
    model = ScriptedModel(script(*replies))
    settings = ChatSettings(caps=caps or Caps())
    attempt = await ChatHarness(model, settings).run(assignment(folder, episode=episode.open, **changes))
    assert episode.closed
    return attempt, model, episode


async def test_a_game_is_won_turn_by_turn(tmp_path: Path) -> None:
    replies = (calls("look", text="I look around."), calls("open door"), calls("win"))
    attempt, model, episode = await played(tmp_path, *replies)
    assert (attempt.outcome, attempt.detail) == (Outcome.COMPLETED, "")
    assert attempt.episode == EpisodeStatus(won=True, over=True, commands=3, moves=3)
    assert episode.commands == ["look", "open door", "win"]
    assert attempt.usage == attempt.trace.usage == Usage(3, 300, 60, 15, 0.03)
    assert (attempt.trace.turns, attempt.trace.model, attempt.trace.finished) == (3, "m-1", True)
    assert attempt.trace.events == (
        Message("I look around."),
        ToolCall("act", "look", "You did: look", ok=True),
        ToolCall("act", "open door", "You did: open door", ok=True),
        ToolCall("act", "win", "You have won.", ok=True),
    )
    assert "open door" in attempt.summary
    assert (tmp_path / "attempt/chat_trace_summary.txt").read_text() == attempt.summary
    assert len(model.requests) == 3


async def test_the_model_is_told_skill_task_opening_and_every_result(tmp_path: Path) -> None:
    _, model, _ = await played(tmp_path, calls("open door", "look"), calls("win"), files={}, seed=3)
    first, second = model.requests
    assert first.system == f"{SKILL.text.strip()}\n\n{TOOLS_SYSTEM}"
    assert first.messages[0].content == "Count the lines.\n\nYou are in a room."
    assert [tool.name for tool in first.tools] == ["act"]
    assert (first.seed, second.seed) == (3, 3)
    assert second.messages[0] == first.messages[0]
    said, told = second.messages[1:]
    assert (said.role, [use.id for use in said.calls]) == ("assistant", ["c0", "c1"])
    assert told.role == "user"
    assert [(one.id, one.text, one.ok) for one in told.answers] == [
        ("c0", "You did: open door", True),
        ("c1", "You did: look", True),
    ]


async def test_calls_that_cannot_be_made_are_answered_and_change_nothing(tmp_path: Path) -> None:
    odd = (ToolUse("a", "act", None, "{oops"), ToolUse("b", "reset", {}), ToolUse("c", "act", {"command": 5}))
    attempt, model, episode = await played(tmp_path, replace(calls(), calls=odd), calls("open door"), calls("win"))
    assert [one.ok for one in model.requests[1].messages[-1].answers] == [False, False, False]
    assert "not a JSON object" in model.requests[1].messages[-1].answers[0].text
    assert episode.commands == ["open door", "win"]
    assert [event.ok for event in attempt.trace.events if isinstance(event, ToolCall)] == [False] * 3 + [True] * 2


STOPS = [
    (calls(text="I give up."), Outcome.COMPLETED),
    (calls(), Outcome.AGENT_EMPTY),
    (calls("win", stop="length"), Outcome.AGENT_OUTPUT_LIMIT),
    (calls(text="No.", stop="refusal"), Outcome.AGENT_REFUSED),
    (ProviderError(ProviderFailure.CONTEXT_LENGTH, "too long"), Outcome.AGENT_CONTEXT),
]


@pytest.mark.parametrize(("last", "outcome"), STOPS, ids=[str(outcome) for _, outcome in STOPS])
async def test_a_model_that_stops_early_is_scored_by_what_it_did(tmp_path: Path, last: Said, outcome: Outcome) -> None:
    attempt, _, _ = await played(tmp_path, calls("open door"), last)
    assert attempt.outcome is outcome
    assert POLICIES[attempt.outcome].scored
    assert attempt.episode == EpisodeStatus(won=False, over=False, commands=1, moves=1)


@pytest.mark.parametrize(
    ("failure", "outcome"),
    [
        (ProviderFailure.RATE_LIMIT, Outcome.RATE_LIMIT),
        (ProviderFailure.BAD_REQUEST, Outcome.REQUEST_REFUSED),
    ],
)
async def test_a_provider_that_fails_on_the_way_is_no_score(
    tmp_path: Path, failure: ProviderFailure, outcome: Outcome
) -> None:
    attempt, _, _ = await played(tmp_path, calls("open door"), ProviderError(failure, "refused"))
    assert (attempt.outcome, attempt.usage) == (outcome, EACH)
    assert not POLICIES[outcome].scored


async def test_a_first_request_that_is_refused_is_a_bad_setting(tmp_path: Path) -> None:
    attempt, _, _ = await played(tmp_path, ProviderError(ProviderFailure.BAD_REQUEST, "no tools here"))
    assert (attempt.outcome, POLICIES[attempt.outcome].stop_run) == (Outcome.BAD_REQUEST, True)


async def test_turns_are_bounded(tmp_path: Path) -> None:
    attempt, model, episode = await played(tmp_path, calls("look"), max_turns=24)
    assert (attempt.outcome, len(model.requests), len(episode.commands)) == (Outcome.AGENT_TURNS, 24, 24)
    assert "24 turns" in attempt.detail


async def test_the_last_turn_may_win(tmp_path: Path) -> None:
    attempt, _, _ = await played(tmp_path, calls("open door"), calls("win"), max_turns=2)
    assert attempt.outcome is Outcome.COMPLETED
    assert attempt.episode is not None
    assert attempt.episode.won


async def test_the_episode_s_own_bound_ends_it(tmp_path: Path) -> None:
    attempt, model, _ = await played(tmp_path, calls("look"), episode=FakeEpisode(max_commands=3))
    assert (attempt.outcome, len(model.requests)) == (Outcome.COMPLETED, 3)
    assert attempt.episode == EpisodeStatus(won=False, over=True, commands=3, moves=3)


@pytest.mark.parametrize("caps", [Caps(requests=2), Caps(tokens=210), Caps(usd=0.02)])
async def test_caps_are_honoured(tmp_path: Path, caps: Caps) -> None:
    attempt, model, _ = await played(tmp_path, calls("look"), caps=caps)
    assert (attempt.outcome, len(model.requests)) == (Outcome.AGENT_BUDGET, 2)
    assert "cap: " in attempt.detail


async def test_a_world_that_fails_is_never_a_score(tmp_path: Path) -> None:
    episode = FakeEpisode(breaks_at=2)
    attempt, _, _ = await played(tmp_path, calls("look"), episode=episode)
    assert (attempt.outcome, attempt.episode) == (Outcome.EPISODE_FAILED, None)
    assert attempt.detail == "the game's process ended"
    assert not POLICIES[attempt.outcome].scored
    assert attempt.usage.requests == 2


class Slow(ScriptedModel):
    """Answers once at once, and then no more."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        if self.requests:
            await asyncio.sleep(600)
        return await super().complete(request)


async def test_a_silent_provider_at_the_deadline_is_to_blame(tmp_path: Path) -> None:
    for deadline_s in (0.3, *LONGER_S):
        episode = FakeEpisode()
        given = assignment(tmp_path / f"{deadline_s}", episode=episode.open, deadline_s=deadline_s)
        attempt = await ChatHarness(Slow(script(calls("look")))).run(given)
        if attempt.outcome is Outcome.UNREACHABLE:
            break  # else a busy machine took too much of the time itself
    assert attempt.outcome is Outcome.UNREACHABLE
    assert episode.closed


class Dawdling(FakeEpisode):
    """Takes its time, so that the deadline comes while the model is not asked."""

    async def act(self, line: str) -> Any:
        await asyncio.sleep(0.1)
        return await super().act(line)


async def test_an_agent_still_at_work_at_its_deadline_is_scored(tmp_path: Path) -> None:
    for deadline_s in (0.5, *LONGER_S):
        world = Dawdling(max_commands=5_000)
        attempt, _, _ = await played(tmp_path / f"{deadline_s}", calls("look"), episode=world, deadline_s=deadline_s)
        if attempt.outcome is Outcome.AGENT_DEADLINE:
            break  # else a busy machine took too much of the time itself
    assert attempt.outcome is Outcome.AGENT_DEADLINE
    assert attempt.episode is not None
    assert not attempt.episode.won


async def test_a_fault_of_our_own_is_told_and_no_score(tmp_path: Path) -> None:
    class Broken(FakeEpisode):
        async def act(self, line: str) -> Any:
            raise RuntimeError(line)

    attempt, _, _ = await played(tmp_path, calls("look"), episode=Broken())
    assert (attempt.outcome, "RuntimeError" in attempt.detail) == (Outcome.BAD_REQUEST, True)
