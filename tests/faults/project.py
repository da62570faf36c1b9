"""A project for a seed: the demo's tasks, driven by the chat harness or by a CLI, with knobs that differ by seed."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tests.support.honed_cli import git
from tests.support.projects import demo_project

Kind = Literal["chat", "cli", "docker"]
KEY = "HONED_FAULTS_KEY"
SIZES = {"train": 6, "selection": 6, "test": 3}
_CHECK = """\
if [ "$(cat "$WORKSPACE_DIR/answer.txt")" = "$(cat "$TESTS_DIR/expected.txt")" ]
then echo 1; else echo 0; fi > "$LOGS_DIR/reward.txt"
"""


@dataclass(frozen=True)
class Plan:
    """What a seed asks for."""

    seed: int
    kind: Kind
    epochs: int
    gate: Literal["strict", "paired"]
    tries: int
    """Of one model request: with 1, every failed request fails an attempt, or the run."""
    attempt_tries: int
    workers: int

    @classmethod
    def of(cls, seed: int, *, docker: bool = False) -> Plan:
        """Half of them by the chat harness, half by a CLI; a fifth with no retries of requests at all."""
        rng = random.Random(f"plan/{seed}")
        hard = seed % 5 == 4
        return cls(
            seed=seed,
            kind="docker" if docker else "cli" if seed % 2 else "chat",
            epochs=2 if seed % 3 == 0 else 1,
            gate="paired" if seed % 4 >= 2 else "strict",
            tries=1 if hard else rng.choice((3, 4)),
            attempt_tries=3,
            workers=rng.choice((1, 2, 4)),
        )

    @property
    def told(self) -> str:
        """In a few words."""
        return f"{self.kind} {self.gate} epochs={self.epochs} tries={self.tries} workers={self.workers}"


def make(folder: Path, plan: Plan, base_url: str) -> Path:
    """The project of a plan; equal plans make equal repositories, but for the address of the provider."""
    if plan.kind == "docker":
        return _make_codex(folder, plan, base_url)
    demo_project(folder, chat=True, workers=plan.workers)
    rows = _some(folder, plan)
    if plan.kind == "cli":
        rows = [_checked(folder, row) for row in rows]
    _save(folder, rows)
    toml = _knobs((folder / "honed.toml").read_text(), plan, base_url)
    if plan.kind == "cli":
        toml = toml.replace('harness = "chat"', 'harness = "codex"')
    (folder / "honed.toml").write_text(toml)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "Begin")
    return folder


def _make_codex(folder: Path, plan: Plan, base_url: str) -> Path:
    """The spreadsheet demo: Codex itself, in the real engine."""
    demo_project(folder, workers=plan.workers, keep={"train": 4, "selection": 4, "test": 2})
    (folder / "honed.toml").write_text(_knobs((folder / "honed.toml").read_text(), plan, base_url))
    git(folder, "commit", "--quiet", "--all", "--message", "Begin")
    return folder


def _some(folder: Path, plan: Plan) -> list[dict[str, Any]]:
    rng = random.Random(f"tasks/{plan.seed}")
    rows = [json.loads(line) for line in (folder / "tasks" / "tasks.jsonl").read_text().splitlines()]
    kept: list[dict[str, Any]] = []
    for split, size in SIZES.items():
        of = [row for row in rows if row["split"] == split]
        kept += sorted(rng.sample(of, size), key=lambda row: str(row["id"]))
    return kept


def _checked(folder: Path, row: dict[str, Any]) -> dict[str, Any]:
    """The same task, checked by a script in a box."""
    checks = folder / "tasks" / "checks"
    checks.mkdir(exist_ok=True)
    (checks / "test.sh").write_text(_CHECK)
    (checks / f"{row['id']}.txt").write_text(f"{row['answer']}\n")
    tests = {"test.sh": "checks/test.sh", "expected.txt": f"checks/{row['id']}.txt"}
    return {**{key: row[key] for key in ("id", "group", "prompt", "split")}, "scorer": "test_script", "tests": tests}


def _save(folder: Path, rows: list[dict[str, Any]]) -> None:
    lines = "".join(json.dumps(row, sort_keys=True) + "\n" for row in rows)
    (folder / "tasks" / "tasks.jsonl").write_text(lines)


def _knobs(toml: str, plan: Plan, base_url: str) -> str:
    more = f'base_url = "{base_url}"\napi_key_env = "{KEY}"\ntries = {plan.tries}\nretry_s = 30.0'
    toml = toml.replace('base_url = "simulated:"', more)
    toml = toml.replace('gate = "strict"', f'gate = "{plan.gate}"\nattempt_tries = {plan.attempt_tries}')
    toml = re.sub(r"(?m)^epochs = .*$", f"epochs = {plan.epochs}", toml)
    return re.sub(r"(?m)^seed = .*$", f"seed = {plan.seed}", toml)
