"""`honed log --rejected`: the edits that a gate or a person turned down, read from git alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from daemon.cli.history_parts import commit_data, one_line, trailer_rows
from skills_repo.rejected_refs import RejectedRefs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from daemon.cli.output import Output
    from skills_repo.history import SkillCommit
    from skills_repo.rejected import RejectedCommit
    from skills_repo.repository import SkillRepository


async def list_rejected(output: Output, history: SkillRepository, limit: int) -> None:
    """The newest `limit` edits that are kept under `refs/honed/rejected/`."""
    store = RejectedRefs(history.root, history.skill_path, author=history.author)
    kept = (await store.all())[:limit]
    rows = [(one, await history.commit(one.sha)) for one in kept]
    output.result(
        {"skill": history.skill_path, "rejected": [_row(one, commit) for one, commit in rows]},
        lambda console: _render(console, rows),
    )


def _row(one: RejectedCommit, commit: SkillCommit) -> dict[str, Any]:
    found = commit_data(commit)
    about = {key: found[key] for key in ("sha", "subject", "author", "trailers")}
    return {**about, "parent": one.parent, "by": one.by, "reason": one.reason, "when": one.when}


def _render(console: Console, rows: Sequence[tuple[RejectedCommit, SkillCommit]]) -> None:
    if not rows:
        console.print("no rejected edits are kept for this skill")
        return
    for one, commit in rows:
        console.print(
            Text.assemble((one.sha[:10], "yellow"), " ", (f"by {one.by}", "red"), " ", one_line(commit.subject))
        )
        said = trailer_rows(commit)
        if one.by == "person":
            said.append(("reason", one.reason or "none given"))
        for name, text in said:
            console.print(Text.assemble(f"             {name:<9} ", one_line(text)))
