"""`task.toml` of a Harbor folder as data, and what of it honed cannot honour.

Harbor adds keys in every version: those that honed does not know are left alone. One that it knows and cannot honour is
an error that names it, not a silent difference.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from daemon.tasks.formats.paths import TASK_ID
from daemon.tasks.task import MAX_WEIGHT, Network, RewardStrategy, Split, TaskError
from sandboxes.sandbox import MIB

_HOST_VARIABLE = re.compile(r"\$\{?[A-Za-z_]")
_SECONDS = Field(default=None, gt=0, le=7 * 86_400, allow_inf_nan=False)
_Reward = Annotated[float, Field(allow_inf_nan=False)]


class Part(BaseModel):
    """A table; unknown keys are left alone."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class Metadata(Part):
    """`[metadata]`: honed's own keys."""

    split: Split | None = None
    group: str | None = Field(default=None, max_length=200)
    category: str | None = None
    weight: float = Field(default=1.0, gt=0, le=MAX_WEIGHT, allow_inf_nan=False)
    protect: bool = False
    network: Network | None = None
    """Comes before whatever Harbor's own keys say."""


class NetworkKeys(Part):
    """What any phase may say of the network."""

    network_mode: Literal["public", "no-network", "allowlist"] | None = None
    allowed_hosts: tuple[str, ...] = Field(default=(), strict=False)


class Phase(NetworkKeys):
    """`[agent]` and `[steps.agent]`."""

    timeout_sec: float | None = _SECONDS


class Verifier(Phase):
    """`[verifier]` and `[steps.verifier]`."""

    env: dict[str, str] = Field(default_factory=dict)
    environment: dict[str, Any] = Field(default_factory=dict)


class Machine(NetworkKeys):
    """`[environment]`."""

    docker_image: str | None = None
    mcp_servers: list[Any] = Field(default_factory=list)
    healthcheck: dict[str, Any] | None = None
    build_timeout_sec: float = Field(default=600.0, gt=0, le=7 * 86_400, allow_inf_nan=False)
    cpus: float | None = Field(default=None, gt=0, le=1024, allow_inf_nan=False)
    memory_mb: int | None = Field(default=None, gt=0)
    memory: str | None = Field(default=None, pattern=r"^\d{1,6}(\.\d{1,3})? ?[KMGT]i?B?$")
    allow_internet: bool = True
    workdir: str | None = Field(default=None, pattern=r"^(/|(/[A-Za-z0-9_@+-][A-Za-z0-9._@+-]*)+/?)$", max_length=1024)

    @property
    def memory_bytes(self) -> int | None:
        """From either of its two spellings."""
        if self.memory_mb is not None:
            return self.memory_mb * MIB
        if self.memory is None:
            return None
        number, unit = re.findall(r"[\d.]+|[KMGT]", self.memory)
        return int(float(number) * 1024 ** (1 + "KMGT".index(unit)))


def _named(value: Any) -> Any:
    """One number is that of the reward named `reward`."""
    return {"reward": value} if isinstance(value, int | float) and not isinstance(value, bool) else value


class StepTable(Part):
    """One of `[[steps]]`."""

    name: str = Field(pattern=rf"^{TASK_ID.pattern}$")
    agent: Phase = Phase()
    verifier: Verifier = Verifier()
    min_reward: Annotated[dict[str, _Reward], BeforeValidator(_named)] = Field(default_factory=dict)
    healthcheck: dict[str, Any] | None = None
    artifacts: list[str | dict[str, Any]] = Field(default_factory=list)

    def phases(self) -> tuple[tuple[str, Phase], ...]:
        """Agent and tests, by key."""
        return ("agent", self.agent), ("verifier", self.verifier)


class Toml(Part):
    """The whole file."""

    metadata: Metadata = Metadata()
    agent: Phase = Phase()
    verifier: Verifier = Verifier()
    environment: Machine = Machine()
    steps: tuple[StepTable, ...] = Field(default=(), strict=False)
    multi_step_reward_strategy: RewardStrategy = "mean"
    artifacts: list[str | dict[str, Any]] = Field(default_factory=list)

    @property
    def paths(self) -> tuple[str, ...]:
        """Where artifacts are, those of steps among them."""
        given = (*self.artifacts, *(one for step in self.steps for one in step.artifacts))
        return tuple(one if isinstance(one, str) else str(one.get("source", "")) for one in given)

    @property
    def network(self) -> Network:
        """What of the network the task's most demanding phase may use."""
        if self.metadata.network is not None:
            return self.metadata.network
        return max((_policy(said) for said in self.phases().values()), key=("none", "allowed", "required").index)

    def phases(self) -> dict[str, NetworkKeys]:
        """By key, who says something of the network; the machine does, unless agent and tests both do."""
        steps = {f"steps[{at}].{name}": phase for at, step in enumerate(self.steps) for name, phase in step.phases()}
        said = {"agent": self.agent, "verifier": self.verifier, **steps}
        own: dict[str, NetworkKeys] = {key: one for key, one in said.items() if one.network_mode is not None}
        return own if {"agent", "verifier"} <= own.keys() else {"environment": self.environment, **own}


def _policy(said: NetworkKeys) -> Network:
    """Hosts by name are taken for a need."""
    mode = said.network_mode
    if mode is None and isinstance(said, Machine):
        mode = "public" if said.allow_internet else "no-network"
    if mode == "allowlist":
        return "required" if said.allowed_hosts else "none"
    return "allowed" if mode == "public" else "none"


def read_toml(file: Path) -> Toml:
    """The file; raises `TaskError` naming file, key and remedy for what is wrong or cannot be honoured."""
    try:
        toml = Toml.model_validate(tomllib.loads(file.read_bytes().removeprefix(b"\xef\xbb\xbf").decode("utf-8")))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        msg = f"{file}: {'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
        raise TaskError(msg) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"{file}: is not TOML: {error}"
        raise TaskError(msg) from error
    for key, why in _unsupported(toml):
        msg = f"{file}: {key}: {why}"
        raise TaskError(msg)
    return toml


def _unsupported(toml: Toml) -> Iterator[tuple[str, str]]:
    """Each key that cannot be honoured, and why."""
    if toml.environment.mcp_servers:
        yield "environment.mcp_servers", "are not supported: the sandbox has no way out to them"
    steps = {f"steps[{at}]": step for at, step in enumerate(toml.steps)}
    no_service = "is not supported: no service runs beside the agent: take it away if the task needs none"
    if toml.environment.healthcheck is not None:
        yield "environment.healthcheck", no_service
    yield from _of_verifier("verifier", toml.verifier)
    names: set[str] = set()
    for key, step in steps.items():
        if step.healthcheck is not None:
            yield f"{key}.healthcheck", no_service
        yield from _of_verifier(f"{key}.verifier", step.verifier)
        if step.name.casefold() in names:
            yield f"{key}.name", f"{step.name!r} is taken by an earlier step"
        names.add(step.name.casefold())
    for key, said in toml.phases().items():
        if toml.metadata.network is None and _policy(said) == "required":
            why = (
                "names hosts, and no box has a network: put what is fetched into the image, and write "
                'network = "none" under [metadata] once the task passes without'
            )
            yield f"{key}.allowed_hosts", why


def _of_verifier(key: str, verifier: Verifier) -> Iterator[tuple[str, str]]:
    if verifier.environment.get("docker_image"):
        yield f"{key}.environment.docker_image", "is not supported: tests run in the agent's image: put both in one"
    for name, value in verifier.env.items():
        if _HOST_VARIABLE.search(value):
            yield f"{key}.env.{name}", "variables of the host are not passed to tests: write the value out"
