"""Edits of references in the verbs that read and undo history."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from daemon.cli.output import Output
from daemon.cli.revert import _revert
from daemon.cli.show_parts import edit_text
from daemon.cli.show_step import _edit_row
from daemon.cli.train_report import edits_table
from daemon.cli.why import _why
from daemon.config import load_config
from daemon.optimizer.report import EditFate
from daemon.places import open_history
from daemon.readback.rebuild import Rebuilder
from skills_repo.edits import REFERENCE_OPS, Edit, EditLimits, Op, apply
from skills_repo.references import mentions
from tests.support.history import PATH, change, skill_project, step_message, with_lines
from tests.support.honed_cli import git

FORMS = "references/forms.md"
CREATE = Edit(
    Op.CREATE, "- two", "# Forms\n\n- fill all", "Forms were half empty.", 2, ("t-3",), FORMS, f"- Forms: {FORMS}"
)
CHANGE = Edit(Op.REPLACE, "- fill all", "- fill all and check", "Nobody looked.", evidence=("t-4",), file=FORMS)
REMOVE = Edit(Op.REMOVE, f"- Forms: {FORMS}", rationale="It misleads.", file=FORMS)
LIMITS = EditLimits(4, references=True, also=REFERENCE_OPS)


@pytest.fixture
async def toml(tmp_path: Path) -> Path:
    """A reference is made in step 1 and changed in step 2."""
    toml = skill_project(tmp_path / "p")
    history = open_history(load_config(toml))
    stages = apply(with_lines("- one", "- two", "- three"), [CREATE, CHANGE], LIMITS).stages
    messages = [step_message("r-1", step, edit=edit) for step, edit in ((1, CREATE), (2, CHANGE))]
    await history.commit_edits(await history.base(), list(map(change, stages, messages)), 1_000)
    return toml


def told(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().out.split())


async def test_why_tells_the_edits_of_a_reference_and_of_its_link(
    toml: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await _why(Output(), toml, "fill all and", None, FORMS)
    shown = told(capsys)
    assert f"{PATH}/{FORMS} at" in shown
    assert "step 2.1/1 of run r-1" in shown
    assert f"file {FORMS}" in shown
    await _why(Output(), toml, f"Forms: {FORMS}", None, "SKILL.md")
    shown = told(capsys)
    assert f'create "{FORMS}"' in shown
    assert "evidence t-3" in shown


async def test_revert_takes_file_and_link_together(toml: Path) -> None:
    history = open_history(load_config(toml))
    for step in ("2", "1"):
        await _revert(Output(as_json=True), toml, step, "we do without")
    skill = await history.read(history.branch)
    assert set(skill.files) == {"SKILL.md"}
    assert mentions(skill.text) == frozenset()
    await _revert(Output(as_json=True), toml, await history.base(), "no, we need it")
    back = await history.read(history.branch)
    assert set(back.files) == {"SKILL.md", FORMS}
    assert mentions(back.text) == {FORMS}
    assert git(toml.parent, "status", "--porcelain") == ""


async def test_rebuild_tells_the_edits_as_they_were(toml: Path) -> None:
    history = open_history(load_config(toml))
    removed = apply(await history.read(history.branch), [REMOVE], LIMITS)
    message = step_message("r-1", 3, edit=REMOVE)
    await history.commit_edits(await history.base(), [change(removed.result, message)], 2_000)
    [run] = await Rebuilder(history, PATH).runs(10)
    edits = [d.payload["report"][0]["edit"] for d in run.decisions if d.kind == "step"]
    assert [Edit(**{**edit, "op": Op(edit["op"]), "evidence": tuple(edit["evidence"])}) for edit in edits] == [
        Edit(**{**vars(CREATE), "content": f"{CREATE.content}\n"}),
        CHANGE,
        REMOVE,
    ]


def test_tables_name_the_file_and_the_link() -> None:
    assert edit_text(CREATE).plain.startswith(f"create in {FORMS} @ - two: # Forms - fill all (link: - Forms: {FORMS})")
    assert edit_text(Edit(Op.APPEND, content="- x")).plain == "append: - x (support 1)"
    row: dict[str, Any] = {"op": "replace", "file": FORMS, "target": "a", "content": "b", "link": ""}
    assert _edit_row(row) == f"replace in {FORMS} @ a: b"
    assert _edit_row({**row, "file": "SKILL.md"}) == "replace @ a: b"

    class _Report:
        edits = (EditFate(1, CHANGE, "accepted", "why"), EditFate(1, REMOVE, "accepted", "why"))

    out = io.StringIO()
    Console(file=out, width=200).print(edits_table(_Report()))  # type: ignore[arg-type]
    assert f"replace: {FORMS}: - fill all and check" in out.getvalue()
    assert f"remove: {FORMS}" in out.getvalue()
