"""Small projects for whole commands: a repository with a skill, tasks and honed.toml."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from daemon.demo.repository import prepare
from tests.support.honed_cli import git

SKILL = """\
---
name: greeter
description: "How to greet people."
---

# Greeter

Greet people.
"""


def greeting_tasks(*, train: int = 2, selection: int = 4, test: int = 2) -> list[dict[str, Any]]:
    """Tasks for a chat model, each with another name."""
    sizes = {"train": train, "selection": selection, "test": test}
    return [
        {
            "id": f"{split}-{n}",
            "prompt": f"Greet {split} {n}.",
            "answer": f"Ahoy {n}",
            "scorer": "exact_match",
            "split": split,
        }
        for split, size in sizes.items()
        for n in range(size)
    ]


def chat_project(folder: Path, base_url: str, *, toml: str = "", tasks: list[dict[str, Any]] | None = None) -> Path:
    """A project for the chat harness against an OpenAI-compatible server; returns its folder."""
    skill = folder / "skills" / "greeter"
    skill.mkdir(parents=True)
    skill.joinpath("SKILL.md").write_text(SKILL)
    rows = greeting_tasks() if tasks is None else tasks
    folder.joinpath("tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    folder.joinpath("honed.toml").write_text(
        f"""\
[skill]
path = "skills/greeter"

[tasks]
path = "tasks.jsonl"

[target]
harness = "chat"
model = "some-model"
base_url = "{base_url}"
api_key_env = "TEST_API_KEY"

[optimizer]
model = "some-model"
base_url = "{base_url}"
api_key_env = "TEST_API_KEY"

[train]
epochs = 1
batch = 2
{toml}"""
    )
    commit_all(folder)
    return folder


def demo_project(folder: Path, *, keep: Mapping[str, int] | None = None, chat: bool = False, workers: int = 2) -> Path:
    """The demo's project, with at most `keep[split]` tasks of each split (taken evenly, so every trap stays)."""
    prepare(folder, chat=chat, workers=workers)
    if keep:
        tasks = folder / "tasks" / "tasks.jsonl"
        rows = [json.loads(line) for line in tasks.read_text().splitlines()]
        kept = [row for split, size in keep.items() for row in _evenly([r for r in rows if r["split"] == split], size)]
        tasks.write_text("".join(json.dumps(row, sort_keys=True) + "\n" for row in kept))
        git(folder, "commit", "--quiet", "--all", "--message", "Keep fewer tasks")
    return folder


def commit_all(folder: Path) -> None:
    """A repository with one commit of everything."""
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "Start")


def _evenly(rows: list[dict[str, Any]], size: int) -> list[dict[str, Any]]:
    return [rows[index * len(rows) // size] for index in range(min(size, len(rows)))]
