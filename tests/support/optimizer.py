"""A small world for the optimizer's tests: tasks are solved by rules in the skill, replies come from a script.

The harness answers `ok` if every rule that the task needs is in SKILL.md and none that breaks it; the optimizer model
is a function from a request to a reply. Nothing here waits for real time.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from daemon.budget.purse import OpenPurse, Purse
from daemon.config_train import TrainSection
from daemon.journal.journal import Journal
from daemon.journal.memory import MemoryJournal
from daemon.journal.records import AttemptRecord
from daemon.optimizer.beside import Beside
from daemon.optimizer.loop import Training
from daemon.optimizer.settings import Knobs
from daemon.rollouts.attempt import AttemptSettings
from daemon.rollouts.progress import Event, Observer, Silent
from daemon.rollouts.result import TaskResult
from daemon.rollouts.rollouts import Rollouts
from daemon.rollouts.salvage import Salvage
from daemon.tasks.scorers.scorer import Result
from daemon.tasks.task import Score, ScorerSpec, Split, Task, TaskSet
from harnesses.harness import Assignment, Attempt
from harnesses.models.client import ModelReply, ModelRequest
from harnesses.outcome import Outcome
from harnesses.traces.trace import Trace
from sandboxes.gateway.policy import Usage
from sandboxes.sandbox import Collected
from skills_repo.fake import FakeSkillRepository
from skills_repo.history import Author, SkillHistory
from skills_repo.skill import Skill

HEAD = "---\nname: demo\ndescription: A skill for tests.\n---\n\n# demo\n"


def make_skill(*lines: str) -> Skill:
    """A valid skill with these lines in its body."""
    return Skill("demo", {"SKILL.md": (HEAD + "".join(f"{line}\n" for line in lines)).encode()})


def make_task(task_id: str, split: Split = "train", **fields: Any) -> Task:
    """A task whose digest is its id."""
    fields = {"prompt": f"Do {task_id}.", "answer": f"GOLD-{task_id}", **fields}
    return Task(id=task_id, scorer=ScorerSpec("exact_match"), split=split, digest=f"sha256:{task_id}", **fields)


def make_result(
    task_id: str, score: float | None, hard: bool | None = None, *, reused: bool = False, **fields: Any
) -> TaskResult:
    """A task's result; `score` None is invalid."""
    solved = hard if hard is not None else (None if score is None else score >= 1)
    record = AttemptRecord(
        attempt_id=f"a-{task_id}",
        key="sha256:key",
        task_id=task_id,
        outcome=Outcome.COMPLETED if score is not None else Outcome.SANDBOX_LOST,
        detail="",
        score=score,
        hard=solved,
        feedback="",
        summary="",
        final_answer="",
        skill_listed=True,
        skill_opened=True,
        usage={"requests": 1, "input_tokens": 10, "cached_input_tokens": 0, "output_tokens": 5, "usd": 0.25},
        wall_s=1.0,
        versions={},
        engine={},
        score_detail={},
    )
    weight = fields.pop("weight", 1.0)
    return TaskResult(make_task(task_id, weight=weight), replace(record, **fields), reused)


