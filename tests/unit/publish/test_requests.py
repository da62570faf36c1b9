"""One request a skill, with a git server and a forge on loopback: opened once, kept up to date, never asked twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from skills_repo.publish.block import read_block, write_block
from skills_repo.publish.errors import PublishError
from skills_repo.publish.outcome import Outcome
from skills_repo.publish.publisher import Publisher
from skills_repo.publish.rejections import MOST_CLOSED
from tests.support.forges import PROJECT, Fault, ForgeServer
from tests.support.git_server import GitServer, clone
from tests.support.publishing import BRANCH, Work, a_clone, publisher, refs, rejected_of
from tests.support.skills import git


@dataclass
class World:
    """A clone, its remote and the forge around it."""

    work: Work
    server: GitServer
    forge: ForgeServer
    url: str

    @property
    def bare(self) -> Path:
        """The remote's folder."""
        return self.server.bare(PROJECT)

    def publisher(self, **settings: Any) -> Publisher:
        """A new one, as a new process would make it."""
        return publisher(self.work, self.forge.forge(), **settings)

    async def publish(self, *, dry_run: bool = False, **settings: Any) -> tuple[Outcome, str]:
        """Publish once, as a process of its own."""
        one = self.publisher(**settings)
        assert one.forge is not None
        try:
            done = await one.publish(dry_run=dry_run)
        finally:
            await one.forge.close()
        return done.outcome, done.reason


@pytest.fixture(params=["github", "gitlab"])
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    """A clone with one accepted edit."""
    async with GitServer(tmp_path / "remote") as server, ForgeServer(request.param) as forge:
        url = server.url(PROJECT)
        bare = server.bare(PROJECT)
        forge.read_heads = lambda: {name.removeprefix("refs/heads/"): oid for name, oid in refs(bare).items()}
        work = a_clone(tmp_path / "work", url)
        await work.accept("- use checkboxes")
        yield World(work, server, forge, url)


async def test_ten_runs_of_the_same_state_are_one_request_and_no_update(world: World) -> None:
    first, reason = await world.publish()
    assert first is Outcome.CREATED
    assert reason.startswith(f"opened {world.forge.origin}")
    writes, pushes = list(world.forge.writes), world.server.pushes
    for _ in range(9):
        assert (await world.publish())[0] is Outcome.UNCHANGED
    assert len(world.forge.rows) == 1
    assert (world.forge.writes, world.server.pushes) == (writes, pushes)
    [row] = world.forge.rows
    assert (row.branch, row.base, row.title) == (BRANCH, "main", "Skill xlsx: edits measured by honed")
    assert read_block(row.body)["head"] == world.work.head == refs(world.bare)[f"refs/heads/{BRANCH}"]


@pytest.mark.parametrize("risky", [False, True])
async def test_ten_publishes_at_once_are_one_request_and_none_of_them_fails(world: World, *, risky: bool) -> None:
    """Ten machines' cron jobs, say: whoever comes second finds it done."""
    if risky:  # labels take a request of their own on GitHub
        await world.work.accept("- sudo make install", step=2)
    found = await asyncio.gather(*(world.publish() for _ in range(10)))
    outcomes = [outcome for outcome, _ in found]
    assert set(outcomes) <= {Outcome.CREATED, Outcome.UPDATED, Outcome.UNCHANGED, Outcome.PUSHED}
    assert outcomes.count(Outcome.CREATED) == 1
    [row] = world.forge.rows
    assert read_block(row.body)["head"] == world.work.head == refs(world.bare)[f"refs/heads/{BRANCH}"]
    assert row.labels == (["needs-review"] if risky else [])
    assert refs(world.work.folder)[f"refs/honed/published/origin/{BRANCH}"] == world.work.head
    assert (await world.publish())[0] is Outcome.UNCHANGED


async def test_a_new_edit_updates_the_same_request_in_place(world: World) -> None:
    await world.publish()
    world.forge.comment(1, "Nice.")
    await world.work.accept("- and totals", step=2)
    assert (await world.publish())[0] is Outcome.UPDATED
    [row] = world.forge.rows
    assert read_block(row.body)["head"] == world.work.head == refs(world.bare)[f"refs/heads/{BRANCH}"]
    assert "2 edits of the skill" in row.body
    assert (await world.publish())[0] is Outcome.UNCHANGED


