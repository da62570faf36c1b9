"""The chat harness: one completion with the skill in front of the system prompt.

A task with an episode, or with tools for its files, is a conversation instead: those tools are the only ones, and a
sandbox is opened only for scripts.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field

import structlog

from harnesses.chat_episode import Conversation
from harnesses.chat_tools import Boxes, ToolWork
from harnesses.classify import Verdict, provider_outcome
from harnesses.episode import EpisodeOpener, EpisodeStatus
from harnesses.file_tools import text_of
from harnesses.harness import Assignment, Attempt, ChatTools
from harnesses.images import images_of
from harnesses.keep import told_skill, write_summary
from harnesses.models.client import ChatMessage, Image, ModelClient, ModelReply, ModelRequest
from harnesses.outcome import Outcome
from harnesses.tool_room import LAST_WORD
from harnesses.tool_room import SYSTEM as FILES_SYSTEM
from harnesses.traces.summary import SUMMARY_CHARS, summarize
from harnesses.traces.text import encodable, one_line, shorten
from harnesses.traces.trace import Message, Trace
from sandboxes.gateway.policy import Caps, ProviderError
from sandboxes.sandbox import Collected

SYSTEM = "Solve the user's task. Reply with the answer itself, in the form that the task asks for."
TOOLS_SYSTEM = "Solve the user's task by calling your tools, one call at a time, until you are told that it is over."
FILE_CHARS = 60_000
"""Kept of one task file, both ends; `FILES_CHARS` of all together."""
FILES_CHARS = 200_000


@dataclass(frozen=True)
class ChatSettings:
    """What decides a chat attempt's result besides skill and task."""

    host: str = ""
    """The provider's host without its port: equal model names on two hosts are two models."""
    max_output_tokens: int = 8192
    temperature: float | None = None
    summary_chars: int = SUMMARY_CHARS
    caps: Caps = field(default_factory=Caps)
    """Of a conversation; a single completion is bounded by `max_output_tokens`."""


class ChatHarness:
    """A `Harness` over a plain model."""

    def __init__(self, client: ModelClient, settings: ChatSettings | None = None, boxes: Boxes | None = None) -> None:
        """`boxes` is where scripts run; None: no task may need it."""
        self._client = client
        self._settings = settings or ChatSettings()
        self._boxes = boxes
        self._log = structlog.get_logger(harness=self.name)

    @property
    def name(self) -> str:
        """As `Harness.name`."""
        return "chat"

    def settings(self) -> Mapping[str, str]:
        """As `Harness.settings`."""
        heat = self._settings.temperature
        return {
            "harness": self.name,
            "provider": self._client.provider,
            "host": self._settings.host,
            "model": self._client.model,
            "max_output_tokens": str(self._settings.max_output_tokens),
            "temperature": "" if heat is None else f"{heat:g}",
            "max_requests": str(self._settings.caps.requests),
            "max_tokens": str(self._settings.caps.tokens),
            "max_usd": "" if self._settings.caps.usd is None else f"{self._settings.caps.usd:g}",
        }

    async def run(self, assignment: Assignment) -> Attempt:
        """As `Harness.run`."""
        started = time.monotonic()
        if assignment.setup:
            verdict = (
                Outcome.SETUP_FAILED,
                f"{assignment.setup} takes a workspace, which a chat model has not: use a CLI",
            )
            return await self._attempt(assignment, verdict, Trace(), started)
        if assignment.episode is not None:
            return await self._conversation(assignment, assignment.episode, started)
        if assignment.tools is not None:
            return await self._with_tools(assignment, assignment.tools, started)
        reply = None
        try:
            request = chat_request(assignment, self._settings)
            async with asyncio.timeout(assignment.deadline_s):
                reply = await self._client.complete(request)
            outcome, detail = _verdict(reply)
        except ProviderError as error:
            outcome, detail = provider_outcome(error.kind), str(error)
        except TimeoutError:
            outcome = Outcome.UNREACHABLE
            detail = f"{self._client.provider} gave no reply within the task's {assignment.deadline_s:g} s"
        except Exception as error:
            # A fault of our own: told aloud, and never a score of the model's.
            self._log.exception("attempt_failed", attempt=assignment.attempt_id)
            outcome = Outcome.BAD_REQUEST
            detail = f"honed could not ask the model ({type(error).__name__}): please report it"
        trace = _trace(reply, skilled=assignment.skill is not None)
        return await self._attempt(assignment, (outcome, one_line(detail, 500)), trace, started)

    async def _conversation(self, assignment: Assignment, opener: EpisodeOpener, started: float) -> Attempt:
        talk = self._talk(assignment, assignment.max_turns)
        request = chat_request(assignment, self._settings, system=TOOLS_SYSTEM)
        verdict = await self._told(assignment, talk.run(request, opener))
        trace = talk.trace(verdict, skilled=assignment.skill is not None)
        return await self._attempt(assignment, verdict, trace, started, episode=talk.status)

    async def _with_tools(self, assignment: Assignment, tools: ChatTools, started: float) -> Attempt:
        work = ToolWork(assignment, tools, self._boxes)
        talk = self._talk(assignment, work.turns, last_word=LAST_WORD)
        request = chat_request(assignment, self._settings, system=FILES_SYSTEM, shown=False)
        verdict = await self._told(assignment, work.run(talk, request))
        trace = talk.trace(verdict, skilled=assignment.skill is not None)
        return await self._attempt(assignment, verdict, trace, started, work=work)

    def _talk(self, assignment: Assignment, turns: int, *, last_word: str = "") -> Conversation:
        return Conversation(
            self._client,
            caps=self._settings.caps,
            max_turns=turns,
            deadline_s=assignment.deadline_s,
            last_word=last_word,
        )

    async def _told(self, assignment: Assignment, running: Awaitable[Verdict]) -> Verdict:
        try:
            outcome, detail = await running
        except Exception as error:
            # As in `run`: a fault of our own.
            self._log.exception("attempt_failed", attempt=assignment.attempt_id)
            outcome, detail = Outcome.BAD_REQUEST, f"honed failed ({type(error).__name__}): please report it"
        return outcome, one_line(detail, 500)

    async def _attempt(
        self,
        assignment: Assignment,
        verdict: Verdict,
        trace: Trace,
        started: float,
        *,
        episode: EpisodeStatus | None = None,
        work: ToolWork | None = None,
    ) -> Attempt:
        outcome, detail = verdict
        told = f"{outcome.value}{f' ({detail})' if detail else ''}"
        summary = summarize(
            trace,
            outcome=told,
            harness=self.name,
            skill=told_skill(assignment.skill),
            files=None if work is None else work.changed,
            limit=self._settings.summary_chars,
        )
        await asyncio.to_thread(write_summary, assignment.folder, self.name, summary)
        return Attempt(
            attempt_id=assignment.attempt_id,
            outcome=outcome,
            detail=detail,
            trace=trace,
            summary=summary,
            workspace=Collected({}) if work is None else work.workspace,
            usage=trace.usage,
            wall_s=time.monotonic() - started,
            engine=None if work is None else work.engine,
            episode=episode,
        )


