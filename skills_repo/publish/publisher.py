"""Publishing one skill: look, decide, push, and write one request.

Invariants: nothing is forced; looking changes nothing; the same state published again changes nothing; a push comes
before the request that needs it, so that a crash between them is mended by publishing again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import ParamSpec, TypeVar

from skills_repo.git import Git, GitFailedError
from skills_repo.history import RepositoryError
from skills_repo.publish.body import render
from skills_repo.publish.facts import Facts
from skills_repo.publish.forge import Forge, Request
from skills_repo.publish.outcome import Outcome, Published, PublishState, Rejection
from skills_repo.publish.proposal import Proposal
from skills_repo.publish.push import Standing, explain
from skills_repo.publish.rejections import keep_rejections, read_rejections, turned_down
from skills_repo.publish.remote import Remote, RemoteMovedError
from skills_repo.publish.requests import labels_for, write_request
from skills_repo.publish.settings import PublishSettings
from skills_repo.publish.situation import HEADS, Situation, look, look_here, note_published, propose
from skills_repo.rejected import RejectedEdits
from skills_repo.repository import SkillRepository

_P = ParamSpec("_P")
_T = TypeVar("_T")
PREVIEW_LIMIT = 65_000
"""Bytes of a body that is only shown."""


@dataclass(frozen=True)
class Publisher:
    """One skill's way out."""

    history: SkillRepository
    settings: PublishSettings
    remote: Remote
    forge: Forge | None
    """None where no request is asked for."""
    facts: Callable[[Proposal], Awaitable[Facts]]
    """What a body tells beyond the commits."""
    clean: Callable[[str], str]
    """Takes secrets out of what is about to leave."""
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    rejected: RejectedEdits | None = None
    """Where the edits of requests that people closed are kept for later runs; None: nowhere."""
    token_from: str = ""
    """Where the forge's token came from, in words; empty without a forge."""

    async def publish(self, *, dry_run: bool = False) -> Published:
        """Do what `mode` says; a dry run changes nothing anywhere. Raises `PublishError`, `RepositoryError`."""
        await self.history.base()  # the repository is usable, or this says why not
        if self.settings.mode == "branch":
            return await self._preview()
        seen = await self._look()
        proposal = None if seen.head is None or seen.merged else await self._propose(seen)
        if proposal is None or not proposal.commits:
            if self.forge is not None and not dry_run:
                await self._closed(seen, await self.forge.requests_of(seen.branch))
            return Published(Outcome.NOTHING, self._nothing(seen), seen.branch, seen.base_branch, seen.head or "")
        if seen.unshared:
            return replace(await self._told(proposal, PREVIEW_LIMIT), outcome=Outcome.STOPPED, reason=self._below(seen))
        if self.settings.mode == "direct":
            return await self._direct(seen, proposal, dry_run=dry_run)
        if self.settings.mode == "push":
            return await self._push_branch(seen, proposal, dry_run=dry_run)
        return await self._request(seen, proposal, dry_run=dry_run)

    def _nothing(self, seen: Situation) -> str:
        if seen.head is None:
            return "no edit was kept yet: run `honed train`"
        if seen.merged:
            return f"{seen.base_branch} on {self.remote.name} has everything that {seen.branch} has"
        return f"no commit of {seen.branch} changes the skill"

    def _below(self, seen: Situation) -> str:
        count = f"{seen.unshared} commit{'' if seen.unshared == 1 else 's'} of HEAD"
        what = f"{seen.branch} stands on {count} that {self.remote.name} does not have: they are for you to publish"
        return f"{what} (`git push {self.remote.name} HEAD`, then `honed publish`)"

    async def state(self) -> PublishState:
        """What stands where now, and what people turned down. Changes nothing."""
        await self.history.base()
        seen = await self._look()
        requests = await self.forge.requests_of(seen.branch) if self.forge else ()
        found = () if self.forge is None else await read_rejections(self.forge, requests, self._git, self.history, seen)
        return PublishState(
            branch=seen.branch,
            head=seen.head,
            remote_head=seen.remote_head,
            published=seen.published,
            standing=seen.standing,
            merged=seen.merged or any(r.state == "merged" and r.head == seen.head for r in requests),
            open=_open(requests),
            rejections=found,
        )

    async def learn(self) -> tuple[Rejection, ...]:
        """Keep what people turned down, for the next run; changes nothing else. Raises as `publish` does."""
        if self.forge is None:
            return ()
        await self.history.base()
        seen = await self._look()
        return await self._closed(seen, await self.forge.requests_of(seen.branch))

    async def _closed(
        self, seen: Situation, requests: tuple[Request, ...], *, keep: bool = True
    ) -> tuple[Rejection, ...]:
        """The closed requests' edits and reasons; kept, so that later runs know them."""
        assert self.forge is not None
        found = await read_rejections(self.forge, requests, self._git, self.history, seen)
        if self.rejected is not None and keep:
            clean = [replace(one, reason=self.clean(one.reason)) for one in found]
            await keep_rejections(self.rejected, self._git, clean, self.clock().timestamp())
        return found

    async def _preview(self) -> Published:
        """What a request would say; asks nobody."""
        seen = await self._in_git(look_here, self._git, self.history.branch)
        why = 'mode = "branch": nothing leaves this machine (choose another in [publish] mode)'
        if seen.head is None or seen.merged:
            return Published(Outcome.OFF, why, seen.branch)
        proposal = await self._propose(seen)
        return replace(await self._told(proposal, PREVIEW_LIMIT), outcome=Outcome.OFF, reason=why)

    async def _direct(self, seen: Situation, proposal: Proposal, *, dry_run: bool) -> Published:
        told = await self._told(proposal, PREVIEW_LIMIT)
        if proposal.risks:
            kinds = ", ".join(dict.fromkeys(risk.kind.words for risk in proposal.risks))
            why = f'an edit {kinds}: honed does not merge that by itself (use mode = "pull-request", or merge by hand)'
            return replace(told, outcome=Outcome.STOPPED, reason=why)
        if proposal.base != seen.base_tip:
            why = (
                f"{seen.base_branch} on {self.remote.name} has moved on and honed never forces a push: "
                f"fetch it and merge it into {seen.branch}, then `honed publish`"
            )
            return replace(told, outcome=Outcome.STOPPED, reason=why)
        if not dry_run:
            await self._push(proposal.head, seen.base_branch)
        why = f"{len(proposal.commits)} commits to {seen.base_branch} on {self.remote.name}"
        return replace(told, outcome=Outcome.PUSHED, reason=why, push=(proposal.head, seen.base_branch))

    async def _push_branch(self, seen: Situation, proposal: Proposal, *, dry_run: bool) -> Published:
        told = await self._told(proposal, PREVIEW_LIMIT)
        if stop := self._stop(seen):
            return replace(told, outcome=Outcome.STOPPED, reason=stop)
        pushed = await self._bring(seen, proposal, dry_run=dry_run)
        if pushed is None:
            why = f"{seen.branch} on {self.remote.name} is at {proposal.head[:12]} already"
            return replace(told, outcome=Outcome.UNCHANGED, reason=why)
        return replace(told, outcome=Outcome.PUSHED, reason=f"{seen.branch} to {self.remote.name}", push=pushed)

    async def _request(self, seen: Situation, proposal: Proposal, *, dry_run: bool) -> Published:
        assert self.forge is not None, "a request needs a forge"
        told = await self._told(proposal, self.forge.body_limit)
        requests = await self.forge.requests_of(seen.branch)
        opened = _open(requests)
        if opened is None and (ended := await self._ended(seen, proposal, requests, keep=not dry_run)):
            return replace(told, outcome=ended[0], reason=ended[1], request=ended[2])
        if stop := self._stop(seen):
            return replace(told, outcome=Outcome.STOPPED, reason=stop, request=opened)
        if opened is None and (full := await self._full()):
            return replace(told, outcome=Outcome.WAITING, reason=full)
        told = replace(told, push=await self._bring(seen, proposal, dry_run=dry_run))
        return await write_request(self.forge, proposal, told, opened, dry_run=dry_run)

    async def _ended(
        self, seen: Situation, proposal: Proposal, requests: tuple[Request, ...], *, keep: bool
    ) -> tuple[Outcome, str, Request] | None:
        """Why no other request is opened: this very state was merged, or a person turned its edits down."""
        for request in requests:
            if request.state == "merged" and request.head == seen.head:
                return Outcome.NOTHING, f"{self._name(request)} was merged", request
        rejection = turned_down(await self._closed(seen, requests, keep=keep), proposal)
        if rejection is None:
            return None
        request = next(one for one in requests if one.number == rejection.number)
        said = f', saying "{rejection.reason}"' if rejection.reason else ""
        why = f"a person closed {self._name(request)}{said}: its edits are still on {seen.branch}"
        remedy = f"take back with {self._reverts(rejection, proposal)}, then publish again, or open the request again"
        return Outcome.WAITING, f"{why} ({remedy})", request

    def _reverts(self, rejection: Rejection, proposal: Proposal) -> str:
        """The commands that take the rejected edits back."""
        there = [commit.sha[:10] for commit in proposal.edits if commit.sha in rejection.edits]
        more = f" and {len(there) - 3} more" if len(there) > 3 else ""
        return ", ".join(f"`honed revert {sha}`" for sha in there[::-1][:3]) + more

    async def _full(self) -> str:
        """The limit that is reached; empty if none is."""
        assert self.forge is not None
        limits = self.settings
        now = self.clock()
        if (count := await self.forge.open_of_honed()) >= limits.open_limit:
            what = f"{count} of honed's requests are open and [publish] open_limit is {limits.open_limit}"
            return f"{what}: review one, or raise it"
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        if (count := await self.forge.opened_since(midnight)) >= limits.daily_limit:
            what = f"honed opened {count} requests today (UTC) and [publish] daily_limit is {limits.daily_limit}"
            return f"{what}: publish again tomorrow, or raise it"
        return ""

    async def _told(self, proposal: Proposal, limit: int) -> Published:
        facts = await self.facts(proposal)
        return Published(
            outcome=Outcome.UNCHANGED,
            reason="",
            branch=proposal.branch,
            base=proposal.base_branch,
            head=proposal.head,
            commits=tuple(commit.sha for commit in proposal.commits),
            title=proposal.title,
            body=self.clean(render(proposal, facts, limit)),
            labels=labels_for(self.settings, proposal),
            risks=proposal.risks,
        )

    async def _bring(self, seen: Situation, proposal: Proposal, *, dry_run: bool) -> tuple[str, str] | None:
        """Push the branch if it is ahead; what was pushed, if anything."""
        ahead = seen.standing is Standing.AHEAD
        if ahead and not dry_run:
            await self._push(proposal.head, seen.branch)
        if not dry_run and proposal.head != seen.published:
            await self._in_git(note_published, self._git, self.remote.name, seen.branch, proposal.head)
        return (proposal.head, seen.branch) if ahead else None

    async def _push(self, commit: str, branch: str) -> None:
        """Push; where another process was faster with the very same commit, all is well."""
        try:
            await asyncio.to_thread(self.remote.push, commit, HEADS + branch)
        except RemoteMovedError:
            heads, _ = await asyncio.to_thread(self.remote.heads)
            if heads.get(HEADS + branch) != commit:
                raise

    def _stop(self, seen: Situation) -> str:
        assert seen.standing is not None
        return explain(seen.standing, seen.branch, self.remote.name) if seen.standing.stops else ""

    async def _look(self) -> Situation:
        return await self._in_git(look, self._git, self.remote, self.history.branch, self.settings.base)

    async def _propose(self, seen: Situation) -> Proposal:
        return await self._in_git(propose, self._git, self.history.skill_path, seen, self.settings.allowed_hosts)

    async def _in_git(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Work that blocks; what git refuses is said with the repository's name."""
        try:
            return await asyncio.to_thread(work, *args, **kwargs)
        except GitFailedError as error:
            raise RepositoryError(f"{self.history.root}: {error} (run `git fsck` there if this persists)") from error

    def _name(self, request: Request) -> str:
        assert self.forge is not None
        return f"{self.forge.noun} {request.number}"

    @property
    def _git(self) -> Git:
        return Git(self.history.root)


def _open(requests: tuple[Request, ...]) -> Request | None:
    return next((request for request in requests if request.state == "open"), None)
