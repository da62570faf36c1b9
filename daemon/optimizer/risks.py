"""What becomes of an edit that adds addresses, fetched code or rights: not tried, or tried and flagged for people.

Pure. Invariant: what `skills_repo.risky` sees in a candidate is one of the two; nothing of it goes by in silence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skills_repo.edits import Edit
from skills_repo.risky import Risk, RiskKind, skill_risks, text_risks
from skills_repo.skill import Skill

_MOST = 20
"""Flags that a decision keeps."""


@dataclass(frozen=True)
class RiskRules:
    """`[skill] refuse` and `allowed_hosts`."""

    refuse: frozenset[RiskKind] = frozenset({RiskKind.REMOTE_CODE, RiskKind.SAFEGUARDS})
    hosts: tuple[str, ...] = ()

    def edit(self, edit: Edit, stages: Sequence[Skill], skill: Skill) -> str:
        """Why an edit is not tried; empty if it may be. `stages`: what it makes of the skill, if it finds its place."""
        if stages:
            return self.candidate(skill, stages[-1])
        return self._refused(text_risks("", f"{edit.content}\n{edit.link}", file=edit.file, hosts=self.hosts))

    def candidate(self, skill: Skill, candidate: Skill) -> str:
        """Why a whole candidate is not judged; empty if it is."""
        return self._refused(skill_risks(skill, candidate, self.hosts))

    def flags(self, skill: Skill, candidate: Skill) -> tuple[str, ...]:
        """What a person should look at in a candidate: kind, file and text, a line each, ordered by file."""
        found = skill_risks(skill, candidate, self.hosts)
        return tuple(f"{risk.kind}: {risk.file}: {risk.text}" for risk in found[:_MOST])

    def kinds(self, skill: Skill, candidate: Skill) -> tuple[str, ...]:
        """The same as kinds alone, in order."""
        return tuple(sorted({str(risk.kind) for risk in skill_risks(skill, candidate, self.hosts)}))

    def _refused(self, risks: Sequence[Risk]) -> str:
        for risk in risks:
            if risk.kind in self.refuse:
                return f"it {risk.kind.words}, which [skill] refuse names ({risk.kind})"
        return ""