def chat_request(
    assignment: Assignment, settings: ChatSettings, *, system: str = SYSTEM, shown: bool = True
) -> ModelRequest:
    """What the model is asked: skill and house rule as system prompt, then the task with its text files and images.

    `shown`: False leaves the text files to its tools.
    """
    skill = assignment.skill
    system = system if skill is None else f"{encodable(skill.text).strip()}\n\n{system}"
    images = images_of(assignment.seen)
    prompt = encodable(assignment.prompt) + "".join(_shown_files(assignment.seen, images) if shown else ())
    return ModelRequest(
        system=system,
        messages=(ChatMessage("user", prompt, images=tuple(images.values())),),
        max_output_tokens=settings.max_output_tokens,
        temperature=settings.temperature,
        seed=assignment.seed,
    )


def _shown_files(files: Mapping[str, bytes], images: Mapping[str, Image]) -> list[str]:
    shown: list[str] = []
    left = FILES_CHARS
    for path in sorted(files):
        text = text_of(files[path])
        if path in images:
            number = list(images).index(path) + 1
            shown.append(f"\n\n<file path={path!r}>(image {number} of {len(images)} above)</file>")
        elif text is None:
            shown.append(f"\n\n<file path={path!r}>(not text: {len(files[path])} bytes)</file>")
        elif left <= 0:
            shown.append(f"\n\n<file path={path!r}>(left out: the files are too large together)</file>")
        else:
            text = shorten(text, min(FILE_CHARS, left))
            left -= len(text)
            shown.append(f"\n\n<file path={path!r}>\n{text}\n</file>")
    return shown


def _verdict(reply: ModelReply) -> Verdict:
    match reply.stop:
        case "refusal":
            return Outcome.AGENT_REFUSED, "the model refused"
        case "length":
            return Outcome.AGENT_OUTPUT_LIMIT, "the reply reached max_output_tokens"
    if not reply.text.strip():
        return Outcome.AGENT_EMPTY, "the model replied with nothing"
    return Outcome.COMPLETED, ""


def _trace(reply: ModelReply | None, *, skilled: bool) -> Trace:
    if reply is None:
        return Trace(skill_listed=True if skilled else None)
    text = encodable(reply.text)
    return Trace(
        events=(Message(text),) if text.strip() else (),
        final_answer=text,
        usage=reply.usage,
        turns=1,
        model=reply.model,
        skill_listed=True if skilled else None,
        skill_opened=skilled,
        finished=reply.stop == "end",
        stop_reason=reply.stop,
    )
