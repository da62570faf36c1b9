"""Every prompt of the optimizer for one small case, made by the code that asks it.

A new role needs two things here: a canned reply in `REPLIES`, and a scene in `SCENES` that asks it (unless one does
already). Its golden file is then written by `HONED_UPDATE_GOLDEN=1 pytest tests/unit/optimizer/test_golden_prompts.py`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from daemon.config_train import TrainSection
from daemon.optimizer.asking import Optimizer
from daemon.optimizer.batches import Minibatch
from daemon.optimizer.decision import GROUPS, Group, RolloutSummary, StepDecision
from daemon.optimizer.firewall import Firewall
from daemon.optimizer.gates.gate import make_gate
from daemon.optimizer.gates.measure import Selection
from daemon.optimizer.gates.rule import GateRule, Pair
from daemon.optimizer.gates.verdict import Verdict
from daemon.optimizer.memory import EarlierStep, GroupFigures, StepBuffer
from daemon.optimizer.meta_skill import rewrite
from daemon.optimizer.reflect import Reflector
from daemon.optimizer.refusals import Refusals
from daemon.optimizer.replies import Pattern
from daemon.optimizer.settings import Knobs
from daemon.optimizer.slow_update import Comparison, SlowUpdate
from daemon.optimizer.state import Standing, State
from daemon.optimizer.tools import Tools
from daemon.optimizer.updates.learning_rate import LearningRate
from daemon.optimizer.updates.mode import UpdateContext
from daemon.optimizer.updates.modes import MODES
from daemon.optimizer.updates.reask import repaired
from daemon.rollouts.progress import Silent
from daemon.rollouts.rollouts import Rollouts
from harnesses.models.client import ModelRequest
from harnesses.traces.summary import summarize
from harnesses.traces.trace import FileChange, Message, ToolCall, Trace
from skills_repo.edits import AppliedEdit, Edit, EditLimits, EditStatus, Op
from tests.support.optimizer import ScriptedOptimizer, edit, make_result, make_skill, reflection, task_set
from tests.support.updates import optimizer_for

GOLDEN = Path(__file__).parent.parent / "golden" / "prompts"
SKILL = make_skill("- Look at the sheet first.", "- Guess the rest.")
MEMORY = "Short checks held up; advice on style did not."

_PATTERN = {"type": "no check", "count": 2, "description": "The result was not opened again."}
_EDIT = edit("- Open the result again.", evidence=["t1"])
_SUGGESTION = {
    "type": "add_rule",
    "title": "Check",
    "instruction": "Say that the result is opened again.",
    "motivation": "Nobody looked.",
    "evidence": ["t1"],
}
_BODY = {"reasoning": "r", "summary": "Adds a check.", "body": "# demo\n- Look first.\n- Check."}
REPLIES: Mapping[str, Mapping[str, Any]] = {
    "reflect_failures": reflection(_EDIT, edit("- Take notes.", evidence=["t2"]), patterns=[_PATTERN]),
    "reflect_successes": reflection(edit("- Keep looking.")),
    "merge": {"reasoning": "r", "edits": [{**_EDIT, "support": 2}, edit("- Take notes.", support=1)]},
    "rank": {"reasoning": "r", "selected": [0]},
    "suggest_failures": {"patterns": [_PATTERN], "reasoning": "r", "suggestions": [_SUGGESTION]},
    "suggest_successes": {"patterns": [], "reasoning": "r", "suggestions": []},
    "merge_suggestions": {"reasoning": "r", "suggestions": [{**_SUGGESTION, "support": 2}]},
    "rewrite": _BODY,
    "rewrite_failures": {**_BODY, "patterns": [_PATTERN], "evidence": ["t1"]},
    "rewrite_successes": {**_BODY, "patterns": [], "evidence": [], "body": ""},
    "merge_rewrites": {**_BODY, "evidence": ["t1"]},
    "learning_rate": {"learning_rate": 1, "reasoning": "r", "confidence": 0.5, "risk_notes": ""},
    "repair": {"reasoning": "r", "edits": []},
    "repair_body": {"reasoning": "r", "body": "# demo\n- Look first."},
    "slow_update": {"reasoning": "r", "guidance": "Keep opening results again."},
    "meta_skill": {"reasoning": "r", "notes": MEMORY},
}


def buffer() -> StepBuffer:
    """Two earlier steps of the epoch."""
    rejected = {"op": "append", "target": "", "content": "- Be bold."}
    return StepBuffer(
        1,
        (
            EarlierStep(1, "accepted", None, None, (), (_PATTERN,)),
            EarlierStep(
                2, "rejected", 0.5, 0.25, (rejected,), (), tasks=8, groups=(GroupFigures("sheets", 5, 0.4, 0.0),)
            ),
        ),
    )


def failed(task_id: str) -> Minibatch:
    """A minibatch with one failure."""
    trace = Trace(
        events=(
            Message("I read the skill."),
            ToolCall("exec_command", "cat SKILL.md", SKILL.text, ok=True, exit_code=0),
            ToolCall("exec_command", "python fill.py", "KeyError: 'Total'", ok=False, exit_code=1),
            FileChange("out.xlsx", "add"),
            Message("Done, I think."),
        ),
        final_answer="Done, I think.",
        turns=4,
        skill_listed=True,
        skill_opened=True,
        stop_reason="completed",
    )
    summary = summarize(
        trace, outcome="completed", harness="codex", skill=SKILL.text, files=(FileChange("out.xlsx", "add"),)
    )
    result = make_result(
        task_id, 0.5, hard=False, feedback="1 of 2 cells differ", summary=summary, final_answer="Done, I think."
    )
    return Minibatch(solved=False, results=(result,), place=f"0.failed.{task_id}")


def solved(task_id: str) -> Minibatch:
    """A minibatch with one success."""
    summary = summarize(Trace(final_answer="42", turns=1, stop_reason="end"), outcome="completed", harness="chat")
    result = make_result(task_id, 1.0, summary=summary, final_answer="42", skill_opened=False)
    return Minibatch(solved=True, results=(result,), place=f"0.solved.{task_id}")


def _update(mode_name: str) -> Callable[[Optimizer], Awaitable[None]]:
    async def scene(optimizer: Optimizer) -> None:
        """A whole step's questions in one update mode: reflection, merge, budget, ranking, rewriting."""
        mode = MODES[mode_name]
        cut = [failed("t1"), failed("t2"), solved("t3")]
        reflector = Reflector(optimizer, SKILL, buffer(), mode.budget(1), step=3, meta_skill=MEMORY, form=mode.form)
        found = await reflector.reflect(cut)
        context = UpdateContext(
            optimizer, SKILL, buffer(), 3, 8, EditLimits(1), LearningRate(1, 4, 40), meta_skill=MEMORY
        )
        await mode.propose(found.patches, context)

    return scene


