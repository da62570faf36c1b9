"""Small ALFWorld games of honed's own, for tests of the real engine that need no data of anybody's.

`python -m tests.support.alfworld_games FOLDER` writes one `game.tw-pddl` for each house of the benchmark's sample: the
rooms, things and goals are those of the sample; the rules and the way of telling are the two files that the package
`alfworld` itself ships (MIT), read where it is installed; the walkthrough is the planner's. Run in a process of its
own: the engine replaces `sys.argv` and keeps what it loads.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from daemon.tasks.benchmarks.catalogue import benchmark
from daemon.tasks.episodes.household import Goal, House

REPOSITORY = Path(__file__).resolve().parents[2]
NAMED = ("sinkbasinType", "microwaveType", "fridgeType", "desklampType")
"""The rules name these, whether there are any or not."""
_START = "loc_bar_start"
_PUT = """\
(exists (?r - receptacle) (exists (?o - object) (and (receptacleType ?r {place}Type) (objectType ?o {thing}Type)
  (inReceptacle ?o ?r){more})))"""
_TWO = """
  (exists (?p - object) (and (not (= ?o ?p)) (objectType ?p {thing}Type) (inReceptacle ?p ?r)))"""
_LOOK = """\
(exists (?o - object ?r - receptacle ?a - agent ?l - location) (and (objectType ?o desklampType) (isToggled ?o)
  (inReceptacle ?o ?r) (receptacleAtLocation ?r ?l) (atLocation ?a ?l)))
(exists (?o - object ?a - agent) (and (objectType ?o {thing}Type) (holds ?a ?o)))"""
_TREATED = {"clean": " (isClean ?o)", "heat": " (isHot ?o)", "cool": " (isCool ?o)"}


def make_games(folder: Path) -> dict[str, Path]:
    """Write them by the command below (some seconds); the sample's name to the game's file."""
    argv = (sys.executable, "-m", "tests.support.alfworld_games", str(folder))
    done = subprocess.run(argv, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return {file.parent.parent.name: file for file in sorted(folder.rglob("game.tw-pddl"))}


def _kind(name: str) -> str:
    return name.partition(" ")[0]


def _id(name: str) -> str:
    """The engine counts down: the last by name is the first of its kind; a sink's basin is named at the end."""
    kind, number = name.split()
    order = f"bar_{99 - int(number)}"
    return f"sink_{order}_bar_sinkbasin" if kind == "sinkbasin" else f"{kind}_{order}"


def _facts(house: House) -> Iterator[str]:
    for place in house.places:
        at = f"loc_{_id(place.name)}"
        yield f"(receptacleType {_id(place.name)} {_kind(place.name)}Type)"
        yield f"(receptacleAtLocation {_id(place.name)} {at})"
        if place.opens:
            yield f"(openable {_id(place.name)})"
        for thing in place.holds:
            yield f"(objectType {_id(thing)} {_kind(thing)}Type)"
            yield f"(objectAtLocation {_id(thing)} {at})"
            yield f"(inReceptacle {_id(thing)} {_id(place.name)})"
            can = "toggleable" if _kind(thing) == "desklamp" else "pickupable moveable cleanable heatable coolable"
            yield from (f"({one} {_id(thing)})" for one in can.split())


def _goal(goal: Goal) -> str:
    if goal.kind == "look":
        return _LOOK.format(thing=goal.thing)
    more = _TWO.format(thing=goal.thing) if goal.count == 2 else _TREATED.get(goal.kind, "")
    return _PUT.format(place=goal.place, thing=goal.thing, more=more)


def problem(house: House) -> str:
    """The house as the engine's planner reads it."""
    things = [thing for place in house.places for thing in place.holds]
    places = [place.name for place in house.places]
    stands = [_START, *(f"loc_{_id(name)}" for name in places)]
    kinds = {f"{_kind(name)}Type": "rtype" for name in places} | {f"{_kind(name)}Type": "otype" for name in things}
    objects = [
        "agent1 - agent",
        *(f"{kind} - {kinds.get(kind, 'rtype')}" for kind in sorted({*kinds, *NAMED})),
        *(f"{_id(name)} - receptacle" for name in places),
        *(f"{_id(name)} - object" for name in things),
        *(f"{stand} - location" for stand in stands),
    ]
    holds = [
        f"(canContain {room} {thing})"
        for room, sort in sorted(kinds.items())
        for thing, other in sorted(kinds.items())
        if (sort, other) == ("rtype", "otype")
    ]
    ways = [f"(= (distance {one} {other}) 1)" for one in stands for other in stands if one != other]
    facts = ["(= (total-cost) 0)", *_facts(house), *holds, f"(atLocation agent1 {_START})", *ways]
    sections = f"(:objects\n{_lines(objects)})\n(:init\n{_lines(facts)})\n(:goal (and\n{_goal(house.goal)}\n))"
    return f"(define (problem honed)\n(:domain alfred)\n{sections}\n)\n"


def _lines(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _walkthrough(file: Path) -> list[str]:
    """What the engine's own planner would do."""
    textworld: Any = import_module("textworld")
    environment: Any = import_module("textworld.envs").PddlEnv(textworld.EnvInfos(policy_commands=True))
    game: Any = import_module("alfworld.agents.environment.alfred_tw_env").AlfredDemangler(environment)
    game.load(str(file))
    return [str(command) for command in game.reset()["policy_commands"]]


def write(house: House, file: Path) -> None:
    """One game; the engine must be installed."""
    found = find_spec("alfworld")
    assert found is not None
    assert found.origin is not None
    shipped = Path(found.origin).parent / "data"
    game: dict[str, Any] = {
        "pddl_domain": (shipped / "alfred.pddl").read_text("utf-8"),
        "grammar": (shipped / "alfred.twl2").read_text("utf-8").replace("UNKNOWN GOAL", house.goal.told),
        "pddl_problem": problem(house),
        "solvable": True,
        "walkthrough": [],
    }
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(game), encoding="utf-8")
    game["walkthrough"] = _walkthrough(file)
    file.write_text(json.dumps(game), encoding="utf-8")


def main(folder: Path) -> None:
    """Write them all."""
    for sample in sorted((benchmark("alfworld").sample / "alfworld/household").glob("*/game.json")):
        house = House.model_validate_json(sample.read_bytes())
        write(house, folder / sample.parent.name / "trial_1" / "game.tw-pddl")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
