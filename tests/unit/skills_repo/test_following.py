"""A person changes the skill on HEAD: unpublished edits are made again on it, nothing that people did is rewritten."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from skills_repo import following
from skills_repo.curve import curves
from skills_repo.edits import REFERENCE_OPS, Edit, EditLimits, Op, apply
from skills_repo.followed import Followed
from skills_repo.git import Git
from skills_repo.history import EditCommit, RepositoryError
from skills_repo.merging import Merged
from skills_repo.rejected_refs import RejectedRefs
from skills_repo.repository import SkillRepository
from skills_repo.revert import revert
from skills_repo.skill import Skill
from tests.support.history import step_message
from tests.support.skills import HONED, SKILL_PATH, a_repository, a_skill, git, history_of, lay

BODY = "\n# Dates\n\n- Copy dates.\n\n# Sums\n\n- Add them up.\n"
START = a_skill(BODY)
DATES = Edit(Op.INSERT_AFTER, target="- Copy dates.", content="- Write dates as YYYY-MM-DD.")
SUMS = Edit(Op.REPLACE, target="- Add them up.", content="- Add them up twice.")
END = Edit(Op.APPEND, content="- Save the file.")
GUIDE = Edit(Op.SLOW_UPDATE, content="Read the task twice.")
LIMITS = EditLimits(1, references=True, also=REFERENCE_OPS | {Op.SLOW_UPDATE, Op.REWRITE})


class Place:
    """A repository with steps of honed's on its branch, and a person on main."""

    def __init__(self, folder: Path) -> None:
        self.folder = a_repository(folder, START)
        self.history: SkillRepository = history_of(folder)
        self.steps = 0

    async def step(self, *edits: Edit, run: str = "r-1") -> tuple[str, ...]:
        self.steps += 1
        base = await self.history.base()
        skill, changes = await self.history.read(base), []
        for position, edit in enumerate(edits, start=1):
            applied = apply(skill, [edit], LIMITS)
            assert applied.stages, applied.report
            phase = "slow_update" if edit.op is Op.SLOW_UPDATE else "step"
            message = step_message(
                run, self.steps, position=position, of=len(edits), edit=edit, phase=phase, base=skill.digest
            )
            skill = applied.result
            changes.append(EditCommit(skill, message))
        return await self.history.commit_edits(base, changes, 100.0 + self.steps)

    def person(self, text: str, message: str = "Mine", **files: bytes) -> str:
        """The person's version of SKILL.md's body, on main."""
        lay(self.folder / SKILL_PATH, a_skill(text, **files).files)
        git(self.folder, "add", "-A")
        git(self.folder, "commit", "-q", "-m", message)
        return self.git("rev-parse", "HEAD")

    async def follow(self) -> Followed | None:
        return await self.history.follow(max_chars=20_000)

    async def followed(self) -> Followed:
        done = await self.follow()
        assert done is not None
        assert done.waits == ""
        return done

    async def waiting(self) -> str:
        """It waits, and nothing has moved."""
        before = self.refs()
        done = await self.follow()
        assert done is not None
        assert done.waits
        assert (done.new, done.edits) == (done.old, ())
        assert self.refs() == before
        return done.waits

    async def text(self) -> str:
        return (await self.history.read(await self.history.base())).text

    def git(self, *argv: str) -> str:
        return git(self.folder, *argv).strip()

    def refs(self) -> str:
        return self.git("for-each-ref")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "repository")


async def test_there_is_nothing_to_follow(place: Place) -> None:
    assert await place.follow() is None, "no branch yet"
    await place.step(DATES)
    assert await place.follow() is None
    lay(place.folder, {"README.md": b"other\n"})
    place.git("commit", "-qam", "Beside the skill")
    assert await place.follow() is None
    place.git("merge", "--squash", "-q", "honed/xlsx")
    place.git("commit", "-qm", "Take it in")
    assert await place.follow() is None, "both have the same version"


