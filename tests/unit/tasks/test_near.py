from __future__ import annotations

import random
from pathlib import Path

import pytest

from daemon.tasks.near import NearIndex, Pair, jaccard, shingles
from daemon.tasks.task import Task
from tests.support.tasks import task_for

WORDS = [f"w{number}" for number in range(400)]


def prompt(seed: int, size: int = 40) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=size))


def pairs(tasks: list[Task], similar: float = 0.8) -> list[Pair]:
    index = NearIndex(similar)
    for task in tasks:
        index.add(task)
    return list(index.pairs(tasks.__getitem__))


def made(*prompts: str) -> list[Task]:
    return [task_for("exact_match", "x", prompt=one) for one in prompts]


def test_case_punctuation_and_layout_are_nothing() -> None:
    text = prompt(1)
    [pair] = pairs(made(text, prompt(2), text.upper().replace(" ", ",\n ")))
    assert (pair.first, pair.second, pair.similarity, pair.copy) == (0, 2, 1.0, True)


def test_every_copy_with_a_word_changed_is_found_among_many() -> None:
    texts = [prompt(seed, 60) for seed in range(300)]
    copies = [text.replace(text.split()[30], "other", 1) for text in texts[:100]]
    found = {(pair.first, pair.second) for pair in pairs(made(*texts, *copies))}
    assert {second - 300 for _, second in found} == set(range(100))
    assert all(second == first + 300 for first, second in found)


def test_what_is_less_alike_is_not_told() -> None:
    text = prompt(3, 40)
    half = " ".join(text.split()[:20]) + " " + prompt(4, 20)
    assert pairs(made(text, half)) == []
    assert len(pairs(made(text, half), similar=0.3)) == 1


@pytest.mark.parametrize("same", [True, False])
def test_templates_are_told_from_copies(same: bool, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    text = f"{prompt(5, 60)} of 1,200"
    one = task_for("exact_match", "x", prompt=text, files={"in": tmp_path / "a"})
    if same:
        assert [pair.copy for pair in pairs([one, task_for("numeric", None, prompt=text, files=one.files)])] == [True]
        return
    for other in (
        task_for("exact_match", "x", prompt=text.replace("1,200", "1,300"), files=one.files),
        task_for("exact_match", "y", prompt=text, files=one.files),
        task_for("exact_match", "x", prompt=text, files={"in": tmp_path / "b"}),
    ):
        assert [pair.copy for pair in pairs([one, other])] == [False]


def test_a_family_is_told_in_few_pairs_that_join_it() -> None:
    text = prompt(6)
    found = pairs(made(*[text] * 200))
    assert len(found) < 400 * 2
    assert {pair.second for pair in found} == set(range(1, 200))


@pytest.mark.parametrize("text", ["", "?!", "one", "one two", "\ud800", "日本語"])
def test_short_and_strange_texts(text: str) -> None:
    assert jaccard(shingles(text), shingles(text)) == 1.0
    assert [pair.similarity for pair in pairs(made(text, prompt(7), text))] == [1.0]


def test_one_prompt_over_two_games_is_a_template(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    options = {"engine": "household", "game": "g"}
    games = [task_for("episode_won", options=options, tests={"g": tmp_path / name}) for name in ("a", "b", "a")]
    assert [(pair.first, pair.second, pair.copy) for pair in pairs(games)] == [
        (0, 1, False),
        (0, 2, True),
        (1, 2, False),
    ]
