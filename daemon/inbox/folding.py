"""Turns to incidents: what went wrong in a session, folded together as its turns come by.

Invariants: memory is bounded whatever the session; one incident for each kind and label, with a count and the first
example. The provider's failures are not the agent's and are left out.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

from daemon.inbox.corrections import cue_of
from daemon.inbox.errors import SHELLS, name_of, program_of
from daemon.inbox.record import ASKED_CHARS, EXAMPLE_CHARS, MOST_INCIDENTS, Incident, Kind
from harnesses.traces.session import Turn
from harnesses.traces.text import neutral, shorten
from harnesses.traces.trace import ToolCall

REPEATED = 3
"""The same call with the same result so often in one turn is a repetition."""
_REMEMBERED = 5
"""Things the person said before, to compare with."""


@dataclass
class Folding:
    """What went wrong so far."""

    turns: int = 0
    calls: int = 0
    asked: str = ""
    _incidents: dict[tuple[Kind, str], Incident] = field(default_factory=dict)
    _before: Turn | None = None
    _said: deque[str] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))

    def add(self, turn: Turn, *, last_of_live: bool = False) -> None:
        """One more turn. `last_of_live`: the session may go on, so how the turn ended says nothing."""
        self.turns += 1
        self.asked = self.asked or _kept(turn.prompt, ASKED_CHARS)
        self._correction(turn)
        calls = [event for event in turn.trace.events if isinstance(event, ToolCall)]
        self.calls += len(calls)
        for call in calls:
            if name := name_of(call):
                self._note("error", name, f"{call.input}\n> {call.output}", turn)
        for label, example in _repetitions(calls):
            self._note("repeated", label, example, turn)
        for denial in turn.denials:
            self._note("correction", "refused a step", denial, turn)
        if not last_of_live:
            self._ending(turn)
        self._before = turn
        self._said.append(turn.prompt)

    @property
    def incidents(self) -> tuple[Incident, ...]:
        """In the order of their first time."""
        return tuple(self._incidents.values())

    def _correction(self, turn: Turn) -> None:
        """It is about the turn before, and so is what was asked."""
        before = self._before
        if before is None or before.ending == "broken" or not before.trace.events:
            return
        if cue := cue_of(turn.prompt, tuple(self._said)):
            self._note("correction", cue, turn.prompt, before)

    def _ending(self, turn: Turn) -> None:
        last = next((event for event in reversed(turn.trace.events) if isinstance(event, ToolCall)), None)
        example = f"the last call was: {last.input}" if last else ""
        if turn.ending == "interrupted":
            self._note("abandoned", "stopped by the person", example, turn)
        elif turn.ending == "silent":
            label = "ended without an answer" if last else "nothing was done"
            self._note("abandoned", label, example, turn)

    def _note(self, kind: Kind, label: str, example: str, turn: Turn) -> None:
        known = self._incidents.get((kind, label))
        if known is not None:
            self._incidents[kind, label] = known.model_copy(update={"count": known.count + 1})
        elif len(self._incidents) < MOST_INCIDENTS:
            self._incidents[kind, label] = Incident(
                kind=kind,
                label=label,
                turn=self.turns - (turn is self._before),
                example=_kept(example, EXAMPLE_CHARS),
                asked=_kept(turn.prompt, ASKED_CHARS),
                skills=turn.opened[:20],
            )


def _kept(text: str, limit: int) -> str:
    return shorten(neutral(text).strip(), limit)


def _repetitions(calls: list[ToolCall]) -> list[tuple[str, str]]:
    """Name and example of each call that was made again and again and came to the same."""
    seen = Counter((call.tool, call.input, call.output, call.ok) for call in calls if call.ok is not None)
    found = []
    for (tool, given, _, _), count in seen.items():
        if count >= REPEATED:
            name = program_of(given) if tool.removeprefix("sub-agent: ") in SHELLS else tool
            found.append((f"{name}: the same call with the same result", f"{count} times: {given}"))
    return found
