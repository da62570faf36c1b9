"""ALFWorld: household tasks in a text game; won or not, as the game's own engine says.

Files: `json_2.1.1/**/game.tw-pddl`; the games of the published lists have their ids there, others are named by their
path. `household/<name>/game.json` are games of honed's own small engine: the sample is made of these, and is no
measure of ALFWorld.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from daemon.tasks.benchmarks.benchmark import Benchmark, Items, Reader, Unscorable
from daemon.tasks.benchmarks.id_lists import FOLDERS
from daemon.tasks.benchmarks.reading import json_rows
from daemon.tasks.episodes.engines import GAME_FILES, EngineName, missing
from daemon.tasks.task import ScorerSpec, Task, TaskError

MAX_COMMANDS = 50
PROMPT = """\
You are in a household that answers by text (game {name}). Do the task that it gives you. You have {commands} commands.
The commands are:
  go to PLACE, open PLACE, close PLACE, take THING from PLACE, move THING to PLACE, use THING,
  heat THING with PLACE, cool THING with PLACE, clean THING with PLACE, examine THING or PLACE, look, inventory
Names have numbers, as in: take mug 1 from desk 2. You can carry one thing. "Nothing happens." means that a command was
not understood or cannot be done here.
"""


def read(folder: Path) -> Items:
    """Every game that is here; raises `TaskError` if the engine of some is not installed."""
    reader = Reader()
    listed = dict(_listed(folder))
    for engine, name in GAME_FILES.items():
        files = sorted(folder.rglob(name))
        if files and (needed := missing(engine)):
            raise TaskError(f"{folder}: the engine of its games {needed}")
        for file in files:
            path = file.relative_to(folder).as_posix()
            published = listed.get(path, path.removesuffix(f"/{name}"))
            reader.take(published, partial(_task, engine, file))
    return reader.items()


def _listed(folder: Path) -> Iterator[tuple[str, str]]:
    """Each listed game's path and published id; nothing where no lists are here."""
    lists = folder.parent / "splits" / ALFWORLD.name
    for name in FOLDERS if lists.is_dir() else ():
        for row in json_rows(lists / name / "items.json"):
            yield str(row.get("gamefile", "")), str(row.get("id", ""))


def _task(engine: EngineName, file: Path, name: str) -> Task:
    kind = re.match(r"[a-z_]+", file.parent.parent.name if engine == "alfworld" else file.parent.name)
    if kind is None:
        raise Unscorable("lies in a folder that names no kind of task")
    return Task(
        name,
        PROMPT.format(name=name, commands=MAX_COMMANDS),
        ScorerSpec("episode_won", {"engine": engine, "game": file.name, "max_commands": MAX_COMMANDS}),
        tests={file.name: file},
        group=kind[0],
        timeout_s=1800.0,
    )


ALFWORLD = Benchmark(
    name="alfworld",
    title="ALFWorld",
    folder="alfworld",
    files="**/game.*",
    read=read,
    metric="hard",
    source="https://github.com/alfworld/alfworld (json_2.1.1_tw-pddl.zip of its releases)",
    licence="MIT",
)