async def test_edits_are_made_again_on_the_persons_version(place: Place) -> None:
    first = await place.step(DATES, SUMS)
    second = await place.step(END)
    slow = await place.step(GUIDE)
    mine = place.person(BODY.replace("# Sums", "# Totals") + "- Mine at the end.\n")
    status = place.git("status", "--porcelain=v2", "--branch"), place.git("stash", "list")
    done = await place.followed()
    assert [(one.old, bool(one.new)) for one in done.edits] == [(sha, True) for sha in (*first, *second, *slow)]
    assert (done.old, done.onto, done.new) == (slow[0], mine, place.git("rev-parse", "honed/xlsx"))
    text = await place.text()
    for line in (
        "# Totals",
        "- Write dates as YYYY-MM-DD.",
        "- Add them up twice.",
        "- Mine at the end.",
        "Read the t",
    ):
        assert line in text
    assert text.index("- Mine at the end.") < text.index("- Save the file."), "appended below what the person wrote"
    assert place.git("rev-list", "--count", f"{mine}..honed/xlsx") == "4"
    assert (place.git("status", "--porcelain=v2", "--branch"), place.git("stash", "list")) == status
    place.git("fsck", "--strict", "--no-dangling")


async def test_messages_keep_their_trailers_and_name_where_they_come_from(place: Place) -> None:
    (first, second), mine = await place.step(DATES, SUMS), place.person(BODY + "- Mine.\n")
    done = await place.followed()
    one, two = [await place.history.commit(again.new) for again in done.edits]
    old = await place.history.commit(first)
    assert one.trailers == {
        **old.trailers,
        "Honed-Base": (await place.history.read(mine)).digest,
        "Honed-Rebased-From": first,
    }
    assert two.trailers["Honed-Base"] == (await place.history.read(one.sha)).digest
    assert (one.subject, one.body, one.author, one.when) == (old.subject, old.body, old.author, old.when)
    assert await place.history.find_step("r-1", 1) == (one.sha, two.sha)
    [curve] = curves(await place.history.log())
    assert [commit.sha for point in curve.points for commit in point.commits] == [one.sha, two.sha]
    [line] = await place.history.blame(done.new, "SKILL.md", [9])
    assert line.commit.sha == one.sha
    place.person(BODY + "- Mine, again.\n")
    twice = await place.followed()
    again = await place.history.commit(twice.edits[1].new)
    assert again.trailers["Honed-Rebased-From"] == two.sha != second
    assert again.body.count("Honed-") == 0


async def test_what_others_keep_beside_is_not_taken_for_honed_s(place: Place) -> None:
    """Refs that a person or another program made where honed keeps its own."""
    below = "refs/honed/rebased/xlsx"
    place.git("update-ref", f"{below}/commit", "HEAD")
    place.git("tag", "-a", "-m", "onto", "tagged", "HEAD")
    place.git("update-ref", f"{below}/tag", place.git("rev-parse", "refs/tags/tagged"))
    assert await place.history.followed_to(place.git("rev-parse", "HEAD")) is None


async def test_an_edit_whose_place_is_gone_is_dropped_with_a_word_and_kept_in_git(place: Place) -> None:
    dropped, _, kept = await place.step(DATES, SUMS, END)
    place.person(BODY.replace("- Copy dates.", "- Dates are not our affair.").replace("Add them up", "Sum"))
    done = await place.followed()
    assert [(one.why, bool(one.new)) for one in done.edits] == [
        ("its place is gone", False),
        ("its place is gone", False),
        ("", True),
    ]
    assert "YYYY" not in await place.text()
    ref = done.kept_at(place.history.branch)
    assert place.git("rev-parse", f"{ref}^{{commit}}") == kept
    assert dropped in place.git("rev-list", ref).split()
    assert await place.history.followed_to(done.new) == done
    assert await place.history.followed_to(done.onto) is None
    told = place.git("cat-file", "tag", ref)
    assert f"dropped\t{dropped}\tits place is gone\t" in told


async def test_where_all_is_dropped_the_branch_goes_on_from_head(place: Place) -> None:
    await place.step(DATES)
    mine = place.person("\n# Other\n\n- Nothing of that.\n")
    done = await place.followed()
    assert (done.new, [one.new for one in done.edits]) == (mine, [""])
    assert await place.history.base() == mine


async def test_where_the_branch_was_merged_it_goes_on_from_head(place: Place) -> None:
    (sha,) = await place.step(DATES)
    place.git("merge", "-q", "--no-ff", "-m", "Take it in", "honed/xlsx")
    mine = place.person(BODY.replace("- Copy dates.\n", "- Copy dates.\n- Write dates as YYYY-MM-DD.\n- More.\n"))
    done = await place.followed()
    assert (done.old, done.new, done.edits) == (sha, mine, ())
    assert place.git("for-each-ref", "refs/honed") == "", "it is contained: nothing has to be kept"


