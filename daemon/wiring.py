"""From a configuration to working parts, and back to nothing: engine, gateway, harness, scorers, journal, history.

Invariants: the process engine never meets a real key unless the configuration allows it; one owner id per state
directory, so that a sweep takes only what is ours; everything opened here is closed here, in reverse order.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import structlog
from pydantic import SecretStr

from daemon.budget.opening import day_alone, open_purse
from daemon.budget.purse import Purse
from daemon.budget.totals import Models, Payer, PricedModel
from daemon.config import SIMULATED, Config, ConfigError, ModelSection, TargetSection
from daemon.demo.server import SimulatedModel
from daemon.engine_kept import keep_engine
from daemon.housekeeping.room import Room
from daemon.journal.journal import Journal
from daemon.journal.lock import state_lock
from daemon.journal.sqlite import SqliteJournal
from daemon.places import open_history, state_folder
from daemon.preflight import impatient
from daemon.recovery.hand import recover
from daemon.recovery.look import Place
from daemon.rollouts.attempt import AttemptSettings
from daemon.rollouts.progress import Observer
from daemon.rollouts.rollouts import Rollouts
from daemon.secrets import prepare, read_key, renewal
from daemon.setup.clis import agents_folder
from daemon.setup.docker_ping import engine_address
from daemon.setup.home import honed_home
from daemon.setup.toolkit import ensure_toolkit
from daemon.tasks.images import in_own_images
from daemon.tasks.load import load_tasks
from daemon.tasks.scorers.registry import needs_judge, needs_sandbox, score_task
from daemon.tasks.scorers.scorer import Context
from daemon.tasks.task import TaskSet, runs_scripts
from harnesses.chat import ChatHarness, ChatSettings
from harnesses.chat_tools import Boxes
from harnesses.claude_code import ClaudeCodeHarness
from harnesses.cli_harness import CliSettings
from harnesses.clis import ask_version, find_cli
from harnesses.codex import CodexHarness
from harnesses.harness import Harness
from harnesses.models.client import ModelClient
from harnesses.models.factory import make_client
from harnesses.models.heard import HeardClient
from harnesses.models.prices import price_of
from harnesses.vigil import Patience
from sandboxes.choose import Choice, choose_engine
from sandboxes.gateway.heard import Heard, unheard
from sandboxes.gateway.policy import Caps, DoorPolicy, Price, Upstream
from sandboxes.gateway.proxy import ModelGateway
from sandboxes.image.recipe import SANDBOX_IMAGE
from sandboxes.image.rootfs import rootfs_status
from sandboxes.sandbox import MIB, EngineFacts, Limits, Mount, Sandbox, SandboxError
from skills_repo.repository import SkillRepository

log = structlog.get_logger(__name__)

_PUBLIC = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}


@dataclass(frozen=True)
class Parts:
    """Everything a verb works with."""

    config: Config
    tasks: TaskSet
    history: SkillRepository
    journal: Journal
    harness: Harness
    rollouts: Rollouts
    purse: Purse
    """What may be spent: `begin_run` comes before the first attempt."""
    models: Models
    """Who is paid, and at what price."""
    observer: Observer
    optimizer: ModelClient | None
    """None for verbs that learn nothing."""
    canary: Harness
    """Like `harness`, with a provider that is given up on within seconds; likewise `optimizer_canary`."""
    optimizer_canary: ModelClient | None
    sandbox: Sandbox | None
    """None: chat without scripts, and no scorer needs one."""
    engine: EngineFacts | None
    state: Path
    swept: tuple[str, ...]
    """What a dead process had left and is gone now."""
    loud: tuple[str, ...]
    """Sentences that must not be missed: fallbacks and what they lack."""


def open_tasks(config: Config) -> TaskSet:
    """Load and check the task set (blocks)."""
    section = config.tasks
    return load_tasks(
        section.path, split_ratio=section.split, seed=section.split_seed, min_selection=section.min_selection
    )


def is_simulated(section: ModelSection) -> bool:
    """The section asks for the demo's model."""
    return section.base_url == SIMULATED


