from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest

from daemon.tasks import load
from daemon.tasks.load import load_tasks
from daemon.tasks.stored import StoredTasks
from daemon.tasks.task import SealedError, TaskError
from tests.support.tasks import row, write_rows


@pytest.fixture
def stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file is large."""
    monkeypatch.setattr(load, "IN_MEMORY_BYTES", 0)


def some(file: Path, count: int = 60) -> Path:
    (file.parent / "a.txt").write_text("a")
    extra = {"group": "g", "weight": 2.0, "protect": True, "files": ["a.txt"]}
    return write_rows(file, *(row(f"t{number:02}", **(extra if number % 3 else {})) for number in range(count)))


@pytest.mark.parametrize("name", ["t.jsonl", "t.csv"])
def test_a_set_on_disk_is_the_same_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    file = tmp_path / name
    if name == "t.csv":
        rows = [f'"Say\n{one}.",{one},g{one % 3}\n' for one in range(60)]
        file.write_text("question,answer,group\n" + "".join([*rows, *rows[:1]]))
        monkeypatch.setattr(load, "exact_leaks", lambda _: [])  # so that a question may be there twice
    else:
        some(file)
    held = load_tasks(file)
    monkeypatch.setattr(load, "IN_MEMORY_BYTES", 0)
    stored = load_tasks(file)
    assert isinstance(stored.tasks, StoredTasks)
    assert list(stored.tasks) == list(held.tasks)
    assert (stored.sizes(), stored.digest, stored.split_digest) == (held.sizes(), held.digest, held.split_digest)
    assert tuple(stored.split("train")) == held.split("train")
    assert tuple(stored.open_test()) == held.open_test()
    assert tuple(stored.split("selection")[1:3]) == tuple(held.split("selection")[1:3])
    assert stored.tasks[-1] == held.tasks[-1]


@pytest.mark.usefixtures("stay")
def test_the_test_split_is_sealed_on_disk_too(tmp_path: Path) -> None:
    with pytest.raises(SealedError):
        load_tasks(some(tmp_path / "t.jsonl")).split("test")  # type: ignore[arg-type]


@pytest.mark.usefixtures("stay")
@pytest.mark.parametrize("change", ["line", "file", "gone"])
def test_a_task_that_changed_is_refused(tmp_path: Path, change: str) -> None:
    file = some(tmp_path / "t.jsonl")
    loaded = load_tasks(file)
    if change == "line":
        file.write_text(file.read_text().replace("Do t01.", "Do t99."))
    elif change == "file":
        (tmp_path / "a.txt").write_text("b")
    else:
        file.unlink()
    with pytest.raises(TaskError, match=r"task t01 \(line 2\) has changed since its set was loaded: start the command"):
        loaded.tasks[1]


@pytest.mark.usefixtures("stay")
def test_faults_of_a_set_on_disk(tmp_path: Path) -> None:
    file = some(tmp_path / "t.jsonl")
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    write_rows(file, *rows, row("T03"), row("other", scorer="bleu"))
    with pytest.raises(
        TaskError, match=r"t\.jsonl:61: id: 'T03' is taken by .*t\.jsonl:4.* \(and 1 more: `honed tasks"
    ):
        load_tasks(file)
    write_rows(file, *(one | {"split": "train"} for one in rows), row("s", prompt=" Do  t00.", split="selection"))
    with pytest.raises(TaskError, match=r"task t00 \(train\) has the same prompt and files as s \(selection"):
        load_tasks(file, min_selection=1)


def held_by(file: Path) -> int:
    tracemalloc.start()
    loaded = load_tasks(file)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(loaded.tasks) == 400
    return held


@pytest.mark.usefixtures("stay")
def test_memory_does_not_grow_with_prompts(tmp_path: Path) -> None:
    def file(name: str, size: int) -> Path:
        return write_rows(tmp_path / name, *(row(f"t{one}", prompt=f"{one} " * size) for one in range(400)))

    held_by(file("warm.jsonl", 2))
    short, long = held_by(file("short.jsonl", 2)), held_by(file("long.jsonl", 2000))
    assert long < short + 100_000
