"""A provider's circuit at work: who listens, what is paid, what is said."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import structlog.testing

from daemon.budget.purse import OpenPurse, Spend
from daemon.budget.totals import Payer
from daemon.circuit.circuit import Circuit, CircuitObserver, GuardedPurse
from daemon.circuit.effects import ENGINE
from daemon.circuit.probe import outcome_of, probe
from daemon.circuit.state import Rules
from daemon.journal.memory import MemoryJournal
from daemon.journal.records import RunRecord
from daemon.preflight import check_target
from daemon.rollouts.progress import AttemptFinished
from daemon.rollouts.rollouts import Rollouts
from daemon.rollouts.stop import RunStopped
from harnesses.fake import FakeHarness, FakeResult
from harnesses.outcome import Outcome
from sandboxes.gateway.policy import ProviderError, ProviderFailure
from sandboxes.sandbox import SandboxError
from tests.support.optimizer import WorldHarness, make_skill, make_task, no_wait, verify

NAME = "openai at api.example.com"
REVOKED = "openai at api.example.com: auth (401): check TEAM_KEY"


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def circuit() -> Circuit:
    return Circuit(NAME, Rules(failures=3, first_s=10.0, longest_s=100.0, jitter=0.0))


def phase(circuit: Circuit) -> str:
    return circuit.state.phase


def test_a_revoked_key_opens_at_once_with_a_reason_that_names_it_once(circuit: Circuit) -> None:
    with structlog.testing.capture_logs() as logs:
        circuit.note(Outcome.AUTH, 0.0, "check TEAM_KEY")
    assert not circuit.admits(0.0)
    assert not circuit.admits(1e9), "time alone closes nothing"
    assert circuit.reason == f"{NAME}: auth: check TEAM_KEY: check the API key"
    assert [(row["event"], row["state"], row["log_level"]) for row in logs] == [("circuit", "open", "warning")]


def test_failures_that_pass_need_several_in_a_row(circuit: Circuit) -> None:
    for outcome in (Outcome.OVERLOADED, Outcome.UNREACHABLE, Outcome.COMPLETED, Outcome.RATE_LIMIT, Outcome.CUT_STREAM):
        circuit.note(outcome, 0.0)
        assert circuit.admits(0.0)
    circuit.note(Outcome.SANDBOX_LOST, 0.0)
    assert circuit.admits(0.0), "the provider is not to blame"
    circuit.note(Outcome.SERVER_ERROR, 0.0)
    assert circuit.state.phase == "open"


async def test_it_heals_without_a_person_once_the_key_is_good_again(circuit: Circuit, clock: Clock) -> None:
    circuit.note(Outcome.AUTH, clock(), REVOKED)
    good = False
    asked: list[float] = []

    async def canary() -> None:
        asked.append(clock.now)
        if not good:
            raise ProviderError(ProviderFailure.AUTH, REVOKED, status=401)

    for now in range(0, 200, 5):
        clock.now, good = float(now), now >= 100
        if circuit.probe_due(clock.now):
            await probe(circuit, canary, clock)
    assert asked == [10, 30, 70, 150], "few, at growing intervals, and none once it answers"
    assert circuit.admits(clock.now)
    assert circuit.reason == ""


async def test_the_real_canary_s_outcome_is_noted(circuit: Circuit, clock: Clock, tmp_path: Path) -> None:
    circuit.note(Outcome.QUOTA, 0.0, "old")
    agent = FakeHarness(lambda _: FakeResult(outcome=Outcome.AUTH, detail=REVOKED))
    assert not await probe(circuit, lambda: check_target(agent, tmp_path), clock)
    assert "TEAM_KEY" in circuit.reason
    agent = FakeHarness(lambda _: FakeResult(answer="OK"))
    assert await probe(circuit, lambda: check_target(agent, tmp_path), clock)


async def test_a_probe_that_failed_beside_the_provider_is_made_again(circuit: Circuit, clock: Clock) -> None:
    circuit.note(Outcome.AUTH, 0.0, "check KEY")

    async def broken() -> None:
        raise SandboxError("no engine")

    async def faulty() -> None:
        raise LookupError("a fault of honed")

    with structlog.testing.capture_logs() as logs:
        assert not await probe(circuit, broken, clock)
        assert not await probe(circuit, faulty, clock)
    assert circuit.state.phase == "open"
    assert "check KEY" in circuit.reason, "the reason stays the provider's"
    assert [row["event"] for row in logs if row["log_level"] == "error"] == ["probe_failed"]


async def test_a_cancelled_probe_leaves_an_open_circuit(circuit: Circuit, clock: Clock) -> None:
    circuit.note(Outcome.AUTH, 0.0)
    waiting = asyncio.Event()

    async def hangs() -> None:
        waiting.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(probe(circuit, hangs, clock))
    await waiting.wait()
    assert phase(circuit) == "half_open"
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert phase(circuit) == "open"


async def test_an_engine_that_restarts_has_a_circuit_too(clock: Clock) -> None:
    engine = Circuit("docker", Rules(first_s=1.0, jitter=0.0), effects=ENGINE)
    engine.note(Outcome.AUTH, 0.0)
    assert engine.admits(0.0)
    engine.note(Outcome.SANDBOX_START, 0.0, "cannot connect to the engine")
    assert not engine.admits(0.0)

    async def down() -> None:
        raise SandboxError("the engine does not answer")

    async def up() -> None:
        return None

    assert not await probe(engine, down, clock)
    assert "does not answer" in engine.reason
    assert await probe(engine, up, clock)


async def test_nothing_is_paid_while_it_is_open(circuit: Circuit, clock: Clock, tmp_path: Path) -> None:
    """Two runs share a provider: what one finds out spares the other the asking."""
    journal = MemoryJournal()
    await journal.open_run(RunRecord("r1", "f", "demo", "c", "open", 0.0))
    harness = WorldHarness(failures={"t0": [Outcome.AUTH]})
    rollouts = Rollouts(
        harness,
        verify,
        journal,
        attempts_folder=tmp_path,
        observer=CircuitObserver(circuit, clock),
        sleep=no_wait,
        purse=GuardedPurse(OpenPurse(), {"target": circuit}, clock),
    )
    with pytest.raises(RunStopped) as stop:
        await rollouts.score(make_skill(), [make_task("t0")], run_id="r1")
    assert stop.value.outcome is Outcome.AUTH
    with pytest.raises(RunStopped, match="auth"):
        await rollouts.score(make_skill(), [make_task("t1")], run_id="r1")
    assert sum(harness.runs.values()) == 1
    assert await journal.unfinished_attempts() == (), "what is not asked is not even planned"
    assert await probe(circuit, lambda: asyncio.sleep(0), clock)
    [result] = await rollouts.score(make_skill(), [make_task("t1")], run_id="r1")
    assert result.valid


async def test_an_optimizer_s_circuit_stops_no_attempt(circuit: Circuit, clock: Clock) -> None:
    circuit.note(Outcome.AUTH, 0.0)
    purse = GuardedPurse(OpenPurse(), {"optimizer": circuit}, clock)
    async with purse.spending("target"):
        pass
    with pytest.raises(RunStopped, match="auth"):
        async with purse.spending("optimizer"):
            pass


async def test_what_opened_while_one_waited_for_room_still_refuses(circuit: Circuit, clock: Clock) -> None:
    class Slow(OpenPurse):
        @asynccontextmanager
        async def spending(self, payer: Payer) -> AsyncIterator[Spend]:
            circuit.note(Outcome.AUTH, 0.0)
            async with super().spending(payer) as spend:
                yield spend

    with pytest.raises(RunStopped):
        async with GuardedPurse(Slow(), {"target": circuit}, clock).spending("target"):
            pytest.fail("it was paid")


def test_what_is_read_back_says_nothing(circuit: Circuit, clock: Clock) -> None:
    event = AttemptFinished("a", "t", "codex", "auth", None, None, 0, None, 0.0, reused=True)
    CircuitObserver(circuit, clock).notify(event)
    assert circuit.admits(0.0)


def test_errors_name_their_outcome_through_their_causes() -> None:
    cause = ProviderError(ProviderFailure.TIMEOUT, "slow")
    stop = RunStopped("the optimizer model failed: slow")
    stop.__cause__ = cause
    assert outcome_of(stop) is Outcome.UNREACHABLE
    assert outcome_of(RunStopped("no run", Outcome.QUOTA)) is Outcome.QUOTA
    assert outcome_of(SandboxError("no engine")) is Outcome.SANDBOX_START
    assert outcome_of(RunStopped("the disk is full")) is None