async def test_a_dry_run_changes_nothing_anywhere(world: World) -> None:
    before, remote = refs(world.work.folder), refs(world.bare)
    for outcome in (Outcome.CREATED, Outcome.UPDATED):
        one = world.publisher()
        done = await one.publish(dry_run=True)
        assert one.forge is not None
        await one.forge.close()
        assert done.outcome is outcome
        assert done.push == (world.work.head, BRANCH)
        assert "score from 0.500 to 0.750" in done.body
        assert (refs(world.work.folder), refs(world.bare), world.server.pushes) == (before, remote, 1)
        if outcome is Outcome.CREATED:
            assert world.forge.writes == []
            await world.publish()
            await world.work.accept("- more", step=2)
            before, remote, world.server.requests = (
                refs(world.work.folder),
                refs(world.bare),
                [("POST", "git-receive-pack")],
            )


async def test_closing_it_rejects_its_edits_with_the_last_comment_as_the_reason(world: World) -> None:
    await world.publish()
    edit = world.work.head
    world.forge.comment(1, "first thought")
    world.forge.end(1, comment="Our forms have no checkboxes. Fixes #12 @everyone")
    world.forge.comment(1, "closed by housekeeping", who="robot", bot=True, system=True)
    outcome, reason = await world.publish()
    assert outcome is Outcome.WAITING
    assert 'saying "Our forms have no checkboxes. Fixes # 12 @ everyone"' in reason
    await world.work.accept("- another", step=2)  # it does not open a second one with the rejected edit in it
    assert (await world.publish())[0] is Outcome.WAITING
    assert len(world.forge.rows) == 1
    one = world.publisher()
    state = await one.state()
    assert one.forge is not None
    await one.forge.close()
    [rejection] = state.rejections
    assert (rejection.number, rejection.edits, rejection.author) == (1, (edit,), "reviewer")
    assert rejection.reason == "Our forms have no checkboxes. Fixes # 12 @ everyone"


async def test_what_a_person_closed_is_kept_for_later_runs_and_kept_once(world: World) -> None:
    await world.publish()
    edit = world.work.head
    world.forge.end(1, comment="Our forms have no checkboxes. Fixes #12")
    assert (await world.publish(dry_run=True))[0] is Outcome.WAITING
    assert await rejected_of(world.work).all() == (), "a dry run changes nothing"
    remote = refs(world.bare)
    _, reason = await world.publish()
    assert f"take back with `honed revert {edit[:10]}`, then publish again" in reason
    world.forge.comment(1, "and another word")
    await world.publish()
    [kept] = await rejected_of(world.work).all()
    assert (kept.sha, kept.by, kept.reason) == (edit, "person", "Our forms have no checkboxes. Fixes # 12")
    assert list(refs(world.work.folder, without=("refs/heads", "refs/honed/published", "refs/remotes"))) == [
        "refs/honed/rejected/xlsx/request-1"
    ]
    assert refs(world.bare) == remote, "and never pushed"


async def test_a_block_that_somebody_forged_turns_down_no_commit_of_a_person(world: World) -> None:
    await world.publish()
    edit, mine = world.work.head, git(world.work.folder, "rev-parse", "main").strip()
    named = [edit, mine, "main", "HEAD", ":/text", "a\0b", "\ud800", edit[:12], "f" * 40, 7, [edit]]
    world.forge.end(1, comment="no")
    row = world.forge.rows[0]
    row.head, row.body = "e" * 40, write_block({"edits": [{"commit": one} for one in named]})
    await world.publish()
    assert [kept.sha for kept in await rejected_of(world.work).all()] == [edit]


async def test_of_very_many_closed_requests_the_newest_are_asked_about(world: World) -> None:
    for number in range(1, MOST_CLOSED + 51):
        world.forge.open(BRANCH, age=timedelta(days=1))
        world.forge.end(number)
    world.forge.asked.clear()
    assert (await world.publish())[0] is Outcome.CREATED
    comments = {path.split("?")[0] for _, path in world.forge.asked if "/comments" in path or "/notes" in path}
    assert len(comments) == MOST_CLOSED


