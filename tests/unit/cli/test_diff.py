"""`honed diff`: from the outside, and what is odd about a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.cli.diff import _diff
from daemon.cli.output import Output
from daemon.config import load_config
from daemon.places import open_history
from skills_repo.history import RepositoryError
from tests.support.history import PATH, change, skill_project, step_message, with_lines
from tests.support.honed_cli import git, honed


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    return skill_project(tmp_path / "p")


async def test_the_branch_against_head_from_the_outside(toml: Path) -> None:
    history = open_history(load_config(toml))
    edits = [change(with_lines("- one", "- two", "- three", "- four"), step_message())]
    (made,) = await history.commit_edits(await history.base(), edits, 1000)
    ran = honed("diff", "--json", cwd=toml.parent)
    assert ran.code == 0, ran.stderr
    assert (ran.result["before"], ran.result["after"]) == (git(toml.parent, "rev-parse", "HEAD"), made)
    [file] = ran.result["files"]
    assert (file["path"], file["change"], file["added"], file["removed"]) == ("SKILL.md", "changed", 1, 0)
    assert file["lines"][-1] == "+- four"
    shown = honed("diff", cwd=toml.parent).stdout
    assert shown.startswith(f"{PATH}, {ran.result['before'][:10]} to {made[:10]}: 1 file, +1 -0 lines\n")
    assert "SKILL.md: changed, " in shown
    assert "\n+- four\n" in shown
    assert "no difference" in honed("diff", "HEAD", "main", cwd=toml.parent).stdout


async def test_every_kind_of_file_and_text_that_aims_at_terminals(
    toml: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = toml.parent / PATH
    (folder / "assets").mkdir()
    (folder / "assets" / "logo.png").write_bytes(b"\x89PNG\0" + bytes(1_234))
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "evil\x1b[31m.md").write_text("\x1b]0;owned\x07 [red]x[/red]\r\n")
    (folder / "SKILL.md").chmod(0o755)
    git(toml.parent, "add", "--all")
    git(toml.parent, "commit", "--quiet", "--message", "Odd files")
    await _diff(Output(), toml, "HEAD~1", "main")
    out = capsys.readouterr().out
    assert "SKILL.md: changed, mode 100644 -> 100755\n" in out
    assert "assets/logo.png: added, binary file, 1,239 bytes\n" in out
    assert "link: added, link, 11 bytes\n" in out
    assert "+/etc/passwd\n" in out
    assert "[red]x[/red]" in out
    assert not any(sign in out for sign in "\x1b\x07\r")
    await _diff(Output(), toml, "main", "HEAD~1")
    assert "assets/logo.png: deleted, binary file, 1,239 bytes\n" in capsys.readouterr().out


async def test_a_commit_without_the_folder_is_an_empty_one(toml: Path, capsys: pytest.CaptureFixture[str]) -> None:
    await _diff(Output(), toml, "HEAD~1", "HEAD")
    assert "SKILL.md: added" in capsys.readouterr().out


async def test_what_cannot_be_compared_says_what_mends_it(toml: Path) -> None:
    with pytest.raises(RepositoryError, match=r"there is no branch honed/xlsx \(run `honed train`, or name two"):
        await _diff(Output(), toml, "HEAD", None)
    with pytest.raises(RepositoryError, match="there is no commit '--output=x'"):
        await _diff(Output(), toml, "--output=x", "HEAD")
    with pytest.raises(RepositoryError, match=rf"no folder {PATH} in either commit \(mend \[skill\] path\)"):
        await _diff(Output(), toml, "HEAD~1", "HEAD~1")
