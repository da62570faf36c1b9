"""The task model: what an agent is asked, what it is given, and how the result is scored.

Invariants: `prompt` and `files` are all the agent ever sees; `answer`, `tests` and everything in `ScorerSpec` stay
outside its sandbox. The test split is sealed: `TaskSet.split` refuses it, only `TaskSet.open_test` gives it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, Literal, Protocol, runtime_checkable

from harnesses.harness import ChatTools
from sandboxes.sandbox import Limits, Root

Split = Literal["train", "selection", "test"]

Network = Literal["none", "allowed", "required"]
"""What a task says of the network, which no box has: not used; may be used; needed, so that the task is refused."""

RewardStrategy = Literal["mean", "final"]
"""What the rewards of steps come to: each one's mean over the steps that ran, or the last one that ran."""

MAX_WEIGHT = 1e6
"""Of a task: beyond it one task would be the whole mean, and sums of weights could leave the range of a number."""


SOLVE = "solve.sh"
"""The script among a solution's files."""


class TaskError(Exception):
    """A task set cannot be used. `str()` is one line naming file, line, key and remedy."""


@dataclass(frozen=True)
class ScorerSpec:
    """How a result is scored."""

    name: str
    """`exact_match`, `token_f1`, `numeric`, `spreadsheet_cells`, `test_script`."""
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Environment:
    """The machine that a task asks for, as it was declared."""

    image: str | None = None
    """A reference that a registry knows."""
    build: Path | None = None
    """A folder with a Dockerfile: comes before `image`."""
    build_timeout_s: float = 600.0
    workdir: str | None = None
    """Where the agent starts; None: the image's own working directory."""
    memory_bytes: int | None = None
    """At most so much; the configured limit stands where it is lower. Likewise `cpus`."""
    cpus: float | None = None
    artifacts: tuple[str, ...] = ()
    """Absolute paths that the agent leaves and the tests look at."""


@dataclass(frozen=True)
class Step:
    """One step of a task that is done in steps, each by a run of the agent that starts where the one before ended."""

    name: str
    """Matches `Task.id`'s pattern; unique in its task."""
    prompt: str
    scorer: ScorerSpec
    tests: Mapping[str, Path]
    """As `Task.tests`: of this step, and never where an agent runs, at any step."""
    files: Mapping[str, Path] = field(default_factory=dict)
    """Laid where the agent starts, before the step; what stands in their place goes. Likewise `setup`'s script."""
    setup: str = ""
    """Which of the files is a script that bash runs before the agent; empty: none."""
    solution: Mapping[str, Path] = field(default_factory=dict)
    """As `Task.solution`: `solve.sh` and what it needs."""
    timeout_s: float = 600.0
    verifier_timeout_s: float = 120.0
    min_reward: Mapping[str, float] = field(default_factory=dict)
    """By reward name: one that is lower, or missing, ends the task after this step."""


@dataclass(frozen=True)
class Task:
    """One task. Files are read when needed, so a set of thousands stays small."""

    id: str
    """Matches `[A-Za-z0-9][A-Za-z0-9._-]{0,127}`."""
    prompt: str
    scorer: ScorerSpec
    files: Mapping[str, Path] = field(default_factory=dict)
    """Workspace path (relative POSIX) to host file, shown to the agent."""
    answer: Any = None
    """The gold answer (text, number, list of accepted texts) or None."""
    tests: Mapping[str, Path] = field(default_factory=dict)
    """Path under `/tests` to host file, or gold files for file scorers: never shown to the agent."""
    split: Split | None = None
    group: str = ""
    weight: float = 1.0
    protect: bool = False
    timeout_s: float = 600.0
    verifier_timeout_s: float = 120.0
    tools: ChatTools | None = None
    """What a chat model may do with the files; None: they are shown to it. A CLI has its own tools."""
    solution: Mapping[str, Path] = field(default_factory=dict)
    """`solve.sh` and what it needs, or else what a right agent leaves in the workspace, by path.

    For `honed tasks check` alone: never shown to an agent. Likewise the next.
    """
    reply: str | None = None
    """What a right agent says, where the answer alone does not tell."""
    environment: Environment | None = None
    """None: honed's own image, and `files` as the workspace."""
    network: Network = "none"
    """In no digest: it changes nothing of how the task is run."""
    steps: tuple[Step, ...] = ()
    """Of a task that is done in steps: then `prompt` tells them all and `tests` hold all of theirs, for readers."""
    rewards: RewardStrategy = "mean"
    """What the steps' rewards come to."""
    root: Root | None = None
    """The environment's image as boxes use it, once it is there: see `daemon.tasks.images`."""
    digest: str = ""
    """`sha256:` of what decides a result, with file contents and the scorer's version; filled by the loader.

    Split, group, weight and protect are not in it: changing them re-runs nothing.
    """

    def file_bytes(self) -> dict[str, bytes]:
        """The files for the workspace."""
        return {path: source.read_bytes() for path, source in sorted(self.files.items())}

    @property
    def shown(self) -> Mapping[str, Path]:
        """Every file that an agent is given, those of later steps under the step's name."""
        later = {f"{step.name}/{path}": source for step in self.steps for path, source in step.files.items()}
        return {**self.files, **later} if later else self.files

    def at(self, step: Step) -> Task:
        """One step as a task of its own, to be run and scored: the first one has the task's own files too."""
        start = "" if self.root is None else start_in(self.root)
        own = {f"{start}{path}": source for path, source in step.files.items()}
        return replace(
            self,
            prompt=step.prompt,
            scorer=step.scorer,
            files={**self.files, **own} if step is self.steps[0] else own,
            tests=step.tests,
            solution=step.solution,
            timeout_s=step.timeout_s,
            verifier_timeout_s=step.verifier_timeout_s,
            steps=(),
        )