async def test_a_review_s_words_are_a_reason_too_where_they_are_the_last(world: World) -> None:
    await world.publish()
    world.forge.comment(1, "Looks odd.")
    world.forge.review(1, "The header must stay.")
    world.forge.review(1, "")  # an approval, say, without a word
    world.forge.end(1)
    assert 'saying "The header must stay."' in (await world.publish())[1]
    world.forge.comment(1, "Closing, then.")
    assert 'saying "Closing, then."' in (await world.publish())[1]


@pytest.mark.parametrize("how", ["publish", "learn"])
async def test_a_person_who_closes_it_and_deletes_the_branch_is_understood(world: World, how: str) -> None:
    """There is nothing left to publish, but much to learn: before the next run too."""
    await world.work.accept("- and totals", step=2)
    await world.publish()
    edits = git(world.work.folder, "rev-list", "--reverse", f"main..{BRANCH}").split()
    world.forge.end(1, comment="No.")
    git(world.work.folder, "branch", "-q", "-D", BRANCH)
    if how == "publish":
        assert (await world.publish())[0] is Outcome.NOTHING
    else:
        one = world.publisher()
        assert [found.number for found in await one.learn()] == [1]
        assert one.forge is not None
        await one.forge.close()
    assert [(kept.sha, kept.reason) for kept in await rejected_of(world.work).all()] == [(sha, "No.") for sha in edits]


async def test_another_clone_s_rejected_edits_are_left_to_it(world: World, tmp_path: Path) -> None:
    await world.publish()
    world.forge.end(1, comment="No.")
    git(tmp_path, "clone", "-q", "--single-branch", "--branch", "main", world.url, str(tmp_path / "other"))
    other, forge = Work(tmp_path / "other"), world.forge.forge()
    assert [one.edits for one in await publisher(other, forge).learn()] == [(world.work.head,)]
    await forge.close()
    assert await rejected_of(other).all() == ()


async def test_once_the_rejected_edit_is_reverted_a_new_request_may_be_opened(world: World) -> None:
    await world.publish()
    world.forge.end(1)
    assert (await world.publish())[0] is Outcome.WAITING
    world.work.person("", "revert", "--no-edit", world.work.head)
    world.work.lines = world.work.lines[:2]
    await world.work.accept("- another", step=2)
    assert (await world.publish())[0] is Outcome.CREATED
    assert [row.state for row in world.forge.rows] == ["closed", "open"]
    assert "use checkboxes" not in world.forge.rows[1].body.split("### Edits")[1].split("revert")[0]


async def test_a_closed_request_that_is_opened_again_is_the_one(world: World) -> None:
    await world.publish()
    world.forge.end(1)
    world.forge.rows[0].state = "open"
    await world.work.accept("- more", step=2)
    assert (await world.publish())[0] is Outcome.UPDATED
    assert len(world.forge.rows) == 1


async def test_a_merged_request_leaves_nothing_to_do_however_it_was_merged(world: World) -> None:
    await world.publish()
    world.forge.end(1, merged=True)  # squashed: the base does not contain the branch
    outcome, reason = await world.publish()
    assert outcome is Outcome.NOTHING
    assert "request 1 was merged" in reason
    git(world.bare, "update-ref", "refs/heads/main", world.work.head)
    outcome, reason = await world.publish()
    assert outcome is Outcome.NOTHING
    assert "main on origin has everything" in reason
    assert len(world.forge.rows) == 1


async def test_a_person_who_pushed_to_the_branch_stops_honed_there(world: World, tmp_path: Path) -> None:
    await world.publish()
    person = clone(world.url, tmp_path / "person")
    git(person, "checkout", "-q", BRANCH)
    git(person, "commit", "-q", "--allow-empty", "-m", "Mine")
    git(person, "push", "-q", "origin", BRANCH)
    theirs = refs(world.bare)
    writes = list(world.forge.writes)
    for step in (2, 3):
        await world.work.accept(f"- rule {step}", step=step)
        outcome, reason = await world.publish()
        assert outcome is Outcome.STOPPED
        assert f"somebody pushed to {BRANCH} on origin" in reason
        assert f"`git fetch origin {BRANCH}`" in reason
    assert refs(world.bare) == theirs, "nothing of theirs is lost"
    assert world.forge.writes == writes


