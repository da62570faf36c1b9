"""What models and tasks wrote is printed as text: it can neither colour a table nor break it."""

from __future__ import annotations

import io
from dataclasses import dataclass

from rich.console import Console

from daemon.cli.train import edits_table
from daemon.optimizer.report import EditFate
from skills_repo.edits import Edit, Op


@dataclass(frozen=True)
class _Report:
    edits: tuple[EditFate, ...]


def test_markup_in_an_edit_is_text() -> None:
    edit = Edit(Op.APPEND, content="- Close [/b] and [red]list[/red] rows[0:3].")
    report = _Report((EditFate(1, edit, "accepted", "because [/i]"),))
    out = io.StringIO()
    Console(file=out, width=200).print(edits_table(report))  # type: ignore[arg-type]
    assert "append: - Close [/b] and [red]list[/red] rows[0:3]." in out.getvalue()
    assert "because [/i]" in out.getvalue()
