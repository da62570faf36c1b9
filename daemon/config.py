"""`honed.toml` as frozen pydantic models.

Every error names the key and, where it can be found, the line. Keys hold no secrets: API keys come from where
`api_key_env`, `api_key_file` or `api_key_command` says.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import Field, ValidationError

from daemon.config_daemon import DaemonSection
from daemon.config_errors import Finding, findings, to_line
from daemon.config_hooks import HooksSection
from daemon.config_inbox import InboxSection
from daemon.config_publish import PublishSection
from daemon.config_retention import RetentionSection
from daemon.config_telemetry import TelemetrySection
from daemon.config_train import BudgetSection, Section, TrainSection
from daemon.config_values import VARIABLE, is_address
from harnesses.harness import Activation
from sandboxes.gateway.policy import Provider
from skills_repo.editable import wrong_pattern
from skills_repo.risky import RiskKind
from skills_repo.skill import SKILL_FILE

_HOST = re.compile(r"(?:\*\.)?[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,8}")


class ConfigError(Exception):
    """The configuration cannot be used; `str()` is one line: file, line, key, what and the remedy."""


class SkillSection(Section):
    """`[skill]`: what is honed."""

    path: str
    """Folder of the skill inside the repository (relative POSIX path); its name is the skill's name."""
    repository: Path = Path()
    """The git repository, relative to honed.toml."""
    max_chars: int = Field(default=20_000, ge=500)
    editable: tuple[str, ...] = ("SKILL.md",)
    """Files of the folder that edits may change, as globs; SKILL.md always is."""
    references: bool = False
    """Edits may create, change and remove `references/*.md`."""
    max_reference_chars: int = Field(default=20_000, ge=500)
    """Of any file but SKILL.md that edits change or create."""
    refuse: tuple[RiskKind, ...] = (RiskKind.REMOTE_CODE, RiskKind.SAFEGUARDS)
    """Risky kinds of edits that are not even tried; those not named are tried, and flagged for people."""
    allowed_hosts: tuple[str, ...] = ()
    """Hosts whose `http` addresses are no risk; `*.example.com` is all below it."""
    initial: str = "existing"
    """What a run starts from: `existing` (the repository's skill), `empty`, or a folder relative to honed.toml."""
    follow: bool = True
    """A new run starts from the version that people committed to HEAD, with honed's unpublished edits made again."""


class TasksSection(Section):
    """`[tasks]`: what is measured."""

    path: Path
    """A task set of any format, relative to honed.toml, or `python:NAME`."""
    split: tuple[int, int, int] = (4, 1, 5)
    """train : selection : test, for tasks without an explicit split."""
    split_seed: int = 42
    min_selection: int = Field(default=4, ge=1)
    """Fewer selection tasks than this decide nothing: an error."""


class PriceSection(Section):
    """US dollars for a million tokens; overrides the built-in table."""

    input: float = Field(ge=0)
    cached_input: float | None = Field(default=None, ge=0)
    cache_write: float | None = Field(default=None, ge=0)
    """Of input written to the prompt cache; None: 1.25 times `input`, Anthropic's rate."""
    output: float = Field(ge=0)


class ModelSection(Section):
    """A model behind a provider."""

    provider: Provider = "openai"
    model: str
    base_url: str | None = None
    """None: the provider's public address. For OpenAI-compatible servers with their version path (`…/v1`)."""
    api_key_env: str | None = None
    """None: OPENAI_API_KEY or ANTHROPIC_API_KEY, unless one of the next two is given."""
    api_key_file: Path | None = None
    """A file that holds the key alone and that nobody else may read, relative to honed.toml."""
    api_key_command: tuple[str, ...] = ()
    """A program with its arguments, run without a shell, that prints the key."""
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
    idle_s: float = Field(default=300.0, ge=10)
    """Of a CLI: how long it may print, record and ask nothing while nothing of the agent's is at work."""


class OptimizerSection(ModelSection):
    """`[optimizer]`: the model that proposes edits."""

    workers: int = Field(default=4, ge=1)
    """Requests at the same time."""


