"""Gold answers, tests and solutions: an agent that searches all of its box finds none of them, in any format."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from daemon.tasks.load import read_set
from daemon.tasks.task import Task
from harnesses.harness import Assignment
from harnesses.traces.trace import ToolCall
from sandboxes.docker import DockerSandbox
from sandboxes.gateway.proxy import ModelGateway
from tests.hostile.attack import Area, Attack, Attempted, Stage, add, holds
from tests.integration.harnesses.conftest import KINDS, Bench
from tests.support.agents import installed
from tests.support.sandboxes import docker_image
from tests.support.upstream import Upstream
from tests.support.wire import Step

GOLD, OPEN = "GOLD-MARK-7731", "OPEN-MARK-7731"
_SEARCH = (
    "cat /proc/*/environ /proc/self/mountinfo 2>/dev/null | tr '\\0' '\\n' > /tmp/seen; "
    'for what in GOLD OPEN; do grep -rIls --exclude-dir=proc --exclude-dir=sys -- "$what[-]MARK-7731" / 2>/dev/null | '
    'sed "s/^/$what /"; done; ls -d /tests /solution /logs 2>/dev/null; echo searched'
)


def _lay(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def _jsonl(folder: Path) -> Path:
    row = {
        "id": "t-1", "prompt": "Read in.md.", "files": ["in.md"], "answer": GOLD, "tests": ["gold.md", "test.sh"],
        "scorer": {"name": "test_script"}, "solution": {"solve.sh": "solve.sh"},
    }  # fmt: skip
    _lay(folder, {"in.md": OPEN, "gold.md": GOLD, "test.sh": f"# {GOLD}\n", "solve.sh": f"echo {GOLD}\n"})
    _lay(folder, {"tasks.jsonl": json.dumps(row)})
    return folder / "tasks.jsonl"


def _csv(folder: Path) -> Path:
    _lay(folder, {"tasks.csv": f"question,ground_truth\n{OPEN}?,{GOLD}\n"})
    return folder / "tasks.csv"


def _evals(folder: Path) -> Path:
    scorer = {"name": "regex", "all": [GOLD]}
    row = {"id": 1, "prompt": "Read in.md.", "expected_output": GOLD, "files": ["in.md"], "scorer": scorer}
    _lay(folder, {"in.md": OPEN, "evals.json": json.dumps({"skill_name": "x", "evals": [row]})})
    return folder / "evals.json"


def _harbor(folder: Path) -> Path:
    toml = 'version = "1.0"\n[metadata]\nnetwork = "none"\n'
    task = {
        "instruction.md": "Read in.md.\n", "environment/in.md": OPEN, "tests/test.sh": f"# {GOLD}\n",
        "tests/gold.md": GOLD, "solution/solve.sh": f"echo {GOLD}\n", "task.toml": toml,
    }  # fmt: skip
    _lay(folder / "set" / "t-1", task)
    return folder / "set"


def _steps(folder: Path) -> Path:
    toml = 'version = "1.0"\n[metadata]\nnetwork = "none"\n[[steps]]\nname = "one"\n[[steps]]\nname = "two"\n'
    parts = {"instruction.md": "Read in.md.\n", "tests/test.sh": f"# {GOLD}\n", "solution/solve.sh": f"echo {GOLD}\n"}
    steps = {f"steps/{step}/{name}": text for step in ("one", "two") for name, text in parts.items()}
    _lay(folder / "set" / "t-1", {**steps, "environment/in.md": OPEN, "tests/same.sh": GOLD, "task.toml": toml})
    return folder / "set"


_FORMATS: dict[str, Callable[[Path], Path]] = {
    "tasks-jsonl": _jsonl,
    "csv": _csv,
    "evals-json": _evals,
    "harbor": _harbor,
    "harbor-steps": _steps,
}


def _assignment(bench: Bench, task: Task) -> Assignment:
    prompt = task.steps[0].prompt if task.steps else task.prompt
    return bench.assignment(prompt=prompt, files=task.file_bytes())


def _hidden(make: Callable[[Path], Path]) -> Attempted:
    async def hidden(stage: Stage) -> str:
        kind = KINDS["codex"]
        installed(kind.cli)
        read = read_set(make(stage.folder / "tasks"))
        assert not read.faults, read.faults
        gateway = ModelGateway(stage.folder / "s")
        stage.stack.push_async_callback(gateway.close)
        bench = Bench(kind, DockerSandbox(docker_image(), owner=stage.owner), gateway, stage.folder)
        async with Upstream([kind.run(_SEARCH), Step(text="done")]) as provider:
            attempt = await bench.harness(provider).run(_assignment(bench, read.task(0)))
        said = "\n".join(event.output for event in attempt.trace.events if isinstance(event, ToolCall))
        found = [line for line in said.splitlines() if line.startswith(("GOLD", "/"))]
        opened = sum(line.startswith("OPEN") for line in said.splitlines())
        asked = json.dumps([request.body for request in provider.requests])
        return holds(
            "searched" in said and opened and not found and GOLD not in asked,
            f"{opened} files of the task found, gold in {len(found)}, and in no request to the model {found[:3]}",
        )

    return hidden


for _name, _make in _FORMATS.items():
    add(
        Attack(
            Area.VERIFICATION,
            f"gold-of-{_name}",
            f"an agent searches its whole box for the gold, tests and solution of a {_name} task",
            "the task's own files found, nothing else",
            _hidden(_make),
            needs_engine=True,
        )
    )
