"""A chat model in a world: it calls the world's tools until the world is over, or it stops, or a bound is met.

Bounds: turns, the attempt's caps (looked at before each request, so the last one may exceed them by one reply), and the
deadline. A world that fails is a failure of ours, never a score of the model's.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from harnesses.classify import SILENT_S, Verdict, provider_outcome
from harnesses.episode import EpisodeError, EpisodeStatus, World, WorldOpener
from harnesses.models.client import ChatMessage, ModelClient, ModelReply, ModelRequest, ToolAnswer, ToolUse
from harnesses.outcome import Outcome
from harnesses.traces.builder import ANSWER_CHARS, TraceBuilder
from harnesses.traces.text import compact_json, encodable, shorten
from harnesses.traces.trace import Trace
from sandboxes.gateway.policy import Caps, ProviderError, Usage

RESULT_CHARS = 20_000
"""Of one tool result, both ends: what a model is told."""


class Conversation:
    """One attempt's turns: what is known of them at any point, whatever ends them."""

    def __init__(
        self, client: ModelClient, *, caps: Caps, max_turns: int, deadline_s: float, last_word: str = ""
    ) -> None:
        self._client = client
        self._caps = caps
        self._max_turns = max_turns
        self._deadline_s = deadline_s
        self._last_word = last_word  # told where one turn is left
        self._asked_at: float | None = None
        self._events = TraceBuilder()
        self._last: ModelReply | None = None
        self._turns = 0
        self.usage = Usage()
        self.status: EpisodeStatus | None = None

    async def run(self, request: ModelRequest, opener: WorldOpener) -> Verdict:
        """All turns; raises only what is a fault of our own, and `CancelledError`."""
        try:
            async with asyncio.timeout(self._deadline_s), opener() as world:
                try:
                    return await self._converse(request, world)
                finally:
                    self.status = world.status
        except EpisodeError as error:
            self.status = None
            return Outcome.EPISODE_FAILED, str(error)
        except ProviderError as error:
            outcome = provider_outcome(error.kind)
            # What worked a moment ago is no bad setting.
            refused = outcome is Outcome.BAD_REQUEST and self._turns
            return (Outcome.REQUEST_REFUSED if refused else outcome), str(error)
        except TimeoutError:
            return self._too_late()

    def _too_late(self) -> Verdict:
        if self.status is None:
            return Outcome.EPISODE_FAILED, f"the world did not start within the task's {self._deadline_s:g} s"
        silent = 0.0 if self._asked_at is None else time.monotonic() - self._asked_at
        if not self._turns or silent >= min(SILENT_S, self._deadline_s / 2):
            return Outcome.UNREACHABLE, f"{self._client.provider} had been silent for {silent:.0f} s at the deadline"
        return Outcome.AGENT_DEADLINE, "the agent was still at work at its deadline"

    async def _converse(self, request: ModelRequest, world: World) -> Verdict:
        first = request.messages[-1]
        opened = replace(first, content=f"{first.content}\n\n{encodable(world.opening)}")
        request = replace(request, messages=(*request.messages[:-1], opened), tools=world.tools)
        while self._turns < self._max_turns:
            if capped := self._capped():
                return Outcome.AGENT_BUDGET, f"the attempt's cap was reached ({capped})"
            reply = await self._ask(request)
            if verdict := _stopped(reply):
                return verdict
            answers = [await self._answer(world, use, number) for number, use in enumerate(reply.calls)]
            if world.status.over:
                return Outcome.COMPLETED, ""
            if self._last_word and self._turns == self._max_turns - 1:
                answers[-1] = replace(answers[-1], text=f"{answers[-1].text}\n\n{self._last_word}")
            said = ChatMessage("assistant", encodable(reply.text), calls=reply.calls)
            told = ChatMessage("user", "", answers=tuple(answers))
            request = replace(request, messages=(*request.messages, said, told))
        return Outcome.AGENT_TURNS, f"the attempt's limit of {self._max_turns} turns was reached"

    def _capped(self) -> str:
        used, caps = self.usage, self._caps
        if used.requests >= caps.requests:
            return "cap: requests"
        if used.tokens >= caps.tokens:
            return "cap: tokens"
        # With an unknown price the caps that are known still hold; the budget says so at the start.
        return "cap: usd" if caps.usd is not None and (used.usd or 0.0) >= caps.usd else ""

    async def _ask(self, request: ModelRequest) -> ModelReply:
        self._asked_at = time.monotonic()
        reply = await self._client.complete(request)
        self._asked_at = None
        self._last = reply
        self._turns += 1
        self.usage += reply.usage
        self._events.message(encodable(reply.text))
        return reply

    async def _answer(self, world: World, use: ToolUse, number: int) -> ToolAnswer:
        key = f"{self._turns}.{number}"
        self._events.call(key, encodable(use.name)[:100], _shown(use))
        if use.arguments is None:
            text, ok = "The arguments are not a JSON object: nothing was done.", False
        else:
            result = await world.call(use.name, use.arguments)
            text, ok = shorten(encodable(result.text), RESULT_CHARS), result.ok
        self._events.result(key, text, ok=ok)
        return ToolAnswer(use.id, text or "(nothing)", ok)

    def trace(self, verdict: Verdict, *, skilled: bool) -> Trace:
        """What happened, in order."""
        last = self._last
        return Trace(
            events=self._events.finished(),
            final_answer="" if last is None else shorten(encodable(last.text), ANSWER_CHARS),
            usage=self.usage,
            turns=self._turns,
            model="" if last is None else last.model,
            skill_listed=True if skilled else None,
            skill_opened=skilled and last is not None,
            finished=verdict[0] is Outcome.COMPLETED,
            stop_reason="" if last is None else last.stop,
        )


def _stopped(reply: ModelReply) -> Verdict | None:
    """How a reply ends the conversation; None if it goes on."""
    if reply.stop == "refusal":
        return Outcome.AGENT_REFUSED, "the model refused"
    if reply.stop == "length":
        return Outcome.AGENT_OUTPUT_LIMIT, "a reply reached max_output_tokens"
    if reply.calls:
        return None
    return (Outcome.COMPLETED, "") if reply.text.strip() else (Outcome.AGENT_EMPTY, "the model replied with nothing")


def _shown(use: ToolUse) -> str:
    """A call's input for people: the one text argument as it is, else compact JSON."""
    values = list((use.arguments or {}).values())
    if len(values) == 1 and isinstance(values[0], str):
        return encodable(values[0])
    return encodable(use.raw) if use.arguments is None else compact_json(dict(use.arguments))
