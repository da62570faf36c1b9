"""Two small task families: one that examples in the skill repair, one that is near its ceiling without any."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_NAMES = (
    "Tom Mia Joe Ann Lea Max Ben Zoe Ida Leo Amy Dan Eva Fay Gus Hal Ivy Jan Kay Liz Ned Ola Pam Ray Sue Ted Una Val "
    "Wes Yan"
).split()
_CAPITALS = dict(
    pair.split(":")
    for pair in (
        "France:Paris Japan:Tokyo Italy:Rome Egypt:Cairo Canada:Ottawa Spain:Madrid Germany:Berlin Greece:Athens "
        "Cuba:Havana Peru:Lima Norway:Oslo Kenya:Nairobi Poland:Warsaw China:Beijing Austria:Vienna Ireland:Dublin "
        "Portugal:Lisbon Russia:Moscow Sweden:Stockholm Hungary:Budapest India:Delhi Thailand:Bangkok Iraq:Baghdad "
        "Iran:Tehran Finland:Helsinki Denmark:Copenhagen Belgium:Brussels Chile:Santiago Ukraine:Kyiv Turkey:Ankara"
    ).split()
)


@dataclass(frozen=True)
class Case:
    """One prompt with the answer that an exact match wants."""

    prompt: str
    answer: str


@dataclass(frozen=True)
class Family:
    """A task family: its cases and the pattern that finds the answer in the model's text."""

    name: str
    cases: tuple[Case, ...]
    pattern: str


FAMILIES = (
    Family(
        "greetings",
        tuple(Case(f"Name: {name}\nGreeting:", f"Ahoy {name}!") for name in _NAMES),
        r"(Ahoy \w+!)",
    ),
    Family(
        "capitals",
        tuple(Case(f"What is the capital of {country}?", city) for country, city in _CAPITALS.items()),
        "(" + "|".join(_CAPITALS.values()) + ")",
    ),
)

SIZES = {"train": 8, "selection": 10, "test": 12}
"""Tasks of each split, for every family."""
_SPLITS = [split for split, size in SIZES.items() for _ in range(size)]


def answers(family: Family) -> dict[str, Case]:
    """Task id to case."""
    return {f"{family.name}-{index:02d}": case for index, case in enumerate(family.cases)}


def write(family: Family, folder: Path, *, target: str, optimizer: str) -> Path:
    """A repository with skill, tasks and honed.toml under `folder`; returns the path of honed.toml."""
    skill = folder / "skills" / family.name
    skill.mkdir(parents=True)
    skill.joinpath("SKILL.md").write_text(
        f'---\nname: {family.name}\ndescription: "How to answer {family.name} tasks."\n---\n\n# {family.name}\n'
    )
    rows = [
        {
            "id": task_id,
            "prompt": case.prompt,
            "answer": case.answer,
            "scorer": {"name": "exact_match", "extract": family.pattern},
            "split": split,
        }
        for (task_id, case), split in zip(answers(family).items(), _SPLITS, strict=True)
    ]
    folder.joinpath("tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    config = folder / "honed.toml"
    config.write_text(_TOML.format(skill=f"skills/{family.name}", target=target, optimizer=optimizer))
    for arguments in (["init", "-q"], ["add", "-A"], ["-c", "commit.gpgsign=false", "commit", "-qm", "Start"]):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments], cwd=folder, check=True)
    return config


_TOML = """\
[skill]
path = "{skill}"

[tasks]
path = "tasks.jsonl"

[target]
harness = "chat"
model = "smollm2-135m-instruct"
base_url = "{target}"
api_key_env = "REAL_MODEL_KEY"
max_output_tokens = 60
temperature = 0.0

[optimizer]
model = "smollm2-135m-instruct"
base_url = "{optimizer}"
api_key_env = "REAL_MODEL_KEY"
max_output_tokens = 450
temperature = 0.7

[train]
epochs = 1
batch = 3
minibatch = 3
edit_budget = 2
min_edit_budget = 1

[sandbox]
workers = 2
"""
