"""The demo without CLIs: the simulated target's own commands are run in this process, and scored at once.

`DemoWorkshop.attempt` goes the same way as a real attempt: request body, target, script, workbook, cells.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from daemon.config_train import TrainSection
from daemon.demo import optimizer
from daemon.demo.conversation import Conversation, Reply, from_responses
from daemon.demo.demo_set import DemoSet, Knobs
from daemon.demo.ideas import FORMULA, GAP, KEYS, SHEET, Idea
from daemon.demo.target import act
from daemon.demo.wordings import OUTPUT
from daemon.tasks.load import load_tasks
from daemon.tasks.scorers.compare import Comparison, compare, read_gold
from daemon.tasks.scorers.ranges import parse_ranges
from daemon.tasks.scorers.scorer import Result
from daemon.tasks.scorers.xlsx import WorkbookError
from daemon.tasks.task import Score, Split, Task
from harnesses.fake import FakeHarness, FakeResult
from harnesses.harness import Assignment, RenderedSkill
from harnesses.models.client import ModelReply, ModelRequest
from harnesses.traces.trace import Message, ToolCall
from sandboxes.gateway.policy import Usage
from skills_repo.edits import Edit, EditLimits, Op, apply
from skills_repo.skill import Skill

RULES: dict[str, Idea] = {
    "formula": FORMULA.ideas[0],
    "gap": GAP.ideas[0],
    "keys": KEYS.ideas[0],
    "sheet": SHEET.ideas[1],
}
"""By trap: the rule that mends it."""
FIRST_SHEET = SHEET.ideas[0]
PROMPT = (
    'In orders.xlsx, count the rows of sheet "Tickets" for each status (column C there) and write the counts to '
    "Board!B2:B9; the status of each row is in column A. Use a formula. Save the workbook as output.xlsx."
)
VALUES = "# S\n\n- Never write formulas.\n"
CLAUDE_LISTED = (
    "# Environment\n- Platform: linux\n\nThe following skills are available for use with the Skill tool:\n\n"
    "- poems: Write poems.\n- sheets: Fill cells of .xlsx workbooks.\n"
)


def skill_of(demo: DemoSet) -> Skill:
    """The demo's initial skill."""
    return Skill(demo.skill, {"SKILL.md": (demo.skills / demo.skill / "SKILL.md").read_bytes()})


def taught(skill: Skill, *ideas: Idea) -> Skill:
    """The skill with these ideas applied by the real edit code."""
    edits = [Edit(Op(idea.op), idea.anchor, idea.content) for idea in ideas]
    applied = apply(skill, edits, EditLimits(budget=max(1, len(edits))))
    assert len(applied.report.applied) == len(edits), applied.report
    return applied.result


def codex_body(prompt: str, skill_text: str, *more: dict[str, Any]) -> dict[str, Any]:
    """What Codex sends when the prompt invokes the skill."""
    delivered = f"<skill>\n<name>spreadsheets</name>\n<path>/ws/SKILL.md</path>\n{skill_text}\n</skill>"
    texts = [f"$spreadsheets\n{prompt}", delivered]
    items = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]} for text in texts]
    tools = [{"type": "function", "name": name} for name in ("exec_command", "write_stdin")]
    return {"model": "gpt-5.5", "stream": True, "input": [*items, *more], "tools": tools}


@dataclass(frozen=True)
class Work:
    """One attempt: what was run, what it printed, and the cells."""

    command: str
    printed: str
    solved: bool
    value: float
    feedback: str
    output: bytes | None
    answer: str


@dataclass
class DemoWorkshop:
    """Works the demo's tasks with any skill; equal work is done once."""

    demo: DemoSet
    tasks: dict[str, Task] = field(init=False)
    _done: dict[tuple[str, str], Work] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tasks = {task.id: task for task in load_tasks(self.demo.tasks).tasks}

    def solved(self, split: Split, skill: Skill) -> set[str]:
        """The ids of a split's tasks that this skill solves."""
        return {task.id for task in self.tasks.values() if task.split == split and self.attempt(task, skill).solved}

    def attempt(self, task: Task, skill: Skill | RenderedSkill) -> Work:
        """One task, worked with a skill."""
        body = codex_body(task.prompt, skill.text)
        (call,) = act(from_responses(body)).calls
        command = str(call.arguments["cmd"])
        known = self._done.get((task.id, command))
        if known is None:
            known = self._done[task.id, command] = _work(task, body, command)
        return known


