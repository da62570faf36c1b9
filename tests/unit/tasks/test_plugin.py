from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from daemon.tasks.load import load_tasks
from daemon.tasks.task import Task, TaskError
from tests.support.tasks import task_for

Install = Callable[[str], None]


def made(count: int) -> Iterator[Task]:
    return (task_for("exact_match", "x", id=f"t{number}", prompt=f"Say {number}.") for number in range(count))


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts a distribution with one entry point, and the module behind it, where Python looks."""
    site = tmp_path / "site"
    info = site / "acme-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[honed.tasks]\nacme = acme_tasks:make\n")
    monkeypatch.syspath_prepend(str(site))

    def write(source: str) -> None:
        (site / "acme_tasks.py").write_text(source)
        sys.modules.pop("acme_tasks", None)

    return write


HEAD = "from tests.unit.tasks.test_plugin import made, spoilt\n"


def spoilt(**fields: Any) -> list[Task]:
    return [*made(11), replace(next(made(1)), id="bad"), replace(next(made(1)), **fields)]


def test_a_plug_ins_tasks_are_a_set(install: Install, tmp_path: Path) -> None:
    install(HEAD + "def make():\n    return made(12)\n")
    loaded = load_tasks(tmp_path / "python:acme", split_ratio=(1, 1, 1))
    assert loaded.sizes() == {"train": 4, "selection": 4, "test": 4}
    assert all(task.digest for task in loaded.tasks)
    install(HEAD + "make = list(made(12))\n")
    assert load_tasks(tmp_path / "python:acme", split_ratio=(1, 1, 1)).digest == loaded.digest


def test_a_name_that_nobody_installed(install: Install, tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"python:other: no entry point of the group honed\.tasks .*acme.*install its"):
        load_tasks(tmp_path / "python:other")


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("import nowhere_at_all\n", "acme_tasks:make failed: ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("other = 1\n", "acme_tasks:make failed: AttributeError"),
        ("def make():\n    raise RuntimeError('no\\nserver')\n", "failed: RuntimeError: no server: mend it"),
        ("def make():\n    yield from ()\n    1 / 0\n", "failed: ZeroDivisionError"),
        ("make = 5\n", "failed: TypeError"),
        ("make = [{'id': 'a'}]\n", r"python:acme\[1\]: is a dict, not a daemon\.tasks\.task\.Task"),
        (HEAD + "make = spoilt(id='a b')\n", r"python:acme\[13\]: id: 'a b' is no task id"),
        (HEAD + "make = spoilt(id=5)\n", r"python:acme\[13\]: id: expected string"),
        (HEAD + "make = spoilt(id='T3')\n", r"python:acme\[13\]: id: 'T3' is taken by python:acme\[4\]"),
        (HEAD + "make = spoilt(prompt='')\n", r"\[13\]: prompt: must be a text"),
        (HEAD + "make = spoilt(weight=float('nan'))\n", r"\[13\]: weight: must be a number above 0"),
        (HEAD + "make = spoilt(timeout_s=True)\n", r"\[13\]: timeout_s: must be a number"),
        (HEAD + "make = spoilt(split='dev')\n", r"\[13\]: split: must be train"),
        (HEAD + "make = spoilt(files={'SKILL.md': 1})\n", r"\[13\]: files: 'SKILL.md' is where honed lays"),
        (HEAD + "make = spoilt(files={'a': '/nowhere'})\n", r"\[13\]: files: '/nowhere' is no file"),
        (HEAD + "make = spoilt(files=['a'])\n", r"\[13\]: files: must be a mapping"),
        (HEAD + "make = spoilt(scorer='numeric')\n", r"\[13\]: scorer: must be a ScorerSpec"),
    ],
)
def test_a_broken_plug_in_is_named(install: Install, tmp_path: Path, source: str, complaint: str) -> None:
    install(source)
    with pytest.raises(TaskError, match=complaint) as caught:
        load_tasks(tmp_path / "python:acme", split_ratio=(1, 1, 1))
    assert "\n" not in str(caught.value)
