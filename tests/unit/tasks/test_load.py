from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from daemon.tasks.digest import task_digest, work_digest
from daemon.tasks.load import load_tasks
from daemon.tasks.task import ScorerSpec, SealedError, Task, TaskError
from harnesses.harness import ChatTools
from tests.support.episodes import HEAT, put_game
from tests.support.tasks import GOLDEN, row, task_for, write_rows


def many(count: int, **fields: Any) -> list[dict[str, Any]]:
    return [row(f"t{number:02}", **fields) for number in range(count)]


def test_the_committed_sets_load() -> None:
    assert load_tasks(GOLDEN / "qa").sizes() == {"train": 4, "selection": 4, "test": 2}
    assert load_tasks(GOLDEN / "qa" / "tasks.jsonl").digest == load_tasks(GOLDEN / "qa").digest
    assert load_tasks(GOLDEN / "harbor", min_selection=1).sizes() == {"train": 1, "selection": 1, "test": 0}


def test_tasks_are_ordered_by_id_and_digested(tmp_path: Path) -> None:
    loaded = load_tasks(write_rows(tmp_path / "x.jsonl", *reversed(many(40))))
    assert [task.id for task in loaded.tasks] == [f"t{number:02}" for number in range(40)]
    assert all(task.digest.startswith("sha256:") and len(task.digest) == 71 for task in loaded.tasks)
    assert loaded.sizes() == {"train": 16, "selection": 4, "test": 20}


def test_the_test_split_is_sealed(tmp_path: Path) -> None:
    loaded = load_tasks(write_rows(tmp_path / "x.jsonl", *many(40)))
    with pytest.raises(SealedError, match="the test split is sealed"):
        loaded.split("test")  # type: ignore[arg-type]
    assert len(loaded.open_test()) == 20


def test_moving_a_set_changes_no_digest(tmp_path: Path) -> None:
    moved = Path(shutil.copytree(GOLDEN / "qa", tmp_path / "elsewhere"))
    assert load_tasks(moved).digest == load_tasks(GOLDEN / "qa").digest
    (moved / "data" / "fees.csv").write_text("month,fees\n")
    assert load_tasks(moved).digest != load_tasks(GOLDEN / "qa").digest


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ([], r"x\.jsonl: holds no task"),
        ([row("a"), row("A")], r"x\.jsonl:2: id: 'A' is taken by .*x\.jsonl:1: give each task its own id"),
        ([row("a", scorer="bleu")], r":1: scorer: there is no scorer 'bleu': use one of .*exact_match, .*numeric, "),
        ([row("a", scorer="numeric")], r":1: answer: 'yes' does not hold exactly one finite number"),
        ([row("a", scorer={"name": "exact_match", "extact": "x"})], r":1: scorer\.extact: .*takes extract, answer_tag"),
        ([row("a", scorer={"name": "exact_match", "extract": "("})], r":1: scorer\.extract: is not a regular expr"),
        ([row("a", scorer="test_script")], r":1: tests: has no test\.sh, which test_script runs"),
        ([row("a", answer=None)], r":1: answer: give a text, a number or a list of them"),
        (many(30), r"x\.jsonl: split: selection has 3 of at least 4 tasks"),
        ([*many(9), row("s", split="train")], r"x\.jsonl: split: 1 of 10 tasks have one and t00 has none"),
    ],
)
def test_a_set_that_cannot_be_run_is_refused(tmp_path: Path, rows: list[dict[str, Any]], complaint: str) -> None:
    with pytest.raises(TaskError, match=complaint) as caught:
        load_tasks(write_rows(tmp_path / "x.jsonl", *rows))
    assert "\n" not in str(caught.value)


def test_the_same_work_in_two_splits_leaks(tmp_path: Path) -> None:
    rows = many(6, split="train") + [row(f"s{number}", split="selection") for number in range(4)]
    rows.append(row("copy", prompt="  Do   t03.\n", answer="no", split="selection"))
    with pytest.raises(
        TaskError, match=r"x\.jsonl:4: task t03 \(train\) has the same prompt and files as copy"
    ) as caught:
        load_tasks(write_rows(tmp_path / "x.jsonl", *rows))
    assert "x.jsonl:11" in str(caught.value)


