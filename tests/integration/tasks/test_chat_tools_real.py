"""Chat with tools on the public data, where it is at hand: documents are searched and read, workbooks written."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from daemon.setup.toolkit import ensure_toolkit
from daemon.tasks.benchmarks.bench_set import open_bench
from daemon.tasks.benchmarks.catalogue import benchmark
from daemon.tasks.scorers.registry import score_task
from daemon.tasks.scorers.scorer import Result
from daemon.tasks.task import Score, Task
from harnesses.chat import ChatHarness
from harnesses.chat_tools import Boxes
from harnesses.file_tools import READ_CHARS
from harnesses.harness import Assignment, Attempt
from harnesses.models.client import ModelReply, ModelRequest, ToolUse
from harnesses.models.fake import ScriptedModel
from harnesses.outcome import Outcome
from harnesses.traces.trace import ToolCall
from sandboxes.gateway.policy import Usage
from tests.support.sandboxes import process_engine
from tests.support.tasks import real_data

EACH = Usage(1, 1, 1, 1, 0.0)


def call(tool: str, **arguments: object) -> ModelReply:
    return ModelReply("", EACH, "end", "m", (ToolUse("c", tool, arguments),))


def saying(replies: Iterator[ModelReply]) -> Callable[[ModelRequest], ModelReply]:
    return lambda _: next(replies)


def tasks_of(name: str) -> Sequence[Task]:
    real_data(benchmark(name).folder)
    return open_bench(benchmark(name), real_data(".")).tasks.tasks


async def attempted(task: Task, model: ScriptedModel, folder: Path) -> tuple[Attempt, Score]:
    sandbox = process_engine("honed-tests-real").sandbox
    boxes = Boxes(sandbox, mounts=(await ensure_toolkit(folder / "home", lambda _: None),))
    given = Assignment("a-1", task.id, task.prompt, folder / task.id, task.file_bytes(), tools=task.tools)
    given.folder.mkdir(parents=True)
    attempt = await ChatHarness(model, boxes=boxes).run(given)
    return attempt, await score_task(task, Result(attempt.trace.final_answer, attempt.workspace))


async def test_every_question_is_answered_from_its_real_documents(tmp_path: Path) -> None:
    tasks = tasks_of("officeqa")
    for task in tasks:
        path = next(iter(task.files))

        def answer(request: ModelRequest, task: Task = task, path: str = path) -> ModelReply:
            told = request.messages[-1].answers
            if not told:
                return call("search_text", query="expenditures", path=path)
            if told[0].text.startswith(f"{path}, offset "):
                return call("read_file", path=path, offset=int(told[0].text.split("offset ")[1].split(":")[0]))
            return ModelReply(f"<FINAL_ANSWER>{task.answer}</FINAL_ANSWER>", EACH, "end", "m")

        model = ScriptedModel(answer)
        attempt, score = await attempted(task, model, tmp_path)
        assert (attempt.outcome, score.value, attempt.engine) == (Outcome.COMPLETED, 1.0, None)
        found, read = (event for event in attempt.trace.events if isinstance(event, ToolCall))
        assert "xpenditures" in found.output
        assert read.ok
        shown = model.requests[0].messages[0].content
        assert len(shown) < 3_000 < READ_CHARS < sum(source.stat().st_size for source in task.files.values())


async def test_a_real_workbook_is_scored_by_what_a_script_saved(tmp_path: Path) -> None:
    tasks = tasks_of("spreadsheetbench")
    task = min(tasks, key=lambda task: task.tests["golden.xlsx"].stat().st_size)
    golden = b64encode(task.tests["golden.xlsx"].read_bytes()).decode()
    scripts = {
        1.0: f"import base64\nopen('output.xlsx', 'wb').write(base64.b64decode('{golden}'))",
        0.0: "import shutil\nshutil.copyfile('input.xlsx', 'output.xlsx')",
    }
    for expected, code in scripts.items():
        replies = iter([call("run_python", code=code), ModelReply("It is in output.xlsx.", EACH, "end", "m")])
        attempt, score = await attempted(task, ScriptedModel(saying(replies)), tmp_path / str(expected))
        assert (attempt.outcome, float(score.hard)) == (Outcome.COMPLETED, expected)
        assert sorted(attempt.workspace.files) == ["input.xlsx", "output.xlsx"]
