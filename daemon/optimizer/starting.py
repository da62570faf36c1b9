"""What a run starts from, where it is not the repository's skill: an empty one, or a folder given."""

from __future__ import annotations

import asyncio
from pathlib import Path

from daemon.config import SkillSection
from skills_repo import frontmatter
from skills_repo.history import SkillHistory
from skills_repo.skill import Skill, read_folder
from skills_repo.validate import validate

EXISTING, EMPTY = "existing", "empty"


async def given_skill(section: SkillSection, history: SkillHistory, folder: Path) -> Skill | None:
    """The skill that `[skill] initial` asks for; None for the repository's own.

    `folder` is honed.toml's own: a given path counts from there. Raises `SkillError` if it cannot be used.
    """
    if section.initial == EXISTING:
        return None
    name = section.path.rsplit("/", 1)[-1]
    if section.initial != EMPTY:
        given = await asyncio.to_thread(read_folder, folder / section.initial)
        skill = Skill(name, given.files)
        validate(skill)
        return skill
    skill = await history.read(await history.base())
    head = frontmatter.split(skill.text).head
    return skill.with_text(f"{head.rstrip()}\n\n# {name}\n")
