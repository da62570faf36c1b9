"""The table of outcomes in docs/failures.md is that of the code."""

from __future__ import annotations

import re
from pathlib import Path

from harnesses.outcome import POLICIES, Outcome, Policy

PAGE = Path(__file__).parents[3] / "docs" / "failures.md"
ROW = re.compile(r"^\| `(\w+)` \| (.+) \| (a score|tried again|stops the run|left out) \| (.*) \|$", re.MULTILINE)


def then(policy: Policy) -> str:
    if policy.scored:
        return "a score"
    return "stops the run" if policy.stop_run else "tried again" if policy.retry else "left out"


def test_every_outcome_stands_there_with_its_policy_and_remedy() -> None:
    rows = {name: (follows, remedy.strip()) for name, _, follows, remedy in ROW.findall(PAGE.read_text())}
    assert rows == {outcome.value: (then(POLICIES[outcome]), POLICIES[outcome].remedy) for outcome in Outcome}
