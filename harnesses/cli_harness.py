"""What both CLI harnesses share: one attempt from the door's opening to its closing, and nothing raised but cancelling.

Order: door, box, files, command, collection, reading, verdict; the door is closed whatever happens, which revokes it.
Blocking file work and parsing run in threads. What went wrong is attributed where it went wrong.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

import structlog

from harnesses.classify import Evidence, Verdict, classify
from harnesses.clis import CliBinary
from harnesses.episode import EpisodeError, EpisodeStatus
from harnesses.episode_door import TARGET, EpisodeDoor, episode_door
from harnesses.harness import Activation, Assignment, Attempt
from harnesses.keep import tail, told_skill, write_summary
from harnesses.outcome import Outcome
from harnesses.task_script import SetupError, run_setup
from harnesses.traces.skill_probe import SkillMarks, SkillProbe
from harnesses.traces.summary import SUMMARY_CHARS, summarize
from harnesses.traces.text import one_line
from harnesses.traces.trace import FileChange, Trace
from harnesses.vigil import Patience, Vigil
from harnesses.workspace import PROMPT_FILE, Laid, WorkspaceError, changes
from sandboxes.gateway.gateway import Door, Gateway
from sandboxes.gateway.policy import DoorPolicy, Tally
from sandboxes.sandbox import (
    Box,
    BoxSpec,
    Carried,
    Collected,
    Command,
    Ended,
    EngineFacts,
    Layout,
    Limits,
    Mount,
    Sandbox,
    SandboxError,
)

_GRACE_S = 300.0
"""Added to the attempt's deadline before a sweep may take its box."""
# stdin is the prompt's file; stdout and stderr stay the box's. $0 is the prompt's path, $1 a folder to make first.
_SHELL = 'mkdir -p -- "$1" && shift && exec "$@" < "$0"'

_OF = {
    EpisodeError: Outcome.EPISODE_FAILED,
    SetupError: Outcome.SETUP_FAILED,
    WorkspaceError: Outcome.SKILL_NOT_VISIBLE,
}


@dataclass(frozen=True)
class CliSettings:
    """What decides a CLI attempt's result besides skill and task."""

    cli: CliBinary
    policy: DoorPolicy
    """The template of every attempt's door: upstream, model, caps, price. Provider tools come from the assignment."""
    activation: Activation = "explicit"
    limits: Limits = field(default_factory=Limits)
    mounts: tuple[Mount, ...] = ()
    """Shown besides the CLI: programs that the engine's root lacks."""
    summary_chars: int = SUMMARY_CHARS
    patience: Patience = field(default_factory=Patience)
    """With a CLI that does nothing at all. It decides no score, so it is part of no key."""


@dataclass
class _Record:
    """What is known of one attempt so far: an `Attempt` can be made of it at any point."""

    assignment: Assignment
    started: float = field(default_factory=time.monotonic)
    engine: EngineFacts | None = None
    ended: Ended | None = None
    tally: Tally = field(default_factory=Tally)
    trace: Trace = field(default_factory=Trace)
    workspace: Collected = field(default_factory=lambda: Collected({}))
    changed: tuple[FileChange, ...] | None = None
    """What is different in the workspace; None while nobody looked."""
    marks: SkillMarks = field(default_factory=SkillMarks)
    """How the door tells that the model was shown the skill."""
    game: EpisodeDoor | None = None
    """The episode, while it is open."""
    episode: EpisodeStatus | None = None


