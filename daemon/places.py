"""Where a configuration's things are: the state folder and the skill's history. Cheap to import: opens nothing."""

from __future__ import annotations

from pathlib import Path

from daemon.config import Config
from daemon.private import NAME
from skills_repo.history import Author
from skills_repo.rejected_refs import RejectedRefs
from skills_repo.repository import SkillRepository
from skills_repo.signing import Signer


def state_folder(config: Config) -> Path:
    """`.honed` beside honed.toml: journal, lock and attempts."""
    return config.file.parent / NAME


def may_be_there(path: Path) -> bool:
    """False: nothing is there. Where nobody may look it is left to whoever opens it to say so. Blocks for a moment."""
    try:
        return path.exists()
    except OSError:
        return True


def author_of(config: Config) -> Author:
    """Whose name commits carry, and how they are signed."""
    signer = Signer(config.skill.repository, config.git.sign)
    return Author(config.git.author_name, config.git.author_email, signer)


def open_history(config: Config) -> SkillRepository:
    """The skill's history; opens nothing yet."""
    return SkillRepository(config.skill.repository, config.skill.path, author=author_of(config))


def open_rejected(config: Config) -> RejectedRefs:
    """Edits of the skill that were turned down; opens nothing yet."""
    return RejectedRefs(config.skill.repository, config.skill.path, author=author_of(config))