async def _repair(optimizer: Optimizer) -> None:
    """An edit that misses its anchor, and a body that is too long."""
    missed = [Edit(Op.REPLACE, "- Look at it.", "- Look twice."), Edit(Op.APPEND, content="- Check.")]
    await repaired(optimizer, SKILL, missed, EditLimits(2), "3/repair/0")
    limits = EditLimits(1, max_skill_chars=200, also=frozenset({Op.REWRITE}))
    await repaired(optimizer, SKILL, [Edit(Op.REWRITE, content="# demo\n" + "- More.\n" * 40)], limits, "3/repair/1")


async def _epoch_end(optimizer: Optimizer) -> None:
    """The slow update and the notes at the end of an epoch."""
    firewall = Firewall.of(task_set(1, 1, 1))
    tools = Tools(
        run_id="r1",
        rollouts=cast("Rollouts", None),  # the comparison is given
        optimizer=optimizer,
        selection=Selection(cast("Rollouts", None), (), "r1", GateRule()),
        gate=make_gate(TrainSection(gate="off")),
        firewall=firewall,
        refusals=Refusals(firewall),
        train={},
        knobs=Knobs(TrainSection()),
        observer=Silent(),
    )
    [lost], [won], [other] = (one.results for one in (failed("t1"), solved("t1"), failed("t2")))
    pairs: dict[Group, tuple[Pair, ...]] = dict.fromkeys(GROUPS, ())
    pairs |= {"regressed": ((won, lost),), "persistent_failure": ((other, other),)}
    comparison = Comparison(("t1", "t2"), pairs)
    state = State(Standing(SKILL), Standing(SKILL), meta_skill=MEMORY, ends=(make_skill("- Guess the rest."),))
    await SlowUpdate(tools, state, 4, 2, comparison).run()
    state = replace(state, steps=(_step(),))
    await rewrite(tools, state, step=4, epoch=2, sampled=len(comparison.sampled), counts=comparison.counts)


def _step() -> StepDecision:
    tried = Edit(Op.APPEND, content="- Be bold.", rationale="to be quick")
    return StepDecision(
        step=3,
        epoch=2,
        when=0.0,
        outcome="rejected",
        reason="worse",
        batches=(("t1", "t2"),),
        rollout=RolloutSummary(asked=2, valid=2),
        budget=1,
        base_digest=SKILL.digest,
        patterns=(Pattern(**_PATTERN),),
        chosen=(tried,),
        report=(AppliedEdit(tried, EditStatus.APPLIED),),
        verdict=Verdict("rejected", 0.5, 0.25, -0.25, 4, 4, (), ("s1",), "hard 0.500 -> 0.250"),
    )


SCENES: tuple[Callable[[Optimizer], Awaitable[None]], ...] = (
    *(_update(name) for name in sorted(MODES)),
    _repair,
    _epoch_end,
)


async def all_prompts() -> dict[str, ModelRequest]:
    """A request of every role that the scenes ask, by role: of the first scene's, the first by its text.

    Which of two that are asked at once comes first is nobody's promise.
    """
    asked: dict[str, ModelRequest] = {}
    for scene in SCENES:
        client = ScriptedOptimizer(lambda request: dict(REPLIES[request.schema_name]))
        await scene(await optimizer_for(client))
        for request in sorted(client.requests, key=lambda request: request.messages[0].content):
            asked.setdefault(request.schema_name, request)
    return asked


def roles() -> list[str]:
    """Every role that has a system prompt."""
    names = sorted(entry.name for entry in files("daemon.optimizer.prompts").iterdir())
    return [name.removesuffix(".system.j2") for name in names if name.endswith(".system.j2")]


def as_text(request: ModelRequest) -> str:
    """A whole prompt as its golden file shows it; a line marks where the shared beginning ends."""
    [message] = request.messages
    user = message.content
    if message.stable:
        user = f"{user[: message.stable]}=== here ends what other requests share ===\n{user[message.stable :]}"
    return f"=== system ===\n{request.system}\n=== user ===\n{user}\n"
