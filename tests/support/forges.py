"""GitHub and GitLab on loopback: the documented REST shapes of what honed asks, with faults on demand.

    async with ForgeServer("github") as forge:
        forge.heads["honed/xlsx"] = "…"
        ... GitHub(forge.access()) ...
        forge.close(1, comment="Not like this.")

Faults (`forge.faults`) are answered in order instead of the real answer; None lets a request through.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal
from urllib.parse import unquote

from aiohttp import web

from skills_repo.publish.access import Access, TokenSource
from skills_repo.publish.address import Project
from skills_repo.publish.github import GitHub, github_access
from skills_repo.publish.gitlab import GitLab, gitlab_access
from tests.support.loopback import Loopback, Served

TOKEN = "a-token-of-the-tests"
PROJECT = "team/skills"
PAGE = 100


@dataclass
class Fault:
    """One refusal."""

    status: int
    body: Any = field(default_factory=lambda: {"message": "no"})
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    """Drop the connection instead."""


@dataclass
class Row:
    """A request as the forge keeps it."""

    number: int
    branch: str
    base: str
    title: str
    body: str
    created: datetime
    labels: list[str] = field(default_factory=list)
    state: Literal["open", "closed", "merged"] = "open"
    head: str = ""
    fork: bool = False
    comments: list[dict[str, Any]] = field(default_factory=list)
    reviews: list[dict[str, Any]] = field(default_factory=list)


class ForgeServer(Served):
    """The server; an async context manager."""

    def __init__(self, kind: Literal["github", "gitlab"], *, page: int = PAGE) -> None:
        self.kind = kind
        self.page = page
        """Rows of one page at most, whatever is asked for."""
        self.rows: list[Row] = []
        self.heads: dict[str, str] = {}
        """Where branches stand; `read_heads` overrules it."""
        self.read_heads: Callable[[], dict[str, str]] | None = None
        self.faults: list[Fault | None] = []
        self.asked: list[tuple[str, str]] = []
        """Method and path (with query) of every request."""
        self.tokens: set[str] = set()
        """What came in the authorization header."""
        self.token = TOKEN
        self.now = datetime.now(UTC).replace(microsecond=0)
        self.loopback = Loopback(self._handle)

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"http://127.0.0.1:{self.loopback.port}"

    @property
    def api_url(self) -> str:
        """Where the API begins."""
        return f"{self.origin}/api/{'v3' if self.kind == 'github' else 'v4'}"

    def access(self, *, token: str = TOKEN, timeout_s: float = 10.0) -> Access:
        """How honed reaches it."""
        project = Project(self.kind, self.api_url, PROJECT)
        return (github_access if self.kind == "github" else gitlab_access)(
            project, TokenSource.variable("FORGE_TOKEN"), token, timeout_s
        )

    def forge(self, **more: Any) -> GitHub | GitLab:
        """Honed's client; by default it never waits."""
        sleep = more.pop("sleep", self._no_sleep)
        kind = GitHub if self.kind == "github" else GitLab
        return kind(self.access(**more), sleep=sleep)

    async def _no_sleep(self, seconds: float) -> None:
        self.waits = [*getattr(self, "waits", []), seconds]

    @property
    def writes(self) -> list[tuple[str, str]]:
        """What was not only read."""
        return [(method, path) for method, path in self.asked if method != "GET"]

    def open(self, branch: str, *, body: str = "", age: timedelta = timedelta(), fork: bool = False) -> Row:
        """Somebody opens a request."""
        row = Row(len(self.rows) + 1, branch, "main", "title", body, self.now - age, head="f" * 40, fork=fork)
        self.rows.append(row)
        return row

    def end(self, number: int, *, merged: bool = False, comment: str = "", who: str = "reviewer") -> None:
        """A person closes or merges one."""
        row = self.rows[number - 1]
        row.head = self._head(row)
        row.state = "merged" if merged else "closed"
        if comment:
            self.comment(number, comment, who=who)

    def comment(
        self, number: int, text: str, *, who: str = "reviewer", bot: bool = False, system: bool = False
    ) -> None:
        """Somebody writes."""
        rows = self.rows[number - 1].comments
        if self.kind == "github":
            written = {"body": text, "user": {"login": who, "type": "Bot" if bot else "User"}}
            rows.append({**written, "created_at": self._tick()})
        else:
            rows.append({"body": text, "author": {"username": who, "bot": bot}, "system": system})

    def review(self, number: int, text: str, *, who: str = "reviewer") -> None:
        """Somebody reviews it: on GitHub a list of its own, on GitLab a note like any."""
        if self.kind == "gitlab":
            self.comment(number, text, who=who)
            return
        user = {"login": who, "type": "User"}
        self.rows[number - 1].reviews.append(
            {"body": text, "user": user, "state": "CHANGES_REQUESTED", "submitted_at": self._tick()}
        )

    def _tick(self) -> str:
        """Every word is a second later than the one before."""
        said = sum(len(row.comments) + len(row.reviews) for row in self.rows)
        return _time(self.now + timedelta(seconds=said))

    def _head(self, row: Row) -> str:
        heads = self.read_heads() if self.read_heads else self.heads
        return heads.get(row.branch, row.head) if row.state == "open" and not row.fork else row.head

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.asked.append((request.method, request.path_qs))
        self.tokens.add(request.headers.get("Authorization", ""))
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None:
            if fault.cut and request.transport is not None:
                request.transport.abort()
            return web.json_response(fault.body, status=fault.status, headers=fault.headers)
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return web.json_response({"message": "Bad credentials"}, status=401)
        body = json.loads(await request.read() or b"{}")
        prefix = f"/repos/{PROJECT}" if self.kind == "github" else "/projects/team%2Fskills"
        path = request.raw_path.split("?")[0].removeprefix(self.api_url.removeprefix(self.origin))
        if not path.startswith(prefix + "/"):
            return web.json_response({"message": "Not Found"}, status=404)
        parts = [unquote(part) for part in path.removeprefix(prefix + "/").split("/")]
        answer = self._github if self.kind == "github" else self._gitlab
        return answer(request, parts, body)

    def _github(self, request: web.BaseRequest, parts: list[str], body: dict[str, Any]) -> web.Response:
        query = request.query
        match (request.method, parts):
            case ("GET", ["pulls"]):
                rows = [row for row in self.rows if _matches(row.state, query.get("state", "open"))]
                if "head" in query:
                    owner, _, branch = query["head"].partition(":")
                    rows = [row for row in rows if owner == "team" and row.branch == branch]
                return self._list(request, [self._as_pull(row) for row in self._sorted(rows, query.get("direction"))])
            case ("POST", ["pulls"]):
                if any(row.state == "open" and row.branch == body["head"] for row in self.rows):
                    what = f"A pull request already exists for team:{body['head']}."
                    return _invalid([{"resource": "PullRequest", "code": "custom", "message": what}])
                if len(body["body"]) > 65_536:
                    return _invalid([{"resource": "Issue", "code": "custom", "message": "body is too long"}])
                row = self.open(body["head"], body=body["body"])
                row.base, row.title = body["base"], body["title"]
                return web.json_response(self._as_pull(row), status=201)
            case ("PATCH", ["pulls", number]):
                row = self.rows[int(number) - 1]
                row.title, row.body = body.get("title", row.title), body.get("body", row.body)
                return web.json_response(self._as_pull(row))
            case ("POST", ["issues", number, "labels"]):
                row = self.rows[int(number) - 1]
                row.labels = list(dict.fromkeys([*row.labels, *body["labels"]]))
                return web.json_response([{"name": name} for name in row.labels])
            case ("GET", ["issues", number, "comments"]):
                return self._list(request, self.rows[int(number) - 1].comments)
            case ("GET", ["pulls", number, "reviews"]):
                return self._list(request, self.rows[int(number) - 1].reviews)
        return web.json_response({"message": "Not Found"}, status=404)

    def _gitlab(self, request: web.BaseRequest, parts: list[str], body: dict[str, Any]) -> web.Response:
        query = request.query
        match (request.method, parts):
            case ("GET", ["merge_requests"]):
                wanted = {"opened": "open"}.get(query.get("state", "all"), query.get("state", "all"))
                rows = [row for row in self.rows if _matches(row.state, wanted)]
                if "source_branch" in query:
                    rows = [row for row in rows if row.branch == query["source_branch"]]
                if "created_after" in query:
                    rows = [row for row in rows if row.created >= datetime.fromisoformat(query["created_after"])]
                return self._list(request, [self._as_merge(row) for row in self._sorted(rows, query.get("sort"))])
            case ("POST", ["merge_requests"]):
                there = [row for row in self.rows if row.state == "open" and row.branch == body["source_branch"]]
                if there:
                    what = f"Another open merge request already exists for this source branch: !{there[0].number}"
                    return web.json_response({"message": [what]}, status=409)
                row = self.open(body["source_branch"], body=body["description"])
                row.base, row.title = body["target_branch"], body["title"]
                row.labels = [label for label in body["labels"].split(",") if label]
                return web.json_response(self._as_merge(row), status=201)
            case ("PUT", ["merge_requests", number]):
                row = self.rows[int(number) - 1]
                row.title, row.body = body.get("title", row.title), body.get("description", row.body)
                added = [label for label in body.get("add_labels", "").split(",") if label]
                row.labels = list(dict.fromkeys([*row.labels, *added]))
                return web.json_response(self._as_merge(row))
            case ("GET", ["merge_requests", number, "notes"]):
                notes = self.rows[int(number) - 1].comments
                return self._list(request, notes[::-1] if query.get("sort") == "desc" else notes)
        return web.json_response({"message": "404 Not Found"}, status=404)

    def row(self, row: Row) -> dict[str, Any]:
        """A request as the API shows it."""
        return self._as_pull(row) if self.kind == "github" else self._as_merge(row)

    def _sorted(self, rows: list[Row], direction: str | None) -> list[Row]:
        # The forges' own default is newest first.
        return sorted(rows, key=lambda row: (row.created, row.number), reverse=direction != "asc")

    def _list(self, request: web.BaseRequest, rows: list[Any]) -> web.Response:
        size = min(self.page, int(request.query.get("per_page", "30")))
        number = int(request.query.get("page", "1"))
        shown = rows[(number - 1) * size : number * size]
        headers = {}
        if number * size < len(rows):
            query = "&".join(
                f"{key}={value}" for key, value in request.rel_url.update_query(page=number + 1).query.items()
            )
            headers["Link"] = f'<{self.origin}{request.rel_url.raw_path}?{query.replace("+", "%2B")}>; rel="next"'
        return web.json_response(shown, headers=headers)

    def _as_pull(self, row: Row) -> dict[str, Any]:
        return {
            "number": row.number,
            "html_url": f"{self.origin}/{PROJECT}/pull/{row.number}",
            "state": "open" if row.state == "open" else "closed",
            "merged_at": _time(self.now) if row.state == "merged" else None,
            "title": row.title,
            "body": row.body or None,
            "head": {
                "ref": row.branch,
                "sha": self._head(row),
                "repo": {"full_name": "somebody/skills" if row.fork else "Team/Skills"},
            },
            "base": {"ref": row.base},
            "labels": [{"name": name} for name in row.labels],
            "created_at": _time(row.created),
            "user": {"login": "honed-bot", "type": "User"},
        }

    def _as_merge(self, row: Row) -> dict[str, Any]:
        return {
            "iid": row.number,
            "web_url": f"{self.origin}/{PROJECT}/-/merge_requests/{row.number}",
            "state": "opened" if row.state == "open" else row.state,
            "title": row.title,
            "description": row.body or None,
            "source_branch": row.branch,
            "target_branch": row.base,
            "source_project_id": 2 if row.fork else 1,
            "target_project_id": 1,
            "sha": self._head(row),
            "labels": row.labels,
            "created_at": _time(row.created, ".000Z"),
        }


def _time(when: datetime, end: str = "Z") -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S") + end


def _matches(state: str, wanted: str) -> bool:
    return wanted == "all" or (state == "open") == (wanted == "open")


def _invalid(errors: list[dict[str, str]]) -> web.Response:
    return web.json_response({"message": "Validation Failed", "errors": errors}, status=422)
