"""What is not even tried: leaks, credentials, risks, repetitions, what changes nothing. Pure; in a sentence each."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field

from daemon.optimizer.firewall import Firewall
from daemon.optimizer.leaks import candidate_leak, carries_secret, edit_leak
from daemon.optimizer.people import TakenBack
from daemon.optimizer.risks import RiskRules
from daemon.redaction import redact
from skills_repo.edits import Edit, EditLimits, EditStatus, Op, apply
from skills_repo.hidden import find_hidden
from skills_repo.likeness import Change, changes, loose
from skills_repo.skill import MAX_BYTES, Skill

_ANY_GUIDANCE = EditLimits(1, MAX_BYTES, max_guarded_chars=MAX_BYTES, also=frozenset({Op.SLOW_UPDATE}))
_TRIED = "already tried on this skill and rejected in this run"


@dataclass(frozen=True)
class Refusals:
    """The guards on what an optimizer proposes, besides those of `skills_repo.edits`."""

    firewall: Firewall
    repeats: bool = True
    """Refuse what was rejected on the same skill in this run."""
    taken_back: tuple[TakenBack, ...] = ()
    """What people turned down: refused in every mode."""
    risks: RiskRules = field(default_factory=RiskRules)
    """Which addresses, fetched code and rights are not even tried."""

    def edit(self, edit: Edit, skill: Skill, limits: EditLimits, rejected: Set[tuple[str, str]]) -> str:
        """Why this edit is not worth a place in the ranking; empty if it is.

        An edit that fails alone may be waiting for another one's text, so only a missing effect refuses it here.
        """
        if leak := edit_leak(self.firewall, edit, skill):
            return leak
        alone = apply(skill, [edit], limits)
        if risk := self.risks.edit(edit, alone.stages, skill):
            return risk
        changed = changes(skill, alone.result) if alone.stages else loose(edit.target, edit.content)
        if taken_back := self._taken_back(changed, edit.evidence):
            return taken_back
        if alone.report.rows[0].status is EditStatus.NO_CHANGE:
            return "it changes nothing"
        tried = bool(alone.stages) and (skill.digest, alone.result.digest) in rejected
        return _TRIED if self.repeats and tried else ""

    def candidate(self, skill: Skill, candidate: Skill, rejected: Set[tuple[str, str]]) -> str:
        """Why a whole candidate is not judged (again); empty if it is. What leaks may be split over two edits."""
        if self.repeats and (skill.digest, candidate.digest) in rejected:
            return f"the same candidate was {_TRIED}"
        leak = candidate_leak(self.firewall, skill, candidate) or self.risks.candidate(skill, candidate)
        return f"the edits together are refused: {leak}" if leak else ""

    def guidance(self, text: str, skill: Skill) -> str:
        """Why a slow update's guidance is not written; empty if it may be."""
        written = apply(skill, [Edit(Op.SLOW_UPDATE, content=text)], _ANY_GUIDANCE)
        risk = self.risks.candidate(skill, written.result)
        return self._shown(text, skill) or risk or self._taken_back(changes(skill, written.result), ())

    def _shown(self, text: str, skill: Skill) -> str:
        return "it carries a credential" if carries_secret(text, skill) else self.firewall.text(text, skill)

    def _taken_back(self, changed: Sequence[Change], evidence: Sequence[str]) -> str:
        for known in self.taken_back:
            if known.matches(changed, evidence):
                return "a person took it back" + (f": {known.reason}" if known.reason else "")
        return ""

    def remark(self, text: str, skill: Skill) -> str:
        """What the optimizer says beside its edits, without credentials, held-out text and gold answers."""
        return redact(self.firewall.remark(text, skill))

    def notes(self, text: str, skill: Skill) -> str:
        """Why the optimizer's notes are not kept: the next prompt could bring what they carry into an edit."""
        if hidden := find_hidden(text):
            line, char = hidden
            return f"they hold the hidden character {char} in line {line}"
        return self._shown(text, skill)
