"""A state folder that is kept in order: real folders, hostile ones too, and nothing that a run needs is lost."""

from __future__ import annotations

import json
import os
import shutil
import socket
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest

from daemon.cli.clean import _clean
from daemon.cli.output import Output
from daemon.cli.show import _show
from daemon.config_retention import RetentionSection
from daemon.config_train import TrainSection
from daemon.housekeeping import folders
from daemon.housekeeping.folders import kept_in, pack
from daemon.housekeeping.house import keep_house
from daemon.housekeeping.wanted import wanted_attempts
from daemon.journal.journal import Journal, JournalError
from daemon.journal.lock import StateBusyError, state_lock
from daemon.journal.memory import MemoryJournal
from daemon.journal.records import Decision
from daemon.journal.sqlite import SqliteJournal
from daemon.recovery.trees import remove_tree
from sandboxes.sandbox import MIB
from tests.support.journal import a_key, a_record, a_run
from tests.support.optimizer import Killed, MortalJournal, World, WorldHarness, task_set
from tests.support.projects import chat_project
from tests.support.readback import trained, world

DAY = 86_400.0
NOW = 20_000 * DAY
RULES = RetentionSection(attempts_days=10, attempts_mb=1, compress_hours=24)


def left(state: Path, name: str, *, days: float, data: bytes = b"text " * 2000) -> Path:
    """What an attempt left so many days ago."""
    folder = state / "attempts" / name
    (folder / "workspace" / "sub").mkdir(parents=True)
    (folder / "workspace" / "sub" / "answer.txt").write_bytes(data)
    (folder / "run-1.stdout").write_text("{}\n")
    os.utime(folder, (NOW - days * DAY, NOW - days * DAY))
    return folder


class Deaf(MemoryJournal):
    """A journal that must not be asked."""

    async def find_runs(self, skill: str | None = None) -> Any:
        raise AssertionError("the journal was asked although there is nothing to do")

    unfinished_attempts = find_runs


async def test_nothing_to_do_is_cheap(tmp_path: Path) -> None:
    assert (await keep_house(tmp_path, RULES, NOW, journal=Deaf())).nothing
    left(tmp_path, "a", days=0.5)
    report = await keep_house(tmp_path, RULES, NOW, journal=Deaf())
    assert report.nothing
    assert report.attempts_before == report.attempts_after > 0


async def test_a_day_old_folder_becomes_an_archive_with_all_that_was_in_it(tmp_path: Path) -> None:
    folder = left(tmp_path, "a", days=2)
    report = await keep_house(tmp_path, RULES, NOW, journal=MemoryJournal())
    assert report.packed == ["a"]
    assert not folder.exists()
    archive = tmp_path / "attempts" / "a.tar.gz"
    assert archive.stat().st_mtime == NOW - 2 * DAY, "it goes on aging"
    assert archive.stat().st_mode & 0o777 == 0o600
    with tarfile.open(archive) as tar:
        assert tar.getnames() == ["run-1.stdout", "workspace", "workspace/sub", "workspace/sub/answer.txt"]
        file = tar.extractfile("workspace/sub/answer.txt")
        assert file is not None
        assert file.read() == b"text " * 2000
    assert (await keep_house(tmp_path, RULES, NOW, journal=Deaf())).nothing


async def test_old_ones_go_and_the_newest_stay(tmp_path: Path) -> None:
    for number in range(25):
        left(tmp_path, f"a{number:02}", days=100 - number)
    report = await keep_house(tmp_path, RULES, NOW, journal=MemoryJournal())
    assert report.pruned == {f"a{number:02}": "age" for number in range(5)}
    assert len(report.packed) == 20
    assert len(list((tmp_path / "attempts").iterdir())) == 20


async def test_too_much_is_compressed_first_and_then_the_oldest_go(tmp_path: Path) -> None:
    for number in range(4):
        left(tmp_path, f"a{number}", days=1 - number / 10, data=os.urandom(400_000))
    report = await keep_house(tmp_path, RULES, NOW, journal=MemoryJournal())
    assert report.packed == ["a0", "a1", "a2", "a3"]
    assert report.pruned == {"a0": "size", "a1": "size"}
    assert report.attempts_before > MIB >= report.attempts_after
    text = [left(tmp_path, f"b{number}", days=0.5 - number / 10, data=b"x" * 400_000) for number in range(2)]
    report = await keep_house(tmp_path, RULES, NOW, journal=MemoryJournal())
    assert report.pruned == {}, "compressing was enough"
    assert not any(folder.exists() for folder in text)


