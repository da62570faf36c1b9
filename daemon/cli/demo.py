"""`honed demo`: the main job on embedded defaults, offline, with a simulated model, in a repository of its own."""

from __future__ import annotations

import asyncio
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from daemon.cli.evaluate import evaluate_with
from daemon.cli.options import AsJson
from daemon.cli.output import Output
from daemon.cli.progress import progress
from daemon.cli.run import run
from daemon.cli.train_report import edits_table, scores_data, scores_table
from daemon.config import Config, TargetSection, load_config
from daemon.demo.repository import DemoRepository, prepare
from daemon.optimizer.evaluate import EvaluationReport
from daemon.optimizer.report import RunReport
from daemon.plain import plain
from daemon.setup.setup import SetupReport, set_up
from daemon.training.train import train_with
from daemon.wiring import Parts, open_parts
from skills_repo.git import environment

_PLAIN_WORDS = (
    "The model in this demo is SIMULATED: a small program on loopback that plays target and optimizer. It speaks the "
    "real wire protocols and acts only on the text it is given, through the real CLIs, on real files; but its failures "
    "and its ideas are scripted. The figures show that the machinery works, not what a real model would gain."
)
_GATE_WORDS = (
    'It judges by one pass (gate = "strict"), for the simulated model always answers alike; the default, "paired", '
    "asks the same tasks again until a lead is more than chance."
)


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("demo")(demo)


def demo(
    folder: Annotated[
        Path | None,
        typer.Option("--dir", help="Where to make the demo's repository (default: a new temporary folder)."),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Attempts at the same time.")] = 2,
    as_json: AsJson = False,
) -> None:
    """Train a spreadsheet skill with Codex, carry it over to Claude Code, and show the git history. Offline, no key.

    Example: honed demo --dir /tmp/honed-demo
    """
    output = Output(as_json=as_json)
    run(output, lambda: _demo(output, folder, workers))


@dataclass(frozen=True)
class _Shown:
    """Everything the demo ends with."""

    parts: Parts
    report: RunReport
    transfer: tuple[EvaluationReport, EvaluationReport] | None
    ready: SetupReport
    log: str
    folder: Path
    wall_s: float


async def _demo(output: Output, folder: Path | None, workers: int) -> int:
    started = time.monotonic()
    output.warn(_PLAIN_WORDS)
    output.say(_GATE_WORDS)
    ready = await set_up(output.say)
    folder = folder or Path(tempfile.mkdtemp(prefix="honed-demo-"))
    repository = await asyncio.to_thread(prepare, folder, chat=ready.agents is None, workers=workers)
    config = load_config(repository.config)
    async with open_parts(config, progress(output)) as parts:
        report = await train_with(parts, output)
    transfer = None if ready.agents is None else await _transfer(output, config, repository, report)
    log = await asyncio.to_thread(_git_log, repository.folder, parts)
    shown = _Shown(parts, report, transfer, ready, log, repository.folder, time.monotonic() - started)
    data = _data(shown)
    output.result(data, lambda console: _render(console, shown, data))
    return 0 if _good(data) else 1


async def _transfer(
    output: Output, config: Config, repository: DemoRepository, report: RunReport
) -> tuple[EvaluationReport, EvaluationReport]:
    """The skill as Codex's training found and left it, both under Claude Code on the sealed split."""
    output.say("transfer: the Codex-trained skill under Claude Code")
    target = TargetSection.model_validate({**config.target.model_dump(), **repository.transfer_target})
    async with open_parts(config, progress(output), optimizer=False, harness=target) as parts:
        before = await parts.history.read(report.base_commit)
        after = await parts.history.read(await parts.history.base())
        output.say("transfer: test tasks with the skill as it was before training")
        first = await evaluate_with(parts, before, test=True)
        output.say("transfer: test tasks with the skill as training left it")
        return first, await evaluate_with(parts, after, test=True)


def _git_log(folder: Path, parts: Parts) -> str:
    branch = parts.history.branch.removeprefix("refs/heads/")
    form = "%h %s%n        %(trailers:key=Honed-Gate,valueonly,separator=%x2C)"
    command = ["git", "log", f"--format={form}", branch, "--"]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, encoding="utf-8", check=True)
    return done.stdout


def _data(shown: _Shown) -> dict[str, Any]:
    report, evaluations = shown.report, shown.transfer or ()
    return {
        "sandbox": shown.parts.engine.engine if shown.parts.engine else "none",
        "harnesses": [shown.parts.harness.name, *(["claude-code"] if shown.transfer else [])],
        "attempts": report.attempts + sum(len(one.results) for one in evaluations),
        "invalid": report.invalid + sum(one.measured.of - one.measured.n for one in evaluations),
        "score": scores_data(report),
        "edits": {"proposed": report.proposed, "accepted": report.accepted, "rejected": report.rejected},
        "commits": list(report.commits),
        "repository": str(shown.folder),
        "wall_s": round(shown.wall_s, 2),
        "transfer": {
            "harness": "claude-code",
            **{when: one.measured.score for when, one in zip(("before", "after"), evaluations, strict=False)},
        },
        "model": "simulated",
    }


def _good(data: dict[str, Any]) -> bool:
    """The demo's own promise: better on both splits, something accepted, something rejected."""
    better = [
        pair["before"] is not None and pair["after"] is not None and pair["after"] > pair["before"]
        for pair in data["score"].values()
    ]
    return all(better) and data["edits"]["accepted"] > 0 and data["edits"]["rejected"] > 0 and bool(data["commits"])


def _render(console: Console, shown: _Shown, data: dict[str, Any]) -> None:
    parts, branch = shown.parts, shown.parts.history.branch.removeprefix("refs/heads/")
    console.print()
    console.print(edits_table(shown.report))
    console.print()
    console.print(scores_table(shown.report, f"{parts.harness.name} in {data['sandbox']}"))
    if shown.transfer:
        before, after = (one.measured.score or 0.0 for one in shown.transfer)
        console.print(
            f"transfer to Claude Code, test: {before:.3f} with the skill before training -> {after:.3f} with the "
            "Codex-trained one"
        )
    else:
        console.print(f"no transfer: the CLIs are not here ({'; '.join(shown.ready.problems)})", markup=False)
    console.print(f"\ngit log {branch}")
    for line in shown.log.splitlines():
        console.print(plain(line), markup=False)
    console.print(_PLAIN_WORDS, style="yellow")
    console.print(
        f"\n{data['attempts']} attempts ({data['invalid']} invalid) in {data['wall_s']:.0f} s. Look around:\n"
        f"  cd {shlex.quote(str(shown.folder))}\n"
        f"  git log -p {branch}\n"
        f"  {_honed()} revert {branch}   # takes the last edit back, as does "
        f"`git switch {branch} && git revert --no-edit HEAD && git switch -`\n"
        f"  {_honed()} eval   # without the last edit: lower than selection's score above",
        markup=False,
        soft_wrap=True,  # what is to be copied stays on one line
    )


def _honed() -> str:
    """The command as a shell here would find it: `make demo` puts nothing on the PATH."""
    beside = Path(sys.executable).with_name("honed")
    return "honed" if shutil.which("honed") or not beside.is_file() else shlex.quote(str(beside))
