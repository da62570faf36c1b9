"""Rows of `honed doctor` about the job: keys, providers, repository, tasks, state folder."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from daemon.config import Config, ConfigError, ModelSection
from daemon.config_train import TrainSection
from daemon.optimizer.gates.power import smallest_effect, tasks_for
from daemon.places import open_history, state_folder
from daemon.secrets import NO_KEY, key_remedy, key_variables, read_key
from daemon.setup.check import Check
from daemon.tasks.task import TaskError, TaskSet
from daemon.wiring import is_simulated, open_tasks
from skills_repo.history import NotCommittedError, RepositoryError
from skills_repo.skill import SkillError
from skills_repo.validate import validate

SMALL_SELECTION = 12
"""Below it one task more or less is a large step: a gate then sees little but chance."""
_WORTH_SEEING = 0.1
"""A gain of the mean that a split should show."""
_ROOM_BYTES = 256 * 1024
"""Less free space than this holds no journal."""


async def key_check(name: str, section: ModelSection) -> Check:
    """The section's key is where it is said to be; its value is never shown."""
    if is_simulated(section):
        return Check(f"key {name}", "ok", "simulated model: no key needed")
    try:
        source, key = await asyncio.to_thread(read_key, section)
    except ConfigError as error:
        return Check(f"key {name}", "fail", str(error), key_remedy(section))
    told = f"{source} is set" if source in key_variables(section) else f"from {source}"
    return Check(f"key {name}", "ok", "loopback: no key needed" if key is NO_KEY else told)


async def repository_check(config: Config) -> Check:
    """The skill can be read at the commit training starts from, is valid, and has no uncommitted changes."""
    try:
        history = open_history(config)
        base = await history.base()
        skill = await history.read(base)
        dirty = await history.dirty()
        await history.check_writable()
        overlooked = await history.overlooked()
    except (RepositoryError, SkillError) as error:
        remedy = "mend [skill] in honed.toml or the skill itself"
        if isinstance(error, NotCommittedError):
            remedy = f"`git add {config.skill.path}` and `git commit` in {config.skill.repository}"
        return Check("repository", "fail", str(error), remedy)
    if dirty:
        shown = ", ".join(dirty[:3]) + (f" and {len(dirty) - 3} more" if len(dirty) > 3 else "")
        return Check("repository", "fail", f"uncommitted changes: {shown}", f"git add and commit {config.skill.path}")
    detail = f"{history.name} at {base[:12]}, {len(skill.text)} characters"
    if len(skill.text) > config.skill.max_chars:
        return Check("repository", "fail", f"{detail}: over max_chars", "shorten the skill, or raise [skill] max_chars")
    if overlooked:
        switch = f"git switch {history.branch.removeprefix('refs/heads/')}"
        remedy = "nothing: the next new run of `honed train` follows it" if config.skill.follow else switch
        return Check("repository", "warn", overlooked, remedy)
    if warnings := validate(skill):
        return Check("repository", "warn", f"{detail}; {'; '.join(warnings[:3])}", "mend SKILL.md and commit it")
    return Check("repository", "ok", detail)


async def tasks_check(config: Config) -> tuple[Check, TaskSet | None]:
    """The set loads; its splits are large enough to decide something. Also gives the set, for other rows."""
    try:
        tasks = await asyncio.to_thread(open_tasks, config)
    except TaskError as error:
        return Check("tasks", "fail", str(error), "mend the task set, or [tasks] in honed.toml"), None
    return sizes_check(tasks, config.train), tasks


def sizes_check(tasks: TaskSet, train: TrainSection | None = None) -> Check:
    """The splits' sizes and the smallest effect that the gate can see on them. Pure."""
    train = train or TrainSection()
    sizes = tasks.sizes()
    selection = sizes["selection"]
    detail = ", ".join(f"{count} {name}" for name, count in sizes.items())
    detail += f"; {_sees(selection, train)}"
    if not sizes["train"]:
        return Check("tasks", "fail", detail, "give the train split tasks: there is nothing to learn from")
    if selection < SMALL_SELECTION:
        more = max(SMALL_SELECTION, tasks_for(_WORTH_SEEING, train))
        remedy = f"about {more} selection tasks show a gain of 10 points; more [train] gate_trials help a little"
        return Check("tasks", "warn", f"{detail}: small", remedy)
    if not sizes["test"]:
        return Check("tasks", "warn", f"{detail}; no sealed test split", "keep some tasks for the final report")
    return Check("tasks", "ok", detail)


def _sees(selection: int, train: TrainSection) -> str:
    """What the gate can tell apart on so many tasks."""
    if train.gate == "off":
        return "the gate is off: nothing is measured on the selection split"
    if train.gate == "strict":
        return (
            f"one pass of the strict gate sees steps of 1/{selection} = {1 / selection:.3f},"
            ' and takes chance for a gain two times in five on 24 noisy tasks (gate = "paired" does not)'
        )
    effect = 100 * smallest_effect(selection, train)
    what = f"{train.gate_trials} trials against {train.gate_pool} pooled"
    return f"the gate finds a gain of {effect:.0f} points in 4 of 5 cases ({what}; `honed calibrate` measures yours)"


async def state_check(config: Config) -> Check:
    """The state folder can be written and its journal, if there is one, can be read."""
    folder = state_folder(config)
    try:
        await asyncio.to_thread(_write_and_read, folder)
    except (OSError, sqlite3.Error) as error:
        remedy = f"make {folder} writable and free some space there, or move it away to start anew"
        return Check("state", "fail", f"{folder}: {error}", remedy)
    return Check("state", "ok", str(folder))


def _write_and_read(folder: Path) -> None:
    there = next(path for path in (folder, *folder.parents) if path.exists())
    with tempfile.NamedTemporaryFile(dir=there) as probe:
        probe.write(bytes(_ROOM_BYTES))
    journal = folder / "journal.sqlite"
    if journal.exists():
        with closing(sqlite3.connect(f"{journal.absolute().as_uri()}?mode=ro", uri=True)) as database:
            database.execute("SELECT count(*) FROM sqlite_master").fetchone()