def upstream_of(section: ModelSection, simulated: SimulatedModel | None) -> Upstream:
    """Address and key of a section; raises `ConfigError` naming the variable if the key is not set."""
    if is_simulated(section):
        assert simulated is not None, "the simulated model was not started"
        base = simulated.anthropic_base_url if section.provider == "anthropic" else simulated.openai_base_url
        upstream = Upstream(section.provider, base, SecretStr("simulated-model-needs-no-key"))
    else:
        key_name, key = read_key(section)
        base = section.base_url or _PUBLIC[section.provider]
        upstream = Upstream(section.provider, base, key, key_name, renewal=renewal(section))
    return replace(upstream, timeout_s=section.timeout_s, retry_s=section.retry_s, tries=section.tries)


def price_from(section: ModelSection) -> Price | None:
    """The configured price, else the built-in table's, else None; the simulated model is free."""
    if is_simulated(section):
        return Price(0.0, 0.0, 0.0)
    if section.price is None:
        return price_of(section.provider, section.model)
    given = section.price
    cached = given.input if given.cached_input is None else given.cached_input
    return Price(given.input, cached, given.output, given.cache_write)


def models_of(config: Config, target: TargetSection, *, optimizer: bool = True) -> Models:
    """Who is paid, and at what price."""
    models: dict[Payer, PricedModel] = {"target": PricedModel(target.model, price_from(target))}
    if optimizer:
        models["optimizer"] = PricedModel(config.optimizer.model, price_from(config.optimizer))
    return models


@asynccontextmanager
async def open_parts(
    config: Config,
    observer: Observer,
    *,
    optimizer: bool = True,
    harness: TargetSection | None = None,
    tasks: TaskSet | None = None,
    guard: Callable[[Purse], Purse] | None = None,
    heard: Heard = unheard,
    patient: bool = False,
) -> AsyncIterator[Parts]:
    """Open everything for one verb.

    `harness` replaces `[target]` (another agent on the same tasks), and `tasks` the configured set; `guard` puts
    another purse around the one of `[budget]`; `heard` is told of each request to a provider that has ended;
    `patient`: attempts wait while the disk is full, instead of stopping the run.
    """
    target = harness or config.target
    if tasks is None:
        tasks = await asyncio.to_thread(open_tasks, config)
    state = state_folder(config)
    async with AsyncExitStack() as stack:
        stack.enter_context(state_lock(state))
        scratch = await asyncio.to_thread(_lay_state, state)
        journal = SqliteJournal(state / "journal.sqlite")
        stack.push_async_callback(journal.close)
        models = models_of(config, target, optimizer=optimizer)
        purse = open_purse(config.budget if optimizer else day_alone(config.budget), target, models, journal)
        purse = guard(purse) if guard else purse
        room = Room(state, patient=patient)
        opening = _Opening(stack, config, target, tasks, state, scratch, journal, models, purse, room, observer, heard)
        yield await opening.parts(optimizer=optimizer)


