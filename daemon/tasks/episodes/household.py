"""A small household game of honed's own, in plain Python, with ALFWorld's commands and ways of telling.

For the samples that come with honed and for tests: it needs no extra. A game is a JSON file: `places` (name, what it
`holds`, whether it `opens`), a `goal` (`kind`, what it is told as, the type of `thing`, `place`, `count`), and a
`walkthrough`, commands that win, which `honed tasks check` tries.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from daemon.tasks.episodes.engines import Turn

Name = Annotated[str, Field(pattern=r"[a-z]+ [1-9][0-9]?")]
Kind = Literal["put", "clean", "heat", "cool", "look"]
NOTHING = "Nothing happens."
_DEVICES: dict[str, str] = {"clean": "sinkbasin", "heat": "microwave", "cool": "fridge"}
_THING = r"([a-z]+ \d+)"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Place(_Part):
    """Somewhere to go."""

    name: Name
    holds: tuple[Name, ...] = Field(default=(), strict=False)
    opens: bool = False
    """It is closed at the start."""


class Goal(_Part):
    """What wins."""

    kind: Kind
    told: str = Field(min_length=1)
    """As the player reads it."""
    thing: str
    """A type, such as `mug`; likewise `place`, which for `look` is the lamp's."""
    place: str
    count: int = Field(default=1, ge=1, le=2)


class House(_Part):
    """A game's file."""

    goal: Goal
    places: tuple[Place, ...] = Field(min_length=1, strict=False)
    walkthrough: tuple[str, ...] = Field(default=(), strict=False)


@dataclass
class _State:
    here: str = ""
    carried: str = ""
    opened: set[str] = field(default_factory=set)
    holds: dict[str, list[str]] = field(default_factory=dict)
    treated: set[tuple[str, str]] = field(default_factory=set)
    lit: bool = False
    moves: int = 0


class HouseholdGame:
    """A `Game`."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._places = {place.name: place for place in house.places}
        self._state = _State()
        self._verbs = (
            (re.compile(rf"go to {_THING}"), self._go),
            (re.compile(rf"open {_THING}"), self._open),
            (re.compile(rf"close {_THING}"), self._close),
            (re.compile(rf"take {_THING} from {_THING}"), self._take),
            (re.compile(rf"move {_THING} to {_THING}"), self._move),
            (re.compile(rf"(clean|heat|cool) {_THING} with {_THING}"), self._treat),
            (re.compile(rf"use {_THING}"), self._use),
            (re.compile(rf"examine {_THING}"), self._examine),
            (re.compile("look"), self._look),
            (re.compile("inventory"), self._inventory),
        )

    def reset(self) -> Turn:
        """As `Game.reset`."""
        self._state = _State(holds={place.name: list(place.holds) for place in self._house.places})
        return self._turn(
            "-= Welcome to the household! =-\n\nYou are in the middle of a room. Looking quickly around you, you see "
            f"{_listed(sorted(self._places))}.\n\nYour task is to: {self._house.goal.told}."
        )

    def step(self, command: str) -> Turn:
        """As `Game.step`."""
        said = self._said(command)
        if said != NOTHING:
            self._state.moves += 1
        return self._turn(said)

    def _turn(self, text: str) -> Turn:
        won = self._won()
        return Turn(text, won=won, done=won, moves=self._state.moves)

    def _said(self, command: str) -> str:
        for pattern, act in self._verbs:
            if found := pattern.fullmatch(command):
                return act(*found.groups())
        return NOTHING

    def _shut(self, place: str) -> bool:
        return self._places[place].opens and place not in self._state.opened

    def _seen(self, place: str) -> str:
        if self._shut(place):
            return f"The {place} is closed."
        things = _listed(sorted(self._state.holds[place])) or "nothing"
        if self._places[place].opens:
            return f"The {place} is open. In it, you see {things}."
        return f"On the {place}, you see {things}."

    def _go(self, place: str) -> str:
        if place not in self._places or place == self._state.here:
            return NOTHING
        self._state.here = place
        return f"You arrive at {place}. {self._seen(place)}"

    def _open(self, place: str) -> str:
        if place != self._state.here or not self._shut(place):
            return NOTHING
        self._state.opened.add(place)
        return f"You open the {place}. {self._seen(place)}"

    def _close(self, place: str) -> str:
        if place != self._state.here or place not in self._state.opened:
            return NOTHING
        self._state.opened.remove(place)
        return f"You close the {place}."

    def _take(self, thing: str, place: str) -> str:
        state = self._state
        if place != state.here or state.carried or self._shut(place) or thing not in state.holds[place]:
            return NOTHING
        if thing.startswith("desklamp"):
            return NOTHING
        state.holds[place].remove(thing)
        state.carried = thing
        return f"You pick up the {thing} from the {place}."

    def _move(self, thing: str, place: str) -> str:
        state = self._state
        if place != state.here or state.carried != thing or self._shut(place):
            return NOTHING
        state.holds[place].append(thing)
        state.carried = ""
        return f"You move the {thing} to the {place}."

    def _treat(self, verb: str, thing: str, place: str) -> str:
        state = self._state
        if place != state.here or state.carried != thing or _type(place) != _DEVICES[verb]:
            return NOTHING
        state.treated.add((verb, thing))
        return f"You {verb} the {thing} using the {place}."

    def _use(self, thing: str) -> str:
        state = self._state
        if _type(thing) != "desklamp" or not state.here or thing not in state.holds[state.here]:
            return NOTHING
        state.lit = True
        return f"You turn on the {thing}."

    def _examine(self, what: str) -> str:
        if what == self._state.here:
            return self._seen(what)
        return f"There's nothing special about {what}." if what == self._state.carried else NOTHING

    def _look(self) -> str:
        here = self._state.here
        if not here:
            return "You are in the middle of a room. Looking quickly around you, you see nothing."
        return f"You are facing the {here}. Next to it, you see nothing."

    def _inventory(self) -> str:
        carried = self._state.carried
        return f"You are carrying: a {carried}." if carried else "You are not carrying anything."

    def _won(self) -> bool:
        goal, state = self._house.goal, self._state
        if goal.kind == "look":
            return state.lit and _type(state.carried) == goal.thing
        there = [thing for place, things in state.holds.items() if _type(place) == goal.place for thing in things]
        right = [one for one in there if _type(one) == goal.thing]
        if goal.kind != "put":
            right = [one for one in right if (goal.kind, one) in state.treated]
        return len(right) >= goal.count


def load(file: Path) -> HouseholdGame:
    """A game; raises `ValueError` for a file that is none."""
    return HouseholdGame(House.model_validate_json(file.read_bytes()))


def _type(name: str) -> str:
    return name.partition(" ")[0]


def _listed(names: list[str]) -> str:
    told = [f"a {name}" for name in names]
    return told[0] if len(told) == 1 else ", ".join(told[:-1]) + f", and {told[-1]}" if told else ""
