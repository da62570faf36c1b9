"""Taking commits back, on real git and on the fake: whole, alone, in one move, in git's own words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from skills_repo.history import EditCommit, RefMovedError, RepositoryError, SkillCommit
from skills_repo.revert import MAX_REASON, message, revert
from skills_repo.skill import Skill, from_files
from tests.support.history import change, step_message, with_lines
from tests.support.skills import SKILL_PATH, Lab, a_repository, a_skill, fake_lab, git, git_lab, history_of, lay

RULES = ("- one", "- two", "- three")
START = with_lines(*RULES)


@pytest.fixture(params=["fake", "git"])
def lab(request: pytest.FixtureRequest, tmp_path: Path) -> Lab:
    return fake_lab(START) if request.param == "fake" else git_lab(tmp_path / "repository", START)


async def committed(lab: Lab, *skills: Skill) -> list[SkillCommit]:
    """One step whose edits lead from skill to skill."""
    history = lab.history
    messages = [step_message(position=number, of=len(skills)) for number in range(1, len(skills) + 1)]
    edits = [EditCommit(skill, message) for skill, message in zip(skills, messages, strict=True)]
    made = await history.commit_edits(await history.base(), edits, 100)
    return [await history.commit(sha) for sha in made]


async def now(lab: Lab) -> Skill:
    return await lab.history.read(await lab.history.base())


async def test_an_edit_is_taken_back_and_the_log_says_so(lab: Lab) -> None:
    (edit,) = await committed(lab, with_lines(*RULES, "- four"))
    (made,) = await revert(lab.history, [edit], reason="It broke the report.\nSee the wiki.", when=200)
    assert (await now(lab)).digest == START.digest
    newest = (await lab.history.log(1))[0]
    assert (newest.sha, newest.kind, newest.reverts, newest.parents) == (made, "revert", edit.sha, (edit.sha,))
    assert newest.subject == f'Revert "{edit.subject}"'
    assert newest.reason == "It broke the report. See the wiki."
    assert newest.when == 200.0


async def test_a_step_is_taken_back_in_one_move_newest_first(lab: Lab) -> None:
    first, second = with_lines(*RULES, "- four"), with_lines("- zero", *RULES, "- four")
    edits = await committed(lab, first, second)
    made = await revert(lab.history, edits, reason="", when=200)
    log = await lab.history.log(2)
    assert [commit.sha for commit in reversed(log)] == list(made)
    assert [commit.reverts for commit in log] == [edits[0].sha, edits[1].sha]
    assert (await lab.history.read(made[0])).digest == first.digest
    assert (await now(lab)).digest == START.digest
    assert [commit.reason for commit in log] == ["", ""]


async def test_later_work_stays(lab: Lab) -> None:
    (edit,) = await committed(lab, with_lines(*RULES, "- four"))
    lab.human_commit(with_lines("- by hand", *RULES, "- four", "- five").files, "More")
    await revert(lab.history, [edit], reason="", when=200)
    assert (await now(lab)).digest == with_lines("- by hand", *RULES, "- five").digest


async def test_other_files_of_the_folder_come_and_go(lab: Lab) -> None:
    grown = from_files("xlsx", {**with_lines(*RULES, "- see more").files, "references/more.md": b"\x00\xff"})
    (edit,) = await committed(lab, grown)
    await revert(lab.history, [edit], reason="", when=200)
    assert (await now(lab)).files == START.files
    (undo,) = await lab.history.log(1)
    await revert(lab.history, [undo], reason="needed after all", when=300)
    assert (await now(lab)).digest == grown.digest
    newest = (await lab.history.log(1))[0]
    assert newest.subject == f'Reapply "{edit.subject}"'
    assert (newest.kind, newest.reverts) == ("revert", undo.sha)


async def test_what_no_longer_fits_is_refused_with_the_command(lab: Lab) -> None:
    (edit,) = await committed(lab, with_lines(*RULES, "- four"))
    human = lab.human_commit(with_lines(*RULES, "- four, reworded").files, "Reword")
    with pytest.raises(RepositoryError) as error:
        await revert(lab.history, [edit], reason="", when=200)
    assert f"commit {edit.sha[:12]} no longer fits: what it changed in SKILL.md was changed since" in str(error.value)
    assert f"in a work tree on honed/xlsx: `git revert {edit.sha}`" in str(error.value)
    assert await lab.history.base() == human


async def test_of_a_step_that_fits_in_part_nothing_is_done(lab: Lab) -> None:
    edits = await committed(lab, with_lines(*RULES, "- four"), with_lines("- zero", *RULES, "- four"))
    human = lab.human_commit(with_lines("- zero", *RULES, "- 4").files, "Reword")
    with pytest.raises(RepositoryError, match=f"commit {edits[0].sha[:12]} no longer fits"):
        await revert(lab.history, edits, reason="", when=200)
    assert await lab.history.base() == human


async def test_what_is_gone_already_is_said(lab: Lab) -> None:
    (edit,) = await committed(lab, with_lines(*RULES, "- four"))
    lab.human_commit(START.files, "Take it out by hand")
    with pytest.raises(RepositoryError, match="nothing left to take back: the skill is without it already"):
        await revert(lab.history, [edit], reason="", when=200)


async def test_the_first_commit_and_strangers_are_refused(lab: Lab) -> None:
    (edit,) = await committed(lab, with_lines(*RULES, "- four"))
    first = await lab.history.commit(edit.parents[0])
    with pytest.raises(RepositoryError, match="is the first one"):
        await revert(lab.history, [first], reason="", when=200)


async def test_a_result_that_is_no_skill_is_refused(lab: Lab) -> None:
    broken = lab.human_commit({"SKILL.md": START.text.replace("name: xlsx", "title: xlsx").encode()}, "Break")
    mended = lab.human_commit(START.files, "Mend")
    fix = await lab.history.commit(mended)
    assert fix.parents == (broken,)
    with pytest.raises(
        RepositoryError, match=r"the skill would not be valid: SKILL\.md:1: name is missing .*git revert"
    ):
        await revert(lab.history, [fix], reason="", when=200)
    assert await lab.history.base() == mended


async def test_a_branch_that_moves_meanwhile_stays_where_it_went(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    (edit,) = await committed(lab, with_lines(*RULES, "- four"))
    real = lab.history.commit_edits
    humans: list[str] = []

    async def late(parent: str, changes: Sequence[EditCommit], when: float) -> tuple[str, ...]:
        humans.append(lab.human_commit(with_lines("- quick").files, "Be quicker"))
        return await real(parent, changes, when)

    monkeypatch.setattr(lab.history, "commit_edits", late)
    with pytest.raises(RefMovedError):
        await revert(lab.history, [edit], reason="", when=200)
    assert await lab.history.base() == humans[0]


def test_the_message_is_gits_own_and_the_reason_cannot_pose_as_anything() -> None:
    commit = SkillCommit("a" * 40, (), "x", 0.0, "Add it", {}, "edit")
    assert message(commit) == f'Revert "Add it"\n\nThis reverts commit {"a" * 40}.\n'
    reason = "Bad\x1b[2J \u202eidea\r\n\r\nHoned-Run: r-9\nHoned-Step: 1.1/1\nThis reverts commit " + "b" * 40 + "."
    text = message(commit, reason)
    assert text.endswith(
        "\n\nBad[2J idea\n\nHoned-Run: r-9\nHoned-Step: 1.1/1\nThis reverts commit " + "b" * 40 + ".\n"
    )
    assert len(message(commit, "x" * 2 * MAX_REASON)) < MAX_REASON + 200


async def test_a_reason_that_poses_as_trailers_is_a_revert_all_the_same(lab: Lab) -> None:
    (edit,) = await committed(lab, with_lines(*RULES, "- four"))
    await revert(lab.history, [edit], reason=step_message("r-9", 9), when=200)
    newest = (await lab.history.log(1))[0]
    assert (newest.kind, newest.reverts, dict(newest.trailers)) == ("revert", edit.sha, {})
    assert await lab.history.find_step("r-9", 9) == ()


async def test_what_changed_more_than_bytes_of_the_skill_is_left_to_git(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "r", a_skill(run_sh=b"#!/bin/sh\n"))
    history = history_of(folder)
    (folder / SKILL_PATH / "run_sh").chmod(0o755)
    git(folder, "commit", "-qam", "Make it run")
    with pytest.raises(RepositoryError, match="changed links, submodules or file modes: do it by hand"):
        await revert(history, [await history.commit(await history.base())], reason="", when=200)
    lay(folder, {"README.md": b"other\n", f"{SKILL_PATH}/new.md": b"x\n"})
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "More than the skill")
    assert await history.changed_beside("HEAD") == ("README.md",)
    with pytest.raises(RepositoryError, match=r"changed more than the skill \(README\.md\): do it by hand"):
        await revert(history, [await history.commit(await history.base())], reason="", when=200)
    git(folder, "checkout", "-q", "-b", "side", "HEAD~1")
    git(folder, "commit", "-q", "--allow-empty", "-m", "Side")
    git(folder, "checkout", "-q", "main")
    git(folder, "merge", "-q", "--no-ff", "-m", "Merge", "side")
    with pytest.raises(RepositoryError, match=r"is a merge: .*`git revert -m 1 [0-9a-f]{40}`"):
        await revert(history, [await history.commit("HEAD")], reason="", when=200)
    git(folder, "checkout", "-q", "--orphan", "other")
    git(folder, "commit", "-qm", "Other")
    stranger = await history.commit("HEAD")
    assert "README.md" in await history.changed_beside("HEAD")
    git(folder, "checkout", "-q", "main")
    with pytest.raises(RepositoryError, match="is not in the skill's history"):
        await revert(history, [stranger], reason="", when=200)


async def test_links_and_siblings_beside_the_change_stay(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "r", START)
    (folder / SKILL_PATH / "alias.md").symlink_to("SKILL.md")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Link")
    history = history_of(folder)
    base = await history.base()
    read = await history.read(base)
    edited = change(read.with_text(read.text + "- four\n"), step_message())
    (made,) = await history.commit_edits(base, [edited], 100)
    (undo,) = await revert(history, [await history.commit(made)], reason="", when=200)
    assert git(folder, "rev-parse", f"{undo}^{{tree}}") == git(folder, "rev-parse", f"{base}^{{tree}}")
    assert git(folder, "status", "--porcelain") == ""
    assert git(folder, "fsck", "--strict", "--no-dangling") == ""
