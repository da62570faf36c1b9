"""The desk's data on the wire: there and back, and what another version sends."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import pytest

from daemon.control.wire import WireError, from_data, to_data
from daemon.jobs.job import Job
from daemon.service.desk import Explanation, Progress, Status, Trouble, Weighed
from daemon.telling.events import DaemonEvent
from tests.support.desk import a_job, a_project, a_status


def there_and_back(value: Any) -> Any:
    return from_data(type(value), json.loads(json.dumps(to_data(value))))


@pytest.mark.parametrize(
    "value",
    [
        a_job(3),
        a_job(3, state="done", started=5.5, ended=9.0, run_id="r", accepted=2, score=1.0, tasks=7),
        a_status(),
        a_status(
            a_project(queued=(a_job(1), a_job(2)), last=a_job(7), progress=Progress(a_job(8), "r", "gate", 2, 4, 9, 1)),
            a_project("other", score=None, next_at=12.5, spent_today_usd=None),
            troubles=(Trouble("disk", "greeting", 5.0, "full", "free some space"),),
        ),
        Explanation(a_job(1), "it is the only one", (Weighed("greeting", True, 0.25, ("2 tasks fail", "and cost")),)),
        DaemonEvent(4, 1.5, "job", "queued", "greeting", 3, {"a": [1, None, {"b": 0.5}]}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_sent_is_what_arrives(value: Any) -> None:
    assert there_and_back(value) == value


def test_a_whole_number_is_a_number_too() -> None:
    found = from_data(Job, to_data(a_job(1)) | {"created": 5})
    assert found.created == 5.0
    assert isinstance(found.created, float)


def test_what_a_newer_daemon_adds_is_left_out_and_what_an_older_lacks_takes_its_default() -> None:
    data = to_data(a_job(1, reason="x")) | {"colour": "red"}
    del data["reason"]
    assert from_data(Job, data) == a_job(1, reason="")


def test_a_state_that_only_a_newer_daemon_knows_is_shown_as_it_is() -> None:
    found: str = from_data(Job, to_data(a_job(1)) | {"state": "resting"}).state
    assert found == "resting"


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"number": "1"}, "Job.number is str, not int"),
        ({"number": True}, "Job.number is bool, not int"),
        ({"number": 1.5}, "Job.number is float, not int"),
        ({"created": True}, "Job.created is bool, not float"),
        ({"cause": []}, "Job.cause is list, not dict"),
        ({"cause": {"kind": "skill"}}, "Job.cause.key is missing"),
        ({"score": "high"}, "Job.score is str, not float"),
        ({"number": None}, "Job.number is NoneType, not int"),
    ],
)
def test_what_is_of_another_kind_is_named(change: dict[str, Any], what: str) -> None:
    with pytest.raises(WireError, match=f"^{what}$"):
        from_data(Job, to_data(a_job(1)) | change)


def test_no_object_at_all() -> None:
    with pytest.raises(WireError, match="Status is NoneType"):
        from_data(Status, None)
    with pytest.raises(WireError, match=r"Status.projects is str, not list"):
        from_data(Status, to_data(a_status()) | {"projects": "none"})


def test_what_json_does_not_know_is_sent_as_text() -> None:
    @dataclass(frozen=True)
    class Odd:
        kind: Any

    assert to_data(Odd(ValueError("no"))) == {"kind": "no"}
    assert to_data({1: {2}, "x": frozenset()}) == {"1": [2], "x": []}
    assert to_data(replace(DaemonEvent(1, 0.0, "house", "x"), data={"error": OSError(2, "gone")}))["data"] == {
        "error": "[Errno 2] gone"
    }
