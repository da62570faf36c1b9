"""What every engine must do. One suite; `Engine.lacks` names the differences, and each is asserted, not skipped."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from sandboxes.sandbox import MIB, BoxSpec, Command, Ending, Limits, Mount, SandboxError
from sandboxes.survivors import MARKER
from tests.support.processes import descriptors
from tests.support.sandboxes import PATH, Engine, sh
from tests.support.waiting import PATIENCE_S


async def test_facts_say_what_the_engine_is(engine: Engine) -> None:
    facts = await engine.sandbox.facts()

    assert facts.engine == engine.sandbox.name
    assert facts.version
    assert facts.image_digest == "host" or facts.image_digest.startswith("sha256:")
    if facts.engine in {"docker", "bubblewrap"}:
        assert facts.isolated
    if facts.engine == "process":
        assert not facts.isolated
        assert any("no isolation" in line for line in facts.lacks)


async def test_environment_is_exactly_what_was_given(engine: Engine, tmp_path: Path) -> None:
    given = {"A": "b c\nd='\"$", "EMPTY": "", "PATH": PATH, "ÜMLAUT": "ß"}
    async with engine.box(tmp_path) as box:
        ended = await box.run(Command(("/usr/bin/env", "-0"), given, PATIENCE_S))

    seen = dict(entry.split("=", 1) for entry in ended.stdout.read_text().split("\0") if entry)
    if "env" in engine.lacks:
        assert seen.pop(MARKER)
    assert seen == given


async def test_arguments_arrive_unchanged(engine: Engine, tmp_path: Path) -> None:
    words = ("", "a b", "$HOME", "*", "'\"", "-n", "zeile\nzwei", "ü=1")
    async with engine.box(tmp_path) as box:
        ended = await box.run(Command(("/usr/bin/printf", r"%s\0", *words), {}, PATIENCE_S))

    assert tuple(ended.stdout.read_text().split("\0")[:-1]) == words


async def test_stdin_is_closed(engine: Engine, tmp_path: Path) -> None:
    async with engine.box(tmp_path) as box:
        ended = await sh(box, "cat; echo end", deadline_s=10)

    assert ended.ending is Ending.EXITED
    assert ended.stdout.read_bytes() == b"end\n"


async def test_starts_in_the_workspace(engine: Engine, tmp_path: Path) -> None:
    async with engine.box(tmp_path) as box:
        await box.write({"sub/task.md": b"hello"})
        ended = await sh(box, "pwd -P; cat sub/task.md")
        workspace = box.layout.workspace

    assert ended.stdout.read_text() == f"{workspace}\nhello"


async def test_layout_paths_are_usable(engine: Engine, tmp_path: Path) -> None:
    async with engine.box(tmp_path) as box:
        layout = box.layout
        paths = f"{layout.home} {layout.tmp} {layout.out} {layout.workspace}"
        script = "printf '#!/bin/sh\\necho ran' >$p/tool; chmod +x $p/tool; $p/tool; rm $p/tool; echo x >$p/probe"
        ended = await sh(box, f"for p in {paths}; do {script} || exit 1; done")
        collected = await box.collect(room="out")

    assert (ended.ending, ended.exit_code) == (Ending.EXITED, 0), ended.stderr.read_text()
    assert ended.stdout.read_text() == "ran\n" * 4
    assert collected.files == {"probe": b"x\n"}


@pytest.mark.parametrize("code", [0, 1, 42, 125, 126])
async def test_exit_code_is_the_commands_own(engine: Engine, tmp_path: Path, code: int) -> None:
    async with engine.box(tmp_path) as box:
        ended = await sh(box, f"exit {code}")

    assert (ended.ending, ended.exit_code, ended.detail) == (Ending.EXITED, code, "")
    assert 0 < ended.wall_s < PATIENCE_S


async def test_a_missing_program_is_an_exit_code(engine: Engine, tmp_path: Path) -> None:
    async with engine.box(tmp_path) as box:
        ended = await box.run(Command(("no-such-program",), {"PATH": PATH}, PATIENCE_S))

    assert (ended.ending, ended.exit_code) == (Ending.EXITED, 127)
    assert b"no-such-program" in ended.stderr.read_bytes()


async def test_streams_are_kept_apart_and_capped(engine: Engine, tmp_path: Path) -> None:
    limits = Limits(stream_bytes=100_000)
    script = "head -c 300000 /dev/zero; printf out; printf err >&2"
    async with engine.box(tmp_path, limits=limits) as box:
        ended = await sh(box, script)

    assert (ended.ending, ended.exit_code) == (Ending.EXITED, 0)
    assert ended.stdout.read_bytes() == b"\0" * 100_000
    assert ended.stdout_cut
    assert ended.stderr.read_bytes() == b"err"
    assert not ended.stderr_cut


async def test_stream_files_are_out_of_the_commands_reach(engine: Engine, tmp_path: Path) -> None:
    async with engine.box(tmp_path) as box:
        ended = await sh(box, "echo said")

    folder = tmp_path / "a-1"
    assert ended.stdout.parent == folder
    assert folder.stat().st_mode & 0o777 == 0o700
    assert ended.stdout.read_text() == "said\n"


async def test_binary_output_is_untouched(engine: Engine, tmp_path: Path) -> None:
    async with engine.box(tmp_path) as box:
        ended = await sh(box, r"printf '\377\000\r\n\033'")

    assert ended.stdout.read_bytes() == b"\xff\0\r\n\x1b"


async def test_second_run_sees_the_workspace_but_a_fresh_home(engine: Engine, tmp_path: Path) -> None:
    async with engine.box(tmp_path) as box:
        home, tmp = box.layout.home, box.layout.tmp
        first = await sh(box, f"echo kept >kept; echo gone >{home}/gone; echo gone >{tmp}/gone")
        second = await sh(box, f"cat kept; ls -A {home} {tmp}; echo >>kept")
        collected = await box.collect()

    assert first.exit_code == second.exit_code == 0
    assert "gone" not in second.stdout.read_text()
    assert second.stdout.read_text().startswith("kept\n")
    assert first.stdout != second.stdout
    assert collected.files == {"kept": b"kept\n\n"}


async def test_files_can_be_written_between_runs(engine: Engine, tmp_path: Path) -> None:
    async with engine.box(tmp_path) as box:
        await box.write({"a/run.sh": b"#!/bin/sh\necho first\n"})
        first = await box.run(Command(("./a/run.sh",), {"PATH": PATH}, PATIENCE_S))
        await box.write({"a/run.sh": b"#!/bin/sh\necho second\n", "a/b/data": b"\0"})
        second = await sh(box, "./a/run.sh && rm -r a")

    assert first.stdout.read_text() == "first\n"
    assert (second.stdout.read_text(), second.exit_code) == ("second\n", 0)


@pytest.mark.parametrize("path", ["../out", "/etc/passwd", "a/../../b", "", ".", "a/", "nul\0", ".."])
async def test_write_refuses_to_leave_the_room(engine: Engine, tmp_path: Path, path: str) -> None:
    async with engine.box(tmp_path) as box:
        with pytest.raises(SandboxError, match="no path inside the room"):
            await box.write({"good": b"", path: b"bad"})
        collected = await box.collect()

    assert collected.files == {}, "nothing may be written when one path is refused"


async def test_write_does_not_follow_what_the_command_left(engine: Engine, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("untouched")
    async with engine.box(tmp_path) as box:
        await sh(box, f"ln -s {outside} folder; ln -s {outside}/file file")
        with pytest.raises(SandboxError, match="folder/new"):
            await box.write({"folder/new": b"x"})
        await box.write({"file": b"ours"})
        collected = await box.collect()

    assert (outside / "file").read_text() == "untouched"
    assert not (outside / "new").exists()
    assert collected.files == {"file": b"ours"}


async def test_collects_a_hostile_tree_safely(engine: Engine, tmp_path: Path) -> None:
    script = """
    echo good >good; mkdir -p deep/er; echo deep >deep/er/file
    ln -s /etc/shadow shadow; ln -s . loop; ln -s /etc etc; mkfifo fifo
    printf x >"$(printf 'new\\nline')"; printf x >"$(printf 'bad\\377')"; printf x >"$(printf 'esc\\033[2J')"
    truncate -s 900M sparse; ln good hard; chmod 000 deep/er/file
    """
    async with engine.box(tmp_path) as box:
        ended = await sh(box, script)
        collected = await box.collect()

    assert ended.exit_code == 0, ended.stderr.read_text()
    assert set(collected.files) - {"deep/er/file"} == {"good", "hard"}
    lines = "\n".join(collected.skipped)
    for expected in ("shadow: link", "loop: link", "etc: link", "fifo: fifo", "sparse: too large"):
        assert expected in lines
    assert lines.count(": bad name") == 3
    assert lines.isprintable() or all(line.isprintable() for line in collected.skipped)


async def test_collection_is_bounded(engine: Engine, tmp_path: Path) -> None:
    limits = Limits(collect_files=3, collect_bytes=20, collect_file_bytes=12)
    script = "for i in 1 2 3 4 5; do printf 1234 >f$i; done; printf 1234567890abc >big; printf 123456789012 >a"
    async with engine.box(tmp_path, limits=limits) as box:
        await sh(box, script)
        collected = await box.collect()

    assert dict(collected.files) == {"a": b"123456789012", "f1": b"1234", "f2": b"1234"}
    assert [line.split(":")[0] for line in collected.skipped] == ["big", "f3", "f4", "f5"]


async def test_mounts_are_shown(engine: Engine, tmp_path: Path) -> None:
    hidden = tmp_path / "private"
    hidden.mkdir(mode=0o700)
    tool = hidden / "tool"
    tool.mkdir(mode=0o755)
    (tool / "hello").write_text("#!/bin/sh\necho tool says hello\n")
    (tool / "hello").chmod(0o755)
    if "mounts" in engine.lacks:
        async with engine.box(tmp_path, mounts=(Mount(tool, "/opt/agents/tool"),)) as box:
            assert not Path(box.layout.tools).exists()
        return
    async with engine.box(tmp_path, mounts=(Mount(tool, "/opt/agents/tool"),)) as box:
        ended = await box.run(Command(("/opt/agents/tool/hello",), {"PATH": PATH}, PATIENCE_S))
        changed = await sh(box, "echo x >/opt/agents/tool/hello")
        tools = box.layout.tools
        listed = await sh(box, f"ls {tools}/tool")

    assert ended.stdout.read_text() == "tool says hello\n", ended.stderr.read_text()
    assert listed.stdout.read_text() == "hello\n"
    if "isolation" not in engine.lacks:
        assert changed.exit_code != 0
        assert "Read-only" in changed.stderr.read_text()


async def test_a_missing_mount_is_our_failure(engine: Engine, tmp_path: Path) -> None:
    if "mounts" in engine.lacks:
        return
    with pytest.raises(SandboxError, match="not-there"):
        async with engine.box(tmp_path, mounts=(Mount(tmp_path / "not-there", "/opt/agents/x"),)) as box:
            await sh(box, "true")


@pytest.mark.parametrize(
    "command",
    [
        Command((), {}, 5),
        Command(("",), {}, 5),
        Command(("-x",), {}, 5),
        Command(("A=b",), {}, 5),
        Command(("a\0b",), {}, 5),
        Command(("true",), {"A=B": "c"}, 5),
        Command(("true",), {"": "c"}, 5),
        Command(("true",), {"A": "\0"}, 5),
        Command(("true",), {}, 5, forward=True),
    ],
)
async def test_an_impossible_command_is_refused(engine: Engine, tmp_path: Path, command: Command) -> None:
    async with engine.box(tmp_path) as box:
        with pytest.raises(SandboxError):
            await box.run(command)
        assert (await sh(box, "true")).exit_code == 0


async def test_boxes_run_side_by_side(engine: Engine, tmp_path: Path) -> None:
    import asyncio

    async def one(number: int) -> str:
        async with engine.box(tmp_path, attempt_id=f"side-{number}") as box:
            await box.write({"me": str(number).encode()})
            ended = await sh(box, "sleep 0.3; cat me; ls -A")
            return ended.stdout.read_text()

    assert await asyncio.gather(*map(one, range(4))) == [f"{number}me\n" for number in range(4)]


async def test_leaves_no_descriptor_behind(engine: Engine, tmp_path: Path, gateway_socket: Path) -> None:
    counts: list[int] = []
    while len(counts) < 5 or counts[-1] > counts[-5]:  # a pool of connections may grow, and comes to its end
        assert len(counts) < 20, counts
        async with engine.box(tmp_path, attempt_id=f"fd-{len(counts)}", gateway_socket=gateway_socket) as box:
            for _ in range(4):
                await sh(box, "echo x; echo y >&2")
        counts.append(descriptors())


async def test_open_makes_only_its_own_folders(engine: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "attempt"
    spec = BoxSpec("only", folder, time.time() + 3_600, limits=Limits(memory_bytes=64 * MIB))
    async with engine.sandbox.open(spec) as box:
        assert json.dumps(box.layout.workspace)

    assert {"workspace", "out"} <= {path.name for path in folder.iterdir()}
