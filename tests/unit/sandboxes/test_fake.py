from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from sandboxes.fake import FakeAnswer, FakeBox, FakeSandbox
from sandboxes.left import LeftBox, is_left
from sandboxes.process import with_sources
from sandboxes.sandbox import BoxSpec, Command, Ending, Limits, Mount, SandboxError
from sandboxes.survivors import mark

COMMAND = Command(("codex", "exec"), {"HOME": "/x"}, 5)


def spec(tmp_path: Path, **limits: int) -> BoxSpec:
    return BoxSpec("a-1", tmp_path / "a-1", time.time() + 60, limits=Limits(**limits))


async def test_the_script_sees_the_command_and_the_rooms(tmp_path: Path) -> None:
    def script(box: FakeBox, command: Command) -> FakeAnswer:
        assert (box.workspace / "SKILL.md").read_bytes() == b"skill"
        (Path(box.layout.out) / "last.txt").write_text(" ".join(command.argv))
        return FakeAnswer(b"out", b"err", 3)

    sandbox = FakeSandbox(script)
    async with sandbox.open(spec(tmp_path)) as box:
        await box.write({"SKILL.md": b"skill"})
        ended = await box.run(COMMAND)
        out = await box.collect(room="out")

    assert (ended.ending, ended.exit_code) == (Ending.EXITED, 3)
    assert (ended.stdout.read_bytes(), ended.stderr.read_bytes()) == (b"out", b"err")
    assert out.files == {"last.txt": b"codex exec"}
    assert sandbox.opened[0].commands == [COMMAND]


async def test_output_before_the_deadline_is_kept(tmp_path: Path) -> None:
    async def script(box: FakeBox, _: Command) -> FakeAnswer:
        box.say(stdout=b"begun")
        await asyncio.sleep(60)
        return FakeAnswer()

    async with FakeSandbox(script).open(spec(tmp_path)) as box:
        ended = await box.run(Command(("x",), {}, 0.05))

    assert ended.ending is Ending.DEADLINE
    assert ended.stdout.read_bytes() == b"begun"


@pytest.mark.parametrize("ending", list(Ending))
async def test_every_ending_can_be_played(tmp_path: Path, ending: Ending) -> None:
    answer = FakeAnswer(ending=ending, exit_code=0, detail="why")
    async with FakeSandbox(lambda *_: answer).open(spec(tmp_path)) as box:
        ended = await box.run(COMMAND)

    assert (ended.ending, ended.detail) == (ending, "why")
    assert ended.exit_code == (0 if ending is Ending.EXITED else None)
    assert ended.oom_seen == (ending is Ending.OUT_OF_MEMORY)


async def test_streams_are_capped(tmp_path: Path) -> None:
    async with FakeSandbox(lambda *_: FakeAnswer(b"12345", b"1")).open(spec(tmp_path, stream_bytes=3)) as box:
        ended = await box.run(COMMAND)

    assert ended.stdout.read_bytes() == b"123"
    assert (ended.stdout_cut, ended.stderr_cut) == (True, False)


async def test_a_fault_of_the_script_goes_through(tmp_path: Path) -> None:
    def script(*_: object) -> FakeAnswer:
        raise KeyError("typo")

    async with FakeSandbox(script).open(spec(tmp_path)) as box:
        with pytest.raises(KeyError):
            await box.run(COMMAND)


async def test_a_broken_engine(tmp_path: Path) -> None:
    sandbox = FakeSandbox(lambda *_: FakeAnswer(), broken="engine is gone")

    with pytest.raises(SandboxError, match="engine is gone"):
        await sandbox.facts()
    with pytest.raises(SandboxError, match="engine is gone"):
        async with sandbox.open(spec(tmp_path)):
            pass


async def test_what_is_left_is_what_a_test_says() -> None:
    sandbox = FakeSandbox(lambda *_: FakeAnswer())
    assert await sandbox.boxes() == ()
    assert await sandbox.sweep() == ()
    sandbox.left = [LeftBox("box-b", "b", ours=True, running=True), LeftBox("box-a", "a", ours=True, running=False)]
    assert [box.name for box in await sandbox.boxes()] == ["box-a", "box-b"]
    assert await sandbox.sweep(keep={"a"}) == ("box-b",)
    assert await sandbox.remove("box-a")
    assert not await sandbox.remove("box-a")
    assert sandbox.removed == ["box-b", "box-a"]


@pytest.mark.parametrize(
    ("box", "left"),
    [
        (LeftBox("n", "mine", ours=True, running=True), True),
        (LeftBox("n", "kept", ours=True, running=False), False),
        (LeftBox("n", "", ours=True, running=None), True),
        (LeftBox("n", "kept", ours=True, running=True, deadline=1.0), False),
        (LeftBox("n", "x", ours=False, running=True, deadline=99.0), True),
        (LeftBox("n", "x", ours=False, running=False, deadline=101.0), False),
        (LeftBox("n", "x", ours=False, running=False), False),
    ],
)
def test_the_one_rule_of_what_is_left(box: LeftBox, left: bool) -> None:
    assert is_left(box, frozenset({"kept"}), 100.0) is left


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/opt/agents/codex", "/cli/codex-1"),
        ("/opt/agents/codex/bin/codex", "/cli/codex-1/bin/codex"),
        ("/opt/agents/codex-other", "/opt/agents/codex-other"),
        ("/usr/bin:/opt/agents/codex/bin:/bin", "/usr/bin:/cli/codex-1/bin:/bin"),
        ("--path=/opt/agents/codex", "--path=/cli/codex-1"),
        ("cd /opt/agents/codex && ls", "cd /cli/codex-1 && ls"),
        ("x/opt/agents/codex", "x/opt/agents/codex"),
    ],
)
def test_a_process_gets_the_sources_of_its_mounts(text: str, expected: str) -> None:
    assert with_sources(text, (Mount(Path("/cli/codex-1"), "/opt/agents/codex"),)) == expected


def test_markers_tell_owners_and_attempts_apart() -> None:
    marks = {mark("a", "1"), mark("a", "2"), mark("b", "1")}

    assert len(marks) == 3
    assert all("\0" not in each for each in marks)