class CliHarness(ABC):
    """A `Harness` that runs one CLI in a sandbox behind the gateway."""

    turns_capped = False
    """The door's request cap stands for the turn limit."""

    def __init__(self, sandbox: Sandbox, gateway: Gateway, settings: CliSettings) -> None:
        self._sandbox = sandbox
        self._gateway = gateway
        self._settings = settings
        self._log = structlog.get_logger(harness=self.name)

    @property
    @abstractmethod
    def name(self) -> str:
        """As `Harness.name`."""

    @abstractmethod
    def lay(self, assignment: Assignment) -> Laid:
        """The files to write before the run; raises `WorkspaceError`."""

    @abstractmethod
    def prompt(self, assignment: Assignment) -> str:
        """What the CLI is asked."""

    @abstractmethod
    def argv(self, assignment: Assignment, layout: Layout) -> tuple[str, ...]:
        """The CLI's command line, its binary first; the prompt is not in it."""

    @abstractmethod
    def env(self, layout: Layout, token: str) -> Mapping[str, str]:
        """The CLI's whole environment."""

    @abstractmethod
    def config_home(self, layout: Layout) -> str:
        """The folder under `layout.out` that the CLI keeps its state in."""

    @property
    @abstractmethod
    def forward(self) -> bool:
        """It needs the loopback forwarder."""

    @abstractmethod
    def read(self, stdout: Path, out: Collected, probe: SkillProbe | None) -> Trace:
        """The trace of what it printed and recorded."""

    def settings(self) -> Mapping[str, str]:
        """As `Harness.settings`."""
        policy = self._settings.policy
        return {
            "harness": self.name,
            "provider": policy.upstream.provider,
            "host": urlsplit(policy.upstream.base_url).hostname or "",
            "model": policy.model,
            "cli_version": self._settings.cli.version,
            "activation": self._settings.activation,
            "max_requests": str(policy.caps.requests),
            "max_tokens": str(policy.caps.tokens),
            "max_usd": "" if policy.caps.usd is None else f"{policy.caps.usd:g}",
        }

    async def run(self, assignment: Assignment) -> Attempt:
        """As `Harness.run`."""
        record = _Record(assignment)
        verdict = await self._conduct(record)
        return await self._attempt(record, (verdict[0], one_line(verdict[1], 500)))

    async def _conduct(self, record: _Record) -> Verdict:
        """Do it all, and say what came of it, whatever goes wrong."""
        try:
            laid = self.lay(record.assignment)
            if not self._settings.cli.present:
                return Outcome.CLI_MISSING, f"{self._settings.cli.path} is missing"
            record.engine = await self._sandbox.facts()
            async with episode_door(record.assignment.episode) as record.game:
                return await self._behind_door(record, laid)
        except (EpisodeError, SetupError, WorkspaceError) as error:
            return next(outcome for kind, outcome in _OF.items() if isinstance(error, kind)), str(error)
        except SandboxError as error:
            started = record.ended is not None
            return (Outcome.SANDBOX_LOST if started else Outcome.SANDBOX_START), str(error)
        except OSError as error:
            self._log.exception("attempt_failed", attempt=record.assignment.attempt_id)
            return Outcome.SANDBOX_LOST, f"the host failed: {type(error).__name__}: {error.strerror or error}"
        except Exception as error:
            # A fault of our own: told aloud, and never a score of the agent's.
            self._log.exception("attempt_failed", attempt=record.assignment.attempt_id)
            return Outcome.CLI_PROTOCOL, f"honed could not read the run ({type(error).__name__}): please report it"

    async def _behind_door(self, record: _Record, laid: Laid) -> Verdict:
        record.marks = await asyncio.to_thread(_marks, record.assignment)
        policy = replace(self._policy(record.assignment), marks=record.marks.texts)
        door = await self._gateway.open(record.assignment.attempt_id, policy)
        try:
            verdict = await self._in_box(record, laid, door)
        finally:
            record.tally = replace(await door.close(), waiting_s=record.tally.waiting_s)
        game = record.game
        if game is not None and game.failure:
            return Outcome.EPISODE_FAILED, game.failure
        record.episode = None if game is None else game.status
        return verdict

    def _policy(self, assignment: Assignment) -> DoorPolicy:
        policy = replace(self._settings.policy, provider_tools=assignment.provider_tools)
        if self.turns_capped:
            caps = replace(policy.caps, requests=min(policy.caps.requests, assignment.max_turns))
            policy = replace(policy, caps=caps)
        return policy

    async def _in_box(self, record: _Record, laid: Laid, door: Door) -> Verdict:
        assignment = record.assignment
        spec = BoxSpec(
            attempt_id=assignment.attempt_id,
            folder=assignment.folder,
            deadline=time.time() + assignment.deadline_s + _GRACE_S,
            gateway_socket=door.socket,
            mounts=(self._settings.cli.mount, *self._settings.mounts, *((record.game.mount,) if record.game else ())),
            limits=assignment.limits(self._settings.limits) if assignment.limits else self._settings.limits,
            root=assignment.root,
            carried=Carried(assignment.before.folder, laid.clear) if assignment.before else None,
        )
        async with self._sandbox.open(spec) as box:
            await self._set_up(box, assignment)
            await self._write(box, record, laid)
            vigil = Vigil(door, assignment.folder, self._settings.patience)
            watching = asyncio.create_task(vigil.watch())
            try:
                command = self._command(record, box.layout, door.token)
                record.ended = await box.run(replace(command, hung=lambda: vigil.hung))
            finally:
                watching.cancel()
                await asyncio.wait({watching})  # unlike awaiting it, this cannot be mistaken for our own cancellation
            record.tally = replace(await door.close(), waiting_s=vigil.silent_s)
            record.workspace = await box.collect()
            record.changed = changes({**assignment.seen, **laid.workspace}, record.workspace)
            out = await box.collect(room="out")
        return await self._judged(record, record.ended, out)

    async def _set_up(self, box: Box, assignment: Assignment) -> None:
        """Let the task's script see the task's files; the skill is laid afterwards, so that nothing touches it."""
        if assignment.setup:
            await box.write(assignment.files)
            await run_setup(box, assignment.setup, assignment.root, assignment.deadline_s)

    async def _write(self, box: Box, record: _Record, laid: Laid) -> None:
        given = (
            record.assignment.files if record.assignment.setup else {}
        )  # laid by now, and the script may change them
        await box.write({path: data for path, data in laid.workspace.items() if path not in given})
        prompt = self.prompt(record.assignment)
        asked = record.game.asked(prompt) if record.game else prompt
        await box.write({**laid.out, PROMPT_FILE: asked.encode("utf-8", "replace")}, room="out")

    def _command(self, record: _Record, layout: Layout, token: str) -> Command:
        assignment, env = record.assignment, dict(self.env(layout, token))
        if record.game:
            env["PATH"] = f"{TARGET}:{env['PATH']}"
        start = ("/bin/sh", "-c", _SHELL, f"{layout.out}/{PROMPT_FILE}", self.config_home(layout))
        return Command(
            argv=(*start, *self.argv(assignment, layout)),
            env=env,
            deadline_s=assignment.deadline_s,
            forward=self.forward,
        )

    async def _judged(self, record: _Record, ended: Ended, out: Collected) -> Verdict:
        assignment, skill = record.assignment, record.assignment.skill
        probe = None if skill is None else SkillProbe(skill.name, skill.text)
        trace = await asyncio.to_thread(self.read, ended.stdout, out, probe)
        marks, seen = record.marks, record.tally.seen
        # What the door saw go by is sure; the session files lay where the agent could delete or change them.
        record.trace = replace(
            trace,
            turns=trace.turns or record.tally.usage.requests,
            skill_listed=True if marks.listed in seen else trace.skill_listed,
            skill_opened=trace.skill_opened or marks.body in seen,
        )
        evidence = Evidence(
            ended=ended,
            trace=record.trace,
            tally=record.tally,
            activation=None if skill is None else assignment.activation,
            turns_capped=self.turns_capped and assignment.max_turns <= self._settings.policy.caps.requests,
            stderr=await asyncio.to_thread(tail, ended.stderr),
        )
        return classify(evidence)

    async def _attempt(self, record: _Record, verdict: Verdict) -> Attempt:
        outcome, detail = verdict
        told = f"{outcome.value}{f' ({detail})' if detail else ''}"
        summary = await asyncio.to_thread(
            summarize,
            record.trace,
            outcome=told,
            harness=self.name,
            skill=told_skill(record.assignment.skill),
            files=record.changed,
            limit=self._settings.summary_chars,
        )
        await asyncio.to_thread(write_summary, record.assignment.folder, self.name, summary)
        return Attempt(
            attempt_id=record.assignment.attempt_id,
            outcome=outcome,
            detail=detail,
            trace=record.trace,
            summary=summary,
            workspace=record.workspace,
            usage=record.tally.usage,
            wall_s=time.monotonic() - record.started,
            versions={self._settings.cli.name: self._settings.cli.version},
            engine=record.engine,
            episode=record.episode,
        )


def _marks(assignment: Assignment) -> SkillMarks:
    skill = assignment.skill
    if skill is None:
        return SkillMarks()
    return SkillProbe(skill.name, told_skill(skill)).marks(assignment.prompt, assignment.files.values())