def test_the_same_prompt_over_other_files_is_other_work(tmp_path: Path) -> None:
    for number in range(8):
        (tmp_path / f"{number}.txt").write_text(str(number))
    rows = [
        row(
            f"t{number}",
            prompt="Sum in.txt.",
            files={"in.txt": f"{number}.txt"},
            split="train" if number % 2 else "selection",
        )
        for number in range(8)
    ]
    assert load_tasks(write_rows(tmp_path / "x.jsonl", *rows)).sizes() == {"train": 4, "selection": 4, "test": 0}


def test_the_same_prompt_over_another_game_is_other_work(tmp_path: Path) -> None:
    scorer = {"name": "episode_won", "engine": "household", "game": "game.json"}
    rows = []
    for number in range(8):
        (tmp_path / str(number)).mkdir()
        put_game(tmp_path / str(number), HEAT | {"walkthrough": ["look"] * number})
        fields = {"prompt": "Do what it says.", "scorer": scorer, "tests": {"game.json": f"{number}/game.json"}}
        rows.append(row(f"t{number}", answer=None, split="train" if number % 2 else "selection", **fields))
    file = write_rows(tmp_path / "x.jsonl", *rows)
    assert load_tasks(file).sizes() == {"train": 4, "selection": 4, "test": 0}
    shutil.copy(tmp_path / "0/game.json", tmp_path / "1/game.json")
    with pytest.raises(TaskError, match="has the same prompt and files as t0"):
        load_tasks(file)


def test_the_same_work_twice_in_one_split_is_allowed(tmp_path: Path) -> None:
    rows = [*many(2, split="train", prompt="Same."), *[row(f"s{number}", split="selection") for number in range(4)]]
    assert load_tasks(write_rows(tmp_path / "x.jsonl", *rows)).sizes()["train"] == 2


@pytest.mark.parametrize(
    ("name", "complaint"),
    [("none", r"none: does not exist: set \[tasks\] path"), ("empty", "empty: is neither a tasks.jsonl nor a folder")],
)
def test_a_path_that_is_no_set(tmp_path: Path, name: str, complaint: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(TaskError, match=complaint):
        load_tasks(tmp_path / name)


def test_the_digest_names_what_decides_a_result(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    task = task_for("exact_match", "x", files={"in": tmp_path / "a"}, tests={"t": tmp_path / "a"})
    changed = [
        replace(task, id="u"),
        replace(task, prompt="q"),
        replace(task, answer=["x"]),
        replace(task, files={"in": tmp_path / "b"}),
        replace(task, files={"other": tmp_path / "a"}),
        replace(task, tests={"t": tmp_path / "b"}),
        replace(task, scorer=ScorerSpec("token_f1")),
        replace(task, scorer=ScorerSpec("exact_match", {"fallback": "all"})),
        replace(task, timeout_s=1.0),
        replace(task, tools=ChatTools("files")),
        replace(task, tools=ChatTools("python")),
        replace(task, tools=ChatTools("python", turns=30)),
    ]
    digests = {task_digest(one, scorer_version=1) for one in (task, *changed)}
    assert len(digests | {task_digest(task, scorer_version=2)}) == len(changed) + 2


def test_what_is_made_of_a_result_is_not_in_the_task_digest_but_in_the_sets(tmp_path: Path) -> None:
    def sets_digest(**fields: Any) -> tuple[list[str], str]:
        rows = [row("a", split="train"), *[row(f"s{number}", split="selection") for number in range(4)]]
        loaded = load_tasks(
            write_rows(tmp_path / "x.jsonl", *[one | fields if one["id"] == "a" else one for one in rows])
        )
        return [task.digest for task in loaded.tasks], loaded.digest

    plain = sets_digest()
    for fields in ({"weight": 2.0}, {"group": "g"}, {"protect": True}):
        tasks, whole = sets_digest(**fields)
        assert tasks == plain[0]
        assert whole != plain[1]


def test_work_is_what_the_agent_sees() -> None:
    task = task_for("exact_match", "x")
    assert work_digest(task) == work_digest(Task(id="u", prompt=" p ", scorer=ScorerSpec("numeric"), answer=5))
    assert work_digest(task) != work_digest(replace(task, prompt="q"))
