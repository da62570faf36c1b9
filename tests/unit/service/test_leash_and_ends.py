"""A leash stops a run softly; whatever a run raises becomes an end, by a table."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from daemon.budget.purse import OpenPurse
from daemon.budget.reached import BudgetReached
from daemon.config import ConfigError
from daemon.journal.journal import JournalError
from daemon.journal.lock import StateBusyError
from daemon.rollouts.stop import DiskFull, RunStopped
from daemon.service.ends import end_of
from daemon.service.leash import Drained, Leash, LeashedPurse
from daemon.setup.errors import SetupError
from daemon.tasks.task import TaskError
from harnesses.outcome import Outcome
from sandboxes.gateway.policy import ProviderError, ProviderFailure
from sandboxes.sandbox import SandboxError
from skills_repo.history import RefMovedError, RepositoryError
from skills_repo.skill import SkillError

NOW = 1_000_000.0


async def test_nothing_begins_on_a_pulled_leash_and_what_runs_is_finished() -> None:
    leash = Leash()
    purse = LeashedPurse(OpenPurse(), leash)
    async with purse.spending("target"):
        leash.pull("drain", "the daemon stops")
        with pytest.raises(Drained, match=r"^the daemon stops$"):
            purse.check()
        with pytest.raises(Drained):
            async with purse.spending("target"):
                pytest.fail("it began")


async def test_what_waited_for_room_heeds_a_leash_that_was_pulled_meanwhile() -> None:
    leash = Leash()

    class Slow(OpenPurse):
        def spending(self, payer):  # type: ignore[no-untyped-def]
            leash.pull("pause", "holiday")
            return super().spending(payer)

    with pytest.raises(Drained, match="holiday"):
        async with LeashedPurse(Slow(), leash).spending("optimizer"):
            pytest.fail("it began")


def test_the_first_pull_counts_but_a_cancellation_overrules() -> None:
    leash = Leash()
    leash.pull("drain", "one")
    leash.pull("pause", "two")
    assert (leash.pulled, leash.reason) == ("drain", "one")
    leash.pull("cancel", "three")
    assert (leash.pulled, leash.reason) == ("cancel", "three")


def moved() -> RunStopped:
    stop = RunStopped("the branch moved: run `honed train` again")
    stop.__cause__ = RefMovedError("the branch moved")
    return stop


def full() -> OSError:
    return OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    ("error", "state", "wait", "trouble"),
    [
        (StateBusyError(Path("x"), 7), "queued", 5, "state folder"),
        (JournalError("x"), "queued", 10, "journal"),
        (SandboxError("x"), "queued", 5, "engine"),
        (SetupError("x"), "queued", 30, "setup"),
        (RepositoryError("x"), "queued", 10, "repository"),
        (ProviderError(ProviderFailure.AUTH, "x"), "queued", 1, "provider"),
        (RunStopped("x", Outcome.SANDBOX_LOST), "queued", 5, "engine"),
        (RunStopped("x", Outcome.SANDBOX_START), "queued", 5, "engine"),
        (RunStopped("x", Outcome.RATE_LIMIT), "queued", 1, "provider"),
        (RunStopped("x", Outcome.CLI_CRASHED), "queued", 30, "run"),
        (RunStopped("x"), "queued", 30, "run"),
        (moved(), "queued", 1, ""),
        (full(), "queued", 15, "disk"),
        (DiskFull("x"), "queued", 15, "disk"),
        (OSError(errno.EROFS, "Read-only file system"), "queued", 10, "state folder"),
        (ValueError("x"), "queued", 30, "honed"),
        (ConfigError("x"), "failed", None, "configuration"),
        (TaskError("x"), "failed", None, "input"),
        (SkillError("x"), "failed", None, "input"),
        (BudgetReached("run", "attempts", 5, 5), "failed", None, ""),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else str(value),
)
def test_what_a_run_raises_becomes_an_end(error: Exception, state: str, wait: float | None, trouble: str) -> None:
    end = end_of(error, Leash(), 1, NOW)
    assert (end.state, end.trouble) == (state, trouble)
    assert end.not_before == (0 if wait is None else NOW + wait)
    assert end.fault is isinstance(error, ValueError)


def test_waits_grow_to_their_longest() -> None:
    waits = [end_of(SandboxError("x"), Leash(), tries, NOW).not_before - NOW for tries in (1, 2, 3, 7, 40, 4000)]
    assert waits == [5, 10, 20, 300, 300, 300]


def test_a_fault_of_ours_is_tried_thrice_and_then_a_person_has_to_look() -> None:
    assert [end_of(KeyError("x"), Leash(), tries, NOW).state for tries in (1, 2, 3)] == ["queued", "queued", "failed"]
    assert end_of(KeyError("x"), Leash(), 3, NOW).reason == "'x' (3 tries)"


def test_failures_that_pass_never_end_a_job() -> None:
    for error in (
        SandboxError("x"),
        JournalError("x"),
        RepositoryError("x"),
        full(),
        ProviderError(ProviderFailure.AUTH, "x"),
    ):
        assert end_of(error, Leash(), 100_000, NOW).state == "queued"


def test_a_days_budget_waits_for_midnight() -> None:
    end = end_of(BudgetReached("day", "usd", 5, 5), Leash(), 1, NOW)
    assert (end.state, end.not_before % 86_400, end.not_before > NOW) == ("queued", 0, True)


@pytest.mark.parametrize(("how", "state"), [("drain", "queued"), ("pause", "queued"), ("cancel", "cancelled")])
def test_a_pulled_leash_says_what_becomes_of_the_job(how: str, state: str) -> None:
    leash = Leash()
    leash.pull(how, "because")  # type: ignore[arg-type]
    end = end_of(Drained("because"), leash, 1, NOW)
    assert (end.state, end.reason, end.not_before) == (state, "because", 0)
