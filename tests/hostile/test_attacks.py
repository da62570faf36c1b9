"""The everyday tests of the hostile suite: the attacks that need no engine are tried, all are well told."""

from __future__ import annotations

import json

import pytest
import structlog

from tests.hostile import __main__
from tests.hostile.attack import Area, Attack, BrokenError, Stage, UntriedError, holds
from tests.hostile.registry import every_attack
from tests.hostile.table import BEGIN, END, into_page, markdown, summary
from tests.hostile.trial import Verdict, attempt

QUICK = [one for one in every_attack() if not one.needs_engine]


@pytest.mark.hostile
@pytest.mark.parametrize("one", QUICK, ids=lambda one: one.name)
async def test_held(one: Attack) -> None:
    tried = await attempt(one)
    if tried.verdict is Verdict.UNTRIED:
        pytest.skip(tried.observed)
    assert tried.verdict is Verdict.HELD, tried.observed


def made(run: object) -> Attack:
    return Attack(Area.HANDLING, "made-up", "does | this", "that", run, False)  # type: ignore[arg-type]


async def test_an_attack_that_gets_through_is_told_with_what_it_saw() -> None:
    async def through(_: Stage) -> str:
        return holds(False, "the key")

    tried = await attempt(made(through))
    assert (tried.verdict, tried.observed) == (Verdict.BROKEN, "the key")
    assert summary([tried]) == "1 attacks: 0 held, 1 broken"


async def test_an_attack_that_fails_by_itself_is_no_pass() -> None:
    async def fails(_: Stage) -> str:
        raise ZeroDivisionError("oops")

    assert (await attempt(made(fails))).verdict is Verdict.BROKEN


async def test_an_attack_that_cannot_be_tried_says_so() -> None:
    async def cannot(_: Stage) -> str:
        raise UntriedError("no engine")

    tried = await attempt(made(cannot))
    assert (tried.verdict, tried.observed) == (Verdict.UNTRIED, "no engine")
    assert "1 not tried" in summary([tried])


async def test_the_table_is_written_between_its_marks() -> None:
    async def held(stage: Stage) -> str:
        (stage.folder / "x").write_text("x")
        return "nothing <b>"

    table = markdown([await attempt(made(held))], when="2026-11-30", engine="Docker engine 1")
    assert "| does \\| this | that | nothing &lt;b> | held |" in table
    assert into_page(f"a\n{BEGIN}\nold\n{END}\nb\n", table) == f"a\n{BEGIN}\n{table}{END}\nb\n"
    with pytest.raises(ValueError, match="lacks"):
        into_page("nothing", table)


def test_only_the_table_is_on_stdout(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    async def loud(_: Stage) -> str:
        structlog.PrintLogger().info("logged by the attacked")
        print("printed by the attacked")
        return "held"

    monkeypatch.setattr(__main__, "every_attack", lambda: (made(loud),))
    monkeypatch.setattr(__main__, "_engine", lambda: "no engine")
    assert __main__.main(["--json"]) == 0
    out, told = capsys.readouterr()
    assert [row["name"] for row in json.loads(out)["attacks"]] == ["made-up"]
    assert "logged by the attacked" in told
    assert "printed by the attacked" in told


def test_broken_is_an_assertion() -> None:
    with pytest.raises(BrokenError, match="seen"):
        holds([], "seen")
