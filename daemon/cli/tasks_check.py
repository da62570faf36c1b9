"""`honed tasks check`: says whether a task set is fit to be run."""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
from contextlib import aclosing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from daemon.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile
from daemon.cli.output import Output
from daemon.cli.run import run
from daemon.cli.tasks_options import (
    SIMILAR_DEFAULT,
    RatioText,
    Seed,
    SetPath,
    Similar,
    config_for,
    set_of,
    split_by,
    train_of,
)
from daemon.optimizer.gates.power import smallest_effect
from daemon.plain import plain
from daemon.setup.docker_ping import engine_address
from daemon.setup.home import honed_home
from daemon.tasks.check import SetReport, check_set, each
from daemon.tasks.prove import Proof, Verdict
from daemon.tasks.proving import prove_all
from daemon.tasks.scorers.scorer import Context
from daemon.wiring import limits_of
from sandboxes.choose import Choice, choose_engine
from sandboxes.image.recipe import SANDBOX_IMAGE
from sandboxes.image.rootfs import rootfs_status
from sandboxes.sandbox import Limits, SandboxError

if TYPE_CHECKING:
    from rich.console import Console

    from daemon.config import Config
    from daemon.tasks.load import Read

_SAY_EVERY = 25


def check_tasks(
    path: SetPath = None,
    *,
    no_run: Annotated[bool, typer.Option("--no-run", help="Open no sandbox: try only what needs none.")] = False,
    ratio: RatioText = None,
    seed: Seed = None,
    similar: Similar = SIMILAR_DEFAULT,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Tasks that are run at the same time.")] = 2,
    config: ConfigFile = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Check a whole task set: every line, leaks between splits, and each task by its solution. Changes nothing.

    The solution (or the gold answer) must score 1 and an agent that does nothing must score 0. Exit code 1 if
    anything is wrong.

    Example: honed tasks check tasks/tasks.jsonl --no-run
    """
    output = Output(as_json=as_json)

    async def work() -> int:
        found = config_for(path, config)
        chosen, number = split_by(found, ratio, seed)
        report, read = await asyncio.to_thread(
            check_set,
            set_of(path, found),
            ratio=chosen,
            seed=number,
            min_selection=found.tasks.min_selection if found else 4,
            similar=similar,
            say=output.say,
        )
        proofs = await _proofs(output, read, found, workers, boxes=not no_run) if len(read.columns) else []
        passed = not report.problems and all(proof.verdict.sound for proof in proofs)
        data = tasks_data(report, proofs, found, passed=passed)
        output.result(data, lambda console: _render(console, report, proofs, data))
        return 0 if passed else 1

    run(output, work)


async def _proofs(output: Output, read: Read, config: Config | None, workers: int, *, boxes: bool) -> list[Proof]:
    total, proofs = len(read.columns), []
    with tempfile.TemporaryDirectory(prefix="honed-check-", ignore_cleanup_errors=True) as made:
        scratch = Path(made) / "scratch"
        scratch.mkdir()
        owner = hashlib.sha256(made.encode()).hexdigest()[:12]
        choice = await _engine(output, config, owner) if boxes and read.boxed else None
        sandbox = choice.sandbox if choice else None
        images = engine_address() if sandbox is not None and sandbox.name == "docker" else None
        context = Context(sandbox, scratch, limits_of(config) if config else Limits())
        folder = Path(made) / "images"
        running = prove_all(each(read), context, images=images, folder=folder, workers=workers, boxes=boxes)
        async with aclosing(running) as found:
            async for proof in found:
                proofs.append(proof)
                if not proof.verdict.sound:
                    output.say(f"{proof.task}: {proof.verdict}")
                if len(proofs) % _SAY_EVERY == 0:
                    output.say(f"tried {len(proofs):,} of {total:,} tasks")
    return proofs


async def _engine(output: Output, config: Config | None, owner: str) -> Choice | None:
    """A real engine; one that isolates nothing runs no stranger's scripts."""
    section = config.sandbox if config else None
    rootfs = rootfs_status(honed_home())
    try:
        choice = await choose_engine(
            section.engine if section else "auto",
            image=(section.image if section else None) or SANDBOX_IMAGE,
            rootfs=rootfs.path if rootfs else None,
            owner=owner,
            docker_url=engine_address(),
            runtime=section.runtime if section else None,
        )
        facts = await choice.sandbox.facts()
    except SandboxError as error:
        output.warn(f"no solution and no test script is run: {error}")
        return None
    if not facts.isolated and not (section and section.allow_unsandboxed):
        output.warn(
            f"no solution and no test script is run: the {facts.engine} engine protects nothing (`honed setup`)"
        )
        return None
    for reason in choice.reasons:
        output.warn(reason)
    return choice


def tasks_data(report: SetReport, proofs: list[Proof], config: Config | None, *, passed: bool) -> dict[str, Any]:
    """The machine-readable result."""
    selection = report.sizes.get("selection", 0)
    return {
        **{key: value for key, value in asdict(report).items() if key != "path"},
        "set": str(report.path),
        "passed": passed,
        "smallest_effect": round(smallest_effect(selection, train_of(config)), 4) if selection else None,
        "proofs": [asdict(proof) for proof in proofs],
    }


def _render(console: Console, report: SetReport, proofs: list[Proof], data: dict[str, Any]) -> None:
    wrong = [proof for proof in proofs if not proof.verdict.sound or proof.detail]
    if wrong:
        table = Table("task", "verdict", "solution", "nothing", "", box=None, pad_edge=False)
        for proof in wrong:
            figures = ("-" if value is None else f"{value:g}" for value in (proof.oracle, proof.nothing))
            table.add_row(proof.task, proof.verdict, *figures, Text(plain(proof.detail)))
        console.print(table)
    for line in report.notices:
        console.print(Text(plain(line), style="yellow"))
    for line in report.problems:
        console.print(Text(plain(line), style="red"))
    console.print(Text(plain(_head(report))))
    if data["smallest_effect"] is not None:
        console.print(f"the selection split sees a gain of {100 * data['smallest_effect']:.0f} points in 4 of 5 cases")
    if report.digest:
        console.print(f"set {report.digest}\nsplit {report.split_digest}", highlight=False)
    if report.published:
        console.print(f"this is the published split of {report.published}")
    untried = sum(proof.verdict is Verdict.HALF for proof in proofs)
    proved = sum(proof.verdict.sound for proof in proofs) - untried
    tried = f"; {proved:,} of {len(proofs):,} tasks proved by their solution or answer" if proofs else ""
    if untried:
        what = f"{untried:,} of {len(proofs):,} have neither: nothing shows that they can be passed"
        console.print(what, style="yellow")
    style, word = ("green", "nothing is wrong") if data["passed"] else ("bold red", "not fit to be run")
    if data["passed"] and not report.sizes:
        style, word = "yellow", "nothing is wrong with the tasks, but they are too few to train on"
    faults = f" ({len(report.problems):,} problems)" if report.problems else ""
    console.print(f"[{style}]{word}[/]{faults}{tried}")


def _head(report: SetReport) -> str:
    groups = f" in {len(report.groups)} groups" if len(report.groups) > 1 else ""
    sizes = ", ".join(f"{name} {size:,}" for name, size in report.sizes.items())
    splits = f": {sizes} (by {report.split_from})" if sizes else ""
    return f"{report.path}: {report.tasks:,} tasks ({report.format}){groups}{splits}"
