"""What people took back, as git tells it: reverts of edits and of their copies, and deletions; nobody else's doing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from skills_repo.acts import Acts, TakenBackEdit
from skills_repo.git import Git
from skills_repo.history import EditCommit
from skills_repo.repository import SkillRepository
from skills_repo.skill import Skill
from tests.support.history import step_message, with_lines
from tests.support.skills import SKILL_PATH, a_repository, git, history_of, lay

RULES = ("- one", "- two", "- three")
DATES, SUMS = "- Write dates as YYYY-MM-DD.", "- Add the sums up twice."
BOTH = with_lines(*RULES, DATES, SUMS)


class Place:
    """Two edits of one step on honed's branch, and a person on main."""

    def __init__(self, folder: Path) -> None:
        self.folder = a_repository(folder, with_lines(*RULES))
        self.history: SkillRepository = history_of(folder)
        self.edits: tuple[str, ...] = ()

    async def begin(self) -> None:
        changes = [
            EditCommit(skill, step_message(position=number, of=2))
            for number, skill in enumerate((with_lines(*RULES, DATES), BOTH), start=1)
        ]
        self.edits = await self.history.commit_edits(await self.history.base(), changes, 100)

    def git(self, *argv: str) -> str:
        return git(self.folder, *argv).strip()

    def person(self, skill: Skill, message: str = "Mine") -> str:
        lay(self.folder / SKILL_PATH, skill.files)
        self.git("commit", "-qam", message)
        return self.git("rev-parse", "HEAD")

    def revert(self, *argv: str, reason: str = "We do not.") -> str:
        self.git("revert", "--no-edit", *argv)
        self.git("commit", "-q", "--amend", "-m", self.git("log", "-1", "--format=%B") + f"\n\n{reason}")
        return self.git("rev-parse", "HEAD")

    async def taken(self) -> tuple[TakenBackEdit, ...]:
        return await Acts(self.history).taken_back(await self.history.base(), "HEAD")


@pytest.fixture
async def place(tmp_path: Path) -> Place:
    made = Place(tmp_path / "repository")
    await made.begin()
    return made


def texts(found: tuple[TakenBackEdit, ...]) -> list[str]:
    return [one.edit.content for one in found]


async def test_nothing_was_taken_back(place: Place) -> None:
    assert await place.taken() == ()
    place.git("merge", "-q", "honed/xlsx")
    place.person(with_lines(*RULES, DATES, SUMS, "- Mine."))
    assert await place.taken() == ()


async def test_a_revert_on_the_branch_or_after_a_merge(place: Place) -> None:
    place.git("merge", "-q", "--no-ff", "-m", "Take it in", "honed/xlsx")
    by = place.revert(place.edits[1])
    [one] = await place.taken()
    assert (one.commit.sha, one.by, one.reason, one.edit.content) == (place.edits[1], by, "We do not.", SUMS)
    place.git("revert", "--no-edit", by)
    assert await place.taken() == (), "a revert of the revert puts it back"


async def test_what_one_line_put_back_is_back_for_both(place: Place) -> None:
    place.git("switch", "-q", "honed/xlsx")
    by = place.revert(place.edits[1])
    place.git("switch", "-q", "main")
    place.git("merge", "-q", "--no-ff", "-m", "Take it in", "honed/xlsx")
    assert texts(await place.taken()) == [SUMS]
    place.git("revert", "--no-edit", by)
    assert await place.taken() == ()


async def test_a_revert_of_a_picked_copy_is_one_of_the_edit(place: Place) -> None:
    place.git("cherry-pick", place.edits[0])
    copy = place.git("rev-parse", "HEAD")
    assert copy != place.edits[0]
    place.revert("HEAD")
    [one] = await place.taken()
    assert (one.commit.sha, one.key) == (copy, "r-1 1.1/2 step")
    assert one.edit.content == DATES


async def test_a_revert_of_a_squash_takes_back_all_that_it_held(place: Place) -> None:
    place.git("merge", "--squash", "-q", "honed/xlsx")
    place.git("commit", "-q", "--no-edit")  # git's own message: it quotes the commits with their trailers
    squash = place.git("rev-parse", "HEAD")
    place.revert("HEAD")
    [one] = await place.taken()
    assert one.key == squash
    assert [line for change in one.changes for line in change.added] == [DATES.casefold(), SUMS.casefold()]


async def test_a_revert_of_a_squash_as_forges_word_it(place: Place) -> None:
    message = "Hone xlsx (#7)\n\n" + "\n\n".join(
        f"* {place.git('log', '-1', '--format=%B', sha)}" for sha in place.edits
    )
    place.git("merge", "--squash", "-q", "honed/xlsx")
    place.git("commit", "-q", "-m", message)
    place.revert("HEAD")
    [one] = await place.taken()
    assert one.key == one.commit.sha, "its trailers are those of its last edit alone"
    assert {line for change in one.changes for line in change.added} == {DATES.casefold(), SUMS.casefold()}


