"""Requests that people closed without merging: a rejection with the last comment as its reason, as data."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from skills_repo.git import Git
from skills_repo.log import read_commits
from skills_repo.message import neutral
from skills_repo.publish.block import read_block
from skills_repo.publish.forge import Forge, Request, head_of
from skills_repo.publish.outcome import Rejection
from skills_repo.publish.proposal import Proposal, commits_between, standing
from skills_repo.publish.situation import Situation, contains, resolve
from skills_repo.rejected import RejectedEdits
from skills_repo.repository import SkillRepository

MAX_REASON = 1_000
MOST_CLOSED = 100
"""Requests whose comments are asked for, the newest: each costs requests of its own. What was kept stays kept."""


async def read_rejections(
    forge: Forge, requests: Sequence[Request], git: Git, history: SkillRepository, seen: Situation
) -> tuple[Rejection, ...]:
    """The newest closed ones with their reasons, newest first."""
    found = []
    for request in [one for one in requests if one.state == "closed"][:MOST_CLOSED]:
        comment = await forge.last_comment(request.number)
        found.append(
            Rejection(
                number=request.number,
                url=request.url,
                head=request.head,
                edits=await asyncio.to_thread(_edits, git, history.skill_path, seen, request),
                author=neutral(comment.author, 100) if comment else "",
                reason=neutral(comment.text, MAX_REASON) if comment else "",
            )
        )
    return tuple(found)


async def keep_rejections(kept: RejectedEdits, git: Git, found: Sequence[Rejection], when: float) -> int:
    """Remember them for later runs, those that are known already too: a kept set never changes; how many are kept.

    Commits that are not here (another clone's) cannot be kept: that clone's honed does it.
    """
    count = 0
    for one in reversed(found):
        here = await asyncio.to_thread(lambda edits: tuple(sha for sha in edits if resolve(git, sha)), one.edits)
        if here:
            await kept.keep_commits(f"request-{one.number}", here, reason=one.reason, when=when)
            count += 1
    return count


def turned_down(rejections: Sequence[Rejection], proposal: Proposal) -> Rejection | None:
    """The newest one of whose edits the branch still carries one: to open a request with it would be to ask again."""
    there = {commit.sha for commit in proposal.edits}
    return next((one for one in rejections if there & set(one.edits)), None)


def _edits(git: Git, skill_path: str, seen: Situation, request: Request) -> tuple[str, ...]:
    """By git where the request's head is here, else as honed's own block in its body says, which anybody can write.

    Of what the block names, commits of people and of nobody are left out.
    """
    if request.head and resolve(git, request.head) is not None and not contains(git, seen.base_tip, request.head):
        return tuple(one.sha for one in standing(commits_between(git, seen.base_tip, request.head, skill_path)))
    rows = read_block(request.body).get("edits")
    shas = [row.get("commit") for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    named = list(dict.fromkeys(sha for sha in map(head_of, shas) if sha))
    known = read_commits(git, [sha for sha in named if resolve(git, sha) == sha])
    return tuple(sha for sha in named if sha not in known or known[sha].kind == "edit")
