"""The skill that a reading verb is about: the one of honed.toml, or another of the same repository, by name or folder.

Without a honed.toml, that of the repository around the current folder: history needs no configuration.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from daemon.config import load_config
from daemon.places import open_history
from skills_repo.finding import find_skill, top_folder
from skills_repo.history import Author, RepositoryError
from skills_repo.repository import SkillRepository

if TYPE_CHECKING:
    from daemon.config import Config

SkillName = Annotated[
    str | None,
    typer.Argument(metavar="SKILL", help="A skill's name or folder.", show_default="the skill of honed.toml"),
]


class WordsCommand(TyperCommand):
    """A verb whose words are sorted out by how many there are: its usage shows the argument's own metavar."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """`[OPTIONS] [SKILL] LINE`."""
        words = [str(param.metavar) for param in self.params if param.param_type_name == "argument"]
        return [self.options_metavar or "", *words]


async def history_of(file: Path, skill: str | None) -> SkillRepository:
    """The history to read; raises `ConfigError`, `RepositoryError`."""
    if skill is None:
        return open_history(load_config(file))
    here = await asyncio.to_thread(Path.cwd)
    if await asyncio.to_thread(file.exists):
        own = open_history(load_config(file))
        root, author = own.root, own.author
    else:
        root, author = await asyncio.to_thread(top_folder, here), Author("honed", "honed@localhost")
    return SkillRepository(root, await asyncio.to_thread(find_skill, root, skill, here), author=author)


async def is_skill(file: Path, word: str) -> bool:
    """A first word is a skill, and no commit: what it is where a verb takes either."""
    try:
        history = await history_of(file, word)
    except RepositoryError:
        return False
    try:
        await history.resolve(word)
    except RepositoryError:
        return True
    return False


async def must_be_own(config: Config, skill: str | None) -> None:
    """Raise `RepositoryError` if another skill is named than honed.toml's, which alone can be measured."""
    if skill is None:
        return
    history = await history_of(config.file, skill)
    if history.skill_path != config.skill.path.rstrip("/"):
        msg = f"{config.file.name} measures {config.skill.path}, not {history.skill_path}"
        raise RepositoryError(f"{msg} (name a configuration for that with --config)")
