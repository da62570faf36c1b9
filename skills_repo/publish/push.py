"""Whether honed may push, from what stands where. A pure function with a table.

`published` is the commit that honed pushed last from this repository: what a person did since shows against it.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum


class Standing(StrEnum):
    """The remote's branch against the local one."""

    AHEAD = "ahead"
    """The local branch has new commits: push."""
    SAME = "same"
    DELETED = "deleted"
    """Somebody deleted the branch there, and there is nothing new since."""
    REWOUND = "rewound"
    """Somebody moved the branch there back."""
    PERSON = "person"
    """Somebody pushed commits there that the local branch does not have."""
    REWRITTEN = "rewritten"
    """The local branch no longer contains what honed published."""

    @property
    def stops(self) -> bool:
        """Honed does not push until a person has seen to it."""
        return self not in (Standing.AHEAD, Standing.SAME)


Contains = Callable[[str, str], bool]
"""`contains(newer, older)`: false also where one of them is not known here."""


def standing_of(local: str, remote: str | None, published: str | None, contains: Contains) -> Standing:
    """What honed may do; all three are commit ids."""
    if remote is None:
        return Standing.DELETED if published == local else Standing.AHEAD
    if remote == local:
        return Standing.SAME
    if not contains(local, remote):
        return Standing.REWRITTEN if remote == published else Standing.PERSON
    if published is not None and remote != published and contains(published, remote):
        return Standing.REWOUND
    return Standing.AHEAD


def explain(standing: Standing, branch: str, remote: str) -> str:
    """One sentence with its remedy, for the standings that stop."""
    place = f"{branch} on {remote}"
    return {
        Standing.DELETED: f"somebody deleted {place}, and there is no new edit since (`git push {remote} {branch}` "
        "brings it back)",
        Standing.REWOUND: f"somebody moved {place} back: honed does not push there any more (to take it back here too, "
        f"`git update-ref refs/heads/{branch} <commit>`; to publish all the same, `git push {remote} {branch}`)",
        Standing.PERSON: f"somebody pushed to {place} what is not in the local branch: honed does not push there any "
        f"more (`git fetch {remote} {branch}`, merge FETCH_HEAD into {branch}, then `honed publish`)",
        Standing.REWRITTEN: f"the local branch {branch} no longer contains what was published on {remote}, and honed "
        f"never forces a push (merge `{remote}/{branch}` into it, or delete the branch there)",
    }.get(standing, "")
