"""Our scorers against the public benchmarks' own data and verdicts, where that data is at hand."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from daemon.tasks.load import load_tasks
from daemon.tasks.scorers.compare import compare, read_gold
from daemon.tasks.scorers.ranges import parse_ranges
from daemon.tasks.scorers.text import exact, token_f1
from daemon.tasks.task import TaskError
from tests.support.tasks import real_data, score_answer, write_rows

SHARDS = 4
DIFFERENCES = {
    # id: (what we say of the gold as output, what we say of the untouched input, why not as the official code)
    "283-32": (True, False, "whole columns: the official code stops with a ValueError"),
    "130-9": (True, False, "a comma inside a quoted sheet name: the official code stops with a ValueError"),
    "49300": (True, False, "a no-break space before the sheet's name: the official code finds no such sheet"),
    "45944": (True, False, "spaces between ranges: the official code stops with an AttributeError"),
    "73-45": (None, None, "BD2:308 is no range: refused at load time; the official code compares nothing and says yes"),
}


@dataclass(frozen=True)
class Verdict:
    """What the official code says of one task."""

    id: str
    position: str
    gold: Path
    untouched: Path
    of_gold: bool
    of_untouched: bool


def verdicts() -> Iterator[Verdict]:
    rows: list[dict[str, Any]] = json.loads(real_data("spreadsheetbench/official_verdicts.json").read_bytes())
    folder = real_data("spreadsheetbench/verified_400/spreadsheet")
    for row in rows:
        task = folder / str(row["id"])
        yield Verdict(
            id=str(row["id"]),
            position=row["pos"],
            gold=task / row["gold"],
            untouched=task / row["init"],
            of_gold=row["self"] is True,
            of_untouched=row["init_vs_gold"] is True,
        )


def ours(verdict: Verdict) -> tuple[bool | None, bool | None]:
    """What we say of the gold as output and of the untouched input; None for what cannot be scored."""
    try:
        ranges = parse_ranges(verdict.position)
    except ValueError:
        return None, None
    gold = read_gold(verdict.gold.read_bytes(), ranges)
    of_gold = compare(verdict.gold.read_bytes(), ranges, gold)
    of_untouched = compare(verdict.untouched.read_bytes(), ranges, gold)
    return of_gold.wrong == 0, of_untouched.wrong == 0


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(SHARDS))
def test_spreadsheet_verdicts_are_the_official_ones_but_for_listed_ids(shard: int) -> None:
    mine = list(verdicts())[shard::SHARDS]
    assert len(mine) == 100
    found = {verdict.id: said for verdict in mine if (said := ours(verdict)) != (verdict.of_gold, verdict.of_untouched)}
    ids = {verdict.id for verdict in mine}
    assert found == {one: (gold, untouched) for one, (gold, untouched, _) in DIFFERENCES.items() if one in ids}


def test_two_inputs_pass_untouched_by_the_official_rule() -> None:
    assert [verdict.id for verdict in verdicts() if verdict.of_untouched] == ["13-1", "73-45"]


def benchmark_rows(folder: Path) -> list[dict[str, Any]]:
    """All 400 tasks as rows of a tasks.jsonl in `folder`, which gets the benchmark's files."""
    shutil.copytree(real_data("spreadsheetbench/verified_400/spreadsheet"), folder / "spreadsheet")
    given = json.loads(real_data("spreadsheetbench/verified_400/dataset.json").read_bytes())
    instructions = {str(item["id"]): item["instruction"] for item in given}
    return [
        {
            "id": verdict.id,
            "prompt": instructions[verdict.id],
            "files": {"input.xlsx": f"spreadsheet/{verdict.id}/{verdict.untouched.name}"},
            "tests": {"gold.xlsx": f"spreadsheet/{verdict.id}/{verdict.gold.name}"},
            "scorer": {
                "name": "spreadsheet_cells",
                "output": "output.xlsx",
                "gold": "gold.xlsx",
                "range": verdict.position,
            },
        }
        for verdict in verdicts()
    ]


def test_the_whole_benchmark_loads_but_for_the_one_task_without_a_range(tmp_path: Path) -> None:
    rows = benchmark_rows(tmp_path)
    line = [one["id"] for one in rows].index("73-45") + 1
    with pytest.raises(TaskError, match=rf"tasks\.jsonl:{line}: scorer\.range: .*BD2:308.* is not a cell range"):
        load_tasks(write_rows(tmp_path / "tasks.jsonl", *rows))
    loaded = load_tasks(write_rows(tmp_path / "tasks.jsonl", *(one for one in rows if one["id"] != "73-45")))
    assert loaded.sizes() == {"train": 160, "selection": 40, "test": 199}


def searchqa() -> list[tuple[str, list[str]]]:
    items = [
        item
        for name in ("train", "val")
        for item in json.loads(real_data(f"searchqa/searchqa_split/{name}/items.json").read_bytes())
    ]
    return [(item["id"], item["answers"]) for item in items]


def test_every_searchqa_gold_meets_itself() -> None:
    items = searchqa()
    assert len(items) == 600
    for item, golds in items:
        assert exact(golds[0].upper() + ".", golds[0]), item
        assert token_f1(f"the {golds[0]}!", golds[0]) == 1.0, item
        assert not exact("", golds[0]), item


async def test_searchqa_golds_score_and_other_golds_do_not() -> None:
    items = searchqa()
    for (item, golds), (_, others) in zip(items, items[1:] + items[:1], strict=True):
        right = await score_answer("exact_match", golds, f"I looked it up.\n<answer>{golds[0]}</answer>")
        wrong = await score_answer("token_f1", golds, f"<answer>{others[0]}</answer>")
        assert right.hard, item
        assert wrong.hard is any(exact(others[0], gold) for gold in golds), item


def officeqa() -> list[tuple[str, str]]:
    with real_data("officeqa/officeqa_sample.csv").open(encoding="utf-8", newline="") as file:
        return [(row["uid"], row["answer"]) for row in csv.DictReader(file)]


@pytest.mark.parametrize("form", ["{}", "The answer is {}.", "<FINAL_ANSWER>{}</FINAL_ANSWER>", "In 1940: ${}"])
async def test_officeqa_golds_score_in_every_usual_form(form: str) -> None:
    items = officeqa()
    assert len(items) == 10
    for item, gold in items:
        score = await score_answer("numeric", gold, form.format(gold), answer_tag="FINAL_ANSWER")
        assert score.hard, (item, score)


async def test_officeqa_rules() -> None:
    golds = dict(officeqa())
    cases = [
        ("UID0001", "2602", True),
        ("UID0001", "2,602 billion", True),  # the gold states no scale: compatible, as in the official code
        ("UID0001", "2,603", False),
        ("UID0012", "36,080", True),
        ("UID0012", "36080 billion", False),
        ("UID0016", "93349", True),
        ("UID0016", "unable to determine", False),
        ("UID0023", "2.2", False),
        ("UID0015", "6.15961", False),
    ]
    for item, answer, right in cases:
        assert (await score_answer("numeric", golds[item], answer)).hard is right, (item, answer)
