"""One request a skill: opened, or brought up to date in place, or left alone."""

from __future__ import annotations

from dataclasses import replace

from skills_repo.publish.block import read_block, without_block
from skills_repo.publish.errors import PublishError
from skills_repo.publish.forge import Draft, ExistsError, Forge, Request
from skills_repo.publish.outcome import Outcome, Published
from skills_repo.publish.proposal import Proposal
from skills_repo.publish.settings import REVIEW_LABEL, PublishSettings


def labels_for(settings: PublishSettings, proposal: Proposal) -> tuple[str, ...]:
    """What the request should carry; honed adds labels and never takes one away."""
    return tuple(dict.fromkeys([*settings.labels, *([REVIEW_LABEL] if proposal.risks else [])]))


async def write_request(
    forge: Forge, proposal: Proposal, told: Published, opened: Request | None, *, dry_run: bool
) -> Published:
    """Make the forge say what `told` says, with as few writes as possible."""
    if opened is None:
        if dry_run:
            return replace(told, outcome=Outcome.CREATED, reason=f"a {forge.noun} into {told.base} would be opened")
        draft = Draft(proposal.branch, proposal.base_branch, told.title, told.body, told.labels)
        try:
            made = await _create(forge, draft)
        except ExistsError:
            opened = await _appeared(forge, proposal.branch)
        else:
            return replace(told, outcome=Outcome.CREATED, reason=f"opened {made.url}", request=made)
    if _is_current(opened, proposal):
        why = f"{opened.url} says it already"
        return replace(told, outcome=Outcome.PUSHED if told.push else Outcome.UNCHANGED, reason=why, request=opened)
    if dry_run:
        return replace(
            told, outcome=Outcome.UPDATED, reason=f"{opened.url} would be brought up to date", request=opened
        )
    missing = tuple(label for label in told.labels if label not in opened.labels)
    if missing:  # before the body, which says that all is done
        await forge.add_labels(opened.number, missing)
    await forge.update(opened.number, title=told.title, body=told.body)
    return replace(told, outcome=Outcome.UPDATED, reason=f"brought {opened.url} up to date", request=opened)


async def _create(forge: Forge, draft: Draft) -> Request:
    """Open it. Where labels take a request of their own, honed's block is written last: until then it is not done."""
    if forge.labels_on_create or not draft.labels:
        return await forge.create(draft)
    made = await forge.create(replace(draft, body=without_block(draft.body)))
    await forge.add_labels(made.number, draft.labels)
    await forge.update(made.number, title=draft.title, body=draft.body)
    return made


def _is_current(opened: Request, proposal: Proposal) -> bool:
    """The body is about this very state: a person's words beside honed's are left alone."""
    block = read_block(opened.body)
    return (block.get("head"), block.get("base")) == (proposal.head, proposal.base)


async def _appeared(forge: Forge, branch: str) -> Request:
    """The open request that came into being since we looked."""
    for request in await forge.requests_of(branch):
        if request.state == "open":
            return request
    msg = f"{forge.name} says that there is a {forge.noun} for {branch} already, but does not list it as open"
    raise PublishError(f"{msg} (look for one from a fork or into another branch, and close it)")
