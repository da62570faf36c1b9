"""Check what would stop a run or make it wrong, then train: nothing is paid before all of that holds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from daemon.budget.opening import unknown_prices
from daemon.config import SkillSection
from daemon.optimizer.beside import open_beside
from daemon.optimizer.loop import Training
from daemon.optimizer.report import RunReport
from daemon.optimizer.settings import Knobs
from daemon.optimizer.starting import given_skill
from daemon.preflight import check_optimizer, check_target
from daemon.setup.check_signing import refuse_unsigned
from daemon.training.costs import estimate_of
from daemon.training.following import follow_people
from daemon.training.teller import Teller
from daemon.wiring import Parts
from skills_repo.history import RepositoryError
from skills_repo.skill import Skill, SkillError

Preflight = Callable[[Parts], Awaitable[None]]
"""Asks whoever is to be paid whether they answer; raises what would stop the run."""


async def ask_both(parts: Parts) -> None:
    """One canary through the target, and one to the optimizer."""
    assert parts.optimizer_canary is not None
    await check_target(parts.canary, parts.state / "attempts")
    await check_optimizer(parts.optimizer_canary)


async def train_with(parts: Parts, teller: Teller, *, preflight: Preflight | None = ask_both) -> RunReport:
    """Check, then run one training to its end; `preflight` is asked once nothing else stands in its way."""
    for line in parts.loud:
        teller.warn(line)
    for left in parts.swept:
        teller.say(f"removed what an earlier process left: {left}")
    # What would stop the first commit, or make it wrong, is said before anything is paid.
    await refuse_dirty(parts)
    await parts.history.check_writable()
    await refuse_unsigned(parts.config)
    training = await _training(parts)
    if await follow_people(training, parts.history, parts.config.skill, teller):
        training = await _training(parts)
    initial = training.knobs.initial
    _refuse_long(initial or await parts.history.read(await parts.history.base()), parts.config.skill)
    await _say_costs(parts, teller)
    if preflight is not None:
        await preflight(parts)
    return await training.run()


async def _training(parts: Parts) -> Training:
    """The run as it would be from where the branch is now."""
    assert parts.optimizer is not None
    initial = await given_skill(parts.config.skill, parts.history, parts.config.file.parent)
    return Training(
        rollouts=parts.rollouts,
        client=parts.optimizer,
        journal=parts.journal,
        history=parts.history,
        tasks=parts.tasks,
        skill=parts.config.skill.path,
        knobs=Knobs.from_config(parts.config, initial),
        observer=parts.observer,
        purse=parts.purse,
        beside=open_beside(parts.config),
        followed=await parts.history.followed_to(await parts.history.base()),
    )


async def _say_costs(parts: Parts, teller: Teller) -> None:
    """What the run will take, how far its caps go, and what cannot be counted: before anything is paid."""
    found = await estimate_of(parts.config, parts.tasks, parts.journal)
    teller.say(found.line())
    for row in found.buys:
        say = teller.warn if row.steps == 0 else teller.say
        say(row.words(found.plan.steps))
    for line in unknown_prices(parts.models):
        teller.warn(line)


async def refuse_dirty(parts: Parts) -> None:
    """Uncommitted changes below the skill would not be what is trained: refuse, and say what to do."""
    dirty = await parts.history.dirty()
    if dirty:
        shown = ", ".join(dirty[:5])
        msg = (
            f"{parts.config.skill.path}: uncommitted changes ({shown}): honed works from commits, so commit them, "
            f"or put them aside with `git stash push -- {parts.config.skill.path}`"
        )
        raise RepositoryError(msg)


def _refuse_long(skill: Skill, section: SkillSection) -> None:
    """A skill over the size cap would be paid for in every attempt, and no edit that adds to it could be kept."""
    if len(skill.text) > section.max_chars:
        msg = (
            f"{section.path}/SKILL.md: has {len(skill.text)} characters, more than max_chars = {section.max_chars}: "
            "shorten the skill, or raise [skill] max_chars"
        )
        raise SkillError(msg)
