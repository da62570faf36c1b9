"""A seed's two runs, with faults and without, side by side."""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import MutableMapping
from dataclasses import dataclass
from pathlib import Path

import structlog

from tests.faults import engine, provider
from tests.faults.dice import Dice
from tests.faults.project import Plan, make
from tests.faults.provider import FaultyProvider
from tests.faults.record import Record, differences, record_of
from tests.faults.runs import Told, run


@dataclass(frozen=True)
class Rates:
    """Shares of all requests and of all boxes that fail."""

    model: float
    sandbox: float


@dataclass(frozen=True)
class Pair:
    """What came of it."""

    plan: Plan
    counts: Counter[str]
    differences: tuple[str, ...]
    faults: str

    @property
    def equal(self) -> bool:
        """They came to the same."""
        return not self.differences

    @property
    def line(self) -> str:
        """In a line."""
        counts = self.counts
        return (
            f"{'equal    ' if self.equal else 'DIFFERENT'} seed {self.plan.seed} ({self.plan.told}): "
            f"{counts['requests failed']} of {counts['requests']} requests and {counts['boxes failed']} of "
            f"{counts['boxes']} boxes failed ({self.faults}); {counts['requests retried']} requests tried again, "
            f"{counts['attempts invalid']} attempts invalid, {counts['attempts withheld']} of them for good, "
            f"{counts['runs stopped']} times stopped and gone on; {counts['decisions']} decisions, "
            f"{counts['commits']} commits"
        )


def one(plan: Plan, rates: Rates, keep: bool) -> Pair:
    """Both runs of a plan, in a folder that is removed unless it is to be kept and they differ."""
    folder = Path(tempfile.mkdtemp(prefix=f"faults-{plan.seed}-"))
    pair = asyncio.run(compare(folder, plan, rates))
    if keep and not pair.equal:
        print(f"kept: {folder}", file=sys.stderr, flush=True)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return pair


async def compare(folder: Path, plan: Plan, rates: Rates) -> Pair:
    """Run both. The true run comes last, for it is given what the faulty one had to do without."""
    retries = _Retries()
    structlog.configure(processors=[retries])
    async with FaultyProvider(Dice(f"model/{plan.seed}", rates.model, provider.KINDS)) as upstream:
        boxes = Dice(f"boxes/{plan.seed}", rates.sandbox, engine.KINDS)
        faulty, true = (make(folder / name / "p", plan, upstream.base_url) for name in ("faulty", "true"))
        told = await run(faulty, boxes)
        withheld = told.withheld.count
        requests, upstream.dice = upstream.dice, Dice("", 0.0, provider.KINDS)
        await run(true, Dice("", 0.0, engine.KINDS), given=told.withheld)
    told.retries += retries.count
    first, second = record_of(true), record_of(faulty)
    found = [*differences(first, second), *_scored_though_broken(second, told)]
    kinds = {f"request: {kind}": n for kind, n in requests.counts.items()}
    kinds |= {f"box: {kind}": n for kind, n in boxes.counts.items()}
    return Pair(
        plan,
        _counts(requests, boxes, told, second, {"attempts withheld": withheld, **kinds}),
        tuple(found),
        _told(requests, boxes),
    )


def _scored_though_broken(record: Record, told: Told) -> list[str]:
    """An agent's box that failed gives no score, whatever it had printed by then; a slow one is none that failed."""
    rows = [(one, fate, record.by_attempt.get(one, ("", False))) for one, fate in sorted(told.broken.items())]
    return [f"attempt {one} was scored, though its box was {fate}" for one, fate, (_, scored) in rows if scored]


def _counts(requests: Dice, boxes: Dice, told: Told, record: Record, kinds: dict[str, int]) -> Counter[str]:
    return Counter(
        {
            "requests": requests.asked,
            "requests failed": requests.counts.total(),
            "requests retried": told.retries,
            "boxes": boxes.asked,
            "boxes failed": boxes.counts.total(),
            "attempts scored": len(record.scores),
            "attempts invalid": record.invalid.total(),
            "runs stopped": told.stops.total(),
            "decisions": len(record.decisions),
            "commits": sum(len(row) for row in record.refs.values()),
            **kinds,
            **{f"invalid: {outcome}": n for outcome, n in record.invalid.items()},
            **{f"stopped: {outcome}": n for outcome, n in told.stops.items()},
        }
    )


def _told(requests: Dice, boxes: Dice) -> str:
    kinds = requests.counts + boxes.counts
    return ", ".join(f"{kind} {n}" for kind, n in sorted(kinds.items())) or "none"


class _Retries:
    """A log processor that counts what the model clients try again, and prints nothing."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, logger: object, method: str, event: MutableMapping[str, object]) -> str:
        self.count += event.get("event") == "provider retry"
        raise structlog.DropEvent
