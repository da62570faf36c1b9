"""JUnit and Markdown: well-formed whatever the tasks are called, red only where the verdict is."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from daemon.checking.judge import CheckReport
from daemon.checking.reports import junit, markdown
from daemon.optimizer.gates.verdict import TaskRow

EVIL = "t|`1\x1b[31m @octocat <!-- x --> &amp; \x00\uffff"
REPORT = CheckReport(
    "lower",
    "the change lowers the score: the gate would keep the old skill over the new one",
    before=0.75,
    after=0.5,
    delta=-0.25,
    standard_error=0.0625,
    tasks=3,
    of=4,
    before_trials=3,
    after_trials=2,
    fixed=("t-2",),
    broken=("t-1", EVIL),
    rows=(
        TaskRow("t-1", 1.0, 3, 0.0, 2),
        TaskRow("t-2", 0.0, 3, 1.0, 2),
        TaskRow("t-3", None, 0, 1.0, 2),
        TaskRow(EVIL, 1.0, 3, 0.25, 2),
    ),
)
ENDS = ("a" * 40, "b" * 40)


def cases(report: CheckReport) -> dict[str, ET.Element]:
    suite = ET.fromstring(junit(report, "skills/xlsx"))[0]
    found = {case.attrib["name"]: case for case in suite}
    counts = {kind: sum(case.find(kind) is not None for case in suite) for kind in ("failure", "skipped")}
    assert {name: int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": len(suite),
        "failures": counts["failure"],
        "errors": 0,
        "skipped": counts["skipped"],
    }
    return found


def test_a_loss_fails_the_verdict_and_the_broken_tasks() -> None:
    found = cases(REPORT)
    assert len(found) == 5
    failed = {name for name, case in found.items() if case.find("failure") is not None}
    assert failed == {
        "skills/xlsx: the score is not lower",
        "task t-1",
        "task t|`1[31m @octocat <!-- x --> &amp;",
    }
    failure = found["task t-1"].find("failure")
    assert failure is not None
    assert failure.attrib["message"] == "solved before, failed now: 1.000 -> 0.000"
    assert found["task t-3"].find("skipped") is not None
    assert list(found["task t-2"]) == []


@pytest.mark.parametrize(("finding", "failures"), [("not_lower", 0), ("unchanged", 0), ("new", 0), ("indecisive", 1)])
def test_a_task_that_broke_by_chance_makes_nothing_red(finding: str, failures: int) -> None:
    found = cases(replace(REPORT, finding=finding, reason="so"))  # type: ignore[arg-type]
    assert sum(case.find("failure") is not None for case in found.values()) == failures


def test_the_comment_has_the_verdict_the_figures_and_the_tasks() -> None:
    text = markdown(REPORT, "skills/xlsx", ENDS)
    assert text.startswith("### ❌ `skills/xlsx`: the change lowers the score: ")
    assert "| selection | 3 of 4 | 3 / 2 | 0.750 | 0.500 | -0.250 | 0.062 |\n" in text
    assert "Broken: `t-1`, `t¦'1[31m @octocat <!-- x --> &amp;`\n" in text
    assert "Fixed: `t-2`\n" in text
    assert text.endswith("`honed check`, aaaaaaaaaa to bbbbbbbbbb\n")
    assert not any(sign in text for sign in "\x1b\x00\uffff")


def test_protected_tasks_are_counted_in_the_sentence_and_named_as_code() -> None:
    report = replace(REPORT, protected=(EVIL,), reason=f"the change breaks the protected task {EVIL}")
    head, rest = markdown(report, "skills/xlsx", ENDS).split("\n", 1)
    assert head == "### ❌ `skills/xlsx`: the change breaks 1 protected task"
    assert "octocat" in rest


@pytest.mark.parametrize(
    ("finding", "mark"), [("unchanged", "✅"), ("new", "✅"), ("not_lower", "✅"), ("indecisive", "⚠️")]
)
def test_what_was_not_measured_has_no_table(finding: str, mark: str) -> None:
    text = markdown(CheckReport(finding, "nothing was measured"), "s", ENDS)  # type: ignore[arg-type]
    assert text == f"### {mark} `s`: nothing was measured\n\n`honed check`, aaaaaaaaaa to bbbbbbbbbb\n"


def test_a_skill_that_was_measured_alone_says_so() -> None:
    report = CheckReport("not_lower", "fine", after=1.0)
    assert "\n\nThe changed skill scores 1.000; the old one cannot be better and was not measured.\n" in markdown(
        report, "s", ENDS
    )