@dataclass(frozen=True)
class _Opening:
    """What is decided before anybody is asked, and the stack on which everything is opened."""

    stack: AsyncExitStack
    config: Config
    target: TargetSection
    tasks: TaskSet
    state: Path
    scratch: Path
    journal: Journal
    models: Models
    purse: Purse
    room: Room
    observer: Observer
    heard: Heard

    async def parts(self, *, optimizer: bool) -> Parts:
        """Clients, engine, what a dead process left, harness, rollouts: in this order."""
        config, target, stack, heard = self.config, self.target, self.stack, self.heard
        simulated = await _simulated(stack, target, config)
        await asyncio.to_thread(prepare, (target, config.optimizer if optimizer else None, config.judge))
        upstream = upstream_of(target, simulated)
        ask = partial(_client, stack, simulated=simulated, heard=heard)
        judge = _judge(ask, config, self.tasks)
        clients = [ask(config.optimizer, hasty=hasty) for hasty in (False, True) if optimizer]
        choice = await _engine(config, target, self.tasks)
        sandbox = choice.sandbox if choice else None
        tasks = await in_own_images(self.tasks, sandbox, engine_address(), self.state / "images")
        history = open_history(config)
        recovered = await recover(Place(self.state, self.journal, sandbox, history, config.skill.path))
        facts = await sandbox.facts() if sandbox else None
        boxes = await _boxes(target, tasks, sandbox, config)
        agent, canary = [
            await _harness(stack, target, one, sandbox, config, boxes=boxes, heard=heard)
            for one in (upstream, impatient(upstream))
        ]
        rollouts = Rollouts(
            agent,
            partial(score_task, context=Context(sandbox, self.scratch, limits_of(config), judge)),
            self.journal,
            attempts_folder=self.state / "attempts",
            workers=config.sandbox.workers,
            settings=_settings(config, target, facts, judge, boxes),
            observer=self.observer,
            purse=self.purse,
            salvage=recovered.salvage,
            room=self.room,
        )
        return Parts(
            config=config,
            tasks=tasks,
            history=history,
            journal=self.journal,
            harness=agent,
            rollouts=rollouts,
            purse=self.purse,
            models=self.models,
            observer=self.observer,
            optimizer=clients[0] if clients else None,
            canary=canary,
            optimizer_canary=clients[1] if clients else None,
            sandbox=sandbox,
            engine=facts,
            state=self.state,
            swept=tuple(recovered.removed),
            loud=(*(choice.reasons if choice else ()), *tasks.notices, *recovered.problems),
        )


def _settings(
    config: Config, target: TargetSection, facts: EngineFacts | None, judge: ModelClient | None, boxes: Boxes | None
) -> AttemptSettings:
    return AttemptSettings(
        activation=target.activation,
        max_turns=target.max_turns,
        tries=config.train.attempt_tries,
        image_digest=facts.image_digest if facts and (target.harness != "chat" or boxes) else "",
        runtime=facts.runtime if facts and (target.harness != "chat" or boxes) else "",
        judge=f"{judge.provider}/{judge.model}" if judge else "",
    )


def _lay_state(state: Path) -> Path:
    """Keep the state folder out of git; returns its scratch folder."""
    state.joinpath(".gitignore").write_text("*\n", encoding="utf-8")
    scratch = state / "scratch"
    scratch.mkdir(exist_ok=True)
    return scratch


def _client(
    stack: AsyncExitStack,
    section: ModelSection,
    *,
    simulated: SimulatedModel | None,
    heard: Heard,
    hasty: bool = False,
) -> ModelClient:
    upstream = upstream_of(section, simulated)
    client = make_client(impatient(upstream) if hasty else upstream, section.model, price=price_from(section))
    stack.push_async_callback(client.close)
    return HeardClient(client, heard)


def _judge(ask: Callable[[ModelSection], ModelClient], config: Config, tasks: TaskSet) -> ModelClient | None:
    """The model that judges rubrics, where a task has one; raises `ConfigError` if none is named then."""
    if not any(map(needs_judge, tasks.tasks)):
        return None
    if config.judge is None:
        msg = f"{config.file}: [judge] is missing, and a task has a rubric: add the section with provider and model"
        raise ConfigError(msg)
    return ask(config.judge)


async def _simulated(stack: AsyncExitStack, target: TargetSection, config: Config) -> SimulatedModel | None:
    sections = (target, config.optimizer, config.judge)
    if not any(section is not None and is_simulated(section) for section in sections):
        return None
    return await stack.enter_async_context(SimulatedModel())


