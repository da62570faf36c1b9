"""`honed.toml` as frozen pydantic models.

Every error names the key and, where it can be found, the line. Keys hold no secrets: API keys come from the
environment variable that `api_key_env` names.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from harnesses.harness import Activation
from sandboxes.gateway.policy import Provider


class ConfigError(Exception):
    """The configuration cannot be used; `str()` is one line: file, line, key, what and the remedy."""


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SkillSection(_Section):
    """`[skill]`: what is honed."""

    path: str
    """Folder of the skill inside the repository (relative POSIX path); its name is the skill's name."""
    repository: Path = Path()
    """The git repository, relative to honed.toml."""
    max_chars: int = Field(default=20_000, ge=500)


class TasksSection(_Section):
    """`[tasks]`: what is measured."""

    path: Path
    """A tasks.jsonl, or a folder of Harbor tasks, relative to honed.toml."""
    split: tuple[int, int, int] = (4, 1, 5)
    """train : selection : test, for tasks without an explicit split."""
    split_seed: int = 42
    min_selection: int = Field(default=4, ge=1)
    """Fewer selection tasks than this decide nothing: an error."""


class PriceSection(_Section):
    """US dollars for a million tokens; overrides the built-in table."""

    input: float = Field(ge=0)
    cached_input: float | None = Field(default=None, ge=0)
    output: float = Field(ge=0)


class ModelSection(_Section):
    """A model behind a provider."""

    provider: Provider = "openai"
    model: str
    base_url: str | None = None
    """None: the provider's public address. For OpenAI-compatible servers with their version path (`…/v1`)."""
    api_key_env: str | None = None
    """None: OPENAI_API_KEY or ANTHROPIC_API_KEY."""
    price: PriceSection | None = None
    timeout_s: float = Field(default=600.0, gt=0)
    tries: int = Field(default=4, ge=1, le=20)
    retry_s: float = Field(default=20.0, ge=0)
    """Total time spent waiting between tries of one request."""
    temperature: float | None = None
    max_output_tokens: int = Field(default=8192, ge=16)


class TargetSection(ModelSection):
    """`[target]`: the frozen agent."""

    harness: Literal["chat", "codex", "claude-code"]
    activation: Activation = "explicit"
    max_turns: int = Field(default=50, ge=1)
    max_requests: int = Field(default=200, ge=1)
    max_tokens: int = Field(default=2_000_000, ge=1)
    max_usd: float | None = Field(default=None, gt=0)


class OptimizerSection(ModelSection):
    """`[optimizer]`: the model that proposes edits."""


class TrainSection(_Section):
    """`[train]`: the method's knobs (names and defaults from the method's paper)."""

    epochs: int = Field(default=4, ge=1)
    batch: int = Field(default=40, ge=1)
    accumulation: int = Field(default=1, ge=1)
    minibatch: int = Field(default=8, ge=1)
    merge_batch: int = Field(default=8, ge=2)
    edit_budget: int = Field(default=4, ge=1)
    min_edit_budget: int = Field(default=2, ge=1)
    schedule: Literal["constant", "linear", "cosine"] = "cosine"
    gate_metric: Literal["hard", "soft", "mixed"] = "hard"
    mixed_weight: float = Field(default=0.5, ge=0, le=1)
    seed: int = 42
    min_valid: float = Field(default=0.8, gt=0, le=1)
    """Smallest share of valid (pairs of) attempts that a step may be decided on."""
    attempt_tries: int = Field(default=3, ge=1)
    """Tries of one attempt while its outcome is a failure of ours."""


class SandboxSection(_Section):
    """`[sandbox]`: where agents run."""

    engine: Literal["auto", "docker", "bubblewrap", "process"] = "auto"
    image: str | None = None
    """None: honed's own sandbox image."""
    workers: int = Field(default=2, ge=1)
    memory_mb: int = Field(default=4096, ge=256)
    cpus: float = Field(default=2.0, gt=0)
    pids: int = Field(default=512, ge=32)
    workspace_mb: int = Field(default=1024, ge=8)
    allow_unsandboxed: bool = False
    """Lets the process engine run with a real key: it protects nothing."""


class GitSection(_Section):
    """`[git]`: whose name commits carry."""

    author_name: str = "honed"
    author_email: str = "honed@localhost"


class Config(_Section):
    """The whole file."""

    skill: SkillSection
    tasks: TasksSection
    target: TargetSection
    optimizer: OptimizerSection
    train: TrainSection = TrainSection()
    sandbox: SandboxSection = SandboxSection()
    git: GitSection = GitSection()
    file: Path = Path("honed.toml")
    """Where it was read from (absolute); relative paths were resolved against its folder."""
