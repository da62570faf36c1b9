"""`episode_won`: the game that the agent played was won, as the game's engine says.

The game is one of the task's `tests`, so an agent never sees its file, which holds the solution. What the agent writes
is not looked at.
"""

from __future__ import annotations

from pydantic import Field

from daemon.tasks.episodes.engines import EngineName, missing
from daemon.tasks.scorers.scorer import Context, Options, Result, Scorer, ScorerKind, VerifierError
from daemon.tasks.task import Score, Task


class EpisodeOptions(Options):
    """Options of `episode_won`."""

    engine: EngineName
    """`alfworld` (needs the extra of that name), or `household`, a small one of honed's own."""
    game: str = Field(min_length=1)
    """Which of the task's `tests` is the game."""
    max_commands: int = Field(default=50, ge=1, le=1000)
    """So many, those that do nothing among them."""
    show_commands: bool = False
    """The agent is told after each command which ones do something."""


class EpisodeScorer:
    """1 if the game was won, else 0."""

    async def score(self, task: Task, result: Result) -> Score:
        """Score the episode; raises `VerifierError` if there was none."""
        status = result.episode
        if status is None:
            msg = f"task {task.id}: its game was not played: only attempts that honed runs can be scored"
            raise VerifierError(msg)
        if status.won:
            feedback = ""
        elif status.over:
            feedback = f"the game was not won within its {status.commands} commands"
        else:
            feedback = f"the game was left after {status.commands} commands, not won"
        detail = {"won": status.won, "commands": status.commands, "moves": status.moves}
        return Score(value=float(status.won), hard=status.won, feedback=feedback, detail=detail)


def _check(task: Task, options: EpisodeOptions) -> None:
    if options.game not in task.tests:
        msg = f"scorer.game: {options.game!r} is none of the task's tests: name the game's file there"
        raise ValueError(msg)
    if needed := missing(options.engine):
        msg = f"scorer: episode_won with engine {options.engine} {needed}"
        raise ValueError(msg)


def _build(options: EpisodeOptions, context: Context) -> Scorer:
    return EpisodeScorer()


EPISODE_WON = ScorerKind("episode_won", 1, EpisodeOptions, _check, _build)
