"""The watch over a CLI that runs, look by look, with a clock of the test's."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from harnesses.vigil import LOOK_S, Patience, Vigil
from sandboxes.gateway.fake import FakeDoor
from sandboxes.gateway.policy import Tally, Usage
from tests.support.agents import door_policy

PATIENCE = Patience(idle_s=100.0, exit_s=10.0)
CALL = {"type": "item.started", "item": {"id": "item_1", "type": "command_execution", "command": "sleep 500"}}
RESULT = {"type": "item.completed", "item": {"id": "item_1", "type": "command_execution", "status": "completed"}}
END = {"type": "turn.completed", "usage": {}}


@dataclass
class Watched:
    """One attempt's folder, door and clock."""

    folder: Path
    now: float = 1_000.0
    door: FakeDoor = field(init=False)
    vigil: Vigil = field(init=False)

    def __post_init__(self) -> None:
        (self.folder / "out" / "codex").mkdir(parents=True)
        self.door = FakeDoor("a-1", door_policy("openai", "http://127.0.0.1:9"), self.folder / "door", Tally())
        self.vigil = Vigil(
            self.door, self.folder, PATIENCE, clock=lambda: self.now, wall=lambda: time.time() + self.now - 1_000.0
        )
        self.record(age_s=3_600.0)

    def says(self, *events: object, run: int = 1) -> None:
        with (self.folder / f"run-{run}.stdout").open("a") as stdout:
            stdout.writelines(json.dumps(event) + "\n" for event in events)

    def record(self, *, age_s: float = 0.0) -> None:
        session = self.folder / "out" / "codex" / "rollout.jsonl"
        session.touch()
        then = time.time() + self.now - 1_000.0 - age_s
        os.utime(session, (then, then))

    def asks(self, *, waiting_s: float = 0.0, requests: int = 0) -> None:
        self.door.counted = Tally(usage=Usage(requests=requests), waiting_s=waiting_s)

    async def after(self, seconds: float) -> str:
        """Why it is stopped after so long, looked at twice as the watch does."""
        await self.vigil.look()
        self.now += seconds
        await self.vigil.look()
        return self.vigil.hung


async def test_a_cli_that_does_nothing_at_all_hangs(tmp_path: Path) -> None:
    one = Watched(tmp_path)
    one.says({"type": "thread.started"})
    assert await one.after(99.0) == ""
    assert "for 1" in await one.after(LOOK_S)
    assert "[target] idle_s" in one.vigil.hung


async def test_one_that_never_printed_anything_hangs_too(tmp_path: Path) -> None:
    assert "asked nothing" in await Watched(tmp_path).after(101.0)


async def test_one_that_does_not_exit_after_its_result_is_stopped_soon(tmp_path: Path) -> None:
    one = Watched(tmp_path)
    one.says(CALL, RESULT, END)
    assert await one.after(9.0) == ""
    assert "did not exit" in await one.after(2.0)


async def test_a_command_of_the_agent_may_be_silent(tmp_path: Path) -> None:
    one = Watched(tmp_path)
    one.says(CALL)
    assert await one.after(5_000.0) == ""
    one.says(RESULT)
    assert await one.after(50.0) == ""
    assert await one.after(101.0) != ""


async def test_a_model_may_be_silent(tmp_path: Path) -> None:
    one = Watched(tmp_path)
    one.asks(waiting_s=200.0)
    assert await one.after(500.0) == ""
    assert one.vigil.silent_s == 200.0
    one.asks(requests=1)
    assert await one.after(50.0) == ""
    assert one.vigil.silent_s == 0.0


async def test_what_is_printed_or_asked_or_recorded_is_a_sign_of_life(tmp_path: Path) -> None:
    one = Watched(tmp_path)
    for requests in range(3):
        one.asks(requests=requests)
        assert await one.after(60.0) == ""
        one.says({"type": "turn.started"})
        assert await one.after(60.0) == ""
    one.record()
    assert await one.after(60.0) == ""
    one.record(age_s=3_600.0)
    assert await one.after(LOOK_S) != ""


async def test_the_newest_command_of_the_box_is_watched(tmp_path: Path) -> None:
    one = Watched(tmp_path)
    one.says(END, run=2)  # a set-up script's, say
    one.says(CALL, run=10)
    assert await one.after(5_000.0) == ""


async def test_a_room_that_cannot_be_read_is_judged_by_what_was_printed(tmp_path: Path) -> None:
    one = Watched(tmp_path)
    (tmp_path / "out").rename(tmp_path / "gone")
    assert await one.after(101.0) != ""


async def test_refusals_and_retries_of_the_door_are_signs_of_life(tmp_path: Path) -> None:
    one = Watched(tmp_path)
    for number in range(4):
        one.door.counted = replace(Tally(), retries=number)
        assert await one.after(60.0) == ""