async def journal_of_an_open_run() -> MemoryJournal:
    """Planned at 1 to 4; a decision stands since 2.5, and the last one is not finished."""
    now = [0.0]
    journal = MemoryJournal(lambda: now[0])
    await journal.open_run(a_run())
    for number in (1, 2, 3, 4):
        now[0] = float(number)
        await journal.plan_attempt(f"a{number}", "r-1", "t-1", a_key(trial=number))
        if number < 4:
            await journal.finish_attempt(a_record(f"a{number}", a_key(trial=number)))
    await journal.save_decision(Decision("r-1", 0, "baseline", {"when": 0.5}))
    await journal.save_decision(Decision("r-1", 1, "step", {"when": 2.5}))
    return journal


async def test_what_may_still_be_wanted_is_spared(tmp_path: Path) -> None:
    journal = await journal_of_an_open_run()
    assert await wanted_attempts(journal) == {"a3", "a4"}
    for number in (1, 2, 3, 4):
        left(tmp_path, f"a{number}", days=2)
    report = await keep_house(tmp_path, RULES, NOW, journal=journal)
    assert report.packed == ["a1", "a2"]
    await journal.end_run("r-1", "done")
    assert await wanted_attempts(journal) == {"a4"}


async def test_what_waits_for_its_score_goes_by_age_alone(tmp_path: Path) -> None:
    journal = await journal_of_an_open_run()
    for name in ("a4", *(f"z{n:02}" for n in range(20))):
        left(tmp_path, name, days=99 if name[0] != "z" else 0)
    report = await keep_house(tmp_path, RULES, NOW, journal=journal)
    assert report.pruned == {"a4": "age"}


async def test_dry_changes_nothing_and_tells_all(tmp_path: Path) -> None:
    for number in range(22):
        left(tmp_path, f"a{number:02}", days=50 - number)
    (tmp_path / "attempts" / ".x.tar.gz.half").write_text("half")
    scratch = tmp_path / "scratch" / "old"
    scratch.mkdir(parents=True)
    os.utime(scratch, (1, 1))
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    dry = await keep_house(tmp_path, RULES, NOW, journal=MemoryJournal(), dry=True)
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before
    real = await keep_house(tmp_path, RULES, NOW, journal=MemoryJournal())
    assert (dry.packed, dry.pruned, dry.scratch) == (real.packed, real.pruned, real.scratch)
    assert real.scratch == ["scratch/old"]
    assert not scratch.exists()


