"""Splits of a benchmark: the published lists by their digest, else a seeded ratio; and nothing twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from daemon.tasks import published
from daemon.tasks.benchmarks.bench_set import limited, open_bench
from daemon.tasks.benchmarks.catalogue import benchmark
from daemon.tasks.benchmarks.places import data_folder, present
from daemon.tasks.task import TaskError, split_digest
from tests.support.benchmarks import put_json

SEARCHQA = benchmark("searchqa")


def clue(name: str, context: str = "") -> dict[str, Any]:
    return {"id": name, "question": f"Clue {name}", "context": context or "Text.", "answers": [f"Answer {name}"]}


def put_items(root: Path, *names: str) -> None:
    put_json(root / "searchqa/searchqa_split/all/items.json", [clue(name) for name in names])


def put_lists(root: Path, monkeypatch: pytest.MonkeyPatch | None, **lists: list[str]) -> str:
    """Write id lists; with `monkeypatch` they count as the published ones."""
    for name in ("train", "val", "test"):
        file = root / "splits/searchqa" / name / "items.json"
        put_json(file, [{"id": one} for one in lists.get(name, [])])
    names = {"train": "train", "val": "selection", "test": "test"}
    digest = split_digest((one, names[name]) for name, ids in lists.items() for one in ids)  # type: ignore[misc]
    if monkeypatch:
        monkeypatch.setitem(published.PUBLISHED, "SearchQA", digest)
    return digest


def test_the_published_lists_decide_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_items(tmp_path, "a", "b", "c", "d")
    digest = put_lists(tmp_path, monkeypatch, train=["b"], val=["c"], test=["a", "z"])
    found = open_bench(SEARCHQA, tmp_path)
    assert [(task.id, task.split) for task in found.tasks.tasks] == [("a", "test"), ("b", "train"), ("c", "selection")]
    assert (found.manifest.how, found.manifest.published, found.manifest.digest) == ("published", True, digest)
    assert found.sizes()["test"] == {"listed": 2, "tasks": 1}
    assert found.unlisted == 1


def test_lists_with_another_digest_are_not_taken_for_the_published_ones(tmp_path: Path) -> None:
    put_items(tmp_path, "a", "b", "c", "d")
    put_lists(tmp_path, None, train=["b"], val=["c"], test=["a"])
    with pytest.raises(TaskError, match=r"splits/searchqa: these are not the published lists of SearchQA .*--ratio"):
        open_bench(SEARCHQA, tmp_path)
    assert open_bench(SEARCHQA, tmp_path, ratio=(2, 1, 1)).manifest.how == "2:1:1, seed 42"


def test_an_id_in_two_lists_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_items(tmp_path, "a")
    put_lists(tmp_path, monkeypatch, train=["a"], val=["a"])
    with pytest.raises(TaskError, match="'a' is there twice"):
        open_bench(SEARCHQA, tmp_path)


def test_without_lists_a_seed_and_a_ratio_decide(tmp_path: Path) -> None:
    put_items(tmp_path, *(f"n{number:02}" for number in range(20)))
    first, again = open_bench(SEARCHQA, tmp_path), open_bench(SEARCHQA, tmp_path)
    other = open_bench(SEARCHQA, tmp_path, seed=7)
    ratio = open_bench(SEARCHQA, tmp_path, ratio=(4, 1, 5))
    assert first.tasks.sizes() == {"train": 4, "selection": 2, "test": 14}
    assert ratio.tasks.sizes() == {"train": 8, "selection": 2, "test": 10}
    assert first.manifest.digest == again.manifest.digest == first.tasks.split_digest
    assert len({first.manifest.digest, other.manifest.digest, ratio.manifest.digest}) == 3
    assert (first.manifest.how, first.manifest.published) == ("2:1:7, seed 42", False)


def test_the_split_does_not_depend_on_the_order_of_the_file(tmp_path: Path) -> None:
    names = [f"n{number:02}" for number in range(20)]
    put_items(tmp_path / "one", *names)
    put_items(tmp_path / "two", *reversed(names))
    one, two = (open_bench(SEARCHQA, tmp_path / name).tasks for name in ("one", "two"))
    assert one.digest == two.digest


def test_the_same_work_counts_once_so_that_no_split_holds_what_another_teaches(tmp_path: Path) -> None:
    rows = [clue(f"n{number}") for number in range(9)]
    put_json(tmp_path / "searchqa/searchqa_split/all/items.json", [*rows, {**rows[3], "id": "x"}])
    found = open_bench(SEARCHQA, tmp_path)
    assert len(found.tasks.tasks) == 9
    assert [(one.id, one.why) for one in found.left_out] == [("x", "asks the same as n3, which counts")]
    assert found.left_out_of("test") == found.left_out, "where a ratio decides it is in no split, and named in each"


def test_what_the_lists_name_and_nobody_can_score_is_named_in_its_split(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_json(tmp_path / "searchqa/searchqa_split/all/items.json", [clue("a"), {"id": "b"}, {"id": "c"}])
    put_lists(tmp_path, monkeypatch, train=["a"], test=["b"])
    found = open_bench(SEARCHQA, tmp_path)
    assert [one.id for one in found.left_out] == ["b"], "c is in no list"
    assert (len(found.left_out_of("test")), found.left_out_of("train")) == (1, ())


def test_a_limit_takes_the_first_tasks_of_the_split_alone(tmp_path: Path) -> None:
    put_items(tmp_path, *(f"n{number:02}" for number in range(20)))
    tasks = open_bench(SEARCHQA, tmp_path).tasks
    few = limited(tasks, "test", 3)
    assert [task.id for task in few.open_test()] == [task.id for task in tasks.open_test()][:3]
    assert few.sizes() == {"train": 0, "selection": 0, "test": 3}
    assert limited(tasks, "test", None) is tasks


def test_data_that_is_not_here_is_one_line_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(
        TaskError, match=r"searchqa: has no .*docs/benchmarks\.md.*--data or \$HONED_BENCH_DATA.*--sample"
    ):
        open_bench(SEARCHQA, tmp_path)
    put_json(tmp_path / "searchqa/searchqa_split/all/items.json", [{"id": "b"}])
    with pytest.raises(TaskError, match="holds no task of SearchQA: b has no text 'question'"):
        open_bench(SEARCHQA, tmp_path)


def test_the_folder_is_the_one_named_else_the_variables_else_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert data_folder(tmp_path / "x", {"HONED_BENCH_DATA": "/y"}) == tmp_path / "x"
    assert data_folder(None, {"HONED_BENCH_DATA": "/y"}) == Path("/y")
    assert data_folder(None, {"HONED_BENCH_DATA": ""}) == tmp_path / "bench-data"
    assert not present(SEARCHQA, tmp_path)
