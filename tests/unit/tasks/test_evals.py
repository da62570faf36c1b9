from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from daemon.tasks.formats.evals import scan_evals
from daemon.tasks.formats.found import placed
from daemon.tasks.load import load_tasks, read_set
from daemon.tasks.scorers.rubric import RubricOptions
from daemon.tasks.task import Task, TaskError


def evals(folder: Path, *rows: Any) -> Path:
    file = folder / "evals" / "evals.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"skill_name": "pdf-forms", "evals": list(rows)}))
    return file


def tasks(file: Path) -> list[Task]:
    return [task for _, task in placed(scan_evals(file))]


def test_a_skill_creators_file(tmp_path: Path) -> None:
    (tmp_path / "evals" / "files").mkdir(parents=True)
    (tmp_path / "evals" / "files" / "form.txt").write_text("form")
    row = {
        "id": 1,
        "prompt": "Fill the form.",
        "expected_output": "A filled form",
        "files": ["evals/files/form.txt"],
        "assertions": ["The name is filled in", "Nothing else changed"],
        "runs": 3,
    }
    (task,) = tasks(evals(tmp_path, row))
    assert (task.id, task.prompt) == ("1", "Fill the form.")
    assert task.file_bytes() == {"evals/files/form.txt": b"form"}
    first, second = (
        {"name": "assertion 1", "text": "The name is filled in"},
        {"name": "assertion 2", "text": "Nothing else changed"},
    )
    assert (task.scorer.name, task.scorer.options) == ("rubric", {"criteria": [first, second]})


def test_plain_assertions_load_as_a_set_and_their_words_stay_with_the_judge(tmp_path: Path) -> None:
    """Feedback names a criterion that is not met, and the optimizer reads it: the words may tell the answer."""
    words = "The total in cell B7 is 1,204"
    rows = [{"id": 1, "prompt": "p", "assertions": [words]}, {"id": 2, "prompt": "q", "expected_output": "A table"}]
    read = read_set(evals(tmp_path, *rows).parent)
    assert [str(fault) for fault in read.faults] == []
    assert len(read.columns.ids) == 2
    options = [RubricOptions.model_validate(task.scorer.options) for task in tasks(tmp_path / "evals" / "evals.json")]
    assert [(one.name, one.text) for option in options for one in option.criteria] == [
        ("assertion 1", words),
        ("expected output", "A table"),
    ]


def test_other_names_and_what_stands_in_for_assertions(tmp_path: Path) -> None:
    first, second, third = tasks(
        evals(
            tmp_path,
            {"id": "a", "prompt": "p", "expectations": ["x"]},
            {"id": "b", "prompt": "p", "expected_output": "A table"},
            {"id": "c", "prompt": "p", "scorer": {"name": "numeric", "tolerance": 0.1}, "answer": 5, "split": "test"},
        )
    )
    assert first.scorer.options == {"criteria": [{"name": "assertion 1", "text": "x"}]}
    assert second.scorer.options == {"criteria": [{"name": "expected output", "text": "A table"}]}
    assert (third.scorer.name, third.scorer.options, third.answer, third.split) == (
        "numeric",
        {"tolerance": 0.1},
        5,
        "test",
    )


def test_a_bad_eval_is_named_and_the_rest_is_still_read(tmp_path: Path) -> None:
    file = evals(
        tmp_path,
        "text",
        {"id": 1},
        {"id": "no id", "prompt": "p", "assertions": ["x"]},
        {"id": 2, "prompt": "p", "files": ["../x"], "assertions": ["x"]},
        {"id": 3, "prompt": "p"},
        {"id": 4, "prompt": " ", "assertions": ["x"]},
        {"id": 5, "prompt": "p", "scorer": {}},
        {"id": 6, "prompt": "p", "assertions": ["x"]},
        {"id": 7, "prompt": "p", "assertions": ["x", ""]},
    )
    said = [str(one.error).removeprefix(f"{file}: ") for one in scan_evals(file) if one.error]
    starts = [
        "evals[0]: entry: ",
        "evals[1]: prompt: Field required",
        "evals[2]: id: 'no id' is no task id",
        "evals[3]: files: '../x' must be a plain relative path",
        "evals[4]: assertions: there are none, and no expected_output",
        "evals[5]: prompt: is blank",
        "evals[6]: scorer: needs a name",
        "evals[8]: assertions.1: String should have at least 1 character",
    ]
    assert len(said) == len(starts)
    assert all(line.startswith(start) for line, start in zip(said, starts, strict=True))
    assert [one.task.id for one in scan_evals(file) if one.task] == ["6"]


@pytest.mark.parametrize(
    ("text", "complaint"), [("{", "is not JSON in UTF-8"), ("[]", "evals: is missing"), ('{"evals": {}}', "evals: is")]
)
def test_a_file_that_is_none(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "evals.json").write_text(text)
    with pytest.raises(TaskError, match=complaint):
        load_tasks(tmp_path)


def test_evals_with_scorers_of_their_own_are_a_set(tmp_path: Path) -> None:
    rows = [{"id": number, "prompt": f"Say {number}.", "scorer": "numeric", "answer": number} for number in range(12)]
    evals(tmp_path, *rows)
    assert load_tasks(tmp_path, split_ratio=(1, 1, 1)).sizes() == {"train": 4, "selection": 4, "test": 4}
