"""The session files that the real CLIs write today are read by the inbox: another version may write others."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.inbox.reading import read_session_file
from harnesses.outcome import Outcome
from tests.integration.harnesses.conftest import Bench
from tests.support.agents import MODELS, SKILL
from tests.support.upstream import Upstream
from tests.support.wire import Step

pytestmark = [pytest.mark.docker, pytest.mark.clis]

LATER = 4_000_000_000.0


def session_file(folder: Path) -> Path:
    """What the CLI wrote about its only session."""
    [found] = [
        file
        for file in folder.rglob("*.jsonl")
        if file.name.startswith("rollout-") or file.parent.parent.name == "projects"
    ]
    return found


async def test_a_real_session_tells_what_went_wrong_with_the_skill(bench: Bench) -> None:
    broken = bench.kind.run("python3 count.py in.csv")
    async with Upstream([broken, broken, broken, Step(text="It has 3 lines.")]) as provider:
        assignment = bench.assignment()
        attempt = await bench.harness(provider).run(assignment)
    assert attempt.outcome is Outcome.COMPLETED
    record = read_session_file(session_file(assignment.folder), LATER)
    assert (record.turns, record.calls, record.bad_lines) == (1, 3, 0)
    assert record.model == MODELS[bench.kind.provider]
    assert record.session_id
    assert record.started is not None
    seen = record.skill(SKILL.name)
    assert seen is not None
    assert seen.opened
    assert seen.digest
    assert [(one.kind, one.label, one.count, one.skills) for one in record.incidents] == [
        ("error", "python3: no such file", 3, (SKILL.name,)),
        ("repeated", "python3: the same call with the same result", 1, (SKILL.name,)),
    ]
    assert "Count the lines of in.csv." in record.asked
