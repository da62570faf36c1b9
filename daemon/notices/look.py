"""Read what stands of one project. Cheap where nothing changed: some stats and two git processes."""

from __future__ import annotations

import asyncio
import hashlib
import json
import tomllib
from contextlib import suppress
from dataclasses import replace
from typing import Any

from daemon.config import Config, ConfigError, load_config
from daemon.notices.seen import ConfigSeen, Seen
from daemon.notices.skill import look_at_skill
from daemon.notices.tasks import look_at_tasks
from daemon.service.project import Project

RUN = ("skill", "tasks", "target", "optimizer", "judge", "train", "budget", "sandbox")
"""The sections that a run depends on."""
_PATHS = (("skill", "repository"), ("skill", "initial"), ("tasks", "path"))
"""Keys whose value changes by itself where a link on the way is led elsewhere: what is there is looked at anyway."""


async def look(project: Project, before: Seen | None) -> Seen:
    """What stands now. Raises nothing that a project can cause: see `Seen.wrong`.

    The configuration is read anew: one that can be used counts at once, else the project's last good one.
    """
    known = before or Seen()
    config, section, given = await asyncio.to_thread(_look_at_config, project, known)
    tasks_at, skill_at = known.tasks.at, known.skill.at
    if given or not tasks_at:
        tasks_at = str(_given(given, "tasks", "path", config.tasks.path))
        skill_at = json.dumps([str(_given(given, "skill", "repository", ".")), config.skill.path])
    tasks, skill = await asyncio.gather(
        asyncio.to_thread(look_at_tasks, config.tasks, tasks_at, known.tasks),
        look_at_skill(config, skill_at, known.skill),
    )
    return Seen(section, tasks, skill)


def _look_at_config(project: Project, known: Seen) -> tuple[Config, ConfigSeen, dict[str, Any]]:
    """The configuration to go by, what is noted of it, and the file's own values (none if it cannot be used)."""
    try:
        config = load_config(project.file)
    except ConfigError as error:
        return project.config, replace(known.config, wrong=str(error)), {}
    given: dict[str, Any] = {}
    with suppress(OSError, ValueError):  # saved again in between: the next look reads it
        given = tomllib.loads(project.file.read_bytes().decode("utf-8-sig"))
    return config, ConfigSeen(digest=config_digest(config, given)), given


def config_digest(config: Config, given: dict[str, Any]) -> str:
    """Of all that changes a run; `given`: the file's own values, for paths."""
    data: dict[str, Any] = {}
    for name in RUN:
        section = getattr(config, name)
        data[name] = None if section is None else section.model_dump(mode="json")
    for section, key in _PATHS:
        data[section][key] = _given(given, section, key, "")
    return "sha256:" + hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def _given(given: dict[str, Any], section: str, key: str, default: object) -> object:
    """A value as the file has it."""
    table = given.get(section)
    return table.get(key, default) if isinstance(table, dict) else default
