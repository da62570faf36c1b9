"""`honed tasks split`: write down which task is train, selection or test."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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
from daemon.tasks.load import read_set
from daemon.tasks.manifest import make_manifest, write_manifest
from daemon.tasks.near import NearIndex
from daemon.tasks.splitting import WORTH, check_worth, families, split_families
from daemon.tasks.task import TaskError

if TYPE_CHECKING:
    from rich.console import Console

    from daemon.config_train import TrainSection
    from daemon.tasks.splitting import Ratio


def split_tasks(
    path: SetPath = None,
    *,
    ratio: RatioText = None,
    seed: Seed = None,
    similar: Similar = SIMILAR_DEFAULT,
    effect: Annotated[
        float, typer.Option(min=0.005, max=1.0, help="The gain (0 to 1) that the selection split must be able to see.")
    ] = WORTH,
    force: Annotated[bool, typer.Option("--force", help="Replace a manifest that is there.")] = False,
    config: ConfigFile = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Split a task set by seed, evenly over groups, copies on one side; writes a manifest beside it, and nothing else.

    Refuses a split whose selection is too small to decide anything, and says how many tasks it takes.

    Example: honed tasks split tasks/tasks.jsonl --ratio 2:1:7 --seed 42
    """
    output = Output(as_json=as_json)

    async def work() -> None:
        found = config_for(path, config)
        chosen, number = split_by(found, ratio, seed)
        data = await asyncio.to_thread(
            _split,
            output,
            set_of(path, found),
            chosen,
            number,
            similar=similar,
            effect=effect,
            train=train_of(found),
            force=force,
        )
        output.result(data, lambda console: _render(console, data))

    run(output, work)


def _split(
    output: Output,
    path: Path,
    ratio: Ratio,
    seed: int,
    *,
    similar: float,
    effect: float,
    train: TrainSection,
    force: bool,
) -> dict[str, Any]:
    index = NearIndex(similar)
    read = read_set(path, lambda number: output.say(f"read {number:,} tasks"), index.add)
    if read.faults:
        raise TaskError(f"{read.faults[0]} ({len(read.faults)} in all: `honed tasks check` lists them)")
    if any(read.columns.splits):
        msg = f"{path}: the tasks have splits of their own: remove their `split` first"
        raise TaskError(msg)
    if not read.manifest.parent.is_dir():
        msg = f"{path}: a set of a plug-in has no place for a manifest: give its tasks a split there"
        raise TaskError(msg)
    found = families(read, index)
    splits = split_families(found, ratio, seed)
    seen = check_worth(splits.values(), ratio, train, effect)
    manifest = make_manifest(splits, ratio=":".join(map(str, ratio)), seed=seed)
    write_manifest(read.manifest, manifest, force=force)
    counts = Counter(splits.values())
    return {
        "manifest": str(read.manifest),
        "digest": manifest.digest,
        "ratio": manifest.ratio,
        "seed": seed,
        "sizes": {name: counts[name] for name in ("train", "selection", "test")},
        "families": sum(len(family.members) > 1 for family in found),
        "smallest_effect": round(seen, 4),
    }


def _render(console: Console, data: dict[str, Any]) -> None:
    sizes = ", ".join(f"{name} {size:,}" for name, size in data["sizes"].items())
    console.print(f"wrote {data['manifest']}: {sizes} ({data['ratio']}, seed {data['seed']})", markup=False)
    if data["families"]:
        console.print(f"{data['families']:,} families of tasks that are nearly the same are each in one split")
    console.print(f"the selection split sees a gain of {100 * data['smallest_effect']:.0f} points in 4 of 5 cases")
    console.print(f"split {data['digest']}")
