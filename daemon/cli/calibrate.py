"""`honed calibrate`: how much the current skill differs from itself, and what the gates make of that."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from daemon.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile
from daemon.cli.output import Output
from daemon.cli.progress import progress
from daemon.cli.run import run
from daemon.config import load_config
from daemon.optimizer.calibrate import TRIALS, CalibrationReport, calibrate
from daemon.preflight import check_target
from daemon.wiring import open_parts

if TYPE_CHECKING:
    from rich.console import Console


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("calibrate")(calibrate_verb)


def calibrate_verb(
    *,
    config: ConfigFile = DEFAULT_CONFIG,
    trials: Annotated[
        int, typer.Option(min=2, max=50, help="Trials of every selection task; those in the journal are read back.")
    ] = TRIALS,
    as_json: AsJson = False,
) -> None:
    """Run the current skill against itself (A/A) on the selection split: what differs is noise. Changes nothing.

    Says how often each task flips, how much the mean trembles, how often each gate would take that for a gain, and
    the smallest gain that your split can show.

    Example: honed calibrate --trials 5
    """
    output = Output(as_json=as_json)
    run(output, lambda: _calibrate(output, config, trials))


async def _calibrate(output: Output, file: Path, trials: int) -> int:
    config = load_config(file)
    async with open_parts(config, progress(output), optimizer=False) as parts:
        for line in parts.loud:
            output.warn(line)
        skill = await parts.history.read(await parts.history.base())
        await check_target(parts.canary, parts.state / "attempts")
        tasks = parts.tasks.split("selection")
        report = await calibrate(
            parts.rollouts,
            parts.journal,
            skill,
            tasks,
            train=config.train,
            trials=trials,
            path=config.skill.path,
            purse=parts.purse,
        )
    output.result(calibration_data(report), lambda console: _render(console, report))
    return 0 if report.flip_rate is not None else 1


def calibration_data(report: CalibrationReport) -> dict[str, Any]:
    """The machine-readable result."""
    return {
        "score": report.measured.score,
        "tasks": report.measured.of,
        "valid": report.measured.n,
        "trials": report.trials,
        "attempts": report.attempts,
        "flip_rate": report.flip_rate,
        "noise": report.noise,
        "no_op_accepted": {"strict": report.strict_accepts, "paired": report.paired_accepts},
        "smallest_effect": report.smallest_effect,
        "results": [asdict(row) for row in report.rows],
        "wall_s": round(report.wall_s, 2),
    }


def _render(console: Console, report: CalibrationReport) -> None:
    table = Table("task", "trials", "mean", "flips", box=None, pad_edge=False)
    for row in report.rows:
        table.add_row(row.id, str(row.trials), _figure(row.mean), _share(row.flip_rate))
    console.print(table)
    console.print(f"[bold]two trials of the same skill differ on {_share(report.flip_rate)} of the tasks[/]")
    console.print(f"one pass over the split: {_figure(report.measured.score)} ± {_figure(report.noise)}")
    console.print(
        f"a candidate that changes nothing is accepted by strict {_share(report.strict_accepts)} of the time,"
        f" by paired {_share(report.paired_accepts)}"
    )
    effect = report.smallest_effect
    points = "unknown" if effect is None else f"{100 * effect:.0f} points"
    console.print(f"the smallest gain that the paired gate finds here in 4 of 5 cases: {points}")
    if report.flip_rate is None:
        console.print("too few valid trials to tell: run it again, or see `honed eval` for the outcomes")


def _figure(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"


def _share(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.0%}"
