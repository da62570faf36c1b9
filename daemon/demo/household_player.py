"""The simulated target in a household game: it reads what it is told, searches place by place, and remembers.

Invariant: the next command follows from the opening and from what each command so far came to; it knows no game.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

_TASK = re.compile(r"Your task is to: (.+?)\.?$", re.MULTILINE)
_AROUND = re.compile(r"you see (.+?)\.(?:\n|$)")
_NAME = re.compile(r"\b([a-z]+ \d+)\b")
_SEEN = re.compile(r"(?:On|In) (?:the [a-z]+ \d+|it), you see (.*?)\.", re.DOTALL)
_TWO = re.compile(r"(?:put|find) two (\w+?)s?(?: and put them)? (?:in|on) (\w+)")
_TREAT = re.compile(r"(clean|heat|cool) (?:some|a|the) (\w+)(?: and put it)? (?:in|on) (\w+)")
_STATE = re.compile(r"put a (clean|hot|cool) (\w+) (?:in|on) (\w+)")
_LOOK = re.compile(r"(?:look at|examine the|examine) (\w+) (?:under|with) the desklamp")
_PUT = re.compile(r"put (?:some|a|the) (\w+) (?:in|on) (\w+)")
_DEVICE = {"clean": "sinkbasin", "heat": "microwave", "cool": "fridge"}
_VERB = {"clean": "clean", "hot": "heat", "cool": "cool"}

Step = tuple[str, str]
"""A command and what it came to."""


@dataclass(frozen=True)
class _Goal:
    thing: str
    place: str = ""
    verb: str = ""
    lamp: bool = False


@dataclass
class _Memory:
    places: tuple[str, ...]
    here: str = ""
    carried: str = ""
    treated: bool = False
    delivered: list[str] = field(default_factory=list)
    closed: set[str] = field(default_factory=set)
    seen: dict[str, set[str]] = field(default_factory=dict)
    """What is at each place that was looked into."""
    failed: set[str] = field(default_factory=set)


def next_command(opening: str, steps: Sequence[Step]) -> str | None:
    """What to do now; None if there is nothing left to try, or the task is not understood."""
    goal = _goal(opening)
    if goal is None:
        return None
    memory = _remembered(opening, steps)
    wanted = (command for command in _plan(goal, memory) if command not in memory.failed)
    return next(iter(wanted), None)


def _goal(opening: str) -> _Goal | None:
    found = _TASK.search(opening)
    told = found[1] if found else ""
    if match := _TWO.search(told):
        return _Goal(match[1], match[2])
    if match := _TREAT.search(told):
        return _Goal(match[2], match[3], match[1])
    if match := _STATE.search(told):
        return _Goal(match[2], match[3], _VERB[match[1]])
    if match := _LOOK.search(told):
        return _Goal(match[1], lamp=True)
    if match := _PUT.search(told):
        return _Goal(match[1], match[2])
    return None


def _remembered(opening: str, steps: Iterable[Step]) -> _Memory:
    around = _AROUND.search(opening)
    memory = _Memory(tuple(_NAME.findall(around[1])) if around else ())
    for command, said in steps:
        if "Nothing happens" in said:
            memory.failed.add(command)
            continue
        memory.failed.clear()
        _note(memory, command, said)
    return memory


def _note(memory: _Memory, command: str, said: str) -> None:
    names = _NAME.findall(command)
    if command.startswith("go to "):
        memory.here = names[0]
    elif command.startswith("take "):
        memory.carried, memory.treated = names[0], False
        memory.seen.get(names[1], set()).discard(names[0])
    elif command.startswith("move "):
        memory.carried = ""
        memory.delivered.append(names[0])
    elif command.split(" ", 1)[0] in _DEVICE:
        memory.treated = True
    if command.startswith(("go to ", "open ")):
        if " is closed." in said:
            memory.closed.add(memory.here)
        else:
            memory.closed.discard(memory.here)
            shown = _SEEN.search(said)
            memory.seen[memory.here] = set(_NAME.findall(shown[1])) if shown else set()


def _plan(goal: _Goal, memory: _Memory) -> Iterable[str]:
    """Commands that might be next, the best first."""
    if not memory.carried:
        yield from _fetch(goal.thing, memory)
    elif goal.lamp:
        yield from _find("desklamp", memory, "use {thing}")
    elif goal.verb and not memory.treated:
        for place in _of_type(_DEVICE[goal.verb], memory):
            yield from _at(place, memory, f"{goal.verb} {memory.carried} with {place}")
    else:
        for place in _of_type(goal.place, memory):
            yield from _at(place, memory, f"move {memory.carried} to {place}", opened=True)


def _fetch(thing: str, memory: _Memory) -> Iterable[str]:
    yield from _find(thing, memory, "take {thing} from {place}")


def _find(kind: str, memory: _Memory, command: str) -> Iterable[str]:
    """Use what is known to be somewhere, else look into what is not known yet."""
    for place, things in memory.seen.items():
        for thing in sorted(things):
            if thing.startswith(f"{kind} ") and thing not in memory.delivered:
                yield from _at(place, memory, command.format(thing=thing, place=place))
    if memory.here in memory.closed:
        yield f"open {memory.here}"
    for place in memory.places:
        if place not in memory.seen and place != memory.here:
            yield f"go to {place}"


def _at(place: str, memory: _Memory, command: str, *, opened: bool = False) -> Iterable[str]:
    """Go there first; open it first where that is needed."""
    if memory.here != place:
        yield f"go to {place}"
        return
    if opened and place in memory.closed:
        yield f"open {place}"
    yield command


def _of_type(kind: str, memory: _Memory) -> list[str]:
    return [place for place in memory.places if place.startswith(f"{kind} ")]