def _work(task: Task, body: dict[str, Any], command: str) -> Work:
    printed, output = run_script(command, task.file_bytes())
    comparison = compared(task, output) if output else None
    parts = comparison.parts if comparison else ()
    wrong, cells = sum(part.wrong for part in parts), sum(part.cells for part in parts)
    kinds = "; ".join(f"{count} {kind}" for part in parts for kind, count in part.kinds)
    answer = _after(body, command, printed)
    return Work(
        command=command,
        printed=printed,
        solved=comparison is not None and wrong == 0,
        value=(cells - wrong) / cells if cells else 0.0,
        feedback=f"{wrong} of {cells} cells wrong: {kinds}" if wrong else "",
        output=output,
        answer=answer.text,
    )


def _after(body: dict[str, Any], command: str, printed: str) -> Reply:
    call = {"type": "function_call", "call_id": "c", "name": "exec_command", "arguments": f'{{"cmd": {command!r}}}'}
    said = {"type": "function_call_output", "call_id": "c", "output": f"Process exited with code 0\nOutput:\n{printed}"}
    conversation: Conversation = from_responses({**body, "input": [*body["input"], call, said]})
    return act(conversation)


def run_script(command: str, files: dict[str, bytes]) -> tuple[str, bytes | None]:
    """Run the target's script in a folder of its own: what it printed, and the output workbook if it left one."""
    head, tail = "python3 - <<'PY'\n", "PY"
    assert command.startswith(head)
    assert command.endswith(tail)
    code = compile(command[len(head) : -len(tail)], "script", "exec")
    with tempfile.TemporaryDirectory(prefix="honed-demo-") as folder:
        for path, data in files.items():
            Path(folder, path).write_bytes(data)
        printed = io.StringIO()
        with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
            exec(code, {"__name__": "__main__"})
        output = Path(folder, OUTPUT)
        return printed.getvalue(), output.read_bytes() if output.exists() else None


def compared(task: Task, output: bytes) -> Comparison | None:
    """The output's cells against the gold's, by the scorer's own code; None if the output cannot be read."""
    ranges = parse_ranges(str(task.scorer.options["range"]))
    gold = read_gold(task.tests["gold.xlsx"].read_bytes(), ranges)
    try:
        return compare(output, ranges, gold)
    except WorkbookError:
        return None


def knobs_of(knobs: Knobs) -> TrainSection:
    """The recommended knobs as `[train]`."""
    return TrainSection(
        epochs=knobs.epochs,
        batch=knobs.batch,
        minibatch=knobs.minibatch,
        edit_budget=knobs.edit_budget,
        min_edit_budget=knobs.min_edit_budget,
        seed=knobs.seed,
        gate="strict",
    )


class SimulatedClient:
    """The simulated optimizer without its server."""

    provider = "openai"
    model = "simulated-optimizer"

    async def complete(self, request: ModelRequest) -> ModelReply:
        text = optimizer.answer(request.messages[-1].content, request.schema_name)
        return ModelReply(text, Usage(1, len(request.system) // 4, 0, len(text) // 4, None), "end", self.model)

    async def close(self) -> None:
        pass


def harness_of(workshop: DemoWorkshop) -> FakeHarness:
    """The simulated target, working in this process."""

    def work(assignment: Assignment) -> FakeResult:
        assert assignment.skill is not None
        done = workshop.attempt(workshop.tasks[assignment.task_id], assignment.skill)
        call = ToolCall("shell", done.command, done.printed, ok=True, exit_code=0)
        files = {"output.xlsx": done.output} if done.output else {}
        return FakeResult(done.answer, files, events=(call, Message(done.answer)))

    return FakeHarness(work, name="codex")


async def verify(task: Task, result: Result) -> Score:
    """Scores as `spreadsheet_cells` does, without a process of its own."""
    comparison = compared(task, result.workspace.files["output.xlsx"])
    assert comparison is not None
    share = (comparison.cells - comparison.wrong) / comparison.cells
    return Score(share, comparison.wrong == 0, "" if share == 1 else "some cells are wrong")
