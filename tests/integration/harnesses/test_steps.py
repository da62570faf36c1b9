"""The real Codex and Claude Code through a task of two steps, by real rollouts: one attempt, one workspace."""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial
from pathlib import Path

import pytest

from daemon.journal.memory import MemoryJournal
from daemon.journal.records import RunRecord
from daemon.rollouts.rollouts import Rollouts
from daemon.tasks.load import load_tasks
from daemon.tasks.scorers.registry import score_task
from daemon.tasks.scorers.scorer import Context, Result
from daemon.tasks.task import Score, Task
from harnesses.outcome import Outcome
from skills_repo.skill import Skill
from tests.integration.harnesses.conftest import Bench
from tests.support.agents import SKILL
from tests.support.tasks import GOLDEN
from tests.support.upstream import Upstream
from tests.support.wire import Step

pytestmark = [pytest.mark.docker, pytest.mark.clis]

FORGED = "mkdir -p .agents/skills/mine && printf -- '---\\nname: mine\\ndescription: FORGED_MARK\\n---\\nx\\n' > "
PLANT = f"{FORGED} .agents/skills/mine/SKILL.md; echo FORGED_BODY > SKILL.md"


async def test_two_steps_are_one_attempt(bench: Bench, tmp_path: Path) -> None:
    (task,) = (one for one in load_tasks(GOLDEN / "harbor-steps", min_selection=1).tasks if one.id == "ledger")
    first, second = (step.solution["solve.sh"].read_text() for step in task.steps)
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    def verify(one: Task, result: Result) -> Awaitable[Score]:
        return score_task(one, result, Context(bench.sandbox, scratch))

    journal = MemoryJournal()
    await journal.open_run(RunRecord("it-steps", "f", "line-counter", "c", "open", 0.0))
    replies = [
        bench.kind.run(f"{PLANT}\n{first}"),
        Step(text="The sums are there."),
        bench.kind.run(f"cat SKILL.md totals.csv\n{second}"),
        Step(text="It is anna."),
    ]
    async with Upstream(replies) as provider:
        make = partial(Rollouts, bench.harness(provider), verify, journal)
        rollouts = make(attempts_folder=bench.folder / "attempts")
        (result,) = await rollouts.score(Skill(SKILL.name, dict(SKILL.files)), [task], run_id="it-steps")
        asked = [str(request.body) for request in provider.requests]

    record = result.record
    assert (record.outcome, record.detail, record.score, record.hard) == (Outcome.COMPLETED, "", 1.0, True)
    assert record.final_answer == "It is anna."
    assert (record.skill_listed, record.skill_opened) == (True, True)
    assert record.usage["requests"] == 4
    assert [one["rewards"]["reward"] for one in record.score_detail["steps"]] == [1.0, 1.0]
    assert "One more order came in" not in asked[0]
    assert "One more order came in" in asked[2]
    assert "Sum the amounts" not in asked[2], "each step is a fresh run of the agent"
    assert "FORGED_MARK" not in asked[2], "a skill that the agent made is not listed"
    assert "FORGED_BODY" not in asked[3], "the skill is laid anew"
    assert "anna,30" in asked[3]
    assert "# step 1 of 2 (totals)" in record.summary
    assert "# step 2 of 2 (report)" in record.summary
