"""What a run says becomes events and canonical lines: once each, as metadata, with what was read back kept apart."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import structlog
from pydantic import SecretStr

from daemon.redaction import register_secret
from daemon.rollouts.progress import (
    AttemptFinished,
    AttemptStarted,
    PhaseStarted,
    RunEnded,
    RunStarted,
    SlowUpdateDecided,
    StepDecided,
)
from daemon.telling.canonical import Canonical
from daemon.telling.events import Bus
from daemon.telling.observing import LONGEST, job_observer

STARTED = RunStarted("run-1", "skills/greeting", False, 3, 4, 5, 6)


def attempt(number: int = 1, **changes: Any) -> AttemptFinished:
    given = {
        "attempt_id": f"run-1-{number}",
        "task_id": f"task-{number}",
        "harness": "codex",
        "outcome": "completed",
        "score": 1.0,
        "solved": True,
        "tokens": 100,
        "usd": 0.5,
        "wall_s": 2.0,
        "reused": False,
    }
    return AttemptFinished(**{**given, **changes})


def decided(outcome: str = "accepted", **changes: Any) -> StepDecided:
    given = {
        "step": 1,
        "steps": 3,
        "outcome": outcome,
        "reason": "it is better",
        "before": 0.4,
        "after": 0.6,
        "edits": 2,
        "replayed": False,
        "commits": ("c1", "c2"),
        "flagged": ("url: SKILL.md: evil.example.com",),
    }
    return StepDecided(**{**given, **changes})


def lines_of(*events: Any, **bound: Any) -> list[Any]:
    with structlog.testing.capture_logs([structlog.contextvars.merge_contextvars]) as logs:
        observer = Canonical(**bound)
        for event in events:
            observer.notify(event)
    return list(logs)


def test_a_step_is_one_line_with_what_its_attempts_came_to() -> None:
    [line] = lines_of(
        STARTED,
        attempt(1),
        attempt(2, score=None, solved=None, outcome="unreachable", tokens=7),
        attempt(3, reused=True, tokens=1_000),
        decided(),
        project="greeting",
        job=4,
    )
    assert line["wall_s"] >= 0
    assert {key: line[key] for key in line if key not in ("wall_s", "log_level")} == {
        "event": "step",
        "project": "greeting",
        "job": 4,
        "run": "run-1",
        "step": 1,
        "steps": 3,
        "update": "step",
        "outcome": "accepted",
        "reason": "it is better",
        "before": 0.4,
        "after": 0.6,
        "edits": 2,
        "commits": ["c1", "c2"],
        "flagged": ["url"],
        "replayed": False,
        "attempts": 2,
        "invalid": 1,
        "reused": 1,
        "tokens": 107,
        "usd": 1.0,
    }


def test_a_run_is_one_line_over_all_its_steps_and_the_next_begins_anew() -> None:
    slow = SlowUpdateDecided(2, 2, "rejected", "no", 0.6, 0.5, replayed=False)
    run = (STARTED, attempt(1), decided(), attempt(2, usd=None), decided("rejected"), slow)
    lines = lines_of(*run, RunEnded("run-1", "done", "all steps"), STARTED, RunEnded("run-1", "failed", "why"))
    first, second = (line for line in lines if line["event"] == "run")
    assert (first["steps"], first["accepted"], first["rejected"]) == (2, 1, 2)
    assert (first["attempts"], first["tokens"], first["usd"]) == (2, 200, None)
    assert (second["state"], second["steps"], second["attempts"], second["usd"]) == ("failed", 0, 0, 0.0)
    assert [line["attempts"] for line in lines if line["event"] == "step"] == [1, 1, 0]


def test_what_the_baseline_took_is_not_the_first_step_s() -> None:
    phases = (PhaseStarted(0, "baseline"), attempt(1), PhaseStarted(1, "rollout"), attempt(2), decided())
    [line] = lines_of(STARTED, *phases)
    assert line["attempts"] == 1


async def test_lines_of_the_run_s_tasks_carry_its_id_until_it_ends_and_the_job_s() -> None:
    log = structlog.get_logger("daemon")
    with structlog.testing.capture_logs([structlog.contextvars.merge_contextvars]) as logs:
        observer = job_observer(Bus(), "greeting", 4)

        async def line(name: str) -> None:
            log.info(name)

        observer.notify(STARTED)
        await asyncio.create_task(line("in a task of the run"))
        observer.notify(RunEnded("run-1", "done", ""))
        log.info("afterwards")
    mine = {line["event"]: line for line in logs}
    assert mine["in a task of the run"].items() >= {"project": "greeting", "job": 4, "run": "run-1"}.items()
    assert "run" not in mine["afterwards"]
    assert mine["afterwards"].items() >= {"project": "greeting", "job": 4}.items()


def test_two_runs_side_by_side_keep_their_own_ids() -> None:
    log = structlog.get_logger("daemon")

    async def job(name: str, number: int, turn: asyncio.Barrier) -> None:
        job_observer(Bus(), name, number).notify(STARTED)
        await turn.wait()
        log.info("mine", mine=name)

    async def both() -> None:
        turn = asyncio.Barrier(2)
        await asyncio.gather(job("one", 1, turn), job("two", 2, turn))

    with structlog.testing.capture_logs([structlog.contextvars.merge_contextvars]) as logs:
        asyncio.run(both())
    assert {(line["mine"], line["project"], line["job"]) for line in logs} == {("one", "one", 1), ("two", "two", 2)}


def test_events_carry_project_job_and_run_and_are_json() -> None:
    bus = Bus()
    observer = job_observer(bus, "greeting", 4)
    told = (STARTED, PhaseStarted(2, "rollout", "4 tasks"), AttemptStarted("a", "t", "codex", 1), attempt(), decided())
    for event in (*told, SlowUpdateDecided(2, 1, "accepted", "yes", 0.1, 0.2, False), RunEnded("run-1", "done", "all")):
        observer.notify(event)
    seen = bus.since(0)
    assert [event.kind for event in seen] == ["run", "phase", "attempt", "step", "step", "run"]
    assert {(event.project, event.job, event.data["run"]) for event in seen} == {("greeting", 4, "run-1")}
    assert json.loads(json.dumps([dict(event.data) for event in seen]))
    assert [event.data.get("state") for event in seen if event.kind == "run"] == ["started", "done"]
    assert seen[2].data["step"] == 2
    assert [event.data["update"] for event in seen if event.kind == "step"] == ["step", "slow_update"]


def test_hostile_text_stays_one_short_redacted_line() -> None:
    register_secret(SecretStr("hunter2-hunter2"))
    bus = Bus()
    observer = job_observer(bus, "greeting", 4)
    hostile = "\x1b[2J first\nsecond hunter2-hunter2 \u202e" + "x" * 10_000
    observer.notify(decided(reason=hostile))
    observer.notify(attempt(task_id=hostile, detail="what the agent said"))
    observer.notify(RunEnded("run-1", "failed", hostile))
    for event in bus.since(0):
        said = json.dumps([event.what, dict(event.data)], ensure_ascii=False)
        assert len(event.what) <= LONGEST
        assert "hunter2" not in said
        assert "what the agent said" not in said
        assert not {"\x1b", "\n", "\u202e"} & set(said)