@dataclass
class WorldHarness:
    """An agent whose doing depends on the skill's text alone."""

    needs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Task id to the rules it needs."""
    breaks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Task id to the rules that make it fail."""
    failures: dict[str, list[Outcome]] = field(default_factory=dict)
    """Task id to the outcomes of its next attempts, before it works normally."""
    chaos: random.Random | None = None
    """Where given, attempts end in random order."""
    name: str = "chat"
    runs: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(skill digest, task id) to completed runs."""
    running: int = 0
    most_running: int = 0

    def settings(self) -> Mapping[str, str]:
        return {"provider": "fakeprovider", "model": "fake-1"}

    async def run(self, assignment: Assignment) -> Attempt:
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            for _ in range(self.chaos.randrange(12) if self.chaos else 1):
                await asyncio.sleep(0)
        finally:
            self.running -= 1
        waiting = self.failures.get(assignment.task_id)
        outcome = waiting.pop(0) if waiting else Outcome.COMPLETED
        text = assignment.skill.text if assignment.skill else ""
        missing = [rule for rule in self.needs.get(assignment.task_id, ()) if rule not in text]
        broken = [rule for rule in self.breaks.get(assignment.task_id, ()) if rule in text]
        answer = "ok" if not missing and not broken else f"missing {' '.join(missing)}"
        self.runs[assignment.skill.digest if assignment.skill else "", assignment.task_id] += 1
        return Attempt(
            attempt_id=assignment.attempt_id,
            outcome=outcome,
            detail="" if outcome is Outcome.COMPLETED else f"it went wrong: {outcome}",
            trace=Trace(final_answer=answer, skill_listed=True, skill_opened=True, finished=True),
            summary=f"worked on {assignment.task_id}: {answer}",
            workspace=Collected({}),
            usage=Usage(1, 10, 0, 5, 0.25),
            wall_s=1.0,
        )


async def verify(task: Task, result: Result) -> Score:
    """Solved if the agent said `ok`; the feedback names the rule that was missing."""
    solved = result.final_answer == "ok"
    return Score(1.0 if solved else 0.0, solved, "" if solved else result.final_answer, {"gold": task.answer})


Replier = Callable[[ModelRequest], dict[str, Any] | str | Exception]


@dataclass
class ScriptedOptimizer:
    """A `ModelClient` that answers by a function; counts what it was asked."""

    reply: Replier
    provider: str = "fakeprovider"
    model: str = "optimizer-1"
    requests: list[ModelRequest] = field(default_factory=list)
    chaos: random.Random | None = None

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        for _ in range(self.chaos.randrange(12) if self.chaos else 1):
            await asyncio.sleep(0)
        answer = self.reply(request)
        if isinstance(answer, Exception):
            raise answer
        text = answer if isinstance(answer, str) else json.dumps(answer)
        return ModelReply(text, Usage(1, 100, 0, 20, 0.5), "end", self.model)

    async def close(self) -> None:
        pass

    def asked(self, role: str) -> list[ModelRequest]:
        """The requests of one role, in order."""
        return [request for request in self.requests if request.schema_name == role]


def user_text(request: ModelRequest) -> str:
    """The prompt's variable part."""
    return request.messages[0].content


def section(request: ModelRequest, marker: str) -> str:
    """What stands between a marker's ends."""
    match = re.search(rf"<{marker}>(.*?)</{marker}>", user_text(request), re.DOTALL)
    assert match, f"no section {marker}"
    return match.group(1).strip()


def edit(
    content: str, op: str = "append", target: str = "", evidence: Sequence[str] = (), **more: Any
) -> dict[str, Any]:
    """A proposed edit as a model writes it."""
    return {"op": op, "target": target, "content": content, "rationale": "why", "evidence": list(evidence), **more}


