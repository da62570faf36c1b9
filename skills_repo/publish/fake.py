"""A forge in memory, for tests. Invariant: it passes the same conformance suite as GitHub and GitLab."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from skills_repo.publish.forge import OURS, Comment, Draft, ExistsError, Request


class FakeForge:
    """The `Forge` protocol on a list. `heads` is what its branches point at."""

    name = "Fake"
    noun = "pull request"
    body_limit = 65_000
    labels_on_create = False

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.comments: dict[int, list[Comment]] = {}
        self.heads: dict[str, str] = {}
        self.writes = 0
        """Requests created, updated or labelled."""
        self.now = datetime.now(UTC)

    def end(self, number: int, *, merged: bool = False, comment: Comment | None = None) -> None:
        """A person closes or merges one."""
        self._change(number, state="merged" if merged else "closed")
        if comment:
            self.comments.setdefault(number, []).append(comment)

    async def requests_of(self, branch: str) -> tuple[Request, ...]:
        """Every request for a branch, newest first."""
        found = [self._seen(row) for row in reversed(self.requests) if row.branch == branch]
        return tuple(found)

    async def open_of_honed(self) -> int:
        """How many of honed's are open."""
        return sum(row.state == "open" and row.branch.startswith(OURS) for row in self.requests)

    async def opened_since(self, when: datetime) -> int:
        """How many of honed's were opened since."""
        return sum(row.created >= when and row.branch.startswith(OURS) for row in self.requests)

    async def create(self, draft: Draft) -> Request:
        """Open one; `ExistsError` if there is one."""
        if any(row.state == "open" and row.branch == draft.branch for row in self.requests):
            raise ExistsError
        number = len(self.requests) + 1
        made = Request(
            number=number,
            url=f"fake:{number}",
            state="open",
            branch=draft.branch,
            head=self.heads.get(draft.branch, ""),
            title=draft.title,
            body=draft.body,
            labels=(),
            created=self.now,
        )
        self.requests.append(made)
        self.writes += 1
        return made

    async def update(self, number: int, *, title: str, body: str) -> None:
        """Another title and body."""
        self._change(number, title=title, body=body)
        self.writes += 1

    async def add_labels(self, number: int, labels: tuple[str, ...]) -> None:
        """Add labels."""
        known = self.requests[number - 1].labels
        self._change(number, labels=tuple(dict.fromkeys([*known, *labels])))
        self.writes += 1

    async def last_comment(self, number: int) -> Comment | None:
        """The newest comment."""
        rows = self.comments.get(number, [])
        return rows[-1] if rows else None

    async def close(self) -> None:
        """Nothing to give back."""

    def _change(self, number: int, **changes: object) -> None:
        self.requests[number - 1] = replace(self.requests[number - 1], **changes)  # type: ignore[arg-type]

    def _seen(self, row: Request) -> Request:
        """An open request's head is where its branch stands now."""
        return replace(row, head=self.heads.get(row.branch, row.head)) if row.state == "open" else row
