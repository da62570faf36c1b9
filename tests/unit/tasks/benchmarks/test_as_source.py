"""`[tasks] path = "bench:NAME"`: a benchmark's tasks are loaded like any other set, with the benchmark's own splits."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.tasks.benchmarks.bench_set import open_bench
from daemon.tasks.benchmarks.catalogue import BENCHMARKS
from daemon.tasks.load import load_tasks
from daemon.tasks.task import TaskError
from tests.support.benchmarks import put_json


@pytest.mark.parametrize("name", ["searchqa", "spreadsheetbench", "docvqa"])
def test_the_set_is_the_one_that_bench_measures(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HONED_BENCH_DATA", str(BENCHMARKS[name].sample))
    loaded = load_tasks(tmp_path / f"bench:{name}", min_selection=1)
    measured = open_bench(BENCHMARKS[name], BENCHMARKS[name].sample)
    assert loaded.digest == measured.tasks.digest
    assert loaded.split_digest == measured.manifest.digest
    assert loaded.sizes() == measured.tasks.sizes()


def test_without_the_variable_the_data_lies_beside_honed_toml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HONED_BENCH_DATA", raising=False)
    path = tmp_path / "bench:searchqa"
    with pytest.raises(TaskError, match="SearchQA's data is not here"):
        load_tasks(path)
    clue = {"context": "Text.", "answers": ["A"]}
    rows = [{**clue, "id": f"k{number}", "question": f"Clue {number}"} for number in range(10)]
    put_json(tmp_path / "bench-data/searchqa/searchqa_split/all/items.json", [*rows, {"id": "bad"}])
    assert load_tasks(path, min_selection=1).sizes() == {"train": 2, "selection": 1, "test": 7}


def test_a_name_that_is_none_and_a_real_path_of_that_name(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="there is no benchmark 'gsm8k'"):
        load_tasks(tmp_path / "bench:gsm8k")
    (tmp_path / "bench:mine").mkdir()
    with pytest.raises(TaskError, match="is neither a tasks"):
        load_tasks(tmp_path / "bench:mine")