class SandboxSection(Section):
    """`[sandbox]`: where agents run."""

    engine: Literal["auto", "docker", "bubblewrap", "process"] = "auto"
    image: str | None = None
    """None: honed's own sandbox image."""
    runtime: str | None = Field(default=None, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$")
    """What Docker starts boxes with (`runsc`, `kata-runtime`, …); None: the engine's own default."""
    workers: int = Field(default=2, ge=1)
    memory_mb: int = Field(default=4096, ge=256)
    cpus: float = Field(default=2.0, gt=0)
    pids: int = Field(default=512, ge=32)
    workspace_mb: int = Field(default=1024, ge=8)
    allow_unsandboxed: bool = False
    """Lets the process engine run with a real key: it protects nothing."""


class GitSection(Section):
    """`[git]`: whose name commits carry, and what is kept beside them."""

    author_name: str = "honed"
    author_email: str = "honed@localhost"
    sign: Literal["auto", "never", "always"] = "auto"
    """Sign commits: where git's own configuration asks for it and the key is there; never; or not commit at all."""
    keep_rejected: int = Field(default=100, ge=0)
    """Rejected candidates that are kept, the newest; 0: none."""
    keep_rejected_days: float = Field(default=90.0, ge=0)
    notes: bool = False
    """Each run's report becomes a git note on its last commit."""


class Config(Section):
    """The whole file."""

    skill: SkillSection
    tasks: TasksSection
    target: TargetSection
    optimizer: OptimizerSection
    judge: ModelSection | None = None
    """`[judge]`: the model that judges rubrics; needed where a task has one."""
    train: TrainSection = TrainSection()
    budget: BudgetSection = BudgetSection()
    sandbox: SandboxSection = SandboxSection()
    git: GitSection = GitSection()
    publish: PublishSection = PublishSection()
    retention: RetentionSection = RetentionSection()
    daemon: DaemonSection = DaemonSection()
    hooks: HooksSection = HooksSection()
    telemetry: TelemetrySection = TelemetrySection()
    inbox: InboxSection = InboxSection()
    file: Path = Path("honed.toml")
    """Where it was read from (absolute); relative paths were resolved against its folder."""


SIMULATED = "simulated:"
"""The `base_url` of the demo's simulated model."""
_PROVIDER_OF = {"codex": "openai", "claude-code": "anthropic"}
_NESTED = "{}: is nested too deeply (use the sections and keys of docs/configuration.md alone)"


def load_config(path: Path) -> Config:
    """Read, check and resolve a honed.toml; raises `ConfigError` naming file, line, key and remedy.

    Relative `repository` and `tasks` paths count from the file's own folder. Opens nothing but the file.
    """
    file = path.absolute()
    text = _read(file)
    data = _parse(file, text)
    if "file" in data:
        raise ConfigError(to_line(file, text, [(("file",), "is no section: remove it")]))
    try:
        # JSON mode: strict about types, yet a TOML list is a tuple and text is a path.
        config = Config.model_validate_json(json.dumps(data, default=lambda date: [str(date)]), strict=True)
    except ValidationError as error:
        raise ConfigError(to_line(file, text, findings(error, Config))) from error
    except RecursionError as error:
        raise ConfigError(_NESTED.format(file)) from error
    wrong = _check(config)
    if wrong:
        raise ConfigError(to_line(file, text, wrong))
    return _resolved(config, file)


def _parse(file: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(_syntax(file, str(error))) from error
    except RecursionError as error:
        raise ConfigError(_NESTED.format(file)) from error


def _read(file: Path) -> str:
    try:
        if file.is_fifo() or file.is_char_device():  # reading would wait for ever
            raise ConfigError(f"{file}: is no regular file (name one with --config)")
        return file.read_bytes().decode("utf-8-sig")
    except FileNotFoundError as error:
        raise ConfigError(f"{file}: no such file (run `honed init`, or name it with --config)") from error
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror} (check the path and its permissions)") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: is not UTF-8 (save it as UTF-8)") from error


def _syntax(file: Path, message: str) -> str:
    found = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", message, re.DOTALL)
    if found is None:
        return f"{file}: is not valid TOML: {message}"
    return f"{file}:{found[2]}: is not valid TOML: {found[1]} (column {found[3]}; put text in double quotes)"


def _check(config: Config) -> list[Finding]:
    """What no single value shows: values against each other, and texts that must have a form."""
    wrong: list[Finding] = []
    train, target = config.train, config.target
    if not is_inside(config.skill.path):
        wrong.append((("skill", "path"), "must be a folder inside the repository, such as `skills/my-skill`"))
    skill, tasks = config.skill, config.tasks
    paths = ((("skill", "repository"), skill.repository), (("skill", "initial"), skill.initial))
    for at, path in (*paths, (("tasks", "path"), tasks.path)):
        wrong += [(at, "must not hold a NUL character: no path has one")] if "\0" in str(path) else []
    wrong += _check_files(config)
    if min(config.tasks.split) < 1:
        wrong.append((("tasks", "split"), "must have three shares of at least 1: train, selection, test"))
    if train.min_edit_budget > train.edit_budget:
        what = f"must be at most edit_budget ({train.edit_budget}), not {train.min_edit_budget}: lower it"
        wrong.append((("train", "min_edit_budget"), what))
    needed = _PROVIDER_OF.get(target.harness, target.provider)
    if target.provider != needed:
        what = f'must be "{needed}" for harness "{target.harness}", not "{target.provider}"'
        wrong.append((("target", "provider"), what))
    what = "must have a letter or digit, and no line end, control character, '<' or '>'"
    names = (("author_name", config.git.author_name), ("author_email", config.git.author_email))
    wrong += [(("git", key), what) for key, text in names if not _is_identity(text)]
    for name, section in (("target", target), ("optimizer", config.optimizer), ("judge", config.judge)):
        wrong += [((name, key), what) for key, what in (_check_model(section) if section else [])]
    return wrong


