"""From a task to the episode that its agent acts in: the scorer `episode_won` says which game it is."""

from __future__ import annotations

from functools import partial

from daemon.tasks.episodes.text_episode import text_episode
from daemon.tasks.scorers.episode import EPISODE_WON
from daemon.tasks.task import Task
from harnesses.episode import EpisodeOpener


def episode_of(task: Task) -> EpisodeOpener | None:
    """What opens the task's episode; None for a task that has none."""
    if task.scorer.name != EPISODE_WON.name:
        return None
    options = EPISODE_WON.parse(dict(task.scorer.options))
    return partial(
        text_episode,
        options.engine,
        task.tests[options.game],
        max_commands=options.max_commands,
        show_commands=options.show_commands,
    )