async def _engine(config: Config, target: TargetSection, tasks: TaskSet) -> Choice | None:
    """The engine, if anything needs one; refuses to show a real key to an engine that isolates nothing."""
    if target.harness == "chat" and not any(needs_sandbox(task) or runs_scripts(task) for task in tasks.tasks):
        return None
    section = config.sandbox
    choice = await engine_of(config)
    facts = await choice.sandbox.facts()
    if not facts.isolated and not section.allow_unsandboxed and not is_simulated(target):
        msg = (
            f"only the {facts.engine} engine is available ({'; '.join(choice.reasons)}) and it protects nothing: "
            "run `honed setup`, or set allow_unsandboxed = true in [sandbox] to run agents unprotected"
        )
        raise SandboxError(msg)
    await asyncio.to_thread(keep_engine, state_folder(config), section.engine, choice)
    return choice


async def engine_of(config: Config) -> Choice:
    """The engine that the configuration asks for, whether anything needs it or not; raises `SandboxError`."""
    rootfs = rootfs_status(honed_home())
    return await choose_engine(
        config.sandbox.engine,
        image=config.sandbox.image or SANDBOX_IMAGE,
        rootfs=rootfs.path if rootfs else None,
        owner=owner_id(config),
        docker_url=engine_address(),
        runtime=config.sandbox.runtime,
    )


def owner_id(config: Config) -> str:
    """The state directory's id: labels what is ours."""
    return hashlib.sha256(str(state_folder(config).resolve()).encode()).hexdigest()[:12]


async def _boxes(target: TargetSection, tasks: TaskSet, sandbox: Sandbox | None, config: Config) -> Boxes | None:
    """Where a chat model's scripts run; None where it runs none."""
    if sandbox is None or target.harness != "chat" or not any(map(runs_scripts, tasks.tasks)):
        return None
    return Boxes(sandbox, limits_of(config), await _programs(sandbox))


async def _harness(
    stack: AsyncExitStack,
    target: TargetSection,
    upstream: Upstream,
    sandbox: Sandbox | None,
    config: Config,
    *,
    boxes: Boxes | None,
    heard: Heard,
) -> Harness:
    price = price_from(target)
    if target.harness == "chat":
        client = HeardClient(make_client(upstream, target.model, price=price), heard)
        stack.push_async_callback(client.close)
        host = urlsplit(upstream.base_url).hostname or ""
        settings = ChatSettings(host, target.max_output_tokens, target.temperature, caps=_caps(target))
        return ChatHarness(client, settings, boxes)
    assert sandbox is not None
    gateway = ModelGateway(state_folder(config) / "doors", heard=heard)
    stack.push_async_callback(gateway.close)
    kind: type[CodexHarness | ClaudeCodeHarness] = CodexHarness if target.harness == "codex" else ClaudeCodeHarness
    cli = find_cli(agents_folder(honed_home()), "codex" if target.harness == "codex" else "claude")
    cli_settings = CliSettings(
        cli=replace(cli, version=await ask_version(cli)),
        policy=DoorPolicy(upstream=upstream, model=target.model, caps=_caps(target), price=price),
        activation=target.activation,
        limits=limits_of(config),
        mounts=await _programs(sandbox),
        patience=Patience(target.idle_s),
    )
    return kind(sandbox, gateway, cli_settings)


def _caps(target: TargetSection) -> Caps:
    return Caps(target.max_requests, target.max_tokens, target.max_usd)


async def _programs(sandbox: Sandbox) -> tuple[Mount, ...]:
    """What the sandbox image has and an engine over the host's own root may lack."""
    if (await sandbox.facts()).image_digest != "host":
        return ()
    return (await ensure_toolkit(honed_home(), log.info),)


def limits_of(config: Config) -> Limits:
    """What one box may use."""
    section = config.sandbox
    return Limits(
        memory_bytes=section.memory_mb * MIB,
        cpus=section.cpus,
        pids=section.pids,
        workspace_bytes=section.workspace_mb * MIB,
    )
