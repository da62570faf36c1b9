"""Scripts of a chat model in every real engine: workbooks are written, nothing gets out, hostile ones are told of."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from daemon.setup.toolkit import ensure_toolkit
from harnesses.chat import ChatHarness
from harnesses.chat_tools import Boxes
from harnesses.harness import Attempt, ChatTools
from harnesses.models.client import ModelReply, ToolUse
from harnesses.models.fake import ScriptedModel
from harnesses.outcome import Outcome
from harnesses.script_tool import SCRIPT_BYTES
from harnesses.traces.trace import ToolCall
from sandboxes.gateway.policy import Usage
from sandboxes.sandbox import MIB, Limits, Sandbox
from tests.support.harnesses import assignment
from tests.support.sandboxes import bubblewrap_engine, docker_engine, process_engine
from tests.support.tasks import book

OWNER = "honed-tests-scripts"
ENGINES: dict[str, Callable[[], Sandbox]] = {
    "docker": lambda: docker_engine(OWNER).sandbox,
    "bubblewrap": lambda: asyncio.run(bubblewrap_engine(OWNER)).sandbox,
    "process": lambda: process_engine(OWNER).sandbox,
}
DONE = ModelReply("Done.", Usage(1, 1, 1, 1, 0.0), "end", "m-1")
FILL = """
import openpyxl
book = openpyxl.load_workbook("input.xlsx")
book.active["B1"] = book.active["A1"].value * 2
book.save("output.xlsx")
print("filled")
"""
READ_BACK = """
import openpyxl
print(openpyxl.load_workbook("output.xlsx").active["B1"].value)
"""
GET_OUT = """
import os, socket
print(sorted(name for name in os.environ if "KEY" in name or "TOKEN" in name))
for place in (("1.1.1.1", 53), ("127.0.0.1", 80)):
    try:
        socket.create_connection(place, 2)
        print("reached")
    except OSError:
        print("closed")
"""
LONGEST = f"{'#' * (SCRIPT_BYTES - 20)}\nprint('the end')"
SABOTAGE = """
import os
for place in (".", os.environ["HOME"], os.environ["TMPDIR"], "/out"):
    for name in ("openpyxl.py", "script.py", "json.py"):
        try:
            open(os.path.join(place, name), "w").write("raise SystemExit(7)")
        except OSError:
            pass
    if place != ".":
        try:
            os.chmod(place, 0)
        except OSError:
            pass
"""
HUNGRY = "held = [bytearray(8 << 20) for _ in range(200)]\nprint(len(held))"
LEAVE_LINKS = "import os\nos.symlink('/etc/passwd', 'passwd.txt')\nos.mkfifo('pipe')\nprint('left')"


@pytest.fixture(
    params=[
        pytest.param("docker", marks=pytest.mark.docker),
        pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
        "process",
    ]
)
def engine(request: pytest.FixtureRequest) -> Sandbox:
    return ENGINES[request.param]()


async def ran(folder: Path, sandbox: Sandbox, *codes: str) -> tuple[Attempt, list[ToolCall]]:
    """An attempt whose model runs the scripts in turn."""
    left = [ModelReply("", DONE.usage, "end", "m-1", (ToolUse("c", "run_python", {"code": code}),)) for code in codes]
    model = ScriptedModel(lambda _: left.pop(0) if left else DONE)
    mounts = (await ensure_toolkit(folder / "home", lambda _: None),) if sandbox.name != "docker" else ()
    limits = Limits(memory_bytes=256 * MIB, cpus=1.0)
    given = assignment(
        folder,
        files={"input.xlsx": book(A1=21)},
        tools=ChatTools("python", turns=30),
        deadline_s=240.0,
    )
    given.folder.mkdir(parents=True)
    attempt = await ChatHarness(model, boxes=Boxes(sandbox, limits, mounts)).run(given)
    return attempt, [event for event in attempt.trace.events if isinstance(event, ToolCall)]


async def test_a_workbook_is_written_and_found_by_the_next_script(engine: Sandbox, tmp_path: Path) -> None:
    attempt, (fill, read, long) = await ran(tmp_path, engine, FILL, READ_BACK, LONGEST)
    assert (attempt.outcome, attempt.detail) == (Outcome.COMPLETED, "")
    assert fill.output == "exit code 0\nfilled\nfiles changed: add output.xlsx"
    assert read.output == "exit code 0\n42"
    assert long.output == "exit code 0\nthe end"
    assert sorted(attempt.workspace.files) == ["input.xlsx", "output.xlsx"]
    assert attempt.engine is not None
    assert attempt.engine.engine == engine.name


async def test_nothing_gets_out_and_no_key_is_there(engine: Sandbox, tmp_path: Path) -> None:
    _, (tried,) = await ran(tmp_path, engine, GET_OUT)
    lines = tried.output.splitlines()
    assert lines[:2] == ["exit code 0", "[]"]
    if (await engine.facts()).isolated:
        assert lines[2:] == ["closed", "closed"]


async def test_a_script_cannot_spoil_the_next_one(engine: Sandbox, tmp_path: Path) -> None:
    if not (await engine.facts()).isolated:
        pytest.skip(f"{engine.name} protects nothing")
    attempt, (_, after) = await ran(tmp_path, engine, SABOTAGE, FILL)
    assert after.output == "exit code 0\nfilled\nfiles changed: add output.xlsx"
    assert attempt.outcome is Outcome.COMPLETED


async def test_what_a_script_leaves_is_hostile_data(engine: Sandbox, tmp_path: Path) -> None:
    attempt, (left, listed) = await ran(tmp_path, engine, LEAVE_LINKS, "print(1)")
    assert "not kept: passwd.txt" in left.output
    assert listed.output.startswith("exit code 0\n1")
    assert sorted(attempt.workspace.files) == ["input.xlsx"]


async def test_a_script_that_takes_too_much_memory_is_told_of_and_the_next_one_runs(
    engine: Sandbox, tmp_path: Path
) -> None:
    facts = await engine.facts()
    if not facts.isolated or any("control group" in line for line in facts.lacks):
        pytest.skip(f"{engine.name} bounds no memory here")
    attempt, (hungry, after) = await ran(tmp_path, engine, HUNGRY, "print('still here')")
    assert not hungry.ok
    assert after.output == "exit code 0\nstill here"
    assert attempt.outcome is Outcome.COMPLETED
