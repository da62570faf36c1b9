"""What went wrong in people's own sessions with the skill, as reflections on failures read it: evidence, never a score.

Read once, when a run begins, and journaled with it: a resumed run reads what an undisturbed one does, whatever came
into the inbox meanwhile. Every text passes the firewall and the redaction, and is bounded; a run without sessions has
the prompts it would have had without an inbox.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import structlog
from pydantic import BaseModel, ConfigDict

from daemon.inbox.patterns import Pattern, patterns
from daemon.inbox.record import Kind, SessionRecord
from daemon.inbox.use import use_of
from daemon.journal.journal import Journal, JournalError
from daemon.journal.records import Decision, RunRecord
from daemon.optimizer.firewall import Firewall
from daemon.optimizer.people import PEOPLE
from daemon.redaction import redact
from harnesses.traces.text import one_line
from skills_repo.history import SkillHistory
from skills_repo.skill import Skill

log = structlog.get_logger(__name__)

REAL_USE = "real_use"
"""The kind of the decision that remembers it."""
LEAST_SESSIONS = 2
"""That must show a pattern: one session's trouble is nobody's rule."""
MOST_PATTERNS = 12
_EXAMPLES = 2
_EXAMPLE_CHARS = 240


class ReadsSessions(Protocol):
    """Whoever keeps people's sessions."""

    async def of(self, skill: str) -> Sequence[SessionRecord]:
        """Those in which the skill (by name) was listed or opened, the newest first."""


class Seen(BaseModel):
    """One pattern as prompts show it, in this order of keys, also when it was read back."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind
    what: str
    sessions: int
    times: int
    examples: tuple[str, ...]


class RealUse(BaseModel):
    """What a run knows of the skill's use by people."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    opened: int
    """Sessions in which agents opened the skill; `failed` of them went wrong."""
    failed: int
    unopened: int
    patterns: tuple[Seen, ...]
    """The widest spread first."""

    @property
    def rows(self) -> tuple[dict[str, Any], ...]:
        """The patterns as plain data."""
        return tuple(pattern.model_dump(mode="json") for pattern in self.patterns)


@dataclass(frozen=True)
class Evidence:
    """Reads and remembers real use, for one run."""

    journal: Journal
    history: SkillHistory
    firewall: Firewall
    source: ReadsSessions | None = None
    """None: switched off."""

    async def of(self, run: RunRecord) -> RealUse | None:
        """What the run knows: read back, or read from the inbox and journaled now; None if there is nothing to know.

        It comes before what people took back is read, so whether that is journaled tells a run that began without.
        """
        found = await self.journal.find_decision(run.run_id, 0, REAL_USE)
        if found is not None:
            return RealUse.model_validate(found.payload)
        if self.source is None or await self.journal.find_decision(run.run_id, 0, PEOPLE) is not None:
            return None
        name = run.skill.rstrip("/").rsplit("/", 1)[-1]
        try:
            sessions = await self.source.of(name)
        except JournalError as error:
            log.warning("people's sessions cannot be read: the run goes on without them", error=str(error))
            return None
        told = patterns(sessions, name, least=LEAST_SESSIONS)[:MOST_PATTERNS]
        if not told:
            return None
        skill, use = await self.history.read(run.base_commit), use_of(sessions, name)
        rows = tuple(self._row(pattern, skill) for pattern in told)
        known = RealUse(opened=use.opened, failed=use.failed, unopened=use.unopened, patterns=rows)
        await self.journal.save_decision(Decision(run.run_id, 0, REAL_USE, known.model_dump(mode="json")))
        return known

    def _row(self, pattern: Pattern, skill: Skill) -> Seen:
        examples = dict.fromkeys(self._told(one.text, skill, _EXAMPLE_CHARS) for one in pattern.examples)
        return Seen(
            kind=pattern.kind,
            what=self._told(pattern.label, skill, _EXAMPLE_CHARS),
            sessions=pattern.sessions,
            times=pattern.count,
            examples=tuple(text for text in examples if text)[:_EXAMPLES],
        )

    def _told(self, text: str, skill: Skill, limit: int) -> str:
        return one_line(redact(self.firewall.remark(text, skill)), limit)
