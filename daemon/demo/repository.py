"""The demo's git repository: skill, tasks and honed.toml, committed once; made only where nothing is yet.

Preparing it again changes nothing, so that a demo that was killed goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from git import Actor, Repo

from daemon.config import ConfigError
from daemon.demo.chat_tasks import write_chat_demo
from daemon.demo.demo_set import CHAT_MODEL, CLAUDE_MODEL, CODEX_MODEL, OPTIMIZER_MODEL, DemoSet
from daemon.demo.tasks import write_demo

_TOML = """\
# Made by `honed demo`: the model behind it is simulated.
[skill]
path = "{skill_path}"

[tasks]
path = "tasks/tasks.jsonl"

[target]
harness = "{harness}"
provider = "openai"
model = "{model}"
base_url = "simulated:"

[optimizer]
provider = "openai"
model = "{optimizer}"
base_url = "simulated:"

[train]
epochs = {knobs.epochs}
batch = {knobs.batch}
minibatch = {knobs.minibatch}
edit_budget = {knobs.edit_budget}
min_edit_budget = {knobs.min_edit_budget}
seed = {knobs.seed}
# One pass tells all about a model that always answers alike. For a real one leave this line out: "paired" asks the
# same tasks again until a lead is more than chance.
gate = "strict"

[sandbox]
workers = {workers}

[git]
# The same commits for everybody, whoever signs theirs.
sign = "never"
"""


@dataclass(frozen=True)
class DemoRepository:
    """A prepared demo."""

    folder: Path
    config: Path
    transfer_target: Mapping[str, Any]
    """What replaces keys of `[target]` to drive Claude Code on the same tasks."""


def prepare(folder: Path, *, chat: bool, workers: int) -> DemoRepository:
    """Make the repository at `folder`, or find it there as it was left; raises `ConfigError` if something else is."""
    folder = folder.resolve()
    config = folder / "honed.toml"
    made = DemoRepository(folder, config, {"harness": "claude-code", "provider": "anthropic", "model": CLAUDE_MODEL})
    if (folder / ".git").is_dir() and config.is_file():
        return made
    if folder.exists() and any(folder.iterdir()):
        msg = f"{folder}: not empty and not a demo: choose another --dir"
        raise ConfigError(msg)
    folder.mkdir(parents=True, exist_ok=True)
    demo = (write_chat_demo if chat else write_demo)(folder)
    config.write_text(_toml(demo, chat=chat, workers=workers))
    _commit_everything(folder)
    return made


def _toml(demo: DemoSet, *, chat: bool, workers: int) -> str:
    return _TOML.format(
        skill_path=demo.skill_path,
        harness="chat" if chat else "codex",
        model=CHAT_MODEL if chat else CODEX_MODEL,
        optimizer=OPTIMIZER_MODEL,
        knobs=demo.knobs,
        workers=workers,
    )


def _commit_everything(folder: Path) -> None:
    """One commit with the same identity and date everywhere, so that all demos start from the same commit."""
    who, when = Actor("honed demo", "demo@honed.invalid"), "2026-01-01T00:00:00+0000"
    with Repo.init(folder, initial_branch="main") as repository:
        with repository.config_writer() as settings:
            settings.set_value("user", "name", who.name).set_value("user", "email", who.email)
        repository.index.add(
            [str(path) for path in sorted(folder.rglob("*")) if path.is_file() and ".git" not in path.parts]
        )
        repository.index.commit(
            "Start with a bare skill", author=who, committer=who, author_date=when, commit_date=when, skip_hooks=True
        )
