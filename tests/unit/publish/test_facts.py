"""What the journal adds to a body: tasks, costs, alternatives, the sealed test; and a body without a journal."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from daemon import __version__
from daemon.config import Config
from daemon.publishing import facts as module
from daemon.publishing.facts import facts_of, gather
from daemon.readback.run import RunView
from skills_repo.history import SkillCommit
from skills_repo.publish.body import render
from skills_repo.publish.facts import Facts
from skills_repo.publish.proposal import Proposal
from skills_repo.skill import Skill
from tests.support.readback import TickingWorld, trained, world


async def proposal_of(made: TickingWorld) -> Proposal:
    """The world's branch as a proposal."""
    history = made.history
    commits: tuple[SkillCommit, ...] = tuple(reversed(await history.log(100)))
    before, after = await history.read(commits[0].sha), await history.read(commits[-1].sha)
    return Proposal(
        "skills/demo", "honed/demo", "main", commits[0].sha, commits[-1].sha, commits[1:], before, after, ()
    )


@pytest.fixture
async def made(tmp_path: Path) -> TickingWorld:
    """A training that is done."""
    return world(tmp_path / "attempts")


async def test_the_journal_s_figures_are_told_step_by_step(made: TickingWorld) -> None:
    view: RunView = await trained(made)
    proposal = await proposal_of(made)
    found = await facts_of(made.journal, proposal)
    accepted = [step for step in view.steps if step.outcome == "accepted"]
    assert accepted
    assert set(found.steps) == {(view.run.run_id, step.step, "step") for step in accepted} == set(proposal.places)
    for step in accepted:
        assert step.verdict is not None
        row = found.steps[view.run.run_id, step.step, "step"]
        assert row.fixed == step.verdict.fixed
        assert row.tokens is not None
        assert row.tokens > 0
    [sealed] = found.sealed
    assert view.final is not None
    assert (sealed.before, sealed.after) == (view.final["before"]["score"], view.final["after"]["score"])
    assert found.versions["honed"] == __version__
    body = render(proposal, found, 65_000)
    assert "| all | test \\(sealed\\) |" in body
    assert "- step 1: fixed `" in body


async def test_the_sealed_test_is_told_of_the_very_skills_it_scored_alone(made: TickingWorld) -> None:
    await trained(made)
    proposal = await proposal_of(made)
    for changed in (
        replace(proposal, before=Skill("demo", {"SKILL.md": b"other"})),
        replace(proposal, after=Skill("demo", {"SKILL.md": b"other"})),
    ):
        assert (await facts_of(made.journal, changed)).sealed == ()


async def test_only_the_runs_of_the_branch_are_told(made: TickingWorld) -> None:
    await trained(made)
    proposal = await proposal_of(made)
    found = await facts_of(made.journal, replace(proposal, commits=()))
    assert found == Facts(versions={"honed": __version__})


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """Just enough of one: the file, beside which the state folder lies."""
    return cast(Config, SimpleNamespace(file=tmp_path / "honed.toml"))


async def test_without_a_journal_or_with_a_broken_one_a_body_is_still_made(
    made: TickingWorld, config: Config, tmp_path: Path
) -> None:
    await trained(made)
    proposal = await proposal_of(made)
    alone = Facts(versions={"honed": __version__})
    assert await gather(config, proposal) == alone
    (tmp_path / ".honed").mkdir()
    (tmp_path / ".honed" / "journal.sqlite").write_bytes(b"no database at all, and long enough to be read as one" * 50)
    assert await gather(config, proposal) == alone
    body = render(proposal, alone, 65_000)
    assert re.search(r"^\| 1 \| selection .* \| [1-9][\d,]* \| \\\$\d", body, re.MULTILINE), (
        "costs stand in the commits"
    )
    assert "### Tasks fixed and broken" not in body
    assert module.IMAGE.startswith("target.")
