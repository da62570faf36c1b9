"""What `honed bench` runs with: `[target]`, `[sandbox]`, `[judge]` and `[budget]` of a honed.toml where there is one.

Invariant: no skill, task set or git repository of the configuration takes part; a cell needs none.
"""

from __future__ import annotations

from pathlib import Path

from daemon.cli.evaluate import HarnessName, other_target
from daemon.config import (
    SIMULATED,
    Config,
    ConfigError,
    OptimizerSection,
    SkillSection,
    TargetSection,
    TasksSection,
    load_config,
)
from daemon.demo.demo_set import CHAT_MODEL, CLAUDE_MODEL, CODEX_MODEL, OPTIMIZER_MODEL
from sandboxes.gateway.policy import Provider

_PROVIDERS: dict[HarnessName, Provider] = {"chat": "openai", "codex": "openai", "claude-code": "anthropic"}
_SIMULATED = {"chat": CHAT_MODEL, "codex": CODEX_MODEL, "claude-code": CLAUDE_MODEL}


def bench_config(
    file: Path, *, harness: HarnessName, model: str | None, provider: Provider | None, simulated: bool
) -> tuple[Config, TargetSection]:
    """The configuration and the agent; raises `ConfigError` if no model is named anywhere."""
    if simulated:
        name = model or _SIMULATED[harness]
        target = TargetSection(harness=harness, provider=_provider(harness, provider), model=name, base_url=SIMULATED)
        return _bare(file, target), target
    if file.is_file():
        config = load_config(file)
        if provider and harness == "chat" and provider != config.target.provider:
            raise ConfigError(f"{file}: [target] asks another provider than --provider {provider}: give --config FILE")
        return config, other_target(config.target, harness, model)
    if not model:
        raise ConfigError(
            f"--model is missing, and {file} with a [target] is not there: give one of them, or --simulated"
        )
    target = TargetSection(harness=harness, provider=_provider(harness, provider), model=model)
    return _bare(file, target), target


def _provider(harness: HarnessName, asked: Provider | None) -> Provider:
    needed = _PROVIDERS[harness]
    if asked and harness != "chat" and asked != needed:
        raise ConfigError(f"--harness {harness} speaks to {needed} alone: leave --provider out")
    return asked or needed


def _bare(file: Path, target: TargetSection) -> Config:
    """Defaults around the agent; the state folder is beside where the file would be."""
    return Config(
        skill=SkillSection(path="none"),
        tasks=TasksSection(path=Path("none")),
        target=target,
        optimizer=OptimizerSection(model=OPTIMIZER_MODEL, base_url=SIMULATED),
        file=file.absolute(),
    )