def _check_files(config: Config) -> list[Finding]:
    """Other files than SKILL.md are edited by patches, for agents that can open them."""
    skill = config.skill
    wrong: list[Finding] = [(("skill", "editable"), what) for p in skill.editable if (what := wrong_pattern(p))]
    if any(not _HOST.fullmatch(host) for host in skill.allowed_hosts):
        what = 'must be names of hosts in lower case, like "docs.example.com" or "*.example.com"'
        wrong.append((("skill", "allowed_hosts"), what))
    key = "references" if skill.references else "editable"
    if skill.references or any(pattern != SKILL_FILE for pattern in skill.editable):
        if config.train.update_mode != "patch":
            what = f'needs [train] update_mode = "patch": mode "{config.train.update_mode}" writes SKILL.md alone'
            wrong.append((("skill", key), what))
        if config.target.harness == "chat":
            what = 'needs [target] harness = "codex" or "claude-code": a chat model is given SKILL.md alone'
            wrong.append((("skill", key), what))
    return wrong[:1]


def is_inside(path: str) -> bool:
    """The path is a plain relative POSIX path that stays inside."""
    return not any(part in ("", ".", "..") or "\\" in part for part in path.rstrip("/").split("/"))


def _is_identity(text: str) -> bool:
    """Git takes it as a name as it is: it refuses what is punctuation alone, and drops some characters silently."""
    return any(map(str.isalnum, text)) and text.isprintable() and not set("<>") & set(text)


def _check_model(section: ModelSection) -> list[tuple[str, str]]:
    wrong = []
    if not section.model.strip():
        wrong.append(("model", "must name a model"))
    if section.api_key_env is not None and not VARIABLE.fullmatch(section.api_key_env):
        wrong.append(("api_key_env", "must be the name of an environment variable, never the key itself"))
    given = [key for key in ("api_key_env", "api_key_file", "api_key_command") if getattr(section, key)]
    if len(given) > 1:
        wrong.append((given[-1], f"cannot be given beside {given[0]}: a key comes from one place"))
    if section.api_key_file is not None and "\0" in str(section.api_key_file):
        wrong.append(("api_key_file", "must not hold a NUL character: no path has one"))
    command = section.api_key_command
    if command and (not command[0].strip() or any("\0" in part for part in command)):
        wrong.append(("api_key_command", "must begin with a program, and hold no NUL character"))
    if section.base_url is not None and section.base_url != SIMULATED and not is_address(section.base_url):
        wrong.append(("base_url", "must be http(s)://host[:port][/path] without user, query or fragment"))
    return wrong


def _real(path: Path) -> Path:
    """Links followed; one that leads in a circle stays, for whoever opens it to say so."""
    return Path(os.path.realpath(path))


_Model = TypeVar("_Model", bound=ModelSection)


def _with_key(section: _Model, folder: Path) -> _Model:
    """The section with its key's file and program named from the root."""
    changes: dict[str, Any] = {}
    if section.api_key_file is not None:
        changes["api_key_file"] = folder / _of_home(section.api_key_file)
    if section.api_key_command and "/" in section.api_key_command[0]:
        program, *arguments = section.api_key_command
        changes["api_key_command"] = (str(folder / _of_home(Path(program))), *arguments)
    return section.model_copy(update=changes) if changes else section


def _of_home(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError:  # nobody of that name: whoever opens it says so
        return path


def _resolved(config: Config, file: Path) -> Config:
    folder = file.parent
    changes: dict[str, Any] = {
        "skill": config.skill.model_copy(
            update={"path": config.skill.path.rstrip("/"), "repository": _real(folder / config.skill.repository)}
        ),
        "tasks": config.tasks.model_copy(update={"path": _real(folder / config.tasks.path)}),
        "file": file,
        "target": _with_key(config.target, folder),
        "optimizer": _with_key(config.optimizer, folder),
        "judge": config.judge and _with_key(config.judge, folder),
    }
    return config.model_copy(update=changes)