async def test_what_a_person_took_over_by_hand_is_not_added_twice(place: Place) -> None:
    await place.step(DATES, END)
    place.person(BODY.replace("- Copy dates.\n", "- Copy dates.\n- Write dates as YYYY-MM-DD.\n") + "- Mine.\n")
    done = await place.followed()
    assert [one.why for one in done.edits] == ["it stands there already", ""]
    assert (await place.text()).count("YYYY-MM-DD") == 1


async def test_a_copy_that_a_person_took_back_on_main_is_not_made_again(place: Place) -> None:
    (sha, _) = await place.step(DATES, SUMS)
    place.git("cherry-pick", sha)
    place.git("revert", "--no-edit", "HEAD")
    place.person(BODY + "- Mine.\n")
    done = await place.followed()
    assert [one.why for one in done.edits] == ["a person took it back", ""]
    assert "YYYY" not in await place.text()


@pytest.mark.parametrize("where", ["refs/remotes/origin/honed/xlsx", "refs/honed/published/origin/honed/xlsx"])
async def test_published_commits_are_never_rewritten(place: Place, where: str) -> None:
    first, _ = await place.step(DATES, SUMS)
    place.git("update-ref", where, first)
    mine = place.person(BODY.replace("# Dates", "- Mine.\n\n# Dates"))
    said = await place.waiting()
    assert "1 of its commits is published" in said
    assert f"git merge {mine[:10]}" in said
    assert "follow = false" in said
    place.git("switch", "-q", "honed/xlsx")
    place.git("merge", "-q", "-m", "Merge main", mine[:10])
    place.git("switch", "-q", "--detach")
    assert await place.follow() is None, "the command that it names mends it"
    assert "- Mine." in await place.text()


async def test_a_persons_commit_on_the_branch_is_never_rewritten(place: Place) -> None:
    await place.step(DATES)
    place.git("switch", "-q", "honed/xlsx")
    lay(place.folder, {"README.md": b"by a person\n"})
    place.git("commit", "-qam", "Mine, on the branch")
    theirs = place.git("rev-parse", "HEAD")
    place.git("switch", "-q", "main")
    place.person(BODY + "- Mine.\n")
    told = await place.waiting()
    assert f"commit {theirs[:10]} there is a person's" in told
    assert ": forgets its edits, and what was reverted there and why)" in told, "what the shorter way costs"


async def test_a_commit_of_honeds_that_a_person_amended_is_never_rewritten(place: Place) -> None:
    [made] = await place.step(SUMS)
    place.git("switch", "-q", "honed/xlsx")
    lay(place.folder / SKILL_PATH, a_skill(f"{BODY}- Check the sums.\n").files)
    place.git("commit", "-q", "-a", "--amend", "--no-edit")
    place.git("switch", "-q", "main")
    amended = place.git("rev-parse", "honed/xlsx")
    assert amended != made
    place.person(f"{BODY}\n- Mine.\n")
    assert f"commit {amended[:10]} there was made anew by a person" in await place.waiting()


async def test_honeds_reverts_are_made_again_and_still_say_what_they_took_back(place: Place) -> None:
    (sha, _) = await place.step(DATES, SUMS)
    await revert(place.history, [await place.history.commit(sha)], reason="We write them otherwise.", when=200)
    place.person(BODY + "- Mine.\n")
    done = await place.followed()
    newest, *_, edit, _, _ = await place.history.log()
    assert (newest.kind, newest.reverts, newest.reason) == ("revert", edit.sha, "We write them otherwise.")
    assert edit.sha == done.edits[0].new
    assert "YYYY" not in await place.text()


async def turned_down(place: Place) -> list[tuple[str, str, str]]:
    kept = await RejectedRefs(place.folder, SKILL_PATH, author=HONED).all()
    return [(one.sha, one.by, one.reason) for one in kept]


async def test_an_edit_and_its_revert_that_no_longer_fit_go_together_and_the_reason_stays(place: Place) -> None:
    sha, kept = await place.step(DATES, END)
    await revert(place.history, [await place.history.commit(sha)], reason="Our dates differ.", when=200)
    place.person(BODY.replace("- Copy dates.", "- Dates are not our affair."))
    done = await place.followed()
    assert [(one.old == sha, one.why) for one in done.edits if not one.new] == [
        (True, "its place is gone"),
        (False, "what it took back is not made again; its reason is kept"),
    ]
    assert await turned_down(place) == [(sha, "person", "Our dates differ.")]
    assert "Save the file" in await place.text()
    assert kept in place.git("rev-list", done.kept_at(place.history.branch)).split()


