"""A step on a narrow terminal: long edits are cut, chance is never said to be nothing."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from daemon.cli.show_gate import render_verdict
from daemon.cli.show_step import render_step
from daemon.optimizer.decision import RefusedEdit
from daemon.optimizer.gates.verdict import Look, Verdict
from skills_repo.edits import Edit, Op
from tests.support.readback import drawn, step_of, trained, world


def a_verdict(*evidence: float) -> Verdict:
    """With a look for each."""
    looks = tuple(Look(1, 4, 8, 0.5, 0.75, one, "went on") for one in evidence)
    return Verdict("accepted", 0.5, 0.75, 0.25, 4, 4, (), (), "paired", looks=looks)


def test_a_look_never_says_that_there_is_no_chance() -> None:
    said = drawn(lambda console: render_verdict(console, a_verdict(1e-9, 0.04217)))
    assert "0.500 -> 0.750, p < 0.001: went on" in said
    assert "p 0.042: went on" in said
    assert "0.000" not in said


async def test_long_edits_are_cut_and_their_reasons_stand_below(tmp_path: Path) -> None:
    made = world(tmp_path / "attempts")
    view = await trained(made)
    step = await step_of(made, view, 1)
    huge = Edit(Op.REWRITE, content="word " * 4_000, target="t" * 4_000, evidence=("t-1",), support=2)
    decision = step.decision.model_copy(update={"refused": (RefusedEdit(edit=huge, reason="because " * 400),)})
    out = io.StringIO()
    render_step(Console(file=out, width=80, highlight=False), view, replace(step, decision=decision))
    said = " ".join(out.getvalue().split())
    assert "refused rewrite @ ttt" in said
    assert "… (support 2: t-1) because because" in said
    assert len(said) < 6_000
    assert max(len(line) for line in out.getvalue().splitlines()) <= 80