@pytest.mark.parametrize("died", ["before the rename", "after the rename"])
async def test_a_kill_while_compressing_loses_nothing(
    tmp_path: Path, died: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = left(tmp_path, "a", days=2)
    attempts = tmp_path / "attempts"

    def dies(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as dying:
        dying.setattr("pathlib.Path.replace" if died.startswith("before") else f"{folders.__name__}.remove_tree", dies)
        with pytest.raises(Killed):
            pack(attempts, "a")
    assert (folder / "workspace" / "sub" / "answer.txt").exists()
    [one] = kept_in(attempts)
    assert (one.attempt_id, one.packed) == ("a", False)
    report = await keep_house(tmp_path, RULES, NOW, journal=MemoryJournal())
    assert report.packed == ["a"]
    assert [path.name for path in attempts.iterdir()] == ["a.tar.gz"]


async def test_hostile_trees_are_compressed_without_following_anything(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("not yours")
    folder = left(tmp_path, "a", days=2)
    work = folder / "workspace"
    (work / "link").symlink_to(secret)
    (work / "dir").symlink_to(tmp_path)
    os.mkfifo(work / "pipe")
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(work / "s"))
    with (work / "holes").open("wb") as file:
        file.truncate(1 << 40)
    (work / os.fsdecode(b"\xff\xfe")).write_text("odd name")
    deep = work
    for _ in range(150):
        deep = deep / "d"
        deep.mkdir()
    os.utime(folder, (NOW - 2 * DAY, NOW - 2 * DAY))
    report = await keep_house(tmp_path, RULES, NOW, journal=MemoryJournal())
    assert (report.packed, report.problems) == (["a"], [])
    with tarfile.open(tmp_path / "attempts" / "a.tar.gz") as tar:
        kinds = {member.name: member.type for member in tar}
    assert kinds["workspace/link"] == kinds["workspace/dir"] == tarfile.SYMTYPE
    assert kinds[os.fsdecode(b"workspace/\xff\xfe")] == tarfile.REGTYPE
    assert not {"workspace/pipe", "workspace/s", "workspace/holes", "workspace/dir/secret"} & kinds.keys()
    assert secret.read_text() == "not yours"


async def test_what_cannot_be_done_is_said_and_the_rest_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        left(tmp_path, name, days=2)

    class Sick(MemoryJournal):
        async def tidy(self) -> int:
            raise JournalError("the journal is read-only")

    monkeypatch.setattr(folders, "remove_tree", lambda path: "busy" if path.name == "a" else remove_tree(path))
    report = await keep_house(tmp_path, RULES, NOW, journal=Sick())
    assert report.packed == ["b"]
    assert report.problems == ["busy", "the journal is read-only"]


async def test_scratch_goes_by_age_and_a_door_that_is_listened_at_stays(tmp_path: Path) -> None:
    old = ["scratch/old", "attempts/canary-1", "doors/door-dead", "doors/door-live", "images/unused"]
    for name in (*old, "scratch/new", "attempts/canary-2"):
        (tmp_path / name).mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(tmp_path / "doors" / "door-live" / "m.sock"))
        door.listen()
        for name in old:
            for path in (*(tmp_path / name).iterdir(), tmp_path / name):
                os.utime(path, (NOW - 20 * DAY, NOW - 20 * DAY))
        report = await keep_house(tmp_path, RULES, NOW, journal=MemoryJournal())
        assert report.scratch == ["attempts/canary-1", "doors/door-dead", "scratch/old"]
        report = await keep_house(tmp_path, RULES, NOW, journal=MemoryJournal(), alone=True)
        assert report.scratch == ["images/unused"], "only where no honed is at work"
    assert (tmp_path / "doors" / "door-live").exists()
    assert (tmp_path / "scratch" / "new").exists()


async def decisions(journal: Journal) -> list[dict[str, Any]]:
    [run] = await journal.find_runs()
    return [dict(one.payload) for one in await journal.decisions(run.run_id) if one.kind != "final"]


async def test_a_run_goes_on_without_any_attempt_s_folder(tmp_path: Path) -> None:
    """Replay reads the journal alone: killed anywhere and all folders removed, the history comes out the same."""
    tasks = task_set(2, 2, 1)
    needs = {task.id: ["rule-a"] for task in tasks.tasks}
    knobs = TrainSection(epochs=1, batch=1, minibatch=1, gate="strict")

    def fresh(name: str) -> World:
        return World(tmp_path / name, WorldHarness(needs), tasks, train=knobs, workers=1)

    whole = fresh("whole")
    await whole.training().run()
    commits = [one.sha for one in await whole.history.log()]
    for at in (5, 12, 19):
        cut = fresh(str(at))
        memory = cut.journal
        cut.journal = MortalJournal(memory, at)
        with pytest.raises(Killed):
            await cut.training().run()
        shutil.rmtree(cut.folder)
        await memory.abandon_attempts(await memory.unfinished_attempts())
        cut.journal = memory
        await cut.training().run()
        assert [one.sha for one in await cut.history.log()] == commits
        assert await decisions(memory) == await decisions(whole.journal)


@pytest.fixture
async def project(tmp_path: Path) -> Path:
    """A honed.toml whose state folder has a whole run and two days old folders of all its attempts."""
    file = chat_project(tmp_path / "p", "http://127.0.0.1:9/v1") / "honed.toml"
    file.write_text(file.read_text().replace('path = "skills/greeter"', 'path = "skills/demo"'))
    state = file.parent / ".honed"
    made = world(state / "attempts")
    made.journal = SqliteJournal(state / "journal.sqlite", clock=made.clock)
    await trained(made)
    await made.journal.close()
    for folder in (state / "attempts").iterdir():
        os.utime(folder, (time.time() - 2 * DAY, time.time() - 2 * DAY))
    return file


async def test_the_verb_tells_first_and_then_does(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def said(**options: Any) -> dict[str, Any]:
        assert await _clean(Output(as_json=True), project, **options) == 0
        return dict(json.loads(capsys.readouterr().out.splitlines()[-1]))

    async def shown() -> str:
        await _show(Output(as_json=True), project, "latest", 2)
        return capsys.readouterr().out

    folders = sorted(path.name for path in (project.parent / ".honed" / "attempts").iterdir())
    assert len(folders) > 4
    before = await shown()
    told = await said(dry=True)
    assert (sorted(told["compressed"]), told["dry_run"]) == (folders, True)
    assert sorted(path.name for path in (project.parent / ".honed" / "attempts").iterdir()) == folders
    done = await said(dry=False)
    assert (sorted(done["compressed"]), done["problems"]) == (folders, [])
    assert await shown() == before, "nothing that is shown came from there"
    assert await _clean(Output(), project, dry=False) == 0
    assert "attempts: 0 compressed, 0 removed" in capsys.readouterr().out


async def test_the_verb_stays_away_from_a_state_folder_in_use(project: Path) -> None:
    with state_lock(project.parent / ".honed"):
        with pytest.raises(StateBusyError):
            await _clean(Output(), project, dry=False)
        assert await _clean(Output(), project, dry=True) == 0


async def test_where_nothing_was_ever_run_the_verb_makes_nothing(tmp_path: Path) -> None:
    file = chat_project(tmp_path / "p", "http://127.0.0.1:9/v1") / "honed.toml"
    assert await _clean(Output(), file, dry=False) == 0
    assert not (file.parent / ".honed").exists()
