"""The method's knobs as the optimizer uses them, and the fingerprint that says when a run may be resumed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import Self
from urllib.parse import urlsplit

from daemon.config import Config
from daemon.config_train import TrainSection
from daemon.optimizer.gates.rule import GateRule
from daemon.optimizer.prompts.render import digest as prompts_digest
from daemon.optimizer.risks import RiskRules
from daemon.tasks.task import TaskSet
from skills_repo.edits import REFERENCE_OPS, EditLimits, Op
from skills_repo.skill import SKILL_FILE, Skill


@dataclass(frozen=True)
class Knobs:
    """Everything that shapes a run besides skill, tasks, target and optimizer model."""

    train: TrainSection = field(default_factory=TrainSection)
    max_skill_chars: int = 20_000
    max_edit_chars: int = 4_000
    max_output_tokens: int = 8192
    """Of an optimizer reply."""
    temperature: float | None = None
    """Of the optimizer model; None: the provider's own."""
    optimizer_host: str = ""
    """Where the optimizer model is served (empty: the provider's own address): equal names elsewhere are others."""
    initial: Skill | None = None
    """The skill to start from instead of the repository's."""
    optimizer_workers: int = 4
    """Requests to it at the same time; decides nothing, so it is no part of the fingerprint."""
    editable: tuple[str, ...] = (SKILL_FILE,)
    """Patterns of the files that edits may change."""
    references: bool = False
    """References may be created, changed and removed."""
    max_reference_chars: int = 20_000
    risks: RiskRules = field(default_factory=RiskRules)
    """Which risky edits are not tried, and which addresses are no risk."""

    def limits(self, budget: int | None) -> EditLimits:
        """The bounds of a step; what its update mode makes of them: `step.limits_of`."""
        return replace(self._limits(budget), also=REFERENCE_OPS if self.references else frozenset())

    @property
    def slow_update_limits(self) -> EditLimits:
        """The bounds of a slow update."""
        return replace(self._limits(1), also=frozenset({Op.SLOW_UPDATE}))

    def _limits(self, budget: int | None) -> EditLimits:
        return EditLimits(
            budget,
            self.max_skill_chars,
            self.max_edit_chars,
            editable=self.editable,
            references=self.references,
            max_reference_chars=self.max_reference_chars,
        )

    @property
    def gate(self) -> GateRule:
        """How candidates are judged."""
        return GateRule(self.train.gate_metric, self.train.mixed_weight, self.train.min_valid)

    @classmethod
    def from_config(cls, config: Config, initial: Skill | None = None) -> Self:
        """The knobs of a honed.toml; `initial` is what `[skill] initial` comes to (`starting.given_skill`)."""
        return cls(
            config.train,
            config.skill.max_chars,
            initial=initial,
            max_output_tokens=config.optimizer.max_output_tokens,
            temperature=config.optimizer.temperature,
            optimizer_host=urlsplit(config.optimizer.base_url or "").hostname or "",
            optimizer_workers=config.optimizer.workers,
            editable=config.skill.editable,
            references=config.skill.references,
            max_reference_chars=config.skill.max_reference_chars,
            risks=RiskRules(frozenset(config.skill.refuse), config.skill.allowed_hosts),
        )


@dataclass(frozen=True)
class Fingerprint:
    """What decides a run. Another fingerprint is another run."""

    parts: Mapping[str, str]

    @property
    def digest(self) -> str:
        """`sha256:` over the parts."""
        return "sha256:" + hashlib.sha256(json.dumps(dict(self.parts), sort_keys=True).encode()).hexdigest()


def fingerprint(
    knobs: Knobs, tasks: TaskSet, target: Mapping[str, str], *, harness: str, optimizer: Mapping[str, str]
) -> Fingerprint:
    """Put the parts together: `target` is what attempts are keyed by, `optimizer` names provider, model and so on."""
    # How often a failure of ours is tried again decides nothing about what is learned.
    train = knobs.train.model_dump(mode="json", exclude={"attempt_tries"})
    parts = {f"train.{key}": json.dumps(value) for key, value in train.items()}
    parts |= {f"target.{key}": value for key, value in target.items()}
    parts |= {f"optimizer.{key}": value for key, value in optimizer.items()}
    parts |= {
        "skill.max_chars": str(knobs.max_skill_chars),
        "skill.max_edit_chars": str(knobs.max_edit_chars),
        "skill.editable": json.dumps(knobs.editable),
        "skill.references": json.dumps(knobs.references),
        "skill.max_reference_chars": str(knobs.max_reference_chars),
        "skill.refuse": json.dumps(sorted(knobs.risks.refuse)),
        "skill.allowed_hosts": json.dumps(sorted(knobs.risks.hosts)),
        "skill.initial": knobs.initial.digest if knobs.initial else "existing",
        "honed": version("honed"),
        "harness": harness,
        "tasks": tasks.digest,
        "prompts": prompts_digest(),
    }
    return Fingerprint(dict(sorted(parts.items())))
