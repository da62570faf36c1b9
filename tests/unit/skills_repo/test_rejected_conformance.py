"""One suite for every `RejectedEdits`: real git and the fake."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from skills_repo.fake import FakeSkillRepository
from skills_repo.history import RepositoryError, SkillHistory
from skills_repo.rejected import RejectedEdits
from skills_repo.rejected_fake import FakeRejectedEdits
from skills_repo.rejected_refs import RejectedRefs
from skills_repo.skill import Skill
from tests.support.rejected import rejected, with_lines
from tests.support.skills import HONED, SKILL_PATH, a_change, a_repository, a_skill, history_of, skill_text

START = a_skill()


@dataclass(frozen=True)
class Store:
    history: SkillHistory
    rejected: RejectedEdits


@pytest.fixture(params=["fake", "git"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "fake":
        history = FakeSkillRepository(START, author=HONED)
        return Store(history, FakeRejectedEdits(history))
    folder = a_repository(tmp_path / "r", START)
    return Store(history_of(folder), RejectedRefs(folder, SKILL_PATH, author=HONED))


async def test_a_set_is_kept_as_commits_on_what_it_was_tried_on(store: Store) -> None:
    base = await store.history.base()
    stages = (with_lines("- one"), with_lines("- one", "- two"))
    changes = tuple(rejected(stage, position=place, of=2) for place, stage in enumerate(stages, start=1))
    kept = await store.rejected.keep("r1.1", base, changes, by="gate", when=1_700_000_000.9)
    assert [(one.sha, one.parent, one.by, one.when) for one in await store.rejected.all()] == [
        (kept[0], base, "gate", 1_700_000_000.0),
        (kept[1], kept[0], "gate", 1_700_000_000.0),
    ]
    for commit, stage in zip(kept, stages, strict=True):
        assert (await store.history.read(commit)).files == stage.files
    trailers = (await store.history.commit(kept[1])).trailers
    assert trailers["Honed-Gate"] == "rejected rule=paired/hard split=selection n=8x2 before=0.500 after=0.250 " + (
        "delta=-0.250 valid=100%"
    )
    assert (trailers["Honed-Step"], trailers["Honed-Evidence"]) == ("1.2/2", "t-1")
    assert {one.reason for one in await store.rejected.all()} == {trailers["Honed-Gate"]}


async def test_no_branch_and_no_history_knows_of_them(store: Store) -> None:
    base = await store.history.base()
    await store.rejected.keep("r1.1", base, (rejected(with_lines("- one")),), by="gate", when=1.0)
    assert await store.history.base() == base
    assert len(await store.history.log()) == 1
    assert await store.history.find_step("r1", 1) == ()


async def test_a_rejected_commit_that_somebody_takes_over_is_no_step_of_its_run(store: Store) -> None:
    base = await store.history.base()
    await store.history.commit_edits(base, [rejected(with_lines("- one"))], 5.0)
    assert await store.history.find_step("r1", 1) == ()


async def test_the_same_name_again_changes_nothing(store: Store) -> None:
    base = await store.history.base()
    first = await store.rejected.keep("r1.1", base, (rejected(with_lines("- one")),), by="gate", when=1.0)
    again = await store.rejected.keep("r1.1", base, (rejected(with_lines("- two")),), by="person", when=9.0)
    assert again == first
    (made,) = await store.history.commit_edits(base, [a_change(with_lines("- three"))], 2.0)
    await store.rejected.keep_commits("r1.1", (made,), reason="no", when=3.0)
    assert [(one.sha, one.by, one.when) for one in await store.rejected.all()] == [(*first, "gate", 1.0)]


async def test_equal_input_gives_equal_commits(store: Store) -> None:
    base = await store.history.base()
    changes = (rejected(with_lines("- one")),)
    first = await store.rejected.keep("r1.1", base, changes, by="gate", when=1.0)
    assert await store.rejected.keep("r1.2", base, changes, by="gate", when=1.0) == first


async def test_commits_that_exist_are_kept_with_a_persons_reason(store: Store) -> None:
    base = await store.history.base()
    stages = (with_lines("- one"), with_lines("- one", "- two"))
    made = await store.history.commit_edits(base, [a_change(stage, position=n) for n, stage in enumerate(stages, 1)], 2)
    reason = "Not us.\n\nHoned-Rejected: gate\n<!-- @everybody --> fixes #1"
    await store.rejected.keep_commits("request-12", made, reason=reason, when=50.0)
    found = await store.rejected.all()
    assert [(one.sha, one.parent, one.by, one.when) for one in found] == [
        (made[0], base, "person", 50.0),
        (made[1], made[0], "person", 50.0),
    ]
    [said] = {one.reason for one in found}
    assert said.startswith("Not us. Honed-Rejected: gate")
    assert not {"@everybody", "#1", "<!--"} & set(said.split())
    assert await store.history.base() == made[1], "the branch stays"


async def test_commits_of_two_lines_are_refused(store: Store) -> None:
    base = await store.history.base()
    one, two = [
        (await store.rejected.keep(f"r1.{n}", base, (rejected(with_lines(f"- {n}")),), by="gate", when=1.0))[0]
        for n in (1, 2)
    ]
    with pytest.raises(RepositoryError, match=r"does not contain .*name the newest last"):
        await store.rejected.keep_commits("request-1", (one, two), reason="", when=2.0)
    assert {row.by for row in await store.rejected.all()} == {"gate"}


async def test_a_commit_that_is_not_there_is_refused(store: Store) -> None:
    with pytest.raises(RepositoryError, match="there is no commit"):
        await store.rejected.keep_commits("request-1", ("f" * 40,), reason="", when=2.0)


async def test_the_newest_set_comes_first(store: Store) -> None:
    base = await store.history.base()
    for name, when in (("r1.1", 10.0), ("r1.2", 30.0), ("r2.1", 20.0), ("r0.1", 30.0)):
        await store.rejected.keep(name, base, (rejected(with_lines(f"- {name}")),), by="gate", when=when)
    texts = [(await store.history.read(one.sha)).text for one in await store.rejected.all()]
    assert [text.split("- ")[-1].strip() for text in texts] == ["r1.2", "r0.1", "r2.1", "r1.1"]


async def test_pruning_goes_by_age_and_by_count(store: Store) -> None:
    base = await store.history.base()
    for number in range(1, 7):
        change = rejected(with_lines(f"- {number}"), step=number)
        await store.rejected.keep(f"r1.{number}", base, (change,), by="gate", when=10.0 * number)
    assert await store.rejected.prune(older_than=0.0, most=9) == ()
    assert await store.rejected.prune(older_than=20.0, most=4) == ("r1.2", "r1.1")
    assert await store.rejected.prune(older_than=45.0, most=4) == ("r1.4", "r1.3")
    assert [one.when for one in await store.rejected.all()] == [60.0, 50.0]
    assert await store.rejected.prune(older_than=0.0, most=0) == ("r1.6", "r1.5")
    assert await store.rejected.all() == ()


async def test_what_people_turned_down_is_evidence_however_old(store: Store) -> None:
    base = await store.history.base()
    (made,) = await store.history.commit_edits(base, [a_change(with_lines("- one"))], 1.0)
    await store.rejected.keep_commits("request-1", (made,), reason="no", when=1.0)
    await store.rejected.keep("r1.1", base, (rejected(with_lines("- two")),), by="gate", when=2.0)
    assert await store.rejected.prune(older_than=100.0, most=0) == ("r1.1",)
    assert [one.sha for one in await store.rejected.all()] == [made]


async def test_the_start_that_a_run_was_given_is_kept_below_its_edits_and_is_none(store: Store) -> None:
    base = await store.history.base()
    start, edited = with_lines("- given"), with_lines("- given", "- one")
    changes = (rejected(start, step=0, phase="initial"), rejected(edited))
    first, second = await store.rejected.keep("r1.1", base, changes, by="gate", when=1.0)
    assert [(one.sha, one.parent) for one in await store.rejected.all()] == [(second, first)]


@pytest.mark.parametrize("name", ["", "a/b", "../x", "-x", "x..y", "x.lock", "x.", "a b", "x\n", "é", "x" * 200, "x~1"])
async def test_a_name_that_is_none_is_refused(store: Store, name: str) -> None:
    base = await store.history.base()
    with pytest.raises(RepositoryError, match="no name for rejected edits"):
        await store.rejected.keep(name, base, (rejected(with_lines("- one")),), by="gate", when=1.0)
    with pytest.raises(RepositoryError, match="no name for rejected edits"):
        await store.rejected.keep_commits(name, (base,), reason="", when=1.0)


async def test_what_cannot_be_kept_leaves_nothing(store: Store) -> None:
    base = await store.history.base()
    with pytest.raises(RepositoryError, match="no rejected edits were given"):
        await store.rejected.keep("r1.1", base, (), by="gate", when=1.0)
    with pytest.raises(RepositoryError, match="nothing to commit"):
        await store.rejected.keep("r1.1", base, (rejected(START),), by="gate", when=1.0)
    other = Skill("other", {"SKILL.md": skill_text("\n- x\n", name="other").encode()})
    with pytest.raises(RepositoryError, match="'other' is not 'xlsx'"):
        await store.rejected.keep("r1.1", base, (rejected(other),), by="gate", when=1.0)
    assert await store.rejected.all() == ()
