"""Causes in words for people."""

from __future__ import annotations

from daemon.jobs.job import Cause, CauseKind

WORDS: dict[CauseKind, str] = {
    "new": "a skill that was not kept before",
    "tasks": "the tasks changed",
    "skill": "a person changed the skill",
    "taken-back": "a person took an edit back",
    "request": "a request was merged or closed",
    "config": "the configuration changed",
    "inbox": "people's sessions show a pattern",
    "schedule": "the schedule says so",
    "more": "the last run accepted something",
    "asked": "somebody asked for it",
    "retry": "somebody asked for it again",
    "restart": "the daemon started again after a failure",
}


def cause_in_words(cause: Cause) -> str:
    """What happened: its own sentence, or the kind's. Not made fit for a terminal yet."""
    return cause.detail or WORDS[cause.kind]
