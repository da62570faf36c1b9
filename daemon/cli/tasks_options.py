"""What `honed tasks check` and `honed tasks split` share: which set, and how it is split."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from daemon.config import Config, load_config
from daemon.config_train import TrainSection
from daemon.tasks.near import SIMILAR
from daemon.tasks.splitting import Ratio, parse_ratio

SetPath = Annotated[
    Path | None,
    typer.Argument(
        metavar="SET",
        show_default="[tasks] path of honed.toml",
        help="A tasks.jsonl, .csv or evals.json, a folder of tasks, or python:NAME.",
    ),
]
RatioText = Annotated[
    str | None,
    typer.Option("--ratio", help="train : selection : test.", show_default="[tasks] split of honed.toml, else 4:1:5"),
]
Seed = Annotated[
    int | None, typer.Option(help="Of the split.", show_default="[tasks] split_seed of honed.toml, else 42")
]
Similar = Annotated[
    float, typer.Option(min=0.5, max=1.0, help="Share of common word triples from which on two prompts are alike.")
]
SIMILAR_DEFAULT = SIMILAR


def config_for(path: Path | None, file: Path) -> Config | None:
    """The configuration, where there is one; it must be there if no set is named."""
    return load_config(file) if path is None or file.exists() else None


def set_of(path: Path | None, config: Config | None) -> Path:
    """The set that is named, else the configured one."""
    return path if path is not None else config.tasks.path if config else Path()


def split_by(config: Config | None, ratio: str | None, seed: int | None) -> tuple[Ratio, int]:
    """Ratio and seed as asked for, else as configured, else the defaults."""
    given: Ratio = config.tasks.split if config else (4, 1, 5)
    configured = config.tasks.split_seed if config else 42
    return (parse_ratio(ratio) if ratio else given), (configured if seed is None else seed)


def train_of(config: Config | None) -> TrainSection:
    """`[train]`, for what its gate can see."""
    return config.train if config else TrainSection()
