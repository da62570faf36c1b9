"""`honed estimate`: what a run will take, before anything is paid."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table
from rich.text import Text

from daemon.budget.averages import OneTakes
from daemon.budget.estimate import Cost, Estimate
from daemon.budget.opening import refuse_unknown_prices, unknown_prices
from daemon.budget.plan import Range
from daemon.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile
from daemon.cli.output import Output
from daemon.cli.run import run
from daemon.config import Config, load_config
from daemon.journal.sqlite import SqliteJournal
from daemon.places import state_folder
from daemon.plain import plain
from daemon.training.costs import estimate_of
from daemon.wiring import models_of, open_tasks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("estimate")(estimate)


def estimate(config: ConfigFile = DEFAULT_CONFIG, as_json: AsJson = False) -> None:
    """Say what a whole run takes: attempts, optimizer requests, tokens, money, time, and the steps that a budget buys.

    Starts nothing and asks nobody. Tokens, money and time come from the journal's averages for this harness and model.

    Example: honed estimate
    """
    output = Output(as_json=as_json)
    run(output, lambda: _estimate(output, config))


async def _estimate(output: Output, file: Path) -> None:
    config = load_config(file)
    refuse_unknown_prices(config.budget, models_of(config, config.target))
    tasks = await asyncio.to_thread(open_tasks, config)
    path = state_folder(config) / "journal.sqlite"
    journal = SqliteJournal(path, read_only=True) if path.exists() else None
    try:
        found = await estimate_of(config, tasks, journal)
    finally:
        if journal is not None:
            await journal.close()
    output.result(estimate_data(found), lambda console: _render(console, found, config))


def estimate_data(found: Estimate) -> dict[str, Any]:
    """The machine-readable estimate."""
    return {
        "steps": found.plan.steps,
        "attempts": {**_ranges(found.plan.attempts), "total": _range(found.plan.all_attempts)},
        "requests": {**_ranges(found.plan.requests), "total": _range(found.plan.all_requests)},
        "averages": {"target": _average(found.target), "optimizer": _average(found.optimizer)},
        "least": _cost(found.least),
        "most": _cost(found.most),
        "workers": found.workers,
        "buys": [
            {"scope": row.scope, "cap": row.cap, "limit": row.limit, "steps": row.steps, "of": found.plan.steps}
            for row in found.buys
        ],
    }


def _ranges(parts: Mapping[str, Range]) -> dict[str, Any]:
    return {name.replace(" ", "_"): _range(part) for name, part in parts.items()}


def _range(span: Range) -> dict[str, int]:
    return {"least": span.least, "most": span.most}


def _average(one: OneTakes | None) -> dict[str, Any] | None:
    return None if one is None else {"n": one.n, "tokens": one.tokens, "usd": one.usd, "wall_s": one.wall_s}


def _cost(cost: Cost) -> dict[str, float | None]:
    return {"tokens": cost.tokens, "usd": cost.usd, "wall_s": cost.wall_s}


def _render(console: Console, found: Estimate, config: Config) -> None:
    table = Table("", "least", "most", box=None, pad_edge=False)
    for title, parts, total in (
        ("attempts", found.plan.attempts, found.plan.all_attempts),
        ("optimizer requests", found.plan.requests, found.plan.all_requests),
    ):
        for name, part in (*parts.items(), (title, total)):
            style = "bold" if name == title else ""
            table.add_row(Text(name, style=style), f"{part.least:,}", f"{part.most:,}")
    least, most = found.least, found.most
    table.add_row("tokens", _number(least.tokens), _number(most.tokens))
    table.add_row("US dollars", _money(least), _money(most))
    table.add_row("minutes", *("?" if cost.wall_s is None else f"{cost.wall_s / 60:,.1f}" for cost in (least, most)))
    console.print(table)
    console.print(Text(plain(found.line())))
    for row in found.buys:
        console.print(Text(row.words(found.plan.steps)))
    for line in unknown_prices(models_of(config, config.target)):
        console.print(Text(plain(line)))


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:,.0f}"


def _money(cost: Cost) -> str:
    if cost.usd is not None:
        return f"{cost.usd:,.2f}"
    return "price unknown" if cost.tokens is not None else "?"
