"""A check's result for forges and their bots: JUnit XML and Markdown.

Ids of tasks are other people's text: no control character, no markup and no mention gets through.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET

from daemon.checking.judge import CheckReport
from daemon.redaction import redact
from daemon.tasks.published import split_told
from skills_repo.hidden import drop_hidden

_MARKS = {"lower": "❌", "indecisive": "⚠️"}


def junit(report: CheckReport, skill: str, split_digest: str = "") -> str:
    """One test case for the verdict, one for each task; a broken task fails only where the verdict does.

    `split_digest` names what was measured on; empty where nothing was.
    """
    name = _clean(skill)
    cases = [(f"{name}: the score is not lower", _verdict_problem(report))]
    cases += [(f"task {_clean(row.id)}", _task_problem(report, row.id, row.before, row.after)) for row in report.rows]
    failures = sum(problem is not None and problem[0] == "failure" for _, problem in cases)
    skipped = sum(problem is not None and problem[0] == "skipped" for _, problem in cases)
    counts = {"tests": str(len(cases)), "failures": str(failures), "errors": "0", "skipped": str(skipped)}
    suites = ET.Element("testsuites")
    suite = ET.SubElement(suites, "testsuite", {"name": "honed check", **counts})
    if split_digest:
        properties = ET.SubElement(suite, "properties")
        ET.SubElement(properties, "property", {"name": "split_digest", "value": split_digest})
    for case, problem in cases:
        element = ET.SubElement(suite, "testcase", {"classname": name, "name": case})
        if problem is not None:
            ET.SubElement(element, problem[0], {"message": problem[1]})
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode", xml_declaration=False) + "\n"


def _verdict_problem(report: CheckReport) -> tuple[str, str] | None:
    return None if report.passed else ("failure", _clean(report.reason))


def _task_problem(report: CheckReport, task: str, before: float | None, after: float | None) -> tuple[str, str] | None:
    if before is None or after is None:
        return "skipped", "no valid result under both skills"
    if task in report.broken and (report.finding == "lower"):
        return "failure", f"solved before, failed now: {before:.3f} -> {after:.3f}"
    return None


def markdown(report: CheckReport, skill: str, ends: tuple[str, str], split_digest: str = "") -> str:
    """A comment for a pull request: the verdict, the figures, the tasks that changed, what was measured on."""
    mark = _MARKS.get(report.finding, "✅")
    lines = [f"### {mark} {_code(skill)}: {_sentence(report)}", ""]
    if report.before is not None and report.after is not None and report.delta is not None:
        error = "-" if report.standard_error is None else f"{report.standard_error:.3f}"
        cells = (
            "selection",
            f"{report.tasks} of {report.of}",
            f"{report.before_trials} / {report.after_trials}",
            *(f"{report.before:.3f}", f"{report.after:.3f}", f"{report.delta:+.3f}", error),
        )
        lines += [
            "| split | tasks valid | trials (old / new) | before | after | delta | standard error |",
            "|---|---|---|---|---|---|---|",
            f"| {' | '.join(cells)} |",
            "",
        ]
    if report.alone:
        lines += [f"{report.alone[0].upper()}{report.alone[1:]}.", ""]
    for title, tasks in (("Broken", report.broken), ("Fixed", report.fixed)):
        if tasks:
            lines += [f"{title}: {', '.join(map(_code, tasks))}", ""]
    measured = f", {split_told(split_digest)}" if split_digest else ""
    lines.append(f"`honed check`, {ends[0][:10]} to {ends[1][:10]}{measured}")
    return "\n".join(lines) + "\n"


def _sentence(report: CheckReport) -> str:
    """The reason; task ids in it are set as code below, so here they are named by their number alone."""
    if report.protected:
        return (
            f"the change breaks {len(report.protected)} protected {'task' if len(report.protected) == 1 else 'tasks'}"
        )
    return _clean(report.reason)


def _clean(text: str) -> str:
    """One line without characters that XML or a reader cannot take."""
    return " ".join(drop_hidden(redact(text)).split())


def _code(text: str) -> str:
    """As inline code: neither markup nor mentions nor links come alive in it."""
    return f"`{_clean(text).replace('`', chr(39)).replace('|', '¦')}`"
