from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from daemon.tasks.load import load_tasks
from daemon.tasks.manifest import make_manifest, manifest_file, read_manifest, write_manifest
from daemon.tasks.task import Split, TaskError, split_digest
from tests.support.tasks import GOLDEN, row, write_rows

SPLITS: dict[str, Split] = {
    **{f"t{number}": "train" for number in range(4)},
    **{f"s{number}": "selection" for number in range(4)},
    "x": "test",
}


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """A set with a manifest beside it."""
    file = write_rows(tmp_path / "tasks.jsonl", *map(row, SPLITS))
    write_manifest(manifest_file(file), make_manifest(SPLITS, ratio="4:4:1", seed=7), force=False)
    return file


def test_a_manifest_decides(tasks: Path) -> None:
    loaded = load_tasks(tasks, split_ratio=(1, 1, 1), seed=3)
    assert {task.id: task.split for task in loaded.tasks} == SPLITS
    assert loaded.split_digest == read_manifest(tasks.with_name("tasks.splits.json")).digest
    assert load_tasks(tasks.parent).split_digest == loaded.split_digest


def test_where_it_lies() -> None:
    assert manifest_file(GOLDEN / "qa" / "tasks.jsonl") == GOLDEN / "qa" / "tasks.splits.json"
    assert manifest_file(GOLDEN / "harbor") == GOLDEN / "harbor" / "splits.json"


def test_the_digest_is_of_who_is_where_alone() -> None:
    made = make_manifest(SPLITS)
    assert made.digest == make_manifest(dict(reversed(SPLITS.items())), ratio="4:4:1", seed=1).digest
    assert made.digest != make_manifest({**SPLITS, "x": "train"}).digest
    # The rule, written out: a published digest must stay what it is.
    text = '{"selection":[],"test":["b"],"train":["a"]}'
    expected = "sha256:" + hashlib.sha256(text.encode()).hexdigest()
    assert split_digest([("a", "train"), ("b", "test"), ("c", None)]) == expected


def test_an_existing_manifest_is_kept_unless_forced(tasks: Path) -> None:
    file, other = manifest_file(tasks), make_manifest({**SPLITS, "x": "train"})
    with pytest.raises(TaskError, match=r"tasks\.splits\.json: is there already: .* --force replaces it"):
        write_manifest(file, other, force=False)
    assert read_manifest(file).splits == SPLITS
    write_manifest(file, other, force=True)
    assert read_manifest(file).digest == other.digest
    assert sorted(path.name for path in tasks.parent.iterdir()) == ["tasks.jsonl", "tasks.splits.json"]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"digest": "sha256:0"}, "digest: is not that of the lists, which were changed by hand: write it anew"),
        ({"train": ["t0"]}, "digest: is not that of the lists"),
        ({"test": ["x", "t0"]}, r"'t0' is there twice \(train and test\)"),
        ({"test": "x"}, "test: Input should be a valid array"),
        ({"version": 2}, "version: Input should be 1"),
        ({"dev": []}, "dev: Extra inputs are not permitted"),
    ],
)
def test_a_manifest_that_was_changed(tasks: Path, change: dict[str, object], complaint: str) -> None:
    file = manifest_file(tasks)
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(TaskError, match=complaint) as caught:
        load_tasks(tasks)
    assert str(caught.value).startswith(f"{file}: ")


def test_a_manifest_of_another_set(tasks: Path) -> None:
    write_rows(tasks, *map(row, [*SPLITS, "new", "newer"]))
    with pytest.raises(TaskError, match=r"has no task 'new' \(and 1 more\): write it anew with `honed tasks split"):
        load_tasks(tasks)
    write_rows(tasks, *map(row, list(SPLITS)[1:]))
    with pytest.raises(TaskError, match=r"names a task that is not there: 't0': write it anew"):
        load_tasks(tasks)
    write_rows(tasks, *(row(name, split=split) for name, split in SPLITS.items()))
    with pytest.raises(TaskError, match="the tasks have splits of their own as well: remove the manifest, or their"):
        load_tasks(tasks)
