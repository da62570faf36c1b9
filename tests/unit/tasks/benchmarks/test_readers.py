"""Each benchmark's files become tasks, and a bad item costs itself alone and is named with its reason."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from daemon.tasks.benchmarks.benchmark import Items
from daemon.tasks.benchmarks.catalogue import BENCHMARKS, benchmark
from daemon.tasks.benchmarks.livemathematicianbench import shuffled
from daemon.tasks.benchmarks.omni_math import FULL
from daemon.tasks.task import TaskError
from tests.support.benchmarks import left_out, put_json, put_lines, read

PNG = b"\x89PNG\r\n\x1a\n"


def ids(items: Items) -> list[str]:
    return [task.id for task in items.tasks]


def clue(name: Any = "k1", **other: Any) -> dict[str, Any]:
    return {"id": name, "question": "This river", "context": "[DOC] The Tarrow", "answers": ["Tarrow"], **other}


def test_searchqa_reads_both_shapes_of_its_files(tmp_path: Path) -> None:
    put_json(tmp_path / "searchqa/searchqa_split/val/items.json", [clue("b")])
    put_json(tmp_path / "searchqa/searchqa_split/train/items.json", [clue("a")])
    put_lines(
        tmp_path / "searchqa/searchqa.jsonl",
        [{"key" if key == "id" else key: value for key, value in clue("c").items()}],
    )
    items = read("searchqa", tmp_path)
    assert ids(items) == ["a", "b", "c"]
    assert items.tasks[0].answer == ["Tarrow"]
    assert "This river" in items.tasks[0].prompt
    assert "The Tarrow" in items.tasks[0].prompt


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (clue(answers=[]), "has no answer in 'answers'"),
        (clue(answers=[" ", None]), "has no answer in 'answers'"),
        (clue(question="  "), "has no text 'question'"),
        (clue(context=7), "has no text 'context'"),
        ({"id": "k1"}, "has no text 'question'"),
    ],
)
def test_a_bad_item_is_named_and_the_rest_is_read(tmp_path: Path, row: dict[str, Any], why: str) -> None:
    put_json(tmp_path / "searchqa/searchqa_split/all/items.json", [row, clue("k2")])
    items = read("searchqa", tmp_path)
    assert ids(items) == ["k2"]
    assert left_out(items) == {"k1": why}


def test_an_item_that_is_no_object_or_has_no_id_is_named(tmp_path: Path) -> None:
    put_json(tmp_path / "searchqa/searchqa_split/all/items.json", ["text", clue(""), clue("good"), clue("good")])
    items = read("searchqa", tmp_path)
    assert ids(items) == ["good"]
    assert [(one.id, one.why.partition(":")[0]) for one in items.left_out] == [
        ("?", "cannot be read"),
        ("?", "cannot be read"),
        ("good", "its id is there twice"),
    ]


@pytest.mark.parametrize("text", ["{", "[1, 2", '{"rows": []}', "null", "[" * 100_000])
def test_a_file_that_holds_no_list_is_an_error_that_names_it(tmp_path: Path, text: str) -> None:
    file = put_json(tmp_path / "searchqa/searchqa_split/all/items.json", [])
    file.write_text(text)
    with pytest.raises(TaskError, match=r"items\.json: .*fetch it again"):
        read("searchqa", tmp_path)


def question(number: int, **other: Any) -> dict[str, Any]:
    choices = [{"label": label, "text": f"wrong {label} {number}"} for label in "BCDE"]
    mcq = {"question": f"Question {number}?", "correct_choice": {"label": "A", "text": f"right {number}"}}
    return {"no": number, "month": "209901", "theorem_type": ["Bound"], "mcq": {**mcq, "choices": choices, **other}}


def test_no_place_of_a_choice_gives_the_answer_away(tmp_path: Path) -> None:
    rows = [question(number) for number in range(200)]
    put_json(tmp_path / "livemathematicianbench/data/209901/qa_209901_final.json", rows)
    items = read("livemathematicianbench", tmp_path)
    counts = Counter(task.answer for task in items.tasks)
    assert set(counts) == set("ABCDE")
    assert max(counts.values()) < 200 * 0.35, "chance is a fifth"
    for task in items.tasks:
        choices = task.scorer.options["choices"]
        assert choices[task.answer] == f"right {task.id.rpartition('-')[2]}"
        assert [f"{letter}. {text}" for letter, text in choices.items()] == [
            line for line in task.prompt.splitlines() if line[1:3] == ". "
        ]


def test_choices_lie_alike_in_every_run_and_otherwise_with_another_seed() -> None:
    texts = [f"choice {number}" for number in range(5)]
    orders = {tuple(shuffled(f"m-{item}", texts)) for item in range(50)}
    assert shuffled("m-1", texts) == shuffled("m-1", texts[::-1])
    assert len(orders) > 20
    assert any(shuffled(f"m-{item}", texts, 1) != shuffled(f"m-{item}", texts, 2) for item in range(5))


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (question(1, correct_choice={"label": "A", "text": "wrong B 1"}), "choices that are the same"),
        (question(1, choices=[]), "too few or too many"),
        (question(1, correct_choice=None), "cannot be read"),
        ({"no": 1, "month": "209901"}, "has no question"),
    ],
)
def test_a_question_without_one_right_choice_is_left_out(tmp_path: Path, bad: dict[str, Any], why: str) -> None:
    put_json(tmp_path / "livemathematicianbench/data/209901/qa_209901_final.json", [bad, question(2)])
    items = read("livemathematicianbench", tmp_path)
    assert ids(items) == ["209901-2"]
    assert why in left_out(items)["209901-1"]


def problem(name: Any, **other: Any) -> dict[str, Any]:
    return {"id": name, "question": "Find $1 + 1$.", "final_answer": ["2"], "error": None, **other}


def test_olympiadbench_takes_precision_context_unit_and_several_answers_from_the_item(tmp_path: Path) -> None:
    rows = [
        problem(1, error="1e-1,2e-2", final_answer=["2.1,3"], unit="km", context="Given a square."),
        problem(2, is_multiple_answer=True),
        problem(1965),
        "no json",
    ]
    put_lines(tmp_path / "olympiadbench/test.jsonl", rows)
    items = read("olympiadbench", tmp_path)
    first, second = items.tasks
    assert first.scorer.options == {"rule": "olympiad", "precision": [0.1, 0.02]}
    assert "Given a square." in first.prompt
    assert "unit (km)" in first.prompt
    assert "precision" not in second.scorer.options
    assert "several answers" in second.prompt
    assert list(left_out(items)) == ["1965", "?"]


def test_omni_math_items_are_numbered_and_known_faults_belong_to_the_full_file_alone(tmp_path: Path) -> None:
    row = {"problem": "Compute.", "answer": "\\frac{1}{2}", "domain": ["Mathematics -> Algebra -> Other"]}
    file = put_lines(tmp_path / "omni_math/some.jsonl", [row] * 200)
    few = read("omni-math", tmp_path)
    assert (few.tasks[183].id, few.tasks[183].group, few.left_out) == ("row-0183", "Algebra", ())
    assert few.tasks[0].answer == ["$\\frac{1}{2}$"]
    put_lines(file, [row] * FULL)
    assert list(left_out(read("omni-math", tmp_path))) == ["row-0183", "row-0682", "row-0710", "row-0894", "row-1469"]


def sheet_row(name: Any, position: str = "A1:B2") -> dict[str, Any]:
    return {"id": name, "instruction": "Fill it.", "answer_position": position, "instruction_type": "x"}


def put_books(root: Path, name: str, *files: str) -> None:
    folder = root / "spreadsheetbench/verified_400/spreadsheet" / name
    folder.mkdir(parents=True)
    for file in files:
        (folder / file).write_bytes(b"PK")


def test_spreadsheetbench_finds_workbooks_under_every_name_that_the_set_uses(tmp_path: Path) -> None:
    put_books(tmp_path, "7", "1_7_init.xlsx", "1_7_golden.xlsx")
    put_books(tmp_path, "8-1", "initial.xlsx", "golden.xlsx")
    put_books(tmp_path, "9", "1_9_init.xlsx", "1_99_golden.xlsx")
    put_books(tmp_path, "10", "1_10_init.xlsx")
    put_books(tmp_path, "11", "1_11_init.xlsx", "1_11_golden.xlsx")
    put_books(tmp_path, "13-1", "1_13-1_init.xlsx", "1_13-1_golden.xlsx")
    rows = [
        sheet_row("a/../7"),
        sheet_row(7),
        sheet_row("8-1"),
        sheet_row(9),
        sheet_row(10),
        sheet_row(11, "BD2:308"),
        sheet_row("13-1"),
    ]
    put_json(tmp_path / "spreadsheetbench/verified_400/dataset.json", rows)
    items = read("spreadsheetbench", tmp_path)
    assert ids(items) == ["7", "8-1", "9"]
    assert items.tasks[2].tests["golden.xlsx"].name == "1_99_golden.xlsx"
    reasons = left_out(items)
    assert reasons["a-..-7"] == "has an id that is no folder's name"
    assert reasons["10"] == "has no workbooks named *golden.xlsx in 10"
    assert reasons["11"].startswith("answer_position: ")
    assert "untouched workbook scores 1" in reasons["13-1"]


def page(number: int, image: str = "documents/p.png", **other: Any) -> dict[str, Any]:
    return {"questionId": number, "question": "Which date?", "image": image, "answers": ["May 1"], **other}


def test_docvqa_reads_lists_and_objects_with_the_images_beside_them(tmp_path: Path) -> None:
    rows = [page(1), page(2, "documents/none.png"), page(3, "../../secret.png"), page(4, "documents/p.pdf")]
    put_json(tmp_path / "docvqa/val_v1.0.json", rows)
    put_json(tmp_path / "docvqa/more/val_v1.0.json", {"data": [page(5)]})
    for folder in ("docvqa", "docvqa/more"):
        (tmp_path / folder / "documents").mkdir()
        (tmp_path / folder / "documents/p.png").write_bytes(PNG)
    (tmp_path / "secret.png").write_bytes(PNG)
    items = read("docvqa", tmp_path)
    assert sorted(ids(items)) == ["1", "5"]
    assert items.tasks[0].files["page.png"].read_bytes() == PNG
    assert sorted(left_out(items)) == ["2", "3", "4"]
    assert left_out(items)["2"] == "its image none.png is not here"


def put_questions(root: Path, *rows: dict[str, str]) -> None:
    file = root / "officeqa/officeqa_x.csv"
    (file.parent / "treasury_bulletins").mkdir(parents=True)
    (file.parent / "treasury_bulletins/b.txt").write_text("| a | 1 |")
    with file.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, ["uid", "question", "answer", "source_files"])
        writer.writeheader()
        writer.writerows(rows)


def test_officeqa_needs_every_document_of_a_question(tmp_path: Path) -> None:
    row = {"question": "How much?", "source_files": "b.txt"}
    put_questions(
        tmp_path,
        {"uid": "U1", "answer": "2,602", **row},
        {"uid": "U2", "answer": "March 1977", **row},
        {"uid": "U3", "answer": "5", **row, "source_files": "b.txt\r\nc.txt"},
        {"uid": "U4", "answer": "", **row},
        {"uid": "U5", "answer": "5", **row, "source_files": "../officeqa_x.csv"},
    )
    items = read("officeqa", tmp_path)
    assert [(task.id, task.scorer.name) for task in items.tasks] == [("U1", "officeqa"), ("U2", "officeqa")]
    assert list(items.tasks[0].files) == ["b.txt"]
    assert set(left_out(items)) == {"U3", "U4", "U5"}
    assert "c.txt is not in treasury_bulletins/" in left_out(items)["U3"]


def test_there_is_no_benchmark_of_another_name() -> None:
    with pytest.raises(TaskError, match=r"no benchmark 'gsm8k': use one of searchqa, "):
        benchmark("gsm8k")
    assert list(BENCHMARKS) == [one.name for one in BENCHMARKS.values()]
