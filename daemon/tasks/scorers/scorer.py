"""The `Scorer` protocol: what an agent left behind goes in, a `Score` comes out.

Invariants: a scorer reads only the result and the task's own gold; what it cannot decide is a `VerifierError`, which
makes the attempt invalid; its feedback names what failed and never what was expected.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict

from daemon.tasks.task import Score, Task
from harnesses.episode import EpisodeStatus
from harnesses.models.client import ModelClient
from sandboxes.gateway.policy import Usage
from sandboxes.sandbox import Collected, Limits, Sandbox


class VerifierError(Exception):
    """The scorer itself failed: the attempt is invalid, never a score. The message names what to mend."""

    def __init__(self, message: str, usage: Usage | None = None) -> None:
        super().__init__(message)
        self.usage = usage or Usage()
        """What a judge model used all the same."""


class UndecidedError(VerifierError):
    """A script ran and came to no score. That may be the doing of what it ran on: `rollouts.scoring` finds out."""


@dataclass(frozen=True)
class JudgedScore(Score):
    """A score that a model was asked for."""

    usage: Usage = field(default_factory=Usage)
    """What that took: it counts as the attempt's."""


@dataclass(frozen=True)
class Result:
    """What an attempt left behind: hostile data, both of it."""

    final_answer: str = ""
    workspace: Collected = field(default_factory=lambda: Collected(files={}))
    episode: EpisodeStatus | None = None
    """As the episode itself tells it: no text of the agent's. None: there was none."""


def left_out(path: str, result: Result) -> str:
    """Why a file of the workspace was not collected, in words for a feedback; empty if nothing is known of it."""
    lines = [line for line in result.workspace.skipped if line.startswith(f"{path}:")]
    return f"{path} was left out: {lines[0][:200]}" if lines else ""


@dataclass(frozen=True)
class Context:
    """What scorers may use besides the task: most need none of it."""

    sandbox: Sandbox | None = None
    """Where test scripts and commands run; None: such tasks cannot be scored."""
    folder: Path | None = None
    """Host folder for scratch; each score makes its own folder in it and removes it. None: the system's."""
    limits: Limits = field(default_factory=Limits)
    """Of that box."""
    judge: ModelClient | None = None
    """Who judges rubrics; None: such tasks cannot be scored."""


class Options(BaseModel):
    """Base of every scorer's options: an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @property
    def boxed(self) -> bool:
        """These options ask for a box, though the scorer does not always."""
        return False


class Scorer(Protocol):
    """A way to score, with its options already given."""

    async def score(self, task: Task, result: Result) -> Score:
        """Score one result; raises `VerifierError` if it cannot be decided."""


OptionsT = TypeVar("OptionsT", bound=Options)


@dataclass(frozen=True)
class ScorerKind(Generic[OptionsT]):
    """A named way to score, as the registry keeps it."""

    name: str
    version: int
    """Raised whenever the same result may score otherwise: part of every task's digest."""
    options: type[OptionsT]
    check: Callable[[Task, OptionsT], None]
    """Raises `ValueError` ("key: what and remedy") if the task lacks what this scorer needs."""
    build: Callable[[OptionsT, Context], Scorer]
    needs_sandbox: bool = False
    """Its commands run in a box of their own."""
    needs_judge: bool = False
    """It asks a model."""

    def parse(self, raw: Any) -> OptionsT:
        """Options from plain data; raises pydantic's `ValidationError`."""
        return self.options.model_validate(raw)
