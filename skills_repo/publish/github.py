"""Pull requests over GitHub's REST API (version 2022-11-28), GitHub Enterprise's too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any

from skills_repo.publish.access import Access, TokenSource
from skills_repo.publish.address import Project
from skills_repo.publish.forge import (
    OURS,
    Comment,
    Draft,
    ExistsError,
    Request,
    fields_of,
    head_of,
    number_of,
    time_of,
)
from skills_repo.publish.http import ForgeHttp, Sleep
from skills_repo.publish.refused import message_of, refusal


def github_access(project: Project, source: TokenSource, token: str, timeout_s: float) -> Access:
    """How to reach it."""
    headers = {
        "Authorization": f"Bearer {token}",
        "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": "2022-11-28",
    }
    return Access("GitHub", project.api_url, project.path, source, headers, timeout_s)


_SENT = "submitted_at"
"""When a review was; ISO 8601 in UTC, like every time of GitHub, so text is ordered as time is."""


class GitHub:
    """One repository."""

    name = "GitHub"
    noun = "pull request"
    body_limit = 65_000
    labels_on_create = False

    def __init__(self, access: Access, *, sleep: Sleep = asyncio.sleep) -> None:
        self._http = ForgeHttp(access, sleep=sleep)
        self._at = f"/repos/{access.project}"
        self._owner = access.project.split("/")[0]

    async def requests_of(self, branch: str) -> tuple[Request, ...]:
        """Every request for a branch in any state, newest first."""
        query = {"head": f"{self._owner}:{branch}", "state": "all", "sort": "created", "direction": "desc"}
        rows = [row async for row in self._pulls(query)]
        return tuple(row for row in rows if row.branch == branch)

    async def open_of_honed(self) -> int:
        """How many of honed's are open."""
        return len([row async for row in self._pulls({"state": "open"}) if row.branch.startswith(OURS)])

    async def opened_since(self, when: datetime) -> int:
        """How many of honed's were opened since."""
        found = 0
        async for row in self._pulls({"state": "all", "sort": "created", "direction": "desc"}):
            if row.created < when:
                break
            found += row.branch.startswith(OURS)
        return found

    async def create(self, draft: Draft) -> Request:
        """Open one; `ExistsError` if there is one."""
        body = {"title": draft.title, "head": draft.branch, "base": draft.base, "body": draft.body}
        reply = await self._http.call("POST", f"{self._at}/pulls", body=body, taken=(422,))
        if reply.status == 422:
            if "already exists" in message_of(reply.data):
                raise ExistsError
            raise refusal(self._http.access, reply)
        return self._read(reply.data)

    async def update(self, number: int, *, title: str, body: str) -> None:
        """Another title and body."""
        await self._http.call("PATCH", f"{self._at}/pulls/{int(number)}", body={"title": title, "body": body})

    async def add_labels(self, number: int, labels: tuple[str, ...]) -> None:
        """Add labels."""
        await self._http.call("POST", f"{self._at}/issues/{int(number)}/labels", body={"labels": list(labels)})

    async def last_comment(self, number: int) -> Comment | None:
        """The newest comment of a person, a review's words among them."""
        found: tuple[str, Comment] | None = None
        for path, when in ((f"issues/{int(number)}/comments", "created_at"), (f"pulls/{int(number)}/reviews", _SENT)):
            async for row in self._http.pages(f"{self._at}/{path}", {}):
                user, text, time = fields_of(row.get("user")), row.get("body"), str(row.get(when) or "")
                said = user.get("type") != "Bot" and isinstance(text, str) and text.strip()
                if said and (found is None or time >= found[0]):
                    found = time, Comment(str(user.get("login", "")), str(text))
        return None if found is None else found[1]

    async def close(self) -> None:
        """Give the connections back."""
        await self._http.close()

    async def _pulls(self, query: Mapping[str, str]) -> AsyncIterator[Request]:
        async for row in self._http.pages(f"{self._at}/pulls", query):
            head = row.get("head")
            if not isinstance(head, dict):
                raise self._http.odd(self._at)
            here = fields_of(head.get("repo"))  # a fork that was deleted has none
            if str(here.get("full_name", "")).lower() == self._http.access.project.lower():
                yield self._read(row)

    def _read(self, row: Any) -> Request:
        try:
            return Request(
                number=number_of(row["number"]),
                url=str(row["html_url"]),
                state="merged" if row.get("merged_at") else "open" if row["state"] == "open" else "closed",
                branch=str(row["head"]["ref"]),
                head=head_of(row["head"]["sha"]),
                title=str(row["title"]),
                body=str(row.get("body") or ""),
                labels=tuple(str(label["name"]) for label in row.get("labels") or ()),
                created=time_of(row["created_at"]),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise self._http.odd(self._at) from error
