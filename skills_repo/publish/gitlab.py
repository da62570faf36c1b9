"""Merge requests over GitLab's REST API (v4), self-managed ones too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any, Literal
from urllib.parse import quote

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

_STATES: dict[str, Literal["open", "closed", "merged"]] = {
    "opened": "open",
    "locked": "open",
    "closed": "closed",
    "merged": "merged",
}


def gitlab_access(project: Project, source: TokenSource, token: str, timeout_s: float) -> Access:
    """How to reach it."""
    return Access("GitLab", project.api_url, project.path, source, {"Authorization": f"Bearer {token}"}, timeout_s)


class GitLab:
    """One project."""

    name = "GitLab"
    noun = "merge request"
    body_limit = 1_000_000
    labels_on_create = True

    def __init__(self, access: Access, *, sleep: Sleep = asyncio.sleep) -> None:
        self._http = ForgeHttp(access, sleep=sleep)
        self._at = f"/projects/{quote(access.project, safe='')}/merge_requests"

    async def requests_of(self, branch: str) -> tuple[Request, ...]:
        """Every request for a branch in any state, newest first."""
        query = {"source_branch": branch, "state": "all", "order_by": "created_at", "sort": "desc"}
        return tuple([row async for row in self._merges(query) if row.branch == branch])

    async def open_of_honed(self) -> int:
        """How many of honed's are open."""
        return len([row async for row in self._merges({"state": "opened"}) if row.branch.startswith(OURS)])

    async def opened_since(self, when: datetime) -> int:
        """How many of honed's were opened since."""
        query = {"state": "all", "order_by": "created_at", "sort": "desc", "created_after": when.isoformat()}
        return len([row async for row in self._merges(query) if row.branch.startswith(OURS) and row.created >= when])

    async def create(self, draft: Draft) -> Request:
        """Open one; `ExistsError` if there is one."""
        body = {
            "source_branch": draft.branch,
            "target_branch": draft.base,
            "title": draft.title,
            "description": draft.body,
            "labels": ",".join(draft.labels),
        }
        reply = await self._http.call("POST", self._at, body=body, taken=(409,))
        if reply.status == 409:
            raise ExistsError
        return self._read(reply.data)

    async def update(self, number: int, *, title: str, body: str) -> None:
        """Another title and body."""
        await self._http.call("PUT", f"{self._at}/{int(number)}", body={"title": title, "description": body})

    async def add_labels(self, number: int, labels: tuple[str, ...]) -> None:
        """Add labels."""
        await self._http.call("PUT", f"{self._at}/{int(number)}", body={"add_labels": ",".join(labels)})

    async def last_comment(self, number: int) -> Comment | None:
        """The newest comment of a person."""
        query = {"sort": "desc", "order_by": "created_at"}
        async for row in self._http.pages(f"{self._at}/{int(number)}/notes", query):
            author = fields_of(row.get("author"))
            text = row.get("body")
            if not row.get("system") and not author.get("bot") and isinstance(text, str) and text.strip():
                return Comment(str(author.get("username", "")), text)
        return None

    async def close(self) -> None:
        """Give the connections back."""
        await self._http.close()

    async def _merges(self, query: Mapping[str, str]) -> AsyncIterator[Request]:
        async for row in self._http.pages(self._at, query):
            if row.get("source_project_id") == row.get("target_project_id"):
                yield self._read(row)

    def _read(self, row: Any) -> Request:
        try:
            return Request(
                number=number_of(row["iid"]),
                url=str(row["web_url"]),
                state=_STATES[row["state"]],
                branch=str(row["source_branch"]),
                head=head_of(row["sha"]),
                title=str(row["title"]),
                body=str(row.get("description") or ""),
                labels=tuple(str(label) for label in row.get("labels") or ()),
                created=time_of(row["created_at"]),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise self._http.odd(self._at) from error
