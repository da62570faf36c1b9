from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daemon.tasks.formats.csv_rows import read_row, scan_csv
from daemon.tasks.formats.found import placed
from daemon.tasks.load import load_tasks
from daemon.tasks.task import Task, TaskError


def read(file: Path, data: str | bytes) -> list[Task]:
    file.write_bytes(data.encode() if isinstance(data, str) else data)
    return [task for _, task in placed(scan_csv(file))]


def faults(file: Path, data: str | bytes) -> list[str]:
    file.write_bytes(data.encode() if isinstance(data, str) else data)
    return [str(one.error).removeprefix(str(file)) for one in scan_csv(file) if one.error]


def test_question_and_ground_truth(tmp_path: Path) -> None:
    task, other = read(tmp_path / "t.csv", "question,ground_truth\nCapital of Peru?,Lima\nOf Chile?, Santiago \n")
    assert (task.prompt, task.answer, task.scorer.name) == ("Capital of Peru?", "Lima", "exact_match")
    assert other.answer == "Santiago"
    assert task.id.startswith("q-")
    assert task.id != other.id


def test_every_column_is_carried_and_strangers_are_left_alone(tmp_path: Path) -> None:
    (task,) = read(
        tmp_path / "t.csv",
        "id,Question,Ground_Truth,split,group,weight,protect,scorer,notes\n7,How many?,5,val,sums,2.5,TRUE,numeric,x\n",
    )
    assert (task.id, task.split, task.group, task.weight, task.protect) == ("7", "selection", "sums", 2.5, True)
    assert task.scorer.name == "numeric"


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_dialects(tmp_path: Path, delimiter: str, end: str) -> None:
    rows = [["question", "ground_truth"], ['"a ""b""\nand c, d; e?"', "yes"], ["", ""], ["f?", "no"]]
    text = end.join(delimiter.join(row) for row in rows) + end
    assert [(task.prompt, task.answer) for task in read(tmp_path / "t.csv", text)] == [
        ('a "b"\nand c, d; e?', "yes"),
        ("f?", "no"),
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
def test_encodings_with_their_marks(tmp_path: Path, encoding: str) -> None:
    text = 'question,ground_truth\n"Größe\nin Ж Ċ ਊ?",ü\nnext?,ja\n'
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    first, second = read(tmp_path / "t.csv", mark + text.encode(encoding))
    assert (first.prompt, first.answer, second.prompt) == ("Größe\nin Ж Ċ ਊ?", "ü", "next?")


def test_a_row_keeps_its_name_when_rows_move(tmp_path: Path) -> None:
    first = read(tmp_path / "a.csv", "question,answer\na?,1\nb?,2\na?,3\n")
    second = read(tmp_path / "b.csv", "question,answer\nb?,2\na?,1\n")
    assert {task.prompt: task.id for task in second} == {task.prompt: task.id for task in first[:2]}
    assert first[2].id == f"{first[0].id}-2"


def test_a_bad_row_is_named_and_the_rest_is_still_read(tmp_path: Path) -> None:
    data = (
        b'question,ground_truth,split,weight,protect\n"two\nlines?",1,,,\nshort?\n,2,,,\nq?,,,,\n\xff?,1,,,\n'
        b'a "b"?,1,,,\n"open"x,1,,,\nx?,1,dev,,\ny?,1,,0,\nw?,1,,nan,\nv?,1,,,maybe\ngood?,1,,,\n'
    )
    assert faults(tmp_path / "t.csv", data) == [
        ":4: has 1 cells where the header has 5: quote cells that hold a ','",
        ":5: question: is blank: every row needs question and ground_truth",
        ":6: ground_truth: is blank: every row needs question and ground_truth",
        ":7: line 7 is not UTF-8 (byte 1): save the file as UTF-8",
        ":9: is no row: ',' expected after '\"': quote cells that hold quotes or line ends",
        ":10: split: 'dev' is no split: use train, selection or test",
        ":11: weight: '0' is no number above 0 and up to 1000000",
        ":12: weight: 'nan' is no number above 0 and up to 1000000",
        ":13: protect: 'maybe' is neither true nor false",
    ]
    assert [one.task.prompt for one in scan_csv(tmp_path / "t.csv") if one.task] == ["two\nlines?", 'a "b"?', "good?"]


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ("", ":1: the header '' has no column question"),
        ("frage,antwort\n", ":1: the header 'frage,antwort' has no column question: name it question"),
        ("question,notes\n", ":1: ground_truth: the header has no such column"),
        ("question,answer,question\n", ":1: question: the header has this column twice: rename one"),
        (b"question,\xffanswer\n", ":1: line 1 is not UTF-8 (byte 10): save the file as UTF-8"),
    ],
)
def test_a_header_that_says_too_little(tmp_path: Path, data: str | bytes, complaint: str) -> None:
    with pytest.raises(TaskError) as caught:
        read(tmp_path / "t.csv", data)
    assert str(caught.value).removeprefix(str(tmp_path / "t.csv")).startswith(complaint)


def test_quotes_that_never_close(tmp_path: Path) -> None:
    assert faults(tmp_path / "t.csv", 'question,answer\n"a,1\nb,2\n') == [
        ":2: is no row: unexpected end of data: quote cells that hold quotes or line ends"
    ]


CELLS = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\x00\r"), min_size=1, max_size=12)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=6), st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
def test_what_is_read_again_is_what_was_read(tmp_path: Path, rows: list[tuple[str, str]], encoding: str) -> None:
    def quoted(cell: str) -> str:
        return '"' + cell.replace('"', '""') + '"'

    file = tmp_path / "t.csv"
    body = "".join(f"{quoted(question)},{quoted(answer)}\n" for question, answer in rows)
    file.write_bytes(("question,answer\n" + body).encode(encoding))
    for one in scan_csv(file):
        if one.task is not None:
            assert one.span is not None
            assert read_row(file, one.span, one.task.id) == one.task
    full = [(question, answer.strip()) for question, answer in rows if question.strip() and answer.strip()]
    assert [(one.task.prompt, one.task.answer) for one in scan_csv(file) if one.task] == full


def test_a_csv_is_a_set(tmp_path: Path) -> None:
    body = "".join(f"What is {number} and {number}?,{2 * number}\n" for number in range(40))
    (tmp_path / "tasks.csv").write_text("question,ground_truth\n" + body)
    assert load_tasks(tmp_path).sizes() == {"train": 16, "selection": 4, "test": 20}
    assert load_tasks(tmp_path / "tasks.csv").digest == load_tasks(tmp_path).digest


def test_a_header_that_is_no_row_is_a_fault_that_names_the_line(tmp_path: Path) -> None:
    file = tmp_path / "tasks.csv"
    file.write_bytes(b"\rquestion,answer\nq,a\n")
    with pytest.raises(TaskError, match=r"tasks\.csv:1: the header is no row"):
        list(scan_csv(file))
