"""Looks at the tasks and the configuration of a real project."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from daemon.notices import tasks as tasks_module
from daemon.tasks.manifest import make_manifest, write_manifest
from daemon.tasks.splits import SPLITS
from tests.support.notices import Watched


async def test_saved_tasks(watched: Watched) -> None:
    watched.save_tasks([*watched.tasks(), {**watched.tasks()[0], "id": "one-more", "prompt": "Greet all."}])
    [cause] = await watched.causes()
    assert cause.kind == "tasks"
    assert cause.detail == "the tasks changed: 8 before, 9 now"
    assert await watched.causes() == ()


async def test_tasks_touched_or_laid_out_otherwise_are_the_same(watched: Watched) -> None:
    os.utime(watched.folder / "tasks.jsonl")
    assert await watched.causes() == ()
    rows = [json.dumps(row, indent=None, separators=(", ", " : ")) for row in watched.tasks()]
    (watched.folder / "tasks.jsonl").write_text("\n".join(rows) + "\n")
    assert await watched.causes() == ()


async def test_a_change_within_the_clocks_grain_is_seen_by_the_next_look(watched: Watched) -> None:
    file = watched.folder / "tasks.jsonl"
    text = file.read_text()
    await watched.causes()
    stat = file.stat()
    file.write_text(text.replace("Ahoy 1", "Ahoy 7"))  # same size, same inode
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert await watched.kinds() == ["tasks"]


async def test_a_manifest_beside_the_tasks_counts(watched: Watched) -> None:
    watched.save_tasks([{key: value for key, value in row.items() if key != "split"} for row in watched.tasks()])
    watched.change_config('path = "tasks.jsonl"', 'path = "tasks.jsonl"\nmin_selection = 1')
    await watched.causes()
    ids = [row["id"] for row in watched.tasks()]
    assert watched.seen is not None
    before = watched.seen.tasks
    splits = {one: SPLITS[at % 3] for at, one in enumerate(ids)}
    write_manifest(watched.folder / "tasks.splits.json", make_manifest(splits), force=False)
    assert await watched.kinds() == ["tasks"]
    assert watched.seen.tasks.digest != before.digest


async def test_files_that_tasks_are_made_of_count(watched: Watched) -> None:
    data = watched.folder / "data" / "in.txt"
    data.parent.mkdir()
    data.write_text("a")
    first, *others = watched.tasks()
    watched.save_tasks([{**first, "files": ["data/in.txt"]}, *others])
    assert await watched.kinds() == ["tasks"]
    data.write_text("b")
    assert await watched.kinds() == ["tasks"]
    data.with_name("not-a-tasks.txt").write_text("c")
    assert await watched.causes() == ()


async def test_tasks_that_cannot_be_loaded_are_said_and_no_cause(watched: Watched) -> None:
    rows = watched.tasks()
    (watched.folder / "tasks.jsonl").write_text("{not json\n")
    assert await watched.causes() == ()
    assert watched.seen is not None
    assert "tasks.jsonl:1" in watched.seen.wrong["tasks"]
    assert await watched.causes() == ()
    assert watched.seen.wrong
    watched.save_tasks(rows)
    assert await watched.causes() == ()
    assert watched.seen.wrong == {}


async def test_tasks_that_are_closed_to_us_are_said(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Path, *_: object) -> str:
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patched:
        patched.setattr(tasks_module, "mark", refused)
        assert await watched.causes() == ()
        assert watched.seen is not None
        assert "Permission denied" in watched.seen.wrong["tasks"]
    assert await watched.causes() == ()
    assert watched.seen.wrong == {}


async def test_a_missing_file_of_a_task_that_comes_later(watched: Watched) -> None:
    first, *others = watched.tasks()
    watched.save_tasks([{**first, "files": ["late/in.txt"]}, *others])
    assert await watched.causes() == ()
    assert watched.seen is not None
    assert "late/in.txt" in watched.seen.wrong["tasks"]
    (watched.folder / "late").mkdir()
    (watched.folder / "late" / "in.txt").write_text("a")
    assert await watched.kinds() == ["tasks"]
    assert watched.seen.wrong == {}


async def test_tasks_that_are_gone_and_come_back(watched: Watched) -> None:
    file = watched.folder / "tasks.jsonl"
    file.rename(file.with_suffix(".away"))
    assert await watched.causes() == ()
    assert watched.seen is not None
    assert "does not exist" in watched.seen.wrong["tasks"]
    file.with_suffix(".away").rename(file)
    assert await watched.causes() == ()
    assert watched.seen.wrong == {}


async def test_a_comment_or_the_daemons_own_keys_change_no_run(watched: Watched) -> None:
    watched.change_config("[train]", "# a word\n[train]")
    assert await watched.causes() == ()
    watched.change_config("[train]", '[daemon]\npoll_s = 5\n\n[publish]\nmode = "push"\n\n[train]')
    assert await watched.causes() == ()


async def test_a_changed_key_is_a_cause(watched: Watched) -> None:
    watched.change_config("epochs = 1", "epochs = 2")
    assert await watched.kinds() == ["config"]
    watched.change_config("epochs = 2", "epochs = 1")
    assert await watched.kinds() == ["config"]


async def test_a_configuration_that_cannot_be_used_is_said_and_the_last_one_stays(watched: Watched) -> None:
    watched.change_config("epochs = 1", "epochs = -1")
    assert await watched.causes() == ()
    assert watched.seen is not None
    assert "epochs" in watched.seen.wrong["config"]
    sha = watched.commit("Say it shorter", "- one")
    assert [(one.kind, one.key) for one in await watched.causes()] == [("skill", sha)]
    watched.change_config("epochs = -1", "epochs = 1")
    assert await watched.causes() == ()
    assert watched.seen.wrong == {}


async def test_another_task_file_is_one_cause(watched: Watched) -> None:
    shutil.copy(watched.folder / "tasks.jsonl", watched.folder / "more.jsonl")
    watched.change_config('path = "tasks.jsonl"', 'path = "more.jsonl"')
    assert await watched.kinds() == ["config"]


async def test_a_link_that_is_led_to_other_tasks(watched: Watched) -> None:
    rows = watched.tasks()
    for name in ("v1", "v2"):
        (watched.folder / name).mkdir()
        kept = rows if name == "v1" else rows[1:]
        (watched.folder / name / "set.jsonl").write_text("".join(json.dumps(row) + "\n" for row in kept))
    link = watched.folder / "now"
    link.symlink_to("v1")
    watched.change_config('path = "tasks.jsonl"', 'path = "now/set.jsonl"')
    assert await watched.kinds() == ["config"]
    other = watched.folder / "now.new"
    other.symlink_to("v2")
    other.replace(link)
    assert await watched.kinds() == ["tasks"]
