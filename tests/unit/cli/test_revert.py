"""`honed revert`: from the outside, beside somebody's half-done work, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.cli.output import Output
from daemon.cli.revert import _revert
from daemon.config import load_config
from daemon.places import open_history
from skills_repo.history import RepositoryError
from tests.support.history import PATH, change, skill_project, step_message, with_lines
from tests.support.honed_cli import git, honed

RULES = ("- one", "- two", "- three")
FIRST, SECOND, THIRD = (with_lines(*RULES, *(f"- rule {n}" for n in range(1, count + 1))) for count in (1, 2, 3))


@pytest.fixture
async def toml(tmp_path: Path) -> Path:
    """Step 1 with two edits, step 2 with one."""
    toml = skill_project(tmp_path / "p")
    history = open_history(load_config(toml))
    edits = [
        change(FIRST, step_message(step=1, position=1, of=2)),
        change(SECOND, step_message(step=1, position=2, of=2)),
        change(THIRD, step_message(step=2)),
    ]
    await history.commit_edits(await history.base(), edits, 1000)
    return toml


def soiled(folder: Path) -> dict[str, bytes]:
    """Half-done work, and everything of a person's that must stay as it is."""
    (folder / "tasks.jsonl").write_text("half done")
    (folder / PATH / "SKILL.md").write_text("being written")
    git(folder, "add", "tasks.jsonl")
    git(folder, "status", "--porcelain")
    return held(folder)


def held(folder: Path) -> dict[str, bytes]:
    """The work tree, index, configuration and HEAD's reflog."""
    names = (".git/index", ".git/config", ".git/HEAD", ".git/logs/HEAD", "tasks.jsonl", f"{PATH}/SKILL.md")
    return {name: (folder / name).read_bytes() for name in names}


async def test_one_edit_of_a_step_beside_half_done_work(toml: Path) -> None:
    folder = toml.parent
    before = soiled(folder)
    ran = honed("revert", "1.2", "--reason", "breaks the [report]", "--json", cwd=folder)
    assert ran.code == 0, ran.stderr
    assert held(folder) == before
    [made], [taken] = ran.result["commits"], ran.result["reverted"]
    assert git(folder, "rev-parse", "honed/xlsx") == made
    body = git(folder, "show", "-s", "--format=%B", made)
    subject = git(folder, "show", "-s", "--format=%s", taken)
    assert body == f'Revert "{subject}"\n\nThis reverts commit {taken}.\n\nbreaks the [report]'
    text = git(folder, "show", f"{made}:{PATH}/SKILL.md")
    assert "- rule 1\n- rule 3" in text, "the edits around it stay"
    assert "rule 2" not in text
    assert "reason    breaks the [report]" in honed("log", cwd=folder).stdout


async def test_a_whole_step_of_a_named_run_and_what_it_prints(toml: Path, capsys: pytest.CaptureFixture[str]) -> None:
    await _revert(Output(), toml, "r-1/1", "")
    out = capsys.readouterr().out
    assert out.count(" takes back ") == 2
    assert "2 commits on honed/xlsx: review with `git diff HEAD honed/xlsx`" in out
    text = git(toml.parent, "show", f"honed/xlsx:{PATH}/SKILL.md")
    assert [line for line in text.splitlines() if "rule" in line] == ["- rule 3"]


async def test_what_is_left_of_a_step_and_what_is_taken_back_already(toml: Path) -> None:
    await _revert(Output(as_json=True), toml, "1.1", "")
    await _revert(Output(as_json=True), toml, "1", "")
    first, undo = (git(toml.parent, "rev-parse", name) for name in ("honed/xlsx~1", "honed/xlsx"))
    for name, by in (("1.1", first), ("1.2", undo), ("1", undo)):
        with pytest.raises(RepositoryError) as error:
            await _revert(Output(as_json=True), toml, name, "")
        assert f"{name} is taken back already, by {by[:10]} (to have it again: `honed revert" in str(error.value)
    await _revert(Output(as_json=True), toml, undo[:10], "we need it")
    assert git(toml.parent, "show", "-s", "--format=%s", "honed/xlsx").startswith('Reapply "skill(xlsx)')
    await _revert(Output(as_json=True), toml, "1", "after all not")
    assert git(toml.parent, "rev-parse", "honed/xlsx^{tree}") == git(toml.parent, "rev-parse", f"{undo}^{{tree}}")


async def test_a_commit_of_a_person_and_a_merged_branch(toml: Path) -> None:
    folder = toml.parent
    git(folder, "merge", "--quiet", "--ff-only", "honed/xlsx")
    git(folder, "branch", "--delete", "honed/xlsx")
    (folder / PATH / "SKILL.md").write_bytes(with_lines(*RULES, "- by hand").files["SKILL.md"])
    git(folder, "commit", "--quiet", "--all", "--message", "By hand")
    head = git(folder, "rev-parse", "HEAD")
    await _revert(Output(as_json=True), toml, "HEAD", "no")
    assert git(folder, "rev-parse", "main") == head
    assert git(folder, "rev-parse", "honed/xlsx~1") == head
    assert "- rule 3" in git(folder, "show", f"honed/xlsx:{PATH}/SKILL.md")


async def test_refusals(toml: Path) -> None:
    folder = toml.parent
    for name, words in (
        ("3", "no accepted step 3 on the branch (it has: step 1, step 2)"),
        ("--all", "there is no commit '--all'"),
        ("main~1", "is the first one"),
    ):
        with pytest.raises(RepositoryError) as error:
            await _revert(Output(), toml, name, "")
        assert words in str(error.value)
    git(folder, "switch", "--quiet", "honed/xlsx")
    before = held(folder)
    with pytest.raises(RepositoryError, match=r"honed/xlsx is checked out at .*switch --detach"):
        await _revert(Output(), toml, "2", "")
    assert held(folder) == before
    ran = honed("revert", "2", "--json", cwd=folder)
    assert (ran.code, ran.result["error"]["kind"]) == (2, "repository")
