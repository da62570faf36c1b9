"""Which commits a person means by a step: `3`, `3.2`, `r12ab/3`, `slow_update:4`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from skills_repo.curve import Point, RunCurve, curves
from skills_repo.history import RepositoryError, SkillCommit
from skills_repo.message import PHASES

_STEP = re.compile(
    rf"(?:(?P<run>[^\s/]+)/)?(?:(?P<phase>{'|'.join(PHASES)}):)?(?P<step>[0-9]{{1,6}})(?:\.(?P<edit>[0-9]{{1,4}}))?"
)
"""Longer numbers are commit ids."""


def is_step(name: str) -> bool:
    """The name has the form of a step."""
    return _STEP.fullmatch(name) is not None


def commits_of_step(name: str, commits: Sequence[SkillCommit]) -> tuple[SkillCommit, ...]:
    """The commits of a step (or one edit of it), oldest first; `commits` as `SkillHistory.log` gives them.

    Without a run the newest one on the branch is meant. Raises `RepositoryError` with what there is.
    """
    match = _STEP.fullmatch(name)
    if match is None:
        msg = f"{name!r} is no step (give `3`, `3.2`, `RUN/3` or `slow_update:4`)"
        raise RepositoryError(msg)
    run = _run(match["run"], curves(commits))
    phase, step = match["phase"] or "step", int(match["step"])
    point = next((one for one in run.points if (one.phase, one.step) == (phase, step)), None)
    if point is None:
        known = ", ".join(_name(one) for one in run.points[-12:])
        raise RepositoryError(f"run {run.run} has no accepted {_name_of(phase, step)} on the branch (it has: {known})")
    if match["edit"] is None:
        return point.commits
    found = [one for one in point.commits if one.trailers["Honed-Step"].startswith(f"{step}.{int(match['edit'])}/")]
    if not found:
        count = "1 edit" if len(point.commits) == 1 else f"{len(point.commits)} edits"
        raise RepositoryError(f"{_name(point)} of run {run.run} has {count}, none of them {name} (see `honed log`)")
    return tuple(found)


def _run(prefix: str | None, runs: Sequence[RunCurve]) -> RunCurve:
    if not runs:
        raise RepositoryError("the branch has no commits of honed (see `honed log`)")
    if prefix is None:
        return runs[-1]
    found = [run for run in runs if run.run == prefix] or [run for run in runs if run.run.startswith(prefix)]
    if len(found) != 1:
        which = f"{len(found)} runs begin" if found else "no run begins"
        known = ", ".join(run.run for run in runs[-6:])
        raise RepositoryError(f"{which} with {prefix!r} (the branch has: {known})")
    return found[0]


def _name(point: Point) -> str:
    return _name_of(point.phase, point.step)


def _name_of(phase: str, step: int) -> str:
    return f"step {step}" if phase == "step" else f"{phase}:{step}"
