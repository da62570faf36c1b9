"""`honed why`: honed's lines with their evidence, people's lines as theirs, reverts with their reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.cli.history_parts import day
from daemon.cli.output import Output
from daemon.cli.why import _why
from daemon.config import load_config
from daemon.places import open_history
from skills_repo.edits import Edit, Op
from skills_repo.history import RepositoryError
from tests.support.history import PATH, change, skill_project, step_message, with_lines
from tests.support.honed_cli import git, honed

RULES = ("- one", "- two", "- three")
LINE = "- never write formulas"
EDIT = Edit(Op.APPEND, content=LINE, rationale="Cells were empty.", evidence=("t-3", "t-9"))


@pytest.fixture
async def toml(tmp_path: Path) -> Path:
    toml = skill_project(tmp_path / "p")
    history = open_history(load_config(toml))
    message = step_message("r-7", 3, position=2, of=2, before=0.25, after=0.5, edit=EDIT, failures=["empty cells"])
    await history.commit_edits(await history.base(), [change(with_lines(*RULES, LINE), message)], 1_000_000)
    return toml


def test_a_line_of_honed_from_the_outside(toml: Path) -> None:
    ran = honed("why", "NEVER write", "--json", cwd=toml.parent)
    assert ran.code == 0, ran.stderr
    [row] = ran.result["lines"]
    assert (row["text"], row["written_by"], row["history_cut"]) == (LINE, "honed", False)
    assert row["commit"]["trailers"]["Honed-Evidence"] == "t-3 t-9"
    assert "Cells were empty." in row["commit"]["body"]
    figures = {name: row["figures"][name] for name in ("before", "after", "delta", "standard_error", "tasks", "trials")}
    assert figures == {
        "before": 0.25,
        "after": 0.5,
        "delta": 0.25,
        "standard_error": 0.05,
        "tasks": 12,
        "trials": 3,
    }
    shown = honed("why", str(row["line"]), cwd=toml.parent).stdout
    for words in (
        f"{PATH}/SKILL.md at {ran.result['commit'][:10]}",
        f"{row['line']:>5} {LINE}",
        "written by honed (honed <honed@localhost>, 1970-01-12 13:46 UTC)",
        "step       3.2/2 of run r-7",
        "evidence   t-3 t-9",
        "optimizer  openai / o",
        "score      0.250 -> 0.500 (+0.250 ± 0.050) on 12 selection tasks x 3 trials, by paired/hard",
        "the score is that of all edits of the step together",
        "    Cells were empty.",
        "    - empty cells",
    ):
        assert words in shown


async def test_a_line_of_a_person_says_so(toml: Path, capsys: pytest.CaptureFixture[str]) -> None:
    await _why(Output(), toml, "two", None, "SKILL.md")
    out = capsys.readouterr().out
    assert "written by a person (tester <tester@honed.invalid>" in out
    assert "human Add the skill" in out
    assert not any(word in out for word in ("score", "evidence", "step "))


async def test_a_line_that_a_revert_brought_back(toml: Path, capsys: pytest.CaptureFixture[str]) -> None:
    history = open_history(load_config(toml))
    (edit,) = [await history.base()]
    without = change(with_lines(*RULES), "Shorten\n\nHoned-Run: r-7\nHoned-Step: 4.1/1\n")
    (gone,) = await history.commit_edits(edit, [without], 2_000_000)
    again = change(with_lines(*RULES, LINE), f'Revert "Shorten"\n\nThis reverts commit {gone}.\n\nWe need it.\n')
    await history.commit_edits(gone, [again], 3_000_000)
    await _why(Output(), toml, "formulas", None, "SKILL.md")
    out = capsys.readouterr().out
    assert "written by a revert: the line is back" in out
    assert f"reverts    {gone[:10]}\n  reason     We need it.\n" in out


@pytest.mark.parametrize("when", [9_999_999_999_999_999.0, -9_999_999_999_999_999.0, 1e300])
def test_a_date_that_no_calendar_has_is_told_as_git_keeps_it(when: float) -> None:
    assert day(0) == "1970-01-01 00:00 UTC"
    assert day(when) == f"{when:.0f} s after 1970"


async def test_lines_of_one_commit_stand_together(toml: Path, capsys: pytest.CaptureFixture[str]) -> None:
    await _why(Output(), toml, "- t", None, "SKILL.md")
    assert capsys.readouterr().out.count("Add the skill") == 1


async def test_an_older_version_and_another_file(toml: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RepositoryError, match="no line with 'formulas'"):
        await _why(Output(), toml, "formulas", "HEAD", "SKILL.md")
    (toml.parent / PATH / "notes.md").write_bytes(b"a note \x1b[2J\r\nanother\r\n")
    git(toml.parent, "add", "--all")
    git(toml.parent, "commit", "--quiet", "--message", "Note [red]\x1b[31m")
    await _why(Output(), toml, "1", "main", "notes.md")
    out = capsys.readouterr().out
    assert "a note" in out
    assert "Note [red]" in out
    assert "\x1b" not in out
    with pytest.raises(RepositoryError, match=r"no file '../../honed.toml' at .* \(it has: SKILL.md, notes.md\)"):
        await _why(Output(), toml, "1", "main", "../../honed.toml")


async def test_a_long_message_is_cut(toml: Path, capsys: pytest.CaptureFixture[str]) -> None:
    history = open_history(load_config(toml))
    message = "Say much\n\n" + "\n".join(f"line {number}" for number in range(100))
    (made,) = await history.commit_edits(await history.base(), [change(with_lines("- new"), message)], 2_000_000)
    await _why(Output(), toml, "- new", None, "SKILL.md")
    out = capsys.readouterr().out
    assert f"line 59\n  … 40 more lines: git show {made[:10]}\n" in out


@pytest.mark.parametrize(
    "words", [(LINE,), (LINE, "--json"), ("--json", LINE), ("--file", "SKILL.md", LINE), ("--", LINE)]
)
def test_a_line_of_a_list_is_no_option(toml: Path, words: tuple[str, ...]) -> None:
    ran = honed("why", *words, cwd=toml.parent)
    assert ran.code == 0, ran.stderr
    assert LINE in ran.stdout


def test_what_begins_with_a_dash_alone_is_still_an_option(toml: Path) -> None:
    assert "No such option: --nonsense" in honed("why", "--nonsense", "1", cwd=toml.parent).stderr
