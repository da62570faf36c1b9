from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from daemon.tasks.formats.jsonl import Row
from daemon.tasks.task import Task, TaskError
from harnesses.harness import ChatTools
from tests.support.tasks import GOLDEN, read_jsonl, row, write_rows


def read_one(tmp_path: Path, **fields: object) -> Task:
    ((_, task),) = read_jsonl(write_rows(tmp_path / "tasks.jsonl", row("a", **fields)))
    return task


def refusal(tmp_path: Path, line: str | bytes) -> str:
    file = tmp_path / "tasks.jsonl"
    file.write_bytes(line if isinstance(line, bytes) else line.encode())
    with pytest.raises(TaskError) as caught:
        read_jsonl(file)
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(str(file))


def test_the_committed_sample_is_read_with_places() -> None:
    placed = read_jsonl(GOLDEN / "qa" / "tasks.jsonl")
    assert len(placed) == 10
    assert [where.rpartition(":")[2] for where, _ in placed][4:6] == ["5", "7"]  # the blank line counts
    task = {one.id: one for _, one in placed}["sum-1"]
    assert task.scorer.name == "numeric"
    assert task.scorer.options == {"tolerance": 0.001}
    assert (task.split, task.group, task.protect, task.weight) == ("train", "fees", True, 1.0)
    assert task.file_bytes() == {"fees.csv": b"month,fees\nMay,41500\nJune,38250\nJuly,52000\n"}


def test_all_keys_are_carried(tmp_path: Path) -> None:
    for name in ("in.txt", "gold.txt"):
        (tmp_path / name).write_text(name)
    task = read_one(
        tmp_path, files={"deep/in.txt": "in.txt"}, tests=["gold.txt"], timeout_s=5, verifier_timeout_s=7.5, weight=0.5
    )
    assert (task.timeout_s, task.verifier_timeout_s, task.weight) == (5.0, 7.5, 0.5)
    assert {path: source.name for path, source in task.files.items()} == {"deep/in.txt": "in.txt"}
    assert {path: source.name for path, source in task.tests.items()} == {"gold.txt": "gold.txt"}
    assert task.split is None
    assert (task.solution, task.reply) == ({}, None)


@pytest.mark.parametrize(
    ("given", "tools"),
    [
        ("files", ChatTools("files", 24)),
        ("python", ChatTools("python", 24)),
        ({"name": "python", "turns": 30}, ChatTools("python", 30)),
        (None, None),
    ],
)
def test_tools_are_a_name_or_a_name_with_turns(given: object, tools: ChatTools | None, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("in")
    assert read_one(tmp_path, files=["in.txt"], tools=given).tools == tools


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("shell", "tools.name: Input should be 'files' or 'python'"),
        ({"name": "files", "turns": 0}, "tools.turns: "),
        ({"name": "files", "turns": True}, "tools.turns: "),
        ({"turns": 5}, "tools.name: Field required"),
        ({"name": "files", "steps": 5}, "tools.steps: unknown key: use name, turns"),
        (["files"], "tools: "),
        ("files", "tools: the task has no files to use them on"),
    ],
)
def test_tools_that_are_none_are_refused(given: object, said: str, tmp_path: Path) -> None:
    assert said in refusal(tmp_path, json.dumps(row("a", tools=given)))


@pytest.mark.parametrize(
    ("solution", "files", "reply"),
    [
        ("It is 4.", {}, "It is 4."),
        ({"solve.sh": "gold.txt", "lib/SKILL.md": "in.txt"}, {"solve.sh": "gold.txt", "lib/SKILL.md": "in.txt"}, None),
        ({"out/a.txt": "gold.txt"}, {"out/a.txt": "gold.txt"}, None),
        (["gold.txt"], {"gold.txt": "gold.txt"}, None),
    ],
)
def test_a_solution_is_a_text_a_script_or_files(
    tmp_path: Path, solution: object, files: dict[str, str], reply: str | None
) -> None:
    for name in ("in.txt", "gold.txt"):
        (tmp_path / name).write_text(name)
    task = read_one(tmp_path, solution=solution)
    assert ({path: source.name for path, source in task.solution.items()}, task.reply) == (files, reply)


def test_bom_crlf_and_blank_lines_are_tolerated(tmp_path: Path) -> None:
    lines = [json.dumps(row("a")), "", "   ", json.dumps(row("b", prompt="Ünïcode"))]
    (tmp_path / "t.jsonl").write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    assert [(where.rpartition(":")[2], task.id) for where, task in read_jsonl(tmp_path / "t.jsonl")] == [
        ("1", "a"),
        ("4", "b"),
    ]


