"""The spreadsheet scorer with its real worker process."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from daemon.tasks.scorers import spreadsheet
from daemon.tasks.scorers.registry import check_scorer, score_task
from daemon.tasks.scorers.scorer import Context, VerifierError
from daemon.tasks.task import Task, TaskError
from tests.support.tasks import book, left, sheets, task_for
from tests.unit.tasks.test_compare import patched

OPTIONS = {"output": "report.xlsx", "gold": "gold.xlsx", "range": "Report!B2:B9"}


def task_with(tmp_path: Path, workbook: bytes, **options: object) -> Task:
    (tmp_path / "gold.xlsx").write_bytes(workbook)
    tests = {"gold.xlsx": tmp_path / "gold.xlsx"}
    return task_for("spreadsheet_cells", options={**OPTIONS, **options}, tests=tests, verifier_timeout_s=60)


def report(**cells: object) -> bytes:
    return sheets({"Report": cells})


async def test_all_right(tmp_path: Path) -> None:
    data = report(B2=1, B3="x", B9=3.14159)
    score = await score_task(task_with(tmp_path, data), left(report_xlsx=data), Context(folder=tmp_path))
    assert (score.value, score.hard, score.feedback) == (1.0, True, "")
    assert [path.name for path in tmp_path.iterdir()] == ["gold.xlsx"]  # the scratch folder is gone


async def test_partly_right_with_rubric_feedback(tmp_path: Path) -> None:
    task = task_with(tmp_path, report(**{f"B{row}": 1000 + row for row in range(2, 10)}))
    output = report(**{f"B{row}": 1000 + row for row in range(2, 7)}, B7="=1+1", B8="=2", B9="=3")
    score = await score_task(task, left(report_xlsx=output))
    assert score.value == pytest.approx(5 / 8)
    assert score.hard is False
    assert score.feedback == ("3 of 8 cells wrong in Report!B2:B9: 3 empty (a formula without a stored value)")
    assert not re.search(r"100[2-9]", score.feedback)


async def test_a_missing_sheet(tmp_path: Path) -> None:
    score = await score_task(task_with(tmp_path, report(B2=1)), left(report_xlsx=book(A1=1)))
    assert (score.value, score.hard) == (0.0, False)
    assert score.feedback == "all 8 cells of Report!B2:B9 are missing: there is no such sheet"


async def test_a_missing_output_names_what_there_is_instead(tmp_path: Path) -> None:
    task = task_with(tmp_path, report(B2=1))
    score = await score_task(task, left(result_xlsx=b"", notes_txt=b""))
    assert score.value == 0.0
    assert score.feedback == "the output file report.xlsx is missing; there is result.xlsx"
    linked = await score_task(task, left(skipped=("report.xlsx: link",)))
    assert linked.feedback == "report.xlsx was left out: report.xlsx: link"


@pytest.mark.parametrize("data", [b"junk", b"", report(B2=1)[:200]])
async def test_a_corrupted_output_is_the_agents_fault(tmp_path: Path, data: bytes) -> None:
    score = await score_task(task_with(tmp_path, report(B2=1)), left(report_xlsx=data))
    assert (score.value, score.hard) == (0.0, False)
    assert score.feedback == "report.xlsx is not an .xlsx file"


async def test_a_corrupted_gold_is_ours(tmp_path: Path) -> None:
    with pytest.raises(VerifierError, match=r"task t: the gold workbook is not an \.xlsx file \(tests file gold"):
        await score_task(task_with(tmp_path, b"junk"), left(report_xlsx=report(B2=1)))


async def test_a_vanished_gold_is_ours(tmp_path: Path) -> None:
    task = task_with(tmp_path, report(B2=1))
    (tmp_path / "gold.xlsx").unlink()
    with pytest.raises(VerifierError, match="the workbook reader failed: FileNotFoundError"):
        await score_task(task, left(report_xlsx=report(B2=1)))


async def test_an_output_that_eats_memory_scores_zero(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A long text fits the package's bounds, but not the process: its bound is lowered to keep the test quick.
    monkeypatch.setattr(spreadsheet, "MEMORY_BYTES", 100 * 1024**2)
    filler = b"long text " * 3_000_000
    output = patched(report(B2="small"), "xl/worksheets/sheet1.xml", b"small", filler)
    score = await score_task(task_with(tmp_path, report(B2=1)), left(report_xlsx=output))
    assert (score.value, score.feedback) == (0.0, "report.xlsx is too large to be read")


async def test_an_output_that_eats_time_scores_zero(tmp_path: Path) -> None:
    rows = b"".join(b'<row r="%d"><c r="A%d"><v>1</v></c></row>' % (row, row) for row in range(10, 300_000))
    output = patched(report(B2=1), "xl/worksheets/sheet1.xml", b"</sheetData>", rows + b"</sheetData>")
    task = task_with(tmp_path, report(B2=1), cpu_s=1, range="Report!A1:B300000")
    score = await score_task(task, left(report_xlsx=output))
    assert (score.value, score.feedback) == (0.0, "report.xlsx cannot be read within bounds")


async def test_the_wall_clock_is_ours(tmp_path: Path) -> None:
    task = task_with(tmp_path, report(B2=1))
    hurried = Task(**{**vars(task), "verifier_timeout_s": 0.01})
    with pytest.raises(VerifierError, match=r"took over 0\.01 s: raise verifier_timeout_s"):
        await score_task(hurried, left(report_xlsx=report(B2=1)))


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"range": "B2:308"}, r"scorer\.range: .*is not a cell range"),
        ({"output": "../report.xlsx"}, r"scorer\.output: .*inside the workspace"),
        ({"output": "/report.xlsx"}, r"scorer\.output: .*inside the workspace"),
        ({"gold": "other.xlsx"}, r"tests: has no file 'other.xlsx'"),
        ({"sheet": "A"}, r"scorer\.sheet: Extra inputs"),
        ({"cpu_s": 0}, r"scorer\.cpu_s: "),
    ],
)
def test_wrong_options_are_found_at_load_time(tmp_path: Path, options: dict[str, object], complaint: str) -> None:
    with pytest.raises(TaskError, match=complaint):
        check_scorer(task_with(tmp_path, b"", **options))