async def test_a_revert_of_a_merge_takes_back_what_it_brought(place: Place) -> None:
    place.git("merge", "-q", "--no-ff", "-m", "Take it in", "honed/xlsx")
    place.revert("-m", "1", "HEAD")
    assert sorted(one.commit.sha for one in await place.taken()) == sorted(place.edits)


async def test_a_revert_of_a_merge_is_understood_where_the_history_is_cut(tmp_path: Path) -> None:
    place = Place(tmp_path / "repository")
    for number in range(2):
        place.person(with_lines(*RULES, f"- Older {number}."))
    place.person(with_lines(*RULES))
    await place.begin()
    place.git("merge", "-q", "--no-ff", "-m", "Take it in", "honed/xlsx")
    place.revert("-m", "1", "HEAD")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth=5", f"file://{place.folder}", str(clone))
    assert git(clone, "rev-parse", "--is-shallow-repository").strip() == "true"
    found = await Acts(history_of(clone)).taken_back("HEAD")
    assert sorted(one.commit.sha for one in found) == sorted(place.edits)


async def test_a_revert_of_a_merge_costs_the_same_however_much_was_merged(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.git("merge", "-q", "--no-ff", "-m", "Take it in", "honed/xlsx")
    place.revert("-m", "1", "HEAD")
    asked: list[str] = []
    run = Git.run

    def counted(self: Git, *argv: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> bytes:
        asked.append(argv[0])
        return run(self, *argv, stdin=stdin, env=env)

    monkeypatch.setattr(Git, "run", counted)
    assert {one.commit.sha for one in await place.taken()} == set(place.edits)
    assert asked.count("log") == 2 + 2, "both lines, and the merge's two sides"
    assert "merge-base" not in asked, "no question for each edit"


async def test_a_revert_of_a_persons_commit_is_no_affair_of_honeds(place: Place) -> None:
    place.person(with_lines(*RULES, "- Mine."))
    place.revert("HEAD")
    assert await place.taken() == ()


async def test_a_person_who_deletes_all_that_an_edit_wrote_takes_it_back(place: Place) -> None:
    place.git("merge", "-q", "honed/xlsx")
    by = place.person(with_lines(*RULES, SUMS), "Leave dates alone\n\nThe ledger does that.")
    [one] = await place.taken()
    assert (one.commit.sha, one.by, one.reason) == (place.edits[0], by, "Leave dates alone The ledger does that.")
    place.person(with_lines(*RULES, DATES, SUMS), "Put it back")
    assert await place.taken() == ()


@pytest.mark.parametrize(
    "skill",
    [
        with_lines(*RULES, "- Dates are written as YYYY-MM-DD.", SUMS),
        with_lines(DATES, *RULES, SUMS),
        with_lines("- Always write the dates as YYYY-MM-DD.", *RULES, SUMS),
        with_lines(*RULES, f"{DATES} Times, too.", SUMS),
    ],
    ids=["reworded", "moved", "reworded and moved", "added to"],
)
async def test_a_person_who_rewords_or_moves_it_does_not(place: Place, skill: Skill) -> None:
    place.git("merge", "-q", "honed/xlsx")
    place.person(skill)
    assert await place.taken() == ()


async def test_an_edit_of_several_lines_is_taken_back_only_as_a_whole(place: Place) -> None:
    two = with_lines(*RULES, DATES, SUMS, "- Name the sheet.", "- Keep the colours.")
    message = step_message(step=2)
    await place.history.commit_edits(place.edits[-1], [EditCommit(two, message)], 200)
    place.git("merge", "-q", "honed/xlsx")
    place.person(with_lines(*RULES, DATES, SUMS, "- Name the sheet."))
    assert await place.taken() == ()
    place.person(BOTH)
    assert await place.taken() == (), "nor bit by bit: each of the two commits left or found a part"


async def test_honeds_own_deletions_are_no_persons(place: Place) -> None:
    message = step_message(step=2)
    await place.history.commit_edits(place.edits[-1], [EditCommit(with_lines(*RULES, SUMS), message)], 200)
    assert await place.taken() == ()


async def test_a_version_that_a_person_broke_is_passed_over(place: Place) -> None:
    place.git("merge", "-q", "honed/xlsx")
    file = place.folder / SKILL_PATH / "SKILL.md"
    file.write_text("nothing\n")
    place.git("commit", "-qam", "Break it")
    place.person(BOTH, "Mend it")
    assert await place.taken() == ()


async def test_what_a_closed_request_held(place: Place) -> None:
    found = await Acts(place.history).turned_down([(sha, "Not now.") for sha in place.edits])
    assert [(one.commit.sha, one.reason, one.by) for one in found] == [(sha, "Not now.", "") for sha in place.edits]
    assert texts(found) == [DATES, SUMS]