def reflection(*edits: dict[str, Any], patterns: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    return {"patterns": list(patterns), "reasoning": "r", "edits": list(edits)}


def sensible(request: ModelRequest) -> dict[str, Any]:
    """An optimizer that appends the rules named missing, keeps all edits in merging and ranks them as they come."""
    role = request.schema_name
    if role == "merge":
        patches = json.loads(section(request, "patches"))
        rows = {row["content"]: row for patch in patches for row in patch["edits"]}
        return {"reasoning": "r", "edits": list(rows.values())}
    if role == "rank":
        rows = json.loads(section(request, "edits"))
        return {"reasoning": "r", "selected": [row["index"] for row in rows][: int(section(request, "edit_budget"))]}
    if role == "slow_update":
        return {"reasoning": "r", "guidance": section(request, "present_guidance")}
    if role == "meta_skill":
        return {"reasoning": "r", "notes": f"notes on epoch {section(request, 'epoch').count('kind')}"}
    if role == "repair":
        return {"reasoning": "r", "edits": []}
    if role == "reflect_successes":
        return reflection()
    tried = " ".join(line for line in section(request, "earlier_steps").splitlines() if line.startswith('{"op"'))
    found: dict[str, list[str]] = {}
    for task_id, body in re.findall(
        r'<attempt task="([^"]+)" verdict="failed".*?>(.*?)</attempt>', user_text(request), re.DOTALL
    ):
        for rule in re.findall(r"rule-\w+", body):
            found.setdefault(rule, []).append(task_id)
    edits = [edit(f"- {rule}", evidence=ids) for rule, ids in sorted(found.items()) if rule not in tried]
    patterns = [{"type": rule, "count": len(ids), "description": "missing"} for rule, ids in sorted(found.items())]
    return reflection(*edits, patterns=patterns)


class Killed(BaseException):
    """The process dies here."""


class MortalJournal:
    """A journal whose process dies at its `at`-th write, before it stands or right after; dead, it takes nothing.

    It also watches that nothing is paid for twice: no attempt is planned that has a score, no prompt asked that has
    a reply.
    """

    WRITES = frozenset({"open_run", "end_run", "plan_attempt", "finish_attempt", "save_reply", "save_decision"})

    def __init__(self, inner: Journal, at: int | None = None, *, before: bool = True) -> None:
        self.inner = inner
        self.at = at
        self.before = before
        self.made: list[str] = []
        """The name of each write."""
        self.dead = False

    @property
    def writes(self) -> int:
        """How many there were."""
        return len(self.made)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)
        if name not in self.WRITES:
            return method

        async def write(*args: Any, **kwargs: Any) -> Any:
            if self.dead:
                raise Killed
            self.made.append(name)
            self.dead = self.writes == self.at
            if self.dead and self.before:
                raise Killed
            await self._check(name, args)
            done = await method(*args, **kwargs)
            if self.dead:
                raise Killed
            return done

        return write

    async def _check(self, name: str, args: tuple[Any, ...]) -> None:
        if name == "plan_attempt":
            assert await self.inner.find_scored(args[3]) is None, f"{args[2]} has a score and is paid for again"
        if name == "save_reply":
            assert await self.inner.find_reply(*args[:3]) is None, f"{args[1]} was answered and is paid for again"


class Heard:
    """An observer that remembers."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def notify(self, event: Event) -> None:
        self.events.append(event)


async def no_wait(seconds: float) -> None:
    """A clock that does not tick."""


@dataclass
class World:
    """Everything a training run needs, in memory."""

    folder: Path
    harness: WorldHarness
    tasks: TaskSet
    client: ScriptedOptimizer = field(default_factory=lambda: ScriptedOptimizer(sensible))
    journal: Journal = field(default_factory=MemoryJournal)
    skill: Skill = field(default_factory=make_skill)
    train: TrainSection = field(default_factory=lambda: TrainSection(gate="strict", epochs=1, batch=4, minibatch=2))
    workers: int = 2
    observer: Observer = field(default_factory=Silent)
    now: float = 1_700_000_000.0
    """What the clock says, until a test moves it."""
    purse: Purse = field(default_factory=OpenPurse)
    beside: Beside = field(default_factory=Beside)
    salvage: Salvage = field(default_factory=Salvage)
    """What an earlier process left to be scored."""
    history: SkillHistory = field(init=False)

    def __post_init__(self) -> None:
        self.history = FakeSkillRepository(self.skill, author=Author("honed", "honed@localhost"))

    def rollouts(self) -> Rollouts:
        return Rollouts(
            self.harness,
            verify,
            self.journal,
            attempts_folder=self.folder,
            workers=self.workers,
            settings=AttemptSettings(tries=self.train.attempt_tries),
            observer=self.observer,
            sleep=no_wait,
            purse=self.purse,
            salvage=self.salvage,
        )

    def training(self, *, initial: Skill | None = None) -> Training:
        """A new process over the same journal and history; `initial` is the skill to start from instead."""
        return Training(
            rollouts=self.rollouts(),
            client=self.client,
            journal=self.journal,
            history=self.history,
            tasks=self.tasks,
            skill="skills/demo",
            knobs=Knobs(self.train, initial=initial),
            observer=self.observer,
            clock=lambda: self.now,
            purse=self.purse,
            beside=self.beside,
        )


def task_set(train: int, selection: int, test: int) -> TaskSet:
    """Tasks `train-00`, …, `selection-00`, …, `test-00`, …"""
    sizes: list[tuple[Split, int]] = [("train", train), ("selection", selection), ("test", test)]
    tasks = [make_task(f"{split}-{i:02}", split) for split, size in sizes for i in range(size)]
    return TaskSet(tuple(sorted(tasks, key=lambda task: task.id)), Path("tasks.jsonl"))
