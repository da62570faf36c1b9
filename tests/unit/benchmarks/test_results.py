"""The results file: other benchmarks' entries are kept, and the file is whole at every moment."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.benchmarks.results import Result, ResultsError, merge_write, table

ONE = Result(0.3214567, "s", 9, "sandboxed 0.8, bare 0.5")


def read(path: Path) -> dict[str, Any]:
    entries: dict[str, Any] = json.loads(path.read_text())
    return entries


def test_first_write_makes_folder_and_plain_entries(tmp_path: Path) -> None:
    path = tmp_path / ".bench" / "results.json"
    merge_write({"sandbox.overhead_s": ONE}, path)
    assert read(path) == {"sandbox.overhead_s": {"value": 0.3215, "unit": "s", "n": 9}}


def test_other_entries_are_kept_and_own_ones_replaced(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    later = {"value": 7, "unit": "s", "n": 1, "more": "of a later benchmark"}
    path.write_text(json.dumps({"z.later": later, "sandbox.overhead_s": {"value": 9, "unit": "s", "n": 1}}))
    merge_write({"sandbox.overhead_s": ONE, "a.new": Result(2, "ratio", 3)}, path)
    assert read(path)["z.later"] == later
    assert read(path)["sandbox.overhead_s"]["n"] == 9
    assert list(read(path)) == ["a.new", "sandbox.overhead_s", "z.later"]


@pytest.mark.parametrize("text", ["", "{", "[1]", '"results"'])
def test_a_file_that_is_no_results_file_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "results.json"
    path.write_text(text)
    with pytest.raises(ResultsError, match=f"{path}.*delete it"):
        merge_write({"a": ONE}, path)
    assert path.read_text() == text


def test_a_failed_replacement_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "results.json"
    merge_write({"a": ONE}, path)
    before = path.read_text()

    def fail(self: Path, target: Path) -> Path:
        assert read(self)["b"]["n"] == 9, "the new file is whole before it takes the old one's place"
        raise OSError("disk")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk"):
        merge_write({"b": ONE}, path)
    assert path.read_text() == before
    assert {each.name for each in tmp_path.iterdir()} <= {"results.json", "results.lock"}


def test_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    threads = [Thread(target=merge_write, args=({f"b.{number}": ONE}, path)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read(path)) == 12


def test_table_has_a_line_for_each_with_its_note() -> None:
    lines = table({"sandbox.overhead_s": ONE, "a": Result(2.0, "ratio", 3)}).splitlines()
    assert lines == [
        "sandbox.overhead_s      0.321 s      n=9   sandboxed 0.8, bare 0.5",
        "a                       2.000 ratio  n=3",
    ]
    assert table({}) == ""