async def test_a_revert_that_does_not_fit_behind_its_edit_takes_the_edit_along(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    sha, kept = await place.step(SUMS, END)
    await revert(place.history, [await place.history.commit(sha)], reason="Once is enough.", when=200)
    place.person(f"{BODY}- Mine.\n")
    monkeypatch.setattr(following, "merge", lambda *sides: Merged({}, ("SKILL.md",)))
    done = await place.followed()
    assert [one.old for one in done.edits if one.new] == [kept]
    assert "twice" not in await place.text()
    assert await turned_down(place) == [(sha, "person", "Once is enough.")]


async def test_a_reverted_edit_that_a_person_took_over_stays_the_persons(place: Place) -> None:
    (sha,) = await place.step(SUMS)
    await revert(place.history, [await place.history.commit(sha)], reason="Once is enough.", when=200)
    place.person(BODY.replace("- Add them up.", "- Add them up twice."))
    done = await place.followed()
    assert not [one for one in done.edits if one.new]
    assert "twice" in await place.text(), "the person's own line"
    assert await turned_down(place) == [(sha, "person", "Once is enough.")]


async def test_a_revert_that_was_taken_back_itself_turns_nothing_down(place: Place) -> None:
    (sha,) = await place.step(DATES)
    first = await revert(place.history, [await place.history.commit(sha)], reason="No.", when=200)
    await revert(place.history, [await place.history.commit(first[0])], reason="Yes.", when=201)
    place.person("\n# Other\n\n- Nothing of that.\n")
    assert not [one for one in (await place.followed()).edits if one.new]
    assert await turned_down(place) == []


async def test_a_killed_follow_keeps_the_reason_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    (sha,) = await place.step(DATES)
    await revert(place.history, [await place.history.commit(sha)], reason="No.", when=200)
    place.person("\n# Other\n\n- Nothing of that.\n")
    with monkeypatch.context() as patch:
        patch.setattr(following, "_move", _killed)
        with pytest.raises(KeyboardInterrupt):
            await place.follow()
    assert await turned_down(place) == [(sha, "person", "No.")]
    await place.followed()
    assert await turned_down(place) == [(sha, "person", "No.")]


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("body", [None, "no frontmatter"])
async def test_a_version_that_cannot_be_used_waits(place: Place, body: str | None) -> None:
    await place.step(DATES)
    file = place.folder / SKILL_PATH / "SKILL.md"
    file.unlink() if body is None else file.write_text(body)
    place.git("commit", "-qam", "Break it")
    assert "cannot be used" in await place.waiting()


async def test_guidance_that_a_person_changed_too_is_theirs(place: Place) -> None:
    await place.step(GUIDE)
    place.git("merge", "-q", "honed/xlsx")
    place.steps += 1
    guided = (await place.history.read("HEAD")).text
    await place.step(Edit(Op.SLOW_UPDATE, content="Read the task three times."))
    (place.folder / SKILL_PATH / "SKILL.md").write_text(guided.replace("twice", "once"))
    place.git("commit", "-qam", "Once is enough")
    done = await place.followed()
    assert [one.why for one in done.edits] == ["a person changed what it changed"]
    assert "Read the task once." in await place.text()


async def test_doing_it_again_comes_to_the_same_and_a_lost_race_changes_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    await place.step(DATES, SUMS)
    place.person(BODY + "- Mine.\n")
    before = await place.history.base()
    done = await place.followed()
    place.git("update-ref", place.history.branch, before)  # as after a crash before the move
    assert await place.followed() == done
    place.git("update-ref", place.history.branch, before)
    git_run = type(place.history._git).run

    def raced(self: object, *argv: str, **more: object) -> bytes:
        if argv[0] == "update-ref":
            place.git("update-ref", place.history.branch, "main")
        return git_run(self, *argv, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(type(place.history._git), "run", raced)
    with pytest.raises(RepositoryError, match="somebody moved it"):
        await place.follow()
    assert place.git("rev-parse", "honed/xlsx") == place.git("rev-parse", "main")


class Killed(BaseException):
    """The process dies here."""


async def test_a_kill_between_any_two_git_commands_loses_nothing_and_doubles_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    await place.step(DATES, SUMS)
    place.person(BODY.replace("# Sums", "# Totals"))
    before = await place.history.base()
    run, calls, limit = Git.run, 0, 10**6

    def mortal(self: Git, *argv: str, **more: Any) -> bytes:
        nonlocal calls
        calls += 1
        if calls == limit:
            raise Killed
        return run(self, *argv, **more)

    monkeypatch.setattr(Git, "run", mortal)
    done = await place.followed()
    total = calls
    for at in [*range(3, total - 3, 12), *range(total - 3, total + 1)]:
        place.git("update-ref", "-d", done.kept_at(place.history.branch))
        place.git("update-ref", place.history.branch, before)
        calls, limit = 0, at
        with pytest.raises(Killed):
            await place.follow()
        assert place.git("rev-parse", "honed/xlsx") == before, at
        limit = 10**6
        assert await place.followed() == done, at
    assert await place.follow() is None


async def test_a_branch_that_is_checked_out_is_left_alone(place: Place, tmp_path: Path) -> None:
    await place.step(DATES)
    place.git("worktree", "add", "-q", str(tmp_path / "tree"), "honed/xlsx")
    place.person(BODY + "- Mine.\n")
    before = place.refs()
    with pytest.raises(RepositoryError, match="is checked out"):
        await place.follow()
    assert place.refs() == before


async def test_other_files_of_the_skill_and_their_modes_stay_the_persons(place: Place) -> None:
    await place.step(DATES)
    place.person(BODY, scripts__run_sh=b"#!/bin/sh\n", pic=b"\xff\x00")
    place.git("update-index", "--chmod=+x", f"{SKILL_PATH}/scripts/run_sh")
    place.git("commit", "-qm", "Make it executable")
    done = await place.followed()
    rows = place.git("ls-tree", "-r", done.new, "--", SKILL_PATH)
    assert "100755" in next(row for row in rows.split("\n") if row.endswith("run_sh"))
    assert place.git("diff", "--name-only", "main", done.new) == f"{SKILL_PATH}/SKILL.md"


async def test_in_a_bare_repository_and_in_sha256(tmp_path: Path) -> None:
    place = Place(tmp_path / "repository")
    await place.step(DATES)
    place.person(BODY + "- Mine.\n")
    git(tmp_path, "clone", "-q", "--bare", str(place.folder), "bare.git")
    bare = SkillRepository(tmp_path / "bare.git", SKILL_PATH, author=HONED)
    done = await bare.follow(max_chars=20_000)
    assert done is not None
    assert [bool(one.new) for one in done.edits] == [True]
    assert isinstance(await bare.read(done.new), Skill)


FORMS = "references/forms.md"
CREATE = Edit(Op.CREATE, "- Copy dates.", "# Forms\n\n- Fill all.", file=FORMS, link=f"- Forms: {FORMS}.")
FILL = Edit(Op.REPLACE, "- Fill all.", "- Fill all, then check.", file=FORMS)


async def test_a_reference_follows_with_its_link_and_with_what_was_written_in_it(tmp_path: Path) -> None:
    place = Place(tmp_path / "repo")
    await place.step(CREATE, FILL)
    place.person(BODY.replace("- Copy dates.", "- Copy dates.\n- Mine, at the same place."))
    done = await place.followed()
    assert [edit.why for edit in done.edits] == ["", ""]
    skill = await place.history.read(await place.history.base())
    assert skill.files[FORMS] == b"# Forms\n\n- Fill all, then check.\n"
    assert f"- Copy dates.\n- Forms: {FORMS}.\n- Mine, at the same place.\n" in skill.text


async def test_a_reference_whose_place_is_gone_is_dropped_with_all_that_hangs_on_it(tmp_path: Path) -> None:
    place = Place(tmp_path / "repo")
    await place.step(CREATE, FILL, SUMS)
    place.person(BODY.replace("- Copy dates.", "- Type dates anew."))
    done = await place.followed()
    assert [edit.why for edit in done.edits] == ["its place is gone", "the skill has no such file", ""]
    skill = await place.history.read(await place.history.base())
    assert set(skill.files) == {"SKILL.md"}
    assert FORMS not in skill.text


async def test_a_reference_that_a_person_names_elsewhere_meanwhile_is_not_removed(tmp_path: Path) -> None:
    place = Place(tmp_path / "repo")
    body = BODY + f"\n# Forms\n\n- See {FORMS}.\n"
    lay(place.folder / SKILL_PATH, {**a_skill(body).files, FORMS: b"# Forms\n"})
    git(place.folder, "add", "-A")
    git(place.folder, "commit", "-q", "-m", "A reference of ours")
    await place.step(Edit(Op.REMOVE, file=FORMS))
    place.person(body.replace("- Copy dates.", f"- Copy dates, as in {FORMS}."))
    done = await place.followed()
    assert [edit.why for edit in done.edits] == [f"SKILL.md would name {FORMS}, which is not there"]
    assert FORMS in (await place.history.read(await place.history.base())).files
