"""Make worlds from a seed: one where a skill can learn much, one where every edit is a no-op."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from daemon.tasks.task import Split
from tests.worlds.lore import AREAS, STYLES, Cause, Lore, Rule
from tests.worlds.world import Case, Length, World

Kinds = Mapping[str, int]


@dataclass(frozen=True)
class Shape:
    """How a world is made."""

    sizes: Mapping[Split, int] = field(default_factory=lambda: {"train": 36, "selection": 24, "test": 60})
    areas: int = 4
    plain_causes: int = 2
    """Of each area: one attempt shows them."""
    deep_causes: int = 1
    """Of each area: only a comparison over epochs shows them."""
    answers: Kinds = field(default_factory=lambda: {"helpful": 2, "useless": 2, "harmful": 2})
    """Rules for each cause."""
    second_cause: float = 0.4
    """Share of tasks with two plain causes."""
    deep_share: float = 0.45
    """Share of tasks with a deep cause."""
    odds: tuple[float, float] = (0.1, 0.6)
    """Of getting past a cause without a rule, from and to."""
    harm: tuple[float, float] = (0.55, 0.8)
    """The factor of a harmful rule, from and to."""
    length: Length = field(default_factory=Length)


RICH = Shape()
_LIKELY = {"helpful": 0.60, "useless": 0.5, "harmful": 0.45}
"""How plausible each kind looks on average: a model knows its trade a little."""
_SOUND = {"helpful": (5, 4, 1, 1), "useless": (2, 2, 2, 2), "harmful": (1, 1, 4, 5)}
"""How often each kind has each style, from the world's soundest style to its worst."""


def make_world(seed: int, shape: Shape = RICH) -> World:
    """A world in which some rules mend causes of failure, some do nothing and some do harm."""
    rng = random.Random(f"world/{seed}")
    areas = AREAS[: shape.areas]
    causes = tuple(
        Cause(f"{area}-{letter}", deep=number >= shape.plain_causes)
        for area in areas
        for number, letter in enumerate("abcdefgh"[: shape.plain_causes + shape.deep_causes])
    )
    styles = rng.sample(STYLES, len(STYLES))
    rules: list[Rule] = []
    helpful: dict[str, str] = {}
    harmful: dict[str, float] = {}
    spoils: dict[str, str] = {}
    for cause in causes:
        kinds = [kind for kind, count in shape.answers.items() for _ in range(count)]
        rng.shuffle(kinds)
        made = [(_rule(rng, f"{cause.id}{i}", kind, styles), kind) for i, kind in enumerate(kinds)]
        helps = [rule.id for rule, kind in made if kind == "helpful"]
        helpful |= dict.fromkeys(helps, cause.id)
        harmful |= {rule.id: rng.uniform(*shape.harm) for rule, kind in made if kind == "harmful"}
        useless = [rule.id for rule, kind in made if kind == "useless"]
        if helps and useless:
            spoils[useless[0]] = helps[0]
        rules += [rule for rule, _ in made]
    cases = _cases(rng, shape, causes, areas)
    return World(seed, Lore(causes, tuple(rules)), cases, helpful, harmful, spoils, shape.length)


def make_idle_world(seed: int, sizes: Mapping[Split, int] | None = None) -> World:
    """A world in which every edit is a no-op: 40 % of tasks always pass, 30 % never do, 30 % as luck has it."""
    shape = Shape(sizes or RICH.sizes, answers={"useless": 60})
    rng = random.Random(f"idle/{seed}")
    full = make_world(seed, shape)
    cases = []
    for split, size in shape.sizes.items():
        lucks = [1.0] * round(size * 0.4) + [0.0] * round(size * 0.3)
        lucks += [rng.uniform(0.2, 0.8) for _ in range(size - len(lucks))]
        rng.shuffle(lucks)
        areas = AREAS[: shape.areas]
        cases += [Case(f"{split}-{i:03}", split, areas[i % len(areas)], luck) for i, luck in enumerate(lucks)]
    return World(seed, full.lore, tuple(cases), {}, {}, {}, Length(cost=0))


def _rule(rng: random.Random, rule_id: str, kind: str, styles: Sequence[str]) -> Rule:
    [style] = rng.choices(styles, _SOUND[kind])
    return Rule(rule_id, style, min(1.0, max(0.0, rng.gauss(_LIKELY[kind], 0.15))))


def _cases(rng: random.Random, shape: Shape, causes: Sequence[Cause], areas: Sequence[str]) -> tuple[Case, ...]:
    """Tasks by split; the areas take turns, so that every split has its share of each."""
    cases: list[Case] = []
    for split, size in shape.sizes.items():
        for i in range(size):
            area = areas[i % len(areas)]
            plain = [cause.id for cause in causes if cause.area == area and not cause.deep]
            deep = [cause.id for cause in causes if cause.area == area and cause.deep]
            chosen = rng.sample(plain, 2 if len(plain) > 1 and rng.random() < shape.second_cause else 1)
            if deep and rng.random() < shape.deep_share:
                chosen.append(rng.choice(deep))
            odds = tuple((cause, rng.uniform(*shape.odds)) for cause in sorted(chosen))
            cases.append(Case(f"{split}-{i:03}", split, area, causes=odds))
    return tuple(cases)
