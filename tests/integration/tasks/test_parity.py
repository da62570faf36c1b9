"""Every scorer against the official verdicts on the public data, where it is at hand; docs/tasks.md has the table.

Spreadsheets, SearchQA and `numeric` on OfficeQA stand in test_real_data.
"""

from __future__ import annotations

import csv
import importlib.util
import json
from typing import Any

import pytest

from daemon.tasks.scorers.anls import similarity
from daemon.tasks.scorers.math_worker import math_verify
from daemon.tasks.scorers.olympiad_worker import judge
from tests.support.scorers import published_anls
from tests.support.tasks import real_data, score_answer

NEEDS_MATH = pytest.mark.skipif(
    importlib.util.find_spec("math_verify") is None, reason="the extra honed[math] is not installed"
)
SHARDS = 4


def lines(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in real_data(path).read_text("utf-8").splitlines()]


def precision_of(given: Any) -> list[float]:
    listed = given if isinstance(given, list) else [given]
    return [float(one) for one in listed]


@NEEDS_MATH
def test_the_olympiad_judge_says_what_its_own_examples_say() -> None:
    examples = json.loads(real_data("olympiadbench/scoring_examples.json").read_bytes())
    asked = [(one["GT"], answer) for one in examples for answer in one["Ans"]]
    assert len(asked) == 36
    for gold, answer in asked:
        said = judge(gold, answer["answer"], precision_of(answer.get("precision", 1e-8)))
        assert said is answer["equal"], (gold, answer)


@NEEDS_MATH
def test_every_olympiad_gold_is_its_own_answer_and_the_next_one_s_is_not() -> None:
    rows = lines("olympiadbench/test.jsonl")
    golds = [row["final_answer"][0] for row in rows]
    assert len(golds) == 675
    assert [gold for gold in golds if not judge(gold, f"So the final answer is ${gold.strip('$')}$.", [1e-8])] == []


def unequal(golds: list[str], shard: int) -> list[int]:
    """The places of golds that math-verify does not take for themselves in a box; in this process, unbounded."""
    asked = [{"golds": [gold], "answer": rf"\boxed{{{gold}}}", "answer_cpu_s": 0} for gold in golds]
    places = range(shard, len(asked), SHARDS)
    return [place for place in places if not math_verify(asked[place], lambda **said: None).get("equal")]


@NEEDS_MATH
@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # sympy's own, about texts in these golds
@pytest.mark.parametrize("shard", range(SHARDS))
def test_math_verify_takes_every_gold_for_itself_but_for_two_that_are_broken(shard: int) -> None:
    official = json.loads(real_data("omni_math/math_verify_selfcheck.json").read_bytes())
    omni = [row["answer"] for row in lines("omni_math/omni_math_rule.jsonl")]
    olympiad = [row["final_answer"][0] for row in lines("olympiadbench/test.jsonl")]
    assert (len(omni), len(olympiad)) == (2821, 675)
    found = {"omni": unequal(omni, shard), "olymp": unequal(olympiad, shard)}
    broken = {"omni": 894, "olymp": 194}
    assert found == {name: [place] if place % SHARDS == shard else [] for name, place in broken.items()}
    # Of the golds that math-verify itself fails on, those with an open brace are equal here as texts.
    for name, places in found.items():
        assert set(places) <= {row[0] for row in official[name]}


def docvqa() -> list[list[str]]:
    rows = json.loads(real_data("docvqa/val_v1.0.json").read_bytes())
    rows = rows["data"] if isinstance(rows, dict) else rows
    small = json.loads(real_data("docvqa/smallval/val_v1.0.json").read_bytes())
    rows = rows + (small["data"] if isinstance(small, dict) else small)
    return [row["answers"] for row in rows]


async def test_anls_is_the_published_one_on_docvqa() -> None:
    golds = docvqa()
    assert len(golds) == 22
    texts = [text for listed in golds for text in listed]
    for gold in texts:
        for other in texts:
            for given in (other, other.upper(), other[1:], f"{other}.", other.replace(" ", "  "), ""):
                assert similarity(given, gold) == published_anls(given, gold), (given, gold)
    for listed in golds:
        assert (await score_answer("anls", listed, f"<answer>{listed[-1]}</answer>")).value == 1.0


async def test_livemathematicianbench_labels_are_read() -> None:
    items = [
        item
        for month in ("202511", "202512", "202601", "202602")
        for item in json.loads(real_data(f"livemathematicianbench/data/{month}/qa_{month}_final.json").read_bytes())
    ]
    assert len(items) == 177
    choices = dict.fromkeys("ABCDE", "")
    for place, _ in enumerate(items):
        right, wrong = "ABCDE"[place % 5], "ABCDE"[(place + 1) % 5]
        for said in (f"<answer>{right}</answer>", f"I take {wrong} to be false.\n({right})."):
            assert (await score_answer("multiple_choice", right, said, choices=choices)).hard
        assert not (await score_answer("multiple_choice", right, f"<answer>{wrong}</answer>", choices=choices)).hard


@pytest.mark.parametrize(
    ("form", "right"),
    [
        ("{}", True),
        ("The answer is {}.", True),
        ("<FINAL_ANSWER>{}</FINAL_ANSWER>", True),
        ("In 1940: ${}", True),
        ("{0} or {0}", False),
        ("{}\nas the table shows", False),
        ("-{}", False),
        ("unable to determine, perhaps {}", False),
    ],
)
async def test_officeqa_rewards_what_the_official_code_rewards(form: str, right: bool) -> None:
    with real_data("officeqa/officeqa_sample.csv").open(encoding="utf-8", newline="") as file:
        golds = [row["answer"] for row in csv.DictReader(file)]
    assert len(golds) == 10
    for gold in golds:
        assert (await score_answer("officeqa", gold, form.format(gold))).hard is right, gold
