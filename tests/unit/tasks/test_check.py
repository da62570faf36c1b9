from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from daemon.tasks.check import SetReport, check_set
from daemon.tasks.load import load_tasks
from daemon.tasks.manifest import make_manifest, manifest_file, write_manifest
from daemon.tasks.published import PUBLISHED, published_name, task_id
from daemon.tasks.task import Split, TaskError, split_digest
from tests.support.tasks import GOLDEN, real_data, row, write_rows

LONG = "Read the invoice that lies in the folder and say which of the listed items was delivered late by the supplier"


def checked(path: Path, said: list[str] | None = None) -> SetReport:
    def say(line: str) -> None:
        (said if said is not None else []).append(line)

    return check_set(path, ratio=(4, 1, 5), seed=42, min_selection=4, say=say)[0]


def split_rows(*more: dict[str, Any]) -> list[dict[str, Any]]:
    train = [row(f"t{number}", split="train") for number in range(4)]
    return [*train, *(row(f"s{number}", split="selection") for number in range(4)), *more]


def test_a_sound_set() -> None:
    report = checked(GOLDEN / "qa")
    assert (report.format, report.tasks, report.split_from) == ("jsonl", 10, "tasks")
    assert report.sizes == {"train": 4, "selection": 4, "test": 2}
    assert (report.problems, report.notices, report.published) == ([], [], "")
    loaded = load_tasks(GOLDEN / "qa")
    assert (report.digest, report.split_digest) == (loaded.digest, loaded.split_digest)


def test_every_bad_line_is_named_and_the_rest_is_checked(tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    lines = [json.dumps(one) for one in split_rows(row("copy", prompt="Do  t1.", split="selection"))]
    bad = ["{", json.dumps(row("x", weight=-1)), json.dumps(row("y", scorer="bleu")), json.dumps(row("T0"))]
    file.write_text("\n".join([*lines[:3], *bad, *lines[3:]]))
    report = checked(file)
    said = [problem.removeprefix(f"{file}:") for problem in report.problems]
    assert [line.split(":")[0] for line in said] == ["4", "5", "6", "7", "2"]
    assert "weight" in said[1]
    assert "there is no scorer 'bleu'" in said[2]
    assert "'T0' is taken" in said[3]
    assert "has the same prompt and files as" in said[4]
    assert (report.tasks, report.digest) == (9, "")


def test_a_copy_in_another_split_is_a_problem_and_a_template_a_notice(tmp_path: Path) -> None:
    rows = split_rows(
        row("a", prompt=f"{LONG}, please.", split="train"),
        row("b", prompt=f"{LONG.upper()}", split="selection"),
        row("c", prompt=f"{LONG} in order 12", split="train"),
        row("d", prompt=f"{LONG} in order 13", split="test"),
    )
    report = checked(write_rows(tmp_path / "t.jsonl", *rows))
    copies = [line for line in report.problems if "b (selection) is nearly the same task as a (train)" in line]
    assert len(copies) == 1
    assert copies[0].startswith(f"{tmp_path / 't.jsonl'}:10: ")
    assert copies[0].endswith("keep them in one split (`honed tasks split` does), or remove one")
    assert any("d (test) is of one template with" in line for line in report.notices)
    assert not any("d (test)" in line for line in report.problems)


def test_copies_within_a_split_are_a_notice(tmp_path: Path) -> None:
    rows = split_rows(row("a", prompt=LONG, split="train"), row("b", prompt=LONG + ".", split="train"))
    report = checked(write_rows(tmp_path / "t.jsonl", *rows))
    assert report.problems == []
    assert [line.partition(": ")[2] for line in report.notices] == ["b (train) is nearly the same task as a (train)"]


def test_too_few_to_split_is_a_notice_unless_they_say_their_split(tmp_path: Path) -> None:
    report = checked(write_rows(tmp_path / "t.jsonl", row("a")))
    assert report.problems == []
    assert "train is empty" in report.notices[0]
    report = checked(write_rows(tmp_path / "t.jsonl", row("a", split="train")))
    assert "selection is empty" in report.problems[0]
    assert report.digest == ""


def test_no_task_at_all(tmp_path: Path) -> None:
    assert "holds no task" in checked(write_rows(tmp_path / "t.jsonl")).problems[0]
    with pytest.raises(TaskError, match="does not exist"):
        checked(tmp_path / "none")


def test_a_manifest_is_said_and_a_broken_one_is_a_problem(tmp_path: Path) -> None:
    file = write_rows(tmp_path / "t.jsonl", *(row(f"t{number}") for number in range(9)))
    splits: dict[str, Split] = {f"t{number}": "train" if number < 5 else "selection" for number in range(9)}
    write_manifest(manifest_file(file), make_manifest(splits), force=False)
    report = checked(file)
    assert (report.split_from, report.sizes, report.problems) == (
        "manifest",
        {"train": 5, "selection": 4, "test": 0},
        [],
    )
    assert report.split_digest == split_digest(splits.items())
    manifest_file(file).write_text("{")
    assert checked(file).problems[0].startswith(str(manifest_file(file)))


def test_published_ids_are_told_by_digest() -> None:
    assert published_name("sha256:0") == ""
    assert task_id("202511:12") == "202511-12"
    folders = {"LiveMathematicianBench": "livemathematicianbench"}
    for name, digest in PUBLISHED.items():
        lists = real_data(f"splits/{folders.get(name, name.lower())}")
        given: list[tuple[str, Split | None]] = []
        for part, split in (("train", "train"), ("val", "selection"), ("test", "test")):
            items = json.loads((lists / part / "items.json").read_text())
            given += [(task_id(item["id"]), split) for item in items]  # type: ignore[misc]
        assert split_digest(given) == digest
        assert published_name(digest) == name