def start_in(root: Root) -> str:
    """Where commands start, as a folder of the workspace with a slash at its end; empty: the workspace itself."""
    inside = PurePosixPath(root.workdir).relative_to(root.workspace).as_posix()
    return "" if inside == "." else f"{inside}/"


def runs_scripts(task: Task) -> bool:
    """A chat model runs scripts on the task: it needs a box then."""
    return task.tools is not None and task.tools.name == "python"


def limits_for(task: Task, limits: Limits) -> Limits:
    """What the task asks for, as far as the configuration lets it."""
    asked = task.environment
    if asked is None:
        return limits
    return replace(
        limits,
        memory_bytes=min(limits.memory_bytes, asked.memory_bytes or limits.memory_bytes),
        cpus=min(limits.cpus, asked.cpus or limits.cpus),
    )


@dataclass(frozen=True)
class Score:
    """A measured result. An invalid result has no `Score` at all."""

    value: float
    """Soft score, 0..1, finite."""
    hard: bool
    """Task solved."""
    feedback: str = ""
    """What failed, at rubric level: never the expected value, never verifier source."""
    detail: Mapping[str, Any] = field(default_factory=dict)
    """For people and the journal; may hold gold, so it never reaches the optimizer."""


class SealedError(Exception):
    """The test split was asked for outside reporting."""


@dataclass(frozen=True)
class TaskSet:
    """Tasks with every split decided, ordered by id."""

    tasks: Sequence[Task]
    """A tuple, or what reads a large set task by task: then a `TaskError` says that one has changed."""
    source: Path
    notices: tuple[str, ...] = ()
    """What a person should know before it is run, a line each."""

    def split(self, name: Literal["train", "selection"]) -> Sequence[Task]:
        """The tasks of one open split, ordered by id; raises `SealedError` for any other name."""
        if name not in ("train", "selection"):
            msg = f"the {name} split is sealed: only a report may open it"
            raise SealedError(msg)
        return self._of(name)

    def open_test(self) -> Sequence[Task]:
        """The sealed split, for two readers alone.

        Reports, after the last decision of a run; and the feedback firewall, which must know the text to keep it out of
        the skill, and gives none of it away.
        """
        return self._of("test")

    def sizes(self) -> dict[Split, int]:
        """How many tasks each split has."""
        sizes: dict[Split, int] = {"train": 0, "selection": 0, "test": 0}
        for row in self._rows():
            if row[1]:
                sizes[row[1]] += 1
        return sizes

    @property
    def digest(self) -> str:
        """`sha256:` over every task's id, split, group, weight, protection and digest."""
        digest, comma = hashlib.sha256(b"["), ""
        for row in self._rows():
            digest.update((comma + json.dumps(row)).encode())
            comma = ", "
        digest.update(b"]")
        return "sha256:" + digest.hexdigest()

    @property
    def split_digest(self) -> str:
        """`sha256:` over the sorted ids of each split: names who is where, whatever the tasks hold."""
        return split_digest((row[0], row[1]) for row in self._rows())

    def _of(self, name: Split) -> Sequence[Task]:
        if isinstance(self.tasks, _Stored):
            return self.tasks.of(name)
        return tuple(task for task in self.tasks if task.split == name)

    def _rows(self) -> Iterator[list[Any]]:
        if isinstance(self.tasks, _Stored):
            yield from self.tasks.rows()
            return
        for task in self.tasks:
            yield [task.id, task.split, task.group, task.weight, task.protect, task.digest]


@runtime_checkable
class _Stored(Protocol):
    """What a set that stays on disk knows without reading it: see `daemon.tasks.stored`."""

    def of(self, split: Split) -> Sequence[Task]:
        """The tasks of one split."""

    def rows(self) -> Iterator[list[Any]]:
        """What `TaskSet._rows` gives."""


def split_digest(splits: Iterable[tuple[str, Split | None]]) -> str:
    """`sha256:…` of who is where: the sorted ids of each split and nothing else."""
    lists: dict[Split, list[str]] = {"train": [], "selection": [], "test": []}
    for task_id, split in splits:
        if split is not None:
            lists[split].append(task_id)
    text = json.dumps({name: sorted(ids) for name, ids in lists.items()}, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
