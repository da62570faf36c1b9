"""`honed init`: a honed.toml, a first task file and, where there is none, a bare skill."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from daemon.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile
from daemon.cli.output import Output
from daemon.cli.run import run
from daemon.config import ConfigError, is_inside
from daemon.config_template import render_default
from sandboxes.gateway.policy import Provider
from skills_repo.skill import initial_skill
from skills_repo.validate import MAX_NAME, NAME

if TYPE_CHECKING:
    from rich.console import Console

_TASKS = """\
{"id": "example-1", "prompt": "What is 2 + 2? Reply with the number.", "answer": "4", "scorer": "numeric"}
"""

_PROVIDERS: dict[str, Provider] = {"chat": "openai", "codex": "openai", "claude-code": "anthropic"}
MODELS: dict[Provider, str] = {"openai": "gpt-5.5", "anthropic": "claude-opus-5-5"}
"""What `init` writes down where no model is named: each provider's, with a price that is known."""


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("init")(init)


def init(
    *,
    skill: Annotated[str, typer.Option("--skill", help="Folder of the skill in the repository.")],
    harness: Annotated[
        Literal["chat", "codex", "claude-code"], typer.Option(help="How the agent is driven.")
    ] = "codex",
    model: Annotated[
        str | None, typer.Option(help="The agent's model.", show_default="gpt-5.5; claude-opus-5-5 for claude-code")
    ] = None,
    optimizer: Annotated[str | None, typer.Option(help="The optimizer's model (default: the agent's).")] = None,
    description: Annotated[str, typer.Option(help="For a new skill: what it does and when to use it.")] = "",
    config: ConfigFile = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Write honed.toml, an example task file and a bare skill; nothing that exists is overwritten.

    Example: honed init --skill skills/pdf-forms --harness codex --model gpt-5.5
    """
    output = Output(as_json=as_json)
    model = model or MODELS[_PROVIDERS[harness]]
    asked = _Asked(skill, harness, model, optimizer or model, description, config)
    run(output, lambda: _init(output, asked))


@dataclass(frozen=True)
class _Asked:
    skill: str
    harness: Literal["chat", "codex", "claude-code"]
    model: str
    optimizer: str
    description: str
    config: Path


async def _init(output: Output, asked: _Asked) -> None:
    written = await asyncio.to_thread(_write, asked)
    data = {"config": str(asked.config), "written": [str(path) for path in written]}
    output.result(data, lambda console: _render(console, written))


def _write(asked: _Asked) -> list[Path]:
    folder = asked.config.parent
    name = PurePosixPath(asked.skill).name
    if not NAME.fullmatch(name) or len(name) > MAX_NAME or not is_inside(asked.skill):
        msg = (
            f"--skill {asked.skill!r}: must be a folder inside the repository whose name has lowercase letters, "
            "digits and single hyphens, such as skills/my-skill"
        )
        raise ConfigError(msg)
    if asked.config.exists():
        msg = f"{asked.config}: exists already: edit it, or give another --config"
        raise ConfigError(msg)
    provider = _PROVIDERS[asked.harness]
    text = render_default(
        skill_path=asked.skill,
        tasks_path="tasks/tasks.jsonl",
        harness=asked.harness,
        target_provider=provider,
        target_model=asked.model,
        optimizer_provider=provider,
        optimizer_model=asked.optimizer,
    )
    files = {asked.config: text}
    skill_file = folder / asked.skill / "SKILL.md"
    if not skill_file.exists():
        files[skill_file] = initial_skill(name, asked.description or f"How to do {name} tasks.").text
    tasks = folder / "tasks" / "tasks.jsonl"
    if not tasks.exists():
        files[tasks] = _TASKS
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(files)


def _render(console: Console, written: list[Path]) -> None:
    for path in written:
        console.print(f"wrote {path}", markup=False)
    console.print(
        "next: write real tasks (aim at 24 or more selection tasks, they decide what is kept: give tasks a `split`, "
        "or set [tasks] split = [1, 1, 1] with 72), commit the skill, then `honed doctor`",
        markup=False,
    )
