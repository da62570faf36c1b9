"""Before a new run: unpublished steps go onto the version that a person committed, and it says so."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from daemon.optimizer.wording import counted
from daemon.plain import plain
from daemon.rollouts.stop import RunStopped

if TYPE_CHECKING:
    from daemon.config import SkillSection
    from daemon.optimizer.loop import Training
    from daemon.training.teller import Teller
    from skills_repo.followed import Followed
    from skills_repo.repository import SkillRepository


async def follow_people(training: Training, history: SkillRepository, section: SkillSection, teller: Teller) -> bool:
    """Move the branch onto HEAD's version of the skill, if there is one to follow; true if it moved.

    An unfinished run is gone on with instead: the next one follows. Raises `RunStopped` where a person has to act.
    """
    ahead = await history.overlooked()
    if not ahead:
        return False
    if not section.follow:
        teller.warn(ahead)
        return False
    if await training.unfinished():
        teller.warn("the skill was changed on HEAD: this run goes on to its end as it began, and the next one follows")
        return False
    done = await history.follow(max_chars=section.max_chars)
    if done is None:
        return False  # the branch has the same version already
    if done.waits:
        raise RunStopped(done.waits)
    branch = history.branch.removeprefix("refs/heads/")
    for line in in_words(done, history.skill_path, branch):
        teller.say(line)
    if done.edits:
        teller.say(f"the old commits stay at {done.kept_at(history.branch)}")
    return True


def in_words(done: Followed, skill_path: str, branch: str) -> list[str]:
    """What was done, a line an edit that was dropped."""
    where = f"{skill_path} was changed on HEAD ({done.onto[:10]})"
    if not done.edits:
        return [f"{where}: {branch} goes on from there"]
    made = sum(bool(one.new) for one in done.edits)
    told = f"{where}: {made} of {counted(len(done.edits), 'unpublished edit')} of {branch} made again on it"
    dropped = [f"dropped: {plain(one.subject)} ({one.old[:10]}): {plain(one.why)}" for one in done.edits if not one.new]
    return [told, *dropped]


def followed_data(done: Followed | None) -> dict[str, Any] | None:
    """What led the branch to a run's base, for machines."""
    if done is None:
        return None
    data = asdict(done)
    del data["waits"]
    return data
