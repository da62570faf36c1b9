"""How `honed inbox` lays out what it found: rows for machines, lines for people. All of it is untrusted text."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from daemon.inbox.patterns import of_skill
from daemon.inbox.record import KINDS
from daemon.plain import plain
from harnesses.traces.text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from daemon.inbox.intake import Taken
    from daemon.inbox.patterns import Pattern
    from daemon.inbox.record import SessionRecord
    from daemon.inbox.use import Use

_WIDTH = 100


def session_row(record: SessionRecord, skill: str | None) -> dict[str, Any]:
    """One session in a list."""
    seen = record.skill(skill) if skill else None
    counts: Counter[str] = Counter()
    for one in of_skill(record, skill if seen and seen.opened else None):
        counts[one.kind] += one.count
    return {
        "key": record.key,
        "harness": record.harness,
        "ended": record.ended,
        "turns": record.turns,
        "calls": record.calls,
        "opened": seen.opened if seen else None,
        "skills": [one.name for one in record.skills if one.opened],
        "incidents": dict(sorted(counts.items())),
        "asked": record.asked,
    }


def pattern_data(pattern: Pattern) -> dict[str, Any]:
    """One pattern for machines."""
    return asdict(pattern)


def render_taken(console: Console, taken: Sequence[Taken], counts: Counter[str]) -> None:
    """What became of each file that is worth a line, and how many there were."""
    for one in taken:
        if one.came in ("new", "grown"):
            console.print(Text.assemble((f"{one.came:<8}", "green"), f"{one.key}  ", plain(one.file.name)))
        elif one.came == "refused":
            console.print(Text.assemble(("refused ", "yellow"), plain(f"{one.file.name}: {one.reason}")))
    told = ", ".join(f"{count:,} {came}" for came, count in sorted(counts.items()))
    files = sum(counts.values())
    console.print(f"{files:,} {'file' if files == 1 else 'files'}: {told}" if counts else "no session files found")


def render_list(console: Console, rows: Sequence[dict[str, Any]], total: int, use: Use | None) -> None:
    """A line a session."""
    if use is not None:
        console.print(use_line(use))
    if not rows:
        whose = f"with {plain(use.skill)} are kept (`--all` lists those without)" if use else "are kept"
        console.print(Text(f"no sessions {whose}: `honed inbox add FILE`"))
        return
    table = Table(
        "session", "ended", "agent", "turns", "calls", "opened", "went wrong", "asked", box=None, pad_edge=False
    )
    for row in rows:
        wrong = ", ".join(f"{count} {kind}" for kind, count in row["incidents"].items()) or "-"
        opened = {True: "yes", False: "no", None: ", ".join(row["skills"]) or "-"}[row["opened"]]
        cells = (row["key"], day(row["ended"]), row["harness"], str(row["turns"]), str(row["calls"]), opened, wrong)
        table.add_row(*(Text(plain(cell)) for cell in cells), Text(plain(one_line(row["asked"], 60))))
    console.print(table)
    if total > len(rows):
        console.print(f"… and {total - len(rows):,} more (-n)")


def render_session(console: Console, record: SessionRecord) -> None:
    """One session, whole."""
    console.print(
        Text.assemble((record.key, "bold"), f"  {record.harness}  {day(record.ended)}  ", plain(record.source))
    )
    for name, value in (("model", record.model), ("folder", record.folder), ("id", record.session_id)):
        if value:
            console.print(Text(f"{name:<8}{plain(value)}"))
    live = "" if record.settled else "; it may still go on"
    console.print(f"{record.turns} turns, {record.calls} tool calls, {record.bad_lines} lines could not be read{live}")
    opened = [f"{one.name} {one.digest}".strip() for one in record.skills if one.opened]
    listed = [one.name for one in record.skills if not one.opened]
    console.print(Text(plain(f"opened: {', '.join(opened) or 'no skill'}")))
    console.print(Text(plain(f"listed and not opened: {one_line(', '.join(listed), 300) or 'none'}")))
    console.print(Text(plain(f"asked: {one_line(record.asked, 500)}")))
    for one in record.incidents:
        head = f"turn {one.turn}: {one.kind}: {one.label}" + (f" ({one.count} times)" if one.count > 1 else "")
        console.print(Text(plain(head), style="bold"))
        console.print(Text(plain(f"  {one_line(one.example, 300)}")))
    if not record.incidents:
        console.print("nothing went wrong that honed can tell")


def render_patterns(console: Console, found: Sequence[Pattern], use: Use | None) -> None:
    """The patterns, the widest spread first, each kind by its name."""
    if use is not None:
        console.print(use_line(use))
    if not found:
        console.print("no pattern: nothing went wrong, or no session of it is kept (`honed inbox add`)")
        return
    for one in sorted(found, key=lambda pattern: KINDS.index(pattern.kind)):
        head = f"{one.kind}: {one.label}: {one.sessions} sessions, {one.count} times"
        console.print(Text(plain(head), style="bold"))
        for example in one.examples:
            console.print(Text(plain(f"  {example.session}  {one_line(example.text, _WIDTH)}")))


def use_line(use: Use) -> Text:
    """A skill's use in one line."""
    wrong = f", {use.failed} of them went wrong ({use.failure_rate:.0%})" if use.opened else ""
    line = (
        f"{use.skill}: in {use.sessions} sessions, opened in {use.opened}, not opened though listed in {use.unopened}"
    )
    now = f", {use.current} with the skill as it is now" if use.current else ""
    return Text(plain(line + wrong + now))


def day(when: float | None) -> str:
    """A moment as people read it (UTC)."""
    return "-" if when is None else datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%d %H:%M")
