"""What reflection asks for in each update mode: roles, reply schema, and how a reply is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic

from pydantic import BaseModel

from daemon.optimizer.proposals import P, to_edit
from daemon.optimizer.replies import ReflectReply
from daemon.optimizer.replies_files import schemas
from daemon.optimizer.skill_files import SkillFiles
from skills_repo.edits import Edit


@dataclass(frozen=True)
class ReflectForm(Generic[P]):
    """One mode's question to reflection."""

    failures: str
    """Role for minibatches of failures; also names the template `<role>.system.j2`."""
    successes: str
    schema: type[BaseModel]
    """Of the reply; it has `patterns`."""
    read: Callable[[Any, Sequence[str]], tuple[P, ...]]
    """A reply and the minibatch's task ids to what it proposes; empty for nothing."""
    wish: Callable[[int | None], str]
    """The prompt's last line, by edit budget."""

    def role(self, *, solved: bool) -> str:
        """Whom to ask about a minibatch."""
        return self.successes if solved else self.failures


def _read(reply: ReflectReply, ids: Sequence[str]) -> tuple[Edit, ...]:
    return tuple(to_edit(edit, ids) for edit in reply.edits)


def at_most(one: str, many: str) -> Callable[[int | None], str]:
    """The wish for at most so many of something."""

    def wish(budget: int | None) -> str:
        if budget is None:
            return f"Propose as many {many} as are needed, and no more."
        return f"Propose at most {budget} {one if budget == 1 else many}."

    return wish


EDITS: ReflectForm[Edit] = ReflectForm(
    "reflect_failures", "reflect_successes", ReflectReply, _read, at_most("edit", "edits")
)
"""Patch mode's: edits at once."""


def for_files(form: ReflectForm[Any], files: SkillFiles | None) -> ReflectForm[Any]:
    """The form with replies that may name other files; other forms than `EDITS` know SKILL.md alone."""
    return form if files is None or form.schema is not ReflectReply else replace(form, schema=schemas(files).reflect)