def test_line_separators_inside_texts_end_no_line(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text(json.dumps(row("a", prompt="one\u2028two\x85three"), ensure_ascii=False))
    assert len(read_jsonl(tmp_path / "t.jsonl")) == 1


def test_whole_number_ids_become_texts(tmp_path: Path) -> None:
    ((_, task),) = read_jsonl(write_rows(tmp_path / "t.jsonl", row("a") | {"id": 51090}))
    assert task.id == "51090"


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", r":1: is not one JSON object on one line: "),
        ("[1]", r":1: is a JSON list: each line must be an object"),
        ('{"id": "a", "id": "b"}', r":1: .*key 'id' is there twice"),
        ('{"answer": NaN}', r":1: .*NaN is not JSON"),
        ("[" * 100_000, r":1: is not one JSON object"),
        (b'{"id": "\xff"}', r":1: is not UTF-8 \(byte 9\): save the file as UTF-8"),
        ('{"id": "a"}', r":1: prompt: is missing: every task needs id, prompt and scorer \(and 1 more\)"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str | bytes, complaint: str) -> None:
    assert re.match(complaint, refusal(tmp_path, line))


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"promt": "x"}, "promt: unknown key: use id, prompt, scorer, "),
        ({"prompt": " "}, "prompt: is blank"),
        ({"prompt": ""}, "prompt: String should have at least 1 character"),
        ({"id": "a b"}, "id: 'a b' is no task id"),
        ({"id": "../a"}, "id: '../a' is no task id"),
        ({"id": "-a"}, "id: '-a' is no task id"),
        ({"id": True}, "id: Input should be a valid string"),
        ({"split": "validation"}, "split: Input should be 'train', 'selection' or 'test'"),
        ({"weight": 0}, "weight: Input should be greater than 0"),
        ({"weight": 1e300}, "weight: Input should be less than or equal to 1000000"),
        ({"weight": "2"}, "weight: Input should be a valid number"),
        ({"protect": "yes"}, "protect: Input should be a valid boolean"),
        ({"timeout_s": -1}, "timeout_s: Input should be greater than 0"),
        ({"scorer": {"tolerance": 1}}, 'scorer: needs a name: write "scorer": {"name": "numeric"'),
        ({"scorer": 5}, "scorer."),
        ({"files": {"a.txt": "none.txt"}}, "files: there is no file 'none.txt' under "),
        ({"files": {"a.txt": "../in.txt"}}, "files: '../in.txt' must be a plain relative path"),
        ({"files": {"a.txt": "/etc/passwd"}}, "files: '/etc/passwd' must be a plain relative path"),
        ({"files": {"../a.txt": "in.txt"}}, "files: '../a.txt' must be a plain relative path"),
        ({"files": {"a//b": "in.txt"}}, "files: 'a//b' must be a plain relative path"),
        ({"files": {"a\\b": "in.txt"}}, "files: 'a\\\\b' has a backslash"),
        ({"files": {"a\nb": "in.txt"}}, "files: 'a\\nb' has a backslash, a control character"),
        ({"files": {"n" * 256: "in.txt"}}, "files: 'nnnn"),
        ({"files": {"a.txt": "n" * 256}}, "files: 'nnnn"),
        ({"files": {"\ud800": "in.txt"}}, "files: '\\ud800' has a backslash, a control"),
        ({"files": {"a.txt": "\ud800"}}, "files: '\\ud800' has a backslash, a control"),
        ({"files": {"SKILL.md": "in.txt"}}, "files: 'SKILL.md' is where honed lays the skill"),
        ({"files": {".claude/settings.json": "in.txt"}}, "files: '.claude/settings.json' is where honed lays"),
        ({"files": {"a": "in.txt", "a/b": "in.txt"}}, "files: 'a' is both a file and a folder"),
        ({"files": ["in.txt", "in.txt"]}, "files: names a file twice"),
        ({"files": {"a": "folder"}}, "files: there is no file 'folder'"),
        ({"files": {"a": "link.txt"}}, "files: 'link.txt' leads out of "),
        ({"tests": {"t": "none.txt"}}, "tests: there is no file 'none.txt'"),
        ({"solution": " "}, "solution: is blank"),
        ({"solution": 4}, "solution."),
        ({"solution": {"a": "none.txt"}}, "solution: there is no file 'none.txt'"),
        ({"solution": {"SKILL.md": "in.txt"}}, "solution: 'SKILL.md' is where honed lays the skill"),
        ({"solution": ["s/solve.sh"]}, """solution: 's/solve.sh' is not run: write {"solve.sh": "s/solve.sh"}"""),
    ],
)
def test_a_bad_key_is_named(tmp_path: Path, fields: dict[str, object], complaint: str) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("secret")
    folder = tmp_path / "set"
    (folder / "folder").mkdir(parents=True)
    (folder / "in.txt").write_text("in")
    (folder / "link.txt").symlink_to(outside)
    line = json.dumps(row("first")) + "\n" + json.dumps(row("a") | fields)
    assert refusal(folder, line).startswith(":2: " + complaint)


def test_an_answer_that_overflows_is_refused(tmp_path: Path) -> None:
    line = '{"id": "a", "prompt": "p", "scorer": "numeric", "answer": [1, {"x": 1e999}]}'
    assert refusal(tmp_path, line) == ":1: answer: holds a number that is not finite"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"none\.jsonl: cannot be read \(No such file or directory\): check \[tasks\]"):
        read_jsonl(tmp_path / "none.jsonl")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@example({}, b"\xef\xbb\xbf")
@given(st.dictionaries(st.sampled_from([*Row.model_fields, "other"]), JSON, max_size=12), st.binary(max_size=20))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_line_is_a_task_or_one_clear_error(tmp_path: Path, fields: dict[str, object], noise: bytes) -> None:
    for line in (json.dumps(fields).encode(), json.dumps(row("a") | fields).encode(), noise):
        (tmp_path / "tasks.jsonl").write_bytes(line)
        try:
            placed = read_jsonl(tmp_path / "tasks.jsonl")
        except TaskError as error:
            message = str(error)
            assert message.startswith(f"{tmp_path / 'tasks.jsonl'}:")
            assert "\n" not in message
        else:
            assert len(placed) == bool(line.removeprefix(b"\xef\xbb\xbf").strip())
