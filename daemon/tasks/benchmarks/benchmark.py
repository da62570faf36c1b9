"""What a benchmark is to honed: where its files are, how they become tasks, and what its figure means.

Invariants: an item that cannot be scored is named with its reason and left out; it never fails the set and never
counts as a wrong answer. Tasks have no split yet: `bench_set` decides it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from daemon.tasks.formats.paths import check_task_id
from daemon.tasks.published import task_id
from daemon.tasks.task import Task, TaskError

HarnessName = Literal["chat", "codex", "claude-code"]
ALL_HARNESSES: tuple[HarnessName, ...] = ("chat", "codex", "claude-code")
Ratio = tuple[int, int, int]


@dataclass(frozen=True)
class LeftOut:
    """An item that cannot be scored."""

    id: str
    why: str


@dataclass(frozen=True)
class Items:
    """What the files of a benchmark hold."""

    tasks: tuple[Task, ...]
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True)
class Benchmark:
    """One benchmark."""

    name: str
    """As it is given to `honed bench`."""
    title: str
    """As its authors write it; the key of `published.PUBLISHED`, where its method's split has been published."""
    folder: str
    """Below the data folder."""
    files: str
    """A glob below `folder`: what must be there."""
    read: Callable[[Path], Items]
    """Reads its folder; raises `TaskError` if nothing of it can be read."""
    metric: Literal["hard", "soft"]
    """What its figure is the mean of: `hard` (solved or not) or `soft` (0..1)."""
    source: str
    """Where its authors publish it."""
    licence: str
    harnesses: tuple[HarnessName, ...] = ALL_HARNESSES
    """Those that can do its tasks at all."""
    ratio: Ratio = (2, 1, 7)
    """train : selection : test, where no list of ids decides."""

    @property
    def skill(self) -> Path:
        """The folder of its initial skill."""
        return HERE / "skills" / self.name

    @property
    def sample(self) -> Path:
        """A data folder with a few made-up items in the shape of the real files."""
        return HERE / "samples"


HERE = Path(__file__).parent


@dataclass
class Reader:
    """Collects items one by one: a bad one costs itself alone."""

    known_bad: Mapping[str, str] = field(default_factory=dict)
    """Published id to what is wrong with it."""
    tasks: list[Task] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)

    def take(self, published: Any, make: Callable[[str], Task]) -> None:
        """Make the task of one item; `make` gets its id and raises `Unscorable`, `KeyError` or the like."""
        name = task_id(str(published))
        try:
            check_task_id(name)
            if why := self.known_bad.get(str(published)):
                raise Unscorable(why)
            if name.casefold() in self._seen:
                raise Unscorable("its id is there twice: the first one counts")
            task = make(name)
        except Unscorable as error:
            self.left_out.append(LeftOut(name, str(error)))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OSError, TaskError) as error:
            # Public data has every fault there is: the item is named with what Python says of it.
            what = f"no {error}" if isinstance(error, KeyError) else " ".join(str(error).split())[:200]
            self.left_out.append(LeftOut(name or "?", f"cannot be read: {what or type(error).__name__}"))
        else:
            self._seen.add(name.casefold())
            self.tasks.append(task)

    def items(self) -> Items:
        """What was found."""
        return Items(tuple(self.tasks), tuple(self.left_out))


class Unscorable(Exception):  # noqa: N818 - it is a finding about an item, not a defect
    """An item cannot be scored; `str()` says why, for people."""


def text_of(row: Mapping[str, Any], key: str) -> str:
    """A text of an item that must be there and not be blank; raises `Unscorable`."""
    value = row.get(key)
    if not isinstance(value, str) or not value.strip():
        raise Unscorable(f"has no text {key!r}")
    return value.strip()


def texts_of(row: Mapping[str, Any], key: str) -> list[str]:
    """The accepted answers of an item; raises `Unscorable` if there is none that can be met."""
    value = row.get(key)
    listed: Iterable[Any] = value if isinstance(value, list) else [value]
    texts = [str(one).strip() for one in listed if isinstance(one, str | int | float) and str(one).strip()]
    if not texts:
        raise Unscorable(f"has no answer in {key!r}")
    return list(dict.fromkeys(texts))
