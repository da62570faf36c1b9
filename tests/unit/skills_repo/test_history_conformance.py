"""One suite for every `SkillHistory`: real git and the fake."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from skills_repo.history import EditCommit, RefMovedError, RepositoryError
from skills_repo.skill import SkillError
from tests.support.skills import HONED, Lab, a_change, a_skill, fake_lab, git_lab

START = a_skill(scripts__run_py=b"print(1)\n")


@pytest.fixture(params=["fake", "git"])
def lab(request: pytest.FixtureRequest, tmp_path: Path) -> Lab:
    return fake_lab(START) if request.param == "fake" else git_lab(tmp_path / "repository", START)


async def test_the_base_is_head_until_there_is_a_branch(lab: Lab) -> None:
    history = lab.history
    base = await history.base()
    assert await history.read(base) == START
    assert await history.read("HEAD") == START
    (made,) = await history.commit_edits(base, [a_change(a_skill("\n- new\n"))], 100)
    assert await history.base() == made != base
    assert await history.read("HEAD") == START
    assert history.branch == "refs/heads/honed/xlsx"


async def test_each_change_is_a_commit_on_the_one_before(lab: Lab) -> None:
    history = lab.history
    base = await history.base()
    stages = [START.with_text(START.text + f"- rule {number}\n") for number in range(3)]
    changes = [a_change(stage, position=number + 1, of=3) for number, stage in enumerate(stages)]
    made = await history.commit_edits(base, changes, 1_700_000_000.9)
    assert len(set(made)) == 3
    for commit, stage in zip(made, stages, strict=True):
        assert (await history.read(commit)).digest == stage.digest
    newest, middle, oldest, first = await history.log()
    assert [commit.sha for commit in (oldest, middle, newest)] == list(made)
    assert newest.parents == (made[1],)
    assert oldest.parents == (base,)
    assert {(commit.kind, commit.author, commit.when) for commit in (newest, middle, oldest)} == {
        ("edit", f"{HONED.name} <{HONED.email}>", 1_700_000_000.0)
    }
    assert (first.sha, first.kind, first.trailers) == (base, "human", {})
    assert newest.trailers["Honed-Step"] == "1.3/3"
    assert newest.subject == 'skill(xlsx): add "a rule"'


async def test_files_are_added_changed_and_removed(lab: Lab) -> None:
    history = lab.history
    after = a_skill("\n- new\n", references__deep__notes_md=b"\x00\xff raw\r\n", assets__empty=b"")
    (made,) = await history.commit_edits(await history.base(), [a_change(after)], 100)
    read = await history.read(made)
    assert read == after
    assert list(read.files) == sorted(read.files)


async def test_equal_input_gives_equal_commits(tmp_path: Path, lab: Lab) -> None:
    twin = fake_lab(START) if type(lab.history).__name__.startswith("Fake") else git_lab(tmp_path / "twin", START)
    change = a_change(a_skill("\n- new\n"))
    ids = [await one.history.commit_edits(await one.history.base(), [change], 100) for one in (lab, twin)]
    assert ids[0] == ids[1]


async def test_a_branch_that_moved_is_left_where_it_is(lab: Lab) -> None:
    history = lab.history
    base = await history.base()
    human = lab.human_commit(a_skill("\n- by hand\n").files, "Edit by hand")
    with pytest.raises(RefMovedError, match=r"honed/xlsx .*somebody moved it"):
        await history.commit_edits(base, [a_change(a_skill("\n- new\n"))], 100)
    assert await history.base() == human
    (made,) = await history.commit_edits(human, [a_change(a_skill("\n- new\n"))], 100)
    assert [commit.sha for commit in await history.log(2)] == [made, human]


async def test_of_two_commits_from_one_base_exactly_one_wins(lab: Lab) -> None:
    history = lab.history
    base = await history.base()
    outcomes = await asyncio.gather(
        *[history.commit_edits(base, [a_change(a_skill(f"\n- {number}\n"))], 100) for number in range(4)],
        return_exceptions=True,
    )
    won = [outcome for outcome in outcomes if isinstance(outcome, tuple)]
    assert len(won) == 1
    assert sum(isinstance(outcome, RefMovedError) for outcome in outcomes) == 3
    assert await history.base() == won[0][0]


@pytest.mark.parametrize("case", ["none", "same", "second the same", "other skill"])
async def test_what_changes_nothing_is_not_committed(lab: Lab, case: str) -> None:
    history = lab.history
    base = await history.base()
    new = a_change(a_skill("\n- new\n"))
    other = EditCommit(type(START)("docx", START.files), "m")
    changes = {"none": [], "same": [a_change(START)], "second the same": [new, new], "other skill": [new, other]}[case]
    with pytest.raises(RepositoryError, match=r"nothing to commit|cannot be committed here"):
        await history.commit_edits(base, changes, 100)
    assert await history.base() == base
    assert len(await history.log()) == 1


async def test_a_step_is_found_again_by_its_trailers(lab: Lab) -> None:
    history = lab.history
    assert await history.find_step("r-1", 1) == ()
    first = await history.commit_edits(
        await history.base(),
        [a_change(a_skill(f"\n- {n}\n"), step=1, position=n, of=2) for n in (1, 2)],
        100,
    )
    human = lab.human_commit(a_skill("\n- by hand\n").files, "Write about Honed-Run: r-1\n\nHoned-Run: is a trailer")
    second = await history.commit_edits(human, [a_change(a_skill("\n- 12\n"), step=12)], 100)
    third = await history.commit_edits(second[-1], [a_change(a_skill("\n- x\n"), run="r-11", step=1)], 100)
    assert await history.find_step("r-1", 1) == first
    assert await history.find_step("r-1", 12) == second
    assert await history.find_step("r-11", 1) == third
    assert await history.find_step("r-1", 2) == ()
    assert await history.find_step("r-", 1) == ()
    assert await history.find_step("r-1", 12, "slow_update") == ()
    slow = EditCommit(a_skill("\n- slow\n"), "Slow\n\nHoned-Run: r-1\nHoned-Step: 12.1/1\nHoned-Phase: slow_update\n")
    made = await history.commit_edits(third[-1], [slow], 100)
    assert await history.find_step("r-1", 12, "slow_update") == made
    assert await history.find_step("r-1", 12) == second


async def test_reverts_and_human_commits_are_told_apart(lab: Lab) -> None:
    history = lab.history
    (made,) = await history.commit_edits(await history.base(), [a_change(a_skill("\n- new\n"))], 100)
    undone = lab.human_commit(
        START.files,
        f'Revert "skill(xlsx): add a rule"\n\nThis reverts commit {made}.\n\nIt broke the monthly report.',
    )
    human = lab.human_commit(a_skill("\n- by hand\n").files, "Tighten the rules\n\nSee the wiki.")
    newest, revert, edit, _ = await history.log()
    assert (newest.sha, newest.kind, newest.subject) == (human, "human", "Tighten the rules")
    assert (revert.sha, revert.kind, revert.reverts) == (undone, "revert", made)
    assert revert.reason == "It broke the monthly report."
    assert (edit.sha, edit.kind) == (made, "edit")
    assert newest.author == "A Person <person@example.com>"


async def test_the_log_holds_only_what_changed_the_skill_and_at_most_the_limit(lab: Lab) -> None:
    history = lab.history
    lab.human_commit(START.files, "Change nothing of the skill")
    last = lab.human_commit(a_skill("\n- 1\n").files, "One")
    assert [commit.subject for commit in await history.log()] == ["One", "Add the skill"]
    assert [commit.sha for commit in await history.log(1)] == [last]
    assert await history.log(0) == ()
    assert [commit.subject for commit in await history.log(at="HEAD")] == ["Add the skill"]
    assert await history.log(at=last) == await history.log()


async def test_ancestors(lab: Lab) -> None:
    history = lab.history
    base = await history.base()
    (made,) = await history.commit_edits(base, [a_change(a_skill("\n- new\n"))], 100)
    assert await history.is_ancestor(base, made)
    assert await history.is_ancestor(made, made)
    assert not await history.is_ancestor(made, base)
    assert await history.is_ancestor("HEAD", history.branch)


@pytest.mark.parametrize("ref", ["0" * 40, "refs/heads/none"])
async def test_a_ref_that_is_not_there_is_named(lab: Lab, ref: str) -> None:
    with pytest.raises(RepositoryError, match=f"there is no commit {ref}"):
        await lab.history.read(ref)
    with pytest.raises(RepositoryError, match=f"there is no commit {ref}"):
        await lab.history.is_ancestor("HEAD", ref)


async def test_a_skill_that_a_person_broke_is_an_error_of_the_skill(lab: Lab) -> None:
    broken = lab.human_commit({"SKILL.md": b"no frontmatter\n"}, "Break it")
    with pytest.raises(SkillError, match=r"SKILL\.md:1: has no frontmatter"):
        await lab.history.read(broken)
    with pytest.raises(SkillError, match=r"SKILL\.md:1: has no frontmatter"):
        await lab.history.read(lab.history.branch)


async def test_a_clean_repository_is_not_dirty(lab: Lab) -> None:
    assert await lab.history.dirty() == ()


async def test_the_folder_is_read_as_it_is(lab: Lab) -> None:
    broken = lab.human_commit({"SKILL.md": b"no frontmatter\r\n", "z/data": b"\x00\xff", "a": b""}, "Break it")
    found = await lab.history.files(broken)
    assert [(file.path, file.mode, file.data) for file in found] == [
        ("SKILL.md", "100644", b"no frontmatter\r\n"),
        ("a", "100644", b""),
        ("z/data", "100644", b"\x00\xff"),
    ]
    before = {file.path: file.data for file in await lab.history.files("HEAD")}
    assert before == dict(START.files)
    with pytest.raises(RepositoryError, match="there is no commit"):
        await lab.history.files("refs/heads/none")


async def test_a_commit_is_described_whatever_it_changed(lab: Lab) -> None:
    empty = lab.human_commit(START.files, "Say something\n\nFirst.\n\nSecond.")
    found = await lab.history.commit(empty)
    assert (found.sha, found.kind, found.subject, found.body) == (empty, "human", "Say something", "First.\n\nSecond.")
    change = a_change(a_skill("\n- new\n"))
    (made,) = await lab.history.commit_edits(empty, [change], 100)
    edit = await lab.history.commit(lab.history.branch)
    assert (edit.sha, edit.kind, edit.parents) == (made, "edit", (empty,))
    assert edit.body == "Why, in the optimizer's words:\n\n  because", "the trailers are no prose"
    with pytest.raises(RepositoryError, match="there is no commit"):
        await lab.history.commit("0" * 40)


async def test_every_line_has_the_commit_that_wrote_it(lab: Lab) -> None:
    history = lab.history
    base = await history.base()
    one = START.with_text(START.text.replace("- one\n", "- one\n- by honed\n"))
    (made,) = await history.commit_edits(base, [a_change(one)], 100)
    text = one.text.replace("# Rules\n", "# Rules\n\nBy hand.\n").replace("- two", "- two, changed")
    human = lab.human_commit({**START.files, "SKILL.md": text.encode(), "more.md": b"no newline"}, "By hand")
    lines = text.removesuffix("\n").split("\n")
    found = await history.blame(history.branch, "SKILL.md", range(1, len(lines) + 1))
    assert [blamed.number for blamed in found] == list(range(1, len(lines) + 1))
    wrote = {line: blamed.commit.sha for line, blamed in zip(lines, found, strict=True) if line}
    assert {line: sha for line, sha in wrote.items() if sha != base} == {
        "- by honed": made,
        "By hand.": human,
        "- two, changed": human,
    }
    assert wrote["# Rules"] == base
    by_honed = found[lines.index("- by honed")]
    assert (by_honed.number_then, by_honed.commit.kind) == (one.text.split("\n").index("- by honed") + 1, "edit")
    assert not any(blamed.cut for blamed in found)
    (other,) = await history.blame(human, "more.md", [1])
    assert other.commit.sha == human
    backwards = await history.blame(made, "SKILL.md", [3, 1, 3])
    assert [blamed.number for blamed in backwards] == [3, 1, 3]
    assert await history.blame(made, "SKILL.md", []) == ()


@pytest.mark.parametrize(("path", "line"), [("SKILL.md", 99), ("SKILL.md", 0), ("none.md", 1)])
async def test_a_line_that_is_not_there_is_named(lab: Lab, path: str, line: int) -> None:
    with pytest.raises(RepositoryError, match=path):
        await lab.history.blame("HEAD", path, [line])


async def test_an_edit_changes_nothing_beside_the_skill(lab: Lab) -> None:
    (made,) = await lab.history.commit_edits(await lab.history.base(), [a_change(a_skill("\n- new\n"))], 100)
    assert await lab.history.changed_beside(made) == ()
    with pytest.raises(RepositoryError, match="there is no commit"):
        await lab.history.changed_beside("0" * 40)
