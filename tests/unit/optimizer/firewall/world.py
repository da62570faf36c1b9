"""A task set of our own making, with every kind of secret: answers, gold files, checks, options, names, files."""

from __future__ import annotations

import atexit
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from daemon.optimizer.firewall import Firewall
from daemon.tasks.task import ScorerSpec, Split, Task, TaskSet
from skills_repo.skill import Skill
from tests.support.tasks import book


def make_skill(*lines: str) -> Skill:
    """A skill with these lines in its body."""
    head = "---\nname: demo\ndescription: A skill for tests.\n---\n\n# demo\n"
    return Skill("demo", {"SKILL.md": (head + "".join(f"{line}\n" for line in lines)).encode()})


def make_task(task_id: str, split: Split = "train", **fields: Any) -> Task:
    """A task with a text answer."""
    return Task(**{"id": task_id, "split": split, "prompt": "p", "scorer": ScorerSpec("exact_match"), **fields})


SKILL = make_skill("- Open the workbook with openpyxl first.", "- Give one answer.")
CHECK = """\
import re, pathlib
text = pathlib.Path("summary.txt").read_text()
assert re.fullmatch(r"^KESTREL-[0-9]{4}: (passed|failed)$", text.strip()), "the verdict line is malformed"
assert text.count("tern") == 90417
"""
"""A test script of a train task."""
HELD_TEXT = (
    "The harbour office keeps a register of every vessel that passed the northern lock during the winter months, with "
    "the cargo, the master and the toll that each of them paid."
)
"""A file of a selection task."""
LONG_GOLD = (
    "The lease ends because the tenant stored solvents beneath the staircase without telling the insurer, which voids "
    "clause nine."
)
_FAMILY = "Open the file, answer the question about it, and save what you find under the name that the task gives."


@cache
def folder() -> Path:
    """Where the files lie."""
    made = Path(mkdtemp(prefix="honed-firewall-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def on_disk(name: str, data: bytes | str) -> Path:
    """A file of a task."""
    path = folder() / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def ask(question: str) -> str:
    """A prompt of this family."""
    return f"{question} {_FAMILY}"


def _named() -> tuple[Task, ...]:
    who = ["Ilse Vandermeer", {"x": ["I. Vandermeer"]}]
    return (
        make_task("ship", prompt=ask("Where does the ship of the Halvorsen account lie?"), answer="Port Alder"),
        make_task("sum", prompt=ask("What is the total of kestrel-figures.csv?"), answer=88213.75, files=_given()),
        make_task("list", prompt=ask("Who may sign for order INV-204417?"), answer=who),
        make_task("lease", prompt=ask('Why does the contract marked "Quillfeather Annex" end?'), answer=LONG_GOLD),
        make_task("label", prompt=ask("Is the note about postage true?"), answer="yes"),
        Task(
            id="checked",
            split="train",
            prompt=ask("Write the verdict to summary.txt."),
            scorer=ScorerSpec("test_script"),
            tests={"test.sh": on_disk("test.sh", "python3 check.py\n"), "check.py": on_disk("check.py", CHECK)},
        ),
        Task(
            id="matched",
            split="train",
            prompt=ask("Which code does the parcel carry?"),
            answer="ZX-99",
            scorer=ScorerSpec("exact_match", {"extract": r"(?i)parcel code:\s*([A-Z]{2}-\d{2})"}),
        ),
        Task(
            id="sheet",
            split="train",
            prompt=ask("Fill column B of parts.xlsx."),
            files={"parts.xlsx": on_disk("parts.xlsx", book(A1="Gasket", A2=12))},
            tests={"gold.xlsx": on_disk("gold.xlsx", book(A1="Gasket", B1="Thornbury Works", A2=12, B2=77310.5))},
            scorer=ScorerSpec("spreadsheet_cells", {"output": "out.xlsx", "gold": "gold.xlsx", "range": "B1:B2"}),
        ),
        *_held(),
    )


def _held() -> tuple[Task, ...]:
    register = {"lock-register.txt": on_disk("lock-register.txt", HELD_TEXT)}
    pump = (
        "Before the pump of the old brewery is repaired, list the three valves that leak at night. The engineer "
        "Saoirse Quennell marked them in brewery-valves.pdf under ticket 7719345."
    )
    return (
        make_task(
            "lock", "selection", prompt=ask("Which vessel paid most?"), answer="Marigold Sparrow", files=register
        ),
        make_task("pump", "test", answer="Ottokar Lindqvist", prompt=pump),
    )


def _given() -> dict[str, Path]:
    return {"kestrel-figures.csv": on_disk("kestrel.csv", "site,amount\nnorth,41000\nsouth,47213.75\n")}


def _crowd() -> tuple[Task, ...]:
    """So many ordinary tasks that one name in one prompt is rare."""
    splits = ("train", "train", "selection", "test")
    return tuple(
        make_task(f"plain-{n:02}", splits[n % 4], prompt=ask(f"How many rows has table {n}?"), answer=str(n))
        for n in range(20)
    )


@cache
def tasks() -> TaskSet:
    """The set."""
    return TaskSet(tuple(sorted((*_named(), *_crowd()), key=lambda task: task.id)), Path("tasks.jsonl"))


@cache
def firewall() -> Firewall:
    """Its firewall."""
    return Firewall.of(tasks())


def task(task_id: str) -> Task:
    """One task of the set."""
    return next(task for task in tasks().tasks if task.id == task_id)
