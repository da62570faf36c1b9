"""Ten projects under one daemon: nine of a chat model, and one of the real Codex in Docker where that can be had."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.honed_cli import git
from tests.support.projects import demo_project

CHAT = {"train": 8, "selection": 8, "test": 4}
CODEX = {"train": 4, "selection": 4, "test": 2}
MAIN = "p0"
_DAEMON = """
[daemon]
also = ["../p*/honed.toml"]
runs = 2
debounce_s = 0.1
poll_s = 5.0
cooldown_h = 0.0
grace_s = 20.0
"""


@dataclass
class Soaked:
    """One project, and what a person has in mind with it."""

    folder: Path
    skill: str
    """The skill's folder in it."""
    codex: bool
    spare: list[dict[str, Any]]
    """Tasks of the whole set that it does not have yet."""
    good: str = ""
    """honed.toml before it was broken; empty while it is not."""
    edits: int = 0

    @property
    def name(self) -> str:
        """Of its folder."""
        return self.folder.name

    @property
    def toml(self) -> Path:
        """Its configuration."""
        return self.folder / "honed.toml"

    @property
    def tasks(self) -> Path:
        """Its task file."""
        return self.folder / "tasks" / "tasks.jsonl"

    @property
    def branch(self) -> str:
        """That honed commits to."""
        return f"honed/{Path(self.skill).name}"

    @property
    def main(self) -> bool:
        """It has the `[daemon]` section."""
        return self.name == MAIN


@dataclass
class House:
    """All of them; `root` holds nothing else that a daemon writes to."""

    root: Path
    projects: list[Soaked] = field(default_factory=list)

    @property
    def main(self) -> Path:
        """Where the daemon is started."""
        return self.root / MAIN


def build(root: Path, base_url: str, *, chat: int, codex: bool, rng: random.Random) -> House:
    """Projects with a part of their tasks, at the provider of `base_url`."""
    house = House(root)
    for number in range(chat + codex):
        is_codex = number == chat
        keep = CODEX if is_codex else CHAT
        folder = demo_project(root / f"p{number}", chat=not is_codex, workers=2)
        house.projects.append(_part(folder, keep, base_url, is_codex, rng))
    with house.projects[0].toml.open("a") as toml:
        toml.write(_DAEMON)
    for one in house.projects:
        git(one.folder, "commit", "--quiet", "--all", "--message", "Begin with fewer tasks")
    return house


def _part(folder: Path, keep: dict[str, int], base_url: str, codex: bool, rng: random.Random) -> Soaked:
    toml = folder / "honed.toml"
    toml.write_text(toml.read_text().replace('"simulated:"', f'"{base_url}"'))
    skill = re.search(r'^path = "(skills/.+)"', toml.read_text(), re.MULTILINE)
    assert skill is not None
    one = Soaked(folder, skill[1], codex, [])
    rows = [json.loads(line) for line in one.tasks.read_text().splitlines()]
    kept: list[dict[str, Any]] = []
    for split, size in keep.items():
        of = [row for row in rows if row["split"] == split]
        kept += sorted(rng.sample(of, size), key=lambda row: str(row["id"]))
    save_tasks(one, kept)
    if not codex:
        one.spare = [row for row in rows if row not in kept]
        rng.shuffle(one.spare)
    return one


def save_tasks(one: Soaked, rows: list[dict[str, Any]]) -> None:
    """As an editor saves: another file in its place."""
    fresh = one.tasks.with_name("fresh")
    fresh.write_text("".join(json.dumps(row, sort_keys=True) + "\n" for row in rows))
    fresh.rename(one.tasks)