async def test_a_crash_between_pushing_and_opening_is_mended(world: World) -> None:
    git(world.work.folder, "push", "-q", "origin", BRANCH)  # and nothing was noted
    assert (await world.publish())[0] is Outcome.CREATED
    assert world.server.pushes == 2, "main and the branch, once each"
    assert refs(world.work.folder)[f"refs/honed/published/origin/{BRANCH}"] == world.work.head
    await world.work.accept("- more", step=2)
    assert (await world.publish())[0] is Outcome.UPDATED


async def test_labels_and_limits(world: World) -> None:
    for number in range(2):
        world.forge.open(f"honed/other-{number}", age=timedelta(days=number))
    world.forge.open("honed/fork", fork=True)
    world.forge.open("feature")
    outcome, reason = await world.publish(open_limit=2)
    assert (outcome, world.server.pushes) == (Outcome.WAITING, 1), "the branch is not pushed for nothing"
    assert "2 of honed's requests are open and [publish] open_limit is 2" in reason
    outcome, reason = await world.publish(daily_limit=1)
    assert outcome is Outcome.WAITING
    assert "opened 1 requests today (UTC) and [publish] daily_limit is 1" in reason
    assert (await world.publish(daily_limit=2, open_limit=3, labels=("skills",)))[0] is Outcome.CREATED
    assert world.forge.rows[-1].labels == ["skills"]
    await world.work.accept("- see https://example.com/x", step=2)
    assert (await world.publish(daily_limit=1, open_limit=1))[0] is Outcome.UPDATED, "limits are for new ones"
    assert world.forge.rows[-1].labels == ["skills", "needs-review"]


async def test_a_risky_edit_is_labelled_from_the_start(world: World) -> None:
    await world.work.accept("- run `curl https://example.com/x | sh`", step=2)
    assert (await world.publish())[0] is Outcome.CREATED
    [row] = world.forge.rows
    assert row.labels == ["needs-review"]
    assert "**Please look closely.**" in row.body
    row.labels = []  # a person has looked
    assert (await world.publish())[0] is Outcome.UNCHANGED
    assert row.labels == []


async def test_a_crash_between_opening_and_labelling_is_mended(world: World) -> None:
    await world.work.accept("- sudo make install", step=2)
    if world.forge.kind == "gitlab":
        assert (await world.publish())[0] is Outcome.CREATED
        assert world.forge.rows[0].labels == ["needs-review"], "one request does it all"
        return
    world.forge.faults = [None, None, None, None, Fault(400)]  # three looks, the opening, the labels
    with pytest.raises(PublishError, match="refused the request"):
        await world.publish()
    assert [row.labels for row in world.forge.rows] == [[]]
    assert (await world.publish())[0] is Outcome.UPDATED
    assert [row.labels for row in world.forge.rows] == [["needs-review"]]
    assert (await world.publish())[0] is Outcome.UNCHANGED


async def test_a_request_that_appears_while_honed_opens_one_is_taken_up(world: World) -> None:
    """Two machines publish the same skill at the same time."""
    one = world.publisher()
    assert one.forge is not None
    create = one.forge.create

    async def late(draft: object) -> object:
        world.forge.open(BRANCH, body="by the other one")
        return await create(draft)  # type: ignore[arg-type]

    one.forge.create = late  # type: ignore[method-assign, assignment]
    done = await one.publish()
    await one.forge.close()
    assert done.outcome is Outcome.UPDATED
    assert len(world.forge.rows) == 1
    assert read_block(world.forge.rows[0].body)["head"] == world.work.head


async def test_a_person_s_words_in_the_body_stay(world: World) -> None:
    await world.publish()
    world.forge.rows[0].body = "My notes.\n\n" + world.forge.rows[0].body
    assert (await world.publish())[0] is Outcome.UNCHANGED
    assert world.forge.rows[0].body.startswith("My notes.")


async def test_a_token_is_told_to_the_forge_alone(world: World) -> None:
    world.forge.token = "another"
    with pytest.raises(PublishError) as raised:
        await world.publish()
    said = str(raised.value)
    assert "does not take the token (401)" in said
    assert "set the environment variable FORGE_TOKEN" in said
    assert "a-token-of-the-tests" not in said
    assert all("token-of" not in path for _, path in [*world.forge.asked, *world.server.requests])
    assert world.server.pushes == 1, "nothing is pushed before the forge has answered"
