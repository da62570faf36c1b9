from __future__ import annotations

import json

import pytest

from daemon.tasks.scorers.json_worker import same
from daemon.tasks.scorers.registry import check_scorer, score_task
from daemon.tasks.scorers.scorer import VerifierError
from daemon.tasks.task import Score, TaskError
from tests.support.tasks import left, score_answer, task_for

INVOICE = {"number": "R-7", "total": 142.8, "paid": False, "lines": [{"net": 100}, {"net": 20.0}]}


async def checked(*checks: dict[str, object], answer: object = INVOICE) -> Score:
    return await score_answer("json_checks", None, json.dumps(answer), checks=list(checks))


@pytest.mark.parametrize(
    ("check", "why"),
    [
        ({"path": "$.total"}, ""),
        ({"path": "$.tax"}, "$.tax is missing"),
        ({"path": "$.tax", "exists": False}, ""),
        ({"path": "$.total", "exists": False}, "$.total is there though it must not be"),
        ({"path": "$.total", "equals": 142.8}, ""),
        ({"path": "$.total", "equals": 142}, "$.total has a wrong value"),
        ({"path": "$.total", "equals": 142, "tolerance": 0.01}, ""),
        ({"path": "$.paid", "equals": 0}, "$.paid has a wrong value"),
        ({"path": "$.number", "equals": None}, "$.number has a wrong value"),
        ({"path": "$.lines[1]", "equals": {"net": 20}}, ""),
        ({"path": "$.lines[*].net", "min": 20}, ""),
        ({"path": "$.lines[*].net", "min": 21}, "$.lines[*].net lies outside its bounds"),
        ({"path": "$.total", "max": 142}, "$.total lies outside its bounds"),
        ({"path": "$.number", "max": 142}, "$.number is no number"),
        ({"path": "$.lines", "length": 2}, ""),
        ({"path": "$.lines", "length": 3}, "$.lines has a wrong length"),
        ({"path": "$.lines[*]", "count": 2}, ""),
        ({"path": "$.lines[*]", "count": 3}, "$.lines[*] there are 2, which is not the right number"),
        ({"path": "$.tax", "count": 0}, ""),
        ({"path": "$.number", "matches": "^R-"}, ""),
        ({"path": "$.number", "matches": "^S-"}, "$.number does not fit its pattern"),
        ({"path": "$.total", "matches": "1"}, "$.total does not fit its pattern"),
        ({"path": "$.lines[1].net", "type": "integer"}, ""),
        ({"path": "$.paid", "type": "integer"}, "$.paid is boolean where another type is wanted"),
        ({"path": "$.total", "type": "string"}, "$.total is number where another type is wanted"),
    ],
)
async def test_checks(check: dict[str, object], why: str) -> None:
    score = await checked(check)
    assert (score.feedback, score.hard) == (why, not why)


async def test_the_score_is_the_share_of_what_holds() -> None:
    schema = {"type": "object", "properties": {"total": {"type": "string"}, "paid": {"const": True}}}
    score = await score_answer(
        "json_checks",
        None,
        f"Here it is:\n```json\n{json.dumps(INVOICE, indent=1)}\n```\nDone.",
        json_schema=schema,
        checks=[{"path": "$.number"}, {"path": "$.tax"}],
    )
    assert score.value == pytest.approx(1 / 3)
    assert score.feedback == "$.total breaks the rule 'type'; $.paid breaks the rule 'const'; $.tax is missing"


@pytest.mark.parametrize(
    ("answer", "feedback"),
    [
        ("", "no answer was given"),
        ("no json here", "the answer is no JSON"),
        ('{"a": NaN}', "the answer is no JSON"),
        ('{"a": 1e999}', "the answer is no JSON"),
        ('{"a": 1, "a": 2}', "the answer is no JSON"),
        ("1" * 10_000, "the answer is no JSON"),
        ("[" * 20_000, "the answer nests too deep"),
        ("[" * 9_000 + "]" * 9_000, "the answer nests too deep"),
        ('{"a": 2}', ""),
        ('<answer>{"a": 2}</answer>', ""),
    ],
)
async def test_answers(answer: str, feedback: str) -> None:
    score = await score_answer("json_checks", None, answer, checks=[{"path": "$.a"}])
    assert score.feedback == feedback


@pytest.mark.parametrize(
    ("data", "feedback"),
    [
        (b'\xef\xbb\xbf{"a": 1}', ""),
        (None, "the file out.json is missing"),
        (b"\xff\xfe{", "out.json is not UTF-8"),
        (b" " * (1024 * 1024 + 1), "out.json has over 1048576 bytes"),
        (b"", "out.json is no JSON"),
    ],
)
async def test_files(data: bytes | None, feedback: str) -> None:
    task = task_for("json_checks", options={"file": "out.json", "checks": [{"path": "$.a"}]})
    score = await score_task(task, left() if data is None else left(out_json=data))
    assert score.feedback == feedback


async def test_a_file_that_was_left_out_is_told() -> None:
    task = task_for("json_checks", options={"file": "out.json", "checks": [{"path": "$.a"}]})
    score = await score_task(task, left("", ("out.json: is a link",)))
    assert score.feedback == "out.json was left out: out.json: is a link"


async def test_a_schema_pattern_without_end_is_invalid_and_no_score() -> None:
    schema = {"type": "string", "pattern": "^(?:a+)+$"}
    with pytest.raises(VerifierError, match="make the schema and its patterns simpler"):
        await score_answer("json_checks", None, json.dumps("a" * 64 + "!"), json_schema=schema)


async def test_a_schema_elsewhere_is_never_fetched() -> None:
    schema = {"$ref": "http://127.0.0.1:9/schema.json"}
    with pytest.raises(VerifierError, match=r"it failed: .*Unresolvable"):
        await score_answer("json_checks", None, "{}", json_schema=schema)


async def test_faults_beyond_five_are_counted() -> None:
    score = await checked(*({"path": f"$.missing{number}"} for number in range(8)))
    assert score.feedback.endswith("$.missing4 is missing (and 3 more)")


@pytest.mark.parametrize(
    ("gold", "given", "equal"),
    [
        (1, 1.0, True),
        (1, True, False),
        (False, 0, False),
        (None, None, True),
        ([1, 2], [2, 1], False),
        ({"a": 1, "b": [2.0]}, {"b": [2], "a": 1}, True),
        ("1", 1, False),
        (10**400, 1.5, False),
        (10**400, 10**400, True),
    ],
)
def test_equality_is_that_of_json(gold: object, given: object, equal: bool) -> None:
    assert same(gold, given, 0.0) is equal


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({}, r"scorer\.checks: give json_schema, or at least one check"),
        ({"json_schema": {"type": "text"}}, r"scorer\.json_schema: is no JSON schema: type: "),
        ({"checks": [{"path": "total"}]}, r"scorer\.checks\.0\.path: 'total' is no JSON path"),
        ({"checks": [{"path": "$.a", "matches": "("}]}, r"scorer\.checks\.0\.matches: is not a regular expression"),
        ({"checks": [{"path": "$.a", "like": 1}]}, r"scorer\.checks\.0\.like: "),
        ({"checks": [{"path": "$.a"}], "file": "../x"}, r"scorer\.file: "),
    ],
)
def test_wrong_options_are_refused(options: dict[str, object], complaint: str) -> None:
    with pytest.raises(TaskError, match=complaint):
        check_scorer(task_for("json_checks", options=options))
