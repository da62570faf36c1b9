"""`honed log`: the curve and the commits from git alone, whatever the commits say, however many there are."""

from __future__ import annotations

import json
import resource
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from daemon.cli.log import MOST, _log
from daemon.cli.output import Output
from daemon.config import load_config
from daemon.places import open_history, open_rejected
from skills_repo.curve import curves
from skills_repo.git import Git
from skills_repo.log import read_log
from tests.support.history import change, long_history, skill_project, step_message, with_lines
from tests.support.honed_cli import git, honed
from tests.support.rejected import rejected

EVIL = (
    "Add\x1b[2J [red]x[/red]\n\n"
    "Honed-Run: r-\x1b[31m9\nHoned-Step: 1.1/1\nHoned-Phase: [bold]\x07x\nHoned-Gate: rule=\x1b]0;x"
)


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    return skill_project(tmp_path / "p")


async def committed(toml: Path, *messages: str) -> tuple[str, ...]:
    history = open_history(load_config(toml))
    base = await history.base()
    stages = [change(with_lines(f"- {base[:7]}", f"- {n}"), message) for n, message in enumerate(messages)]
    return await history.commit_edits(base, stages, 1000)


async def said(toml: Path, capsys: pytest.CaptureFixture[str], limit: int = 50) -> str:
    await _log(Output(), toml, limit)
    return capsys.readouterr().out


async def test_the_curve_stands_above_the_commits(toml: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = await committed(
        toml,
        step_message("r-1", 0, before=None, phase="initial"),
        step_message("r-1", 1, before=0.25, after=0.5),
        step_message("r-1", 2, before=0.5, after=1.0),
        step_message("r-1", 2, before=1.0, after=0.75, phase="slow_update"),
        'Revert "x"\n\nThis reverts commit HERE.\n\nIt broke the report.'.replace("HERE", "0" * 40),
    )
    out = await said(toml, capsys)
    assert out.startswith("run r-1 ▁▃█▆ 0.250 -> 0.750 (2 accepted steps, the given start, 1 slow update)\n\n")
    listed = out.split("\n\n", 1)[1]
    assert [sha[:10] in listed for sha in made] == [True] * 5
    assert "step      2.1/1 of run r-1, slow update\n" in listed
    assert "gate      given, not measured\n" in listed
    assert "after=0.500 delta=+0.250 se=0.050 valid=100%\n" in listed
    assert "evidence  t-1 t-2\n" in listed
    assert "reason    It broke the report.\n" in listed


async def test_a_revert_and_what_it_took_back_name_each_other(toml: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (edit,) = await committed(toml, step_message())
    (undo,) = await committed(toml, f'Revert "y"\n\nThis reverts commit {edit}.\n\nToo long.\n')
    out = await said(toml, capsys)
    assert "(1 accepted step, 1 edit taken back)" in out
    assert f'reverted  by {undo[:10]} Revert "y"' in out
    assert f"reverts   {edit[:10]} skill(xlsx): add" in out
    assert f"{edit[:10]} skill(xlsx): add" in await said(toml, capsys, limit=1), "what is not listed is named too"
    await _log(Output(as_json=True), toml, 50)
    found = json.loads(capsys.readouterr().out)
    newest, older, _ = found["commits"]
    assert (newest["sha"], newest["reverts"], newest["reason"]) == (undo, edit, "Too long.")
    assert (older["sha"], older["reverted_by"]) == (edit, undo)
    [point] = found["curve"][0]["points"]
    assert point["reverted"] == point["commits"] == [edit]
    assert (point["before"], point["after"], point["standard_error"]) == (0.5, 0.75, 0.05)
    assert (point["tasks"], point["trials"], point["valid"], point["rule"]) == (12, 3, 1.0, "paired/hard")


async def test_hostile_commits_are_shown_as_text(toml: Path, capsys: pytest.CaptureFixture[str]) -> None:
    await committed(toml, EVIL)
    out = await said(toml, capsys)
    assert "[red]x[/red]" in out
    assert "[bold]" in out
    assert not any(sign in out for sign in "\x1b\x07")


def test_the_command_line(toml: Path) -> None:
    ran = honed("log", "--json", "-n", "1", cwd=toml.parent)
    assert (ran.code, [row["subject"] for row in ran.result["commits"]]) == (0, ["Add the skill"])
    assert ran.result["curve"] == []
    assert "Start" not in honed("log", cwd=toml.parent).stdout


async def test_a_thousand_steps_cost_one_git_and_little_more_than_it(
    toml: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    head = long_history(toml.parent, 1_000)
    calls: list[str] = []
    real = Git.run

    def counted(self: Git, *argv: str, **more: object) -> bytes:
        calls.append(argv[0])
        return real(self, *argv, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Git, "run", counted)
    await _log(Output(as_json=True), toml, 50)
    found = json.loads(capsys.readouterr().out)
    assert len(found["commits"]) == 50
    assert len(found["curve"][0]["points"]) == 1_000
    assert calls.count("log") == 1
    assert len(calls) <= 6, calls
    plain = best(
        lambda: subprocess.run(
            ["git", "log", "--format=%H%B", head, "--", "skills/xlsx"], cwd=toml.parent, capture_output=True, check=True
        )
    )
    history = open_history(load_config(toml))
    rows = await history.log(MOST)
    ours = best(lambda: (read_log(Git(toml.parent), head, "skills/xlsx", MOST), curves(rows)))
    assert ours < 20 * plain, (ours, plain)
    assert git(toml.parent, "status", "--porcelain") == ""


def best(work: Callable[[], object]) -> float:
    """The processor time of the cheapest of five turns, with what it starts: what else the machine does is left out."""
    turns = []
    for _ in range(5):
        began = spent()
        work()
        turns.append(spent() - began)
    return min(turns)


def spent() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


async def test_rejected_edits_are_listed_with_who_turned_them_down_and_why(
    toml: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = load_config(toml)
    history, store = open_history(config), open_rejected(config)
    base = await history.base()
    (gated,) = await store.keep("r1.1", base, (rejected(with_lines("- worse")),), by="gate", when=5.0)
    (closed,) = await history.commit_edits(base, [change(with_lines("- no"), step_message())], 6)
    await store.keep_commits("request-7", (closed,), reason="Not our \x1b[31mstyle", when=7.0)
    await _log(Output(), toml, 50, rejected=True)
    out = capsys.readouterr().out
    assert out.startswith(f"{closed[:10]} by person skill(xlsx): add")
    assert "reason    Not our [31mstyle\n" in out
    assert f'{gated[:10]} by gate skill(xlsx): add "a rule"\n             step      1.1/1 of run r1\n' in out
    assert "gate      rejected rule=paired/hard split=selection n=8x2 before=0.500 after=0.250" in out
    assert "\x1b" not in out
    await _log(Output(as_json=True), toml, 1, rejected=True)
    found = json.loads(capsys.readouterr().out)
    [row] = found["rejected"]
    assert found["skill"] == "skills/xlsx"
    assert (row["sha"], row["parent"], row["by"], row["when"]) == (closed, base, "person", 7.0)
    assert row["trailers"]["Honed-Run"] == "r-1"


async def test_no_rejected_edits_is_said(toml: Path, capsys: pytest.CaptureFixture[str]) -> None:
    await _log(Output(), toml, 50, rejected=True)
    assert capsys.readouterr().out == "no rejected edits are kept for this skill\n"
