"""One spreadsheet task each: a request, the workbook that is given, and the workbook that is right.

A trap is something in the workbook or the wording at which an untaught agent fails and a procedure helps:

- `formula`: the prompt speaks of formulas, which leave cells without a stored value;
- `gap`: an empty row inside the target range, at which a loop stops half way;
- `keys`: the same key is spelled with other case, spaces, or as text instead of a number;
- `sheet`: the sheet that opens is not the one to write on;
- `abbreviation`: keys are abbreviated on one sheet. No procedure of the demo repairs it: not all failures can be.

Invariants: everything follows from the plan and the generator; without its trap a task is solved untaught.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from daemon.demo.pools import BOOKS, CITIES, CODES, NOTES, PEOPLE, REGIONS, SHORT, STATUSES, WORDS
from daemon.demo.wordings import Kind, Request
from daemon.demo.workbooks import Book, Cell, Sheet


@dataclass(frozen=True)
class Plan:
    """What a task is to be."""

    kind: Kind
    traps: tuple[str, ...] = ()
    target_first: bool = False
    """The sheet to write on is the first one of the workbook."""

    @property
    def group(self) -> str:
        """The trap family: `formula+keys`, `plain`, …."""
        return "+".join(self.traps) or "plain"


@dataclass(frozen=True)
class Puzzle:
    """A finished task."""

    request: Request
    given: Book
    gold: Book


@dataclass(frozen=True)
class _Table:
    """The target sheet before and after, and its data sheet if it has one."""

    target: str
    header: tuple[Cell, ...]
    rows: list[list[Cell]]
    answers: list[Cell]
    key: str
    column: str
    noun: str = ""
    second: str = ""
    source: Sheet | None = None
    source_key: str = ""
    source_value: str = ""


def make(plan: Plan, rng: random.Random) -> Puzzle:
    """The puzzle that a plan and a seeded generator give."""
    table = _MAKERS[plan.kind](plan, rng)
    if "gap" in plan.traps:
        middle = len(table.rows) // 2
        table.rows.insert(middle, [None] * len(table.header))
        table.answers.insert(middle, None)
    request = Request(
        kind=plan.kind,
        book=f"{rng.choice(BOOKS)}.xlsx",
        sheet=table.target,
        column=table.column,
        first=2,
        last=len(table.rows) + 1,
        key=table.key,
        noun=table.noun,
        second=table.second,
        source=table.source.name if table.source else "",
        source_key=table.source_key,
        source_value=table.source_value,
        formula="formula" in plan.traps,
    )
    return Puzzle(request, _book(plan, table, rng, solved=False), _book(plan, table, rng, solved=True))


def _book(plan: Plan, table: _Table, rng: random.Random, *, solved: bool) -> Book:
    rows = [list(table.header)]
    for row, answer in zip(table.rows, table.answers, strict=True):
        rows.append([*row, answer] if solved else [*row, None])
    target = Sheet(table.target, rows)
    other = table.source or Sheet("Notes", [[note] for note in NOTES])
    sheets = (target, other) if plan.target_first else (other, target)
    return Book(sheets, other.name if "sheet" in plan.traps else target.name)


def _messy(key: Cell, rng: random.Random) -> Cell:
    """The same key, spelled otherwise."""
    if isinstance(key, int):
        return f" {key}" if rng.random() < 0.5 else str(key)
    text = str(key)
    return rng.choice([text.upper(), text.lower() + " ", "  " + text, text.lower()])


def _spelled(plan: Plan, keys: list[Cell], rng: random.Random) -> list[Cell]:
    """Keys as the target sheet spells them: with the keys trap at least two are messy."""
    if "abbreviation" in plan.traps:
        return [SHORT.get(str(key), key) for key in keys]
    if "keys" not in plan.traps:
        return keys
    messy = set(rng.sample(range(len(keys)), max(2, len(keys) // 2)))
    return [_messy(key, rng) if i in messy else key for i, key in enumerate(keys)]


def _total(plan: Plan, rng: random.Random) -> _Table:
    pools = [("region", REGIONS)] if "abbreviation" in plan.traps else [("region", REGIONS), ("city", CITIES)]
    noun, pool = rng.choice(pools)
    keys: list[Cell] = list(rng.sample(pool, rng.randint(6, 8)))
    data: list[list[Cell]] = []
    for i in range(rng.randint(18, 26)):
        key = keys[i] if i < len(keys) else rng.choice(keys)  # every key occurs
        data.append([1000 + i, key, rng.choice(WORDS), round(rng.uniform(5, 900), 2)])
    rng.shuffle(data)
    answers: list[Cell] = [round(sum(float(str(row[3])) for row in data if row[1] == key), 2) for key in keys]
    source = Sheet(rng.choice(["Sales", "Orders", "Ledger"]), [["No", noun.title(), "Item", "Amount"], *data])
    target = rng.choice(["Summary", "Report", "Totals"])
    rows = [[key] for key in _spelled(plan, keys, rng)]
    return _Table(target, (noun.title(), "Total"), rows, answers, "A", "B", noun, "", source, "B", "D")


def _count(plan: Plan, rng: random.Random) -> _Table:
    keys: list[Cell] = list(rng.sample(STATUSES, rng.randint(6, 8)))
    data: list[list[Cell]] = []
    for i in range(rng.randint(20, 30)):
        key = keys[i] if i < len(keys) else rng.choice(keys)
        data.append([f"T-{200 + i}", rng.choice(PEOPLE), key])
    answers: list[Cell] = [sum(1 for row in data if row[2] == key) for key in keys]
    source = Sheet(rng.choice(["Tickets", "Cases"]), [["Id", "Owner", "Status"], *data])
    target = rng.choice(["Board", "Overview"])
    rows = [[key] for key in _spelled(plan, keys, rng)]
    return _Table(target, ("Status", "Count"), rows, answers, "A", "B", "status", "", source, "C")


def _lookup(plan: Plan, rng: random.Random) -> _Table:
    codes: list[Cell] = list(rng.sample(range(1040, 1990), 12)) if rng.random() < 0.5 else list(rng.sample(CODES, 12))
    prices: dict[Cell, Cell] = {code: round(rng.uniform(2, 250), 2) for code in codes}
    keys = [rng.choice(codes) for _ in range(rng.randint(7, 9))]
    data: list[list[Cell]] = [[rng.choice(WORDS), code, price] for code, price in prices.items()]
    source = Sheet(rng.choice(["Prices", "Price list"]), [["Item", "Code", "Price"], *data])
    target = rng.choice(["Order", "Basket"])
    rows = [[key, rng.randint(1, 20)] for key in _spelled(plan, keys, rng)]
    answers = [prices[key] for key in keys]
    return _Table(target, ("Code", "Quantity", "Price"), rows, answers, "A", "C", "price", "", source, "B", "C")


def _product(plan: Plan, rng: random.Random) -> _Table:
    rows: list[list[Cell]] = []
    answers: list[Cell] = []
    for item in rng.sample(WORDS, rng.randint(6, 9)):
        quantity, price = rng.randint(1, 40), round(rng.uniform(1, 90), 2)
        rows.append([item, quantity, price])
        answers.append(round(quantity * price, 2))
    target = rng.choice(["Invoice", "Offer"])
    return _Table(target, ("Item", "Quantity", "Unit price", "Line total"), rows, answers, "B", "D", second="C")


def _tidy(plan: Plan, rng: random.Random) -> _Table:
    names = rng.sample(PEOPLE, rng.randint(6, 8))
    rows: list[list[Cell]] = []
    for name in names:
        first, last = name.split()
        rows.append(
            [rng.choice([f" {first}  {last}", f"{first.upper()} {last.lower()} ", f"{first.lower()}   {last}"])]
        )
    target = rng.choice(["Contacts", "Members"])
    return _Table(target, ("As typed", "Name"), rows, list(names), "A", "B")


_MAKERS = {Kind.TOTAL: _total, Kind.COUNT: _count, Kind.LOOKUP: _lookup, Kind.PRODUCT: _product, Kind.TIDY: _tidy}
