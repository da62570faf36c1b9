"""Drafts of tasks on disk: folders in `drafts/` beside the task set, where no format looks for tasks.

Invariants: a draft has no `task.toml`, so that no loader takes it for a task wherever it is pointed; what a person may
have written is never overwritten; what a person dropped does not come back.
"""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from daemon.inbox.harvest import Draft
from daemon.notices.tasks import has_no_files
from daemon.tasks.formats.paths import check_task_id
from daemon.tasks.task import TaskError
from harnesses.traces.text import one_line

FOLDER = "drafts"
DRAFT = "draft.toml"
STUB = "HONED-DRAFT"
"""Stands in a verifier that nobody has written yet."""
_DROPPED = "dropped.txt"


@dataclass(frozen=True)
class Kept:
    """A draft that lies on disk."""

    id: str
    folder: Path
    kind: str
    label: str
    sessions: int
    verified: bool
    """A person has replaced the stub."""


@dataclass(frozen=True)
class Drafts:
    """The drafts beside a task set."""

    tasks: Path
    """`[tasks] path`."""

    @property
    def folder(self) -> Path:
        """Where they lie; raises `TaskError` for a set that has no place of its own."""
        if has_no_files(self.tasks):
            msg = f"{self.tasks.name}: has no folder for drafts: point [tasks] path to a tasks.jsonl or a folder"
            raise TaskError(msg)
        if (self.tasks / "task.toml").is_file():
            msg = f"{self.tasks}: is a single task: point [tasks] path to the folder that holds it"
            raise TaskError(msg)
        return (self.tasks if self.tasks.is_dir() else self.tasks.parent) / FOLDER

    def all(self) -> tuple[Kept, ...]:
        """Those that lie there, by id; blocks. Raises `TaskError` for one that cannot be read."""
        return tuple(_kept(file.parent) for file in sorted(self.folder.glob(f"*/{DRAFT}")))

    def find(self, draft: str) -> Kept:
        """One of them; raises `TaskError` if it is not there."""
        try:
            folder = self.folder / check_task_id(draft)
        except ValueError as error:
            raise TaskError(str(error)) from error
        if not (folder / DRAFT).is_file():
            msg = f"{folder}: there is no such draft: see `honed harvest --list`"
            raise TaskError(msg)
        return _kept(folder)

    def write(self, drafts: Sequence[Draft], taken: frozenset[str] = frozenset()) -> tuple[str, ...]:
        """Lay drafts that are not there, were not dropped and are no tasks (`taken`: ids); gives the new ones' ids."""
        known, made = taken | set(self._dropped()), []
        for draft in drafts:
            folder = self.folder / draft.id
            if draft.id in known or folder.exists():
                continue
            staged = self.folder / f".{draft.id}.part"
            shutil.rmtree(staged, ignore_errors=True)
            _lay(staged, draft)
            staged.rename(folder)
            made.append(draft.id)
        return tuple(made)

    def drop(self, draft: str) -> None:
        """Remove a draft for good."""
        kept = self.find(draft)
        lines = sorted({*self._dropped(), kept.id})
        staged = self.folder / f".{_DROPPED}.part"
        staged.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        staged.replace(self.folder / _DROPPED)
        shutil.rmtree(kept.folder)

    def _dropped(self) -> list[str]:
        file = self.folder / _DROPPED
        return file.read_text(encoding="utf-8").split() if file.is_file() else []


def _kept(folder: Path) -> Kept:
    file, script = folder / DRAFT, folder / "tests" / "test.sh"
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8")).get("harvest", {})
        verified = script.is_file() and STUB not in script.read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError) as error:
        msg = f"{file}: cannot be read: {error} (mend it, or remove the folder)"
        raise TaskError(msg) from error
    table = found if isinstance(found, dict) else {}
    sessions = table.get("sessions")
    return Kept(
        id=folder.name,
        folder=folder,
        kind=str(table.get("kind", "")),
        label=str(table.get("label", "")),
        sessions=len(sessions) if isinstance(sessions, list) else 0,
        verified=verified,
    )


def _lay(folder: Path, draft: Draft) -> None:
    files = {
        DRAFT: _toml(draft),
        "README.md": _readme(draft),
        "instruction.md": draft.prompt + "\n",
        "tests/test.sh": _stub(draft),
        **{f"environment/{path}": content for path, content in draft.files.items()},
    }
    for path, text in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8", errors="replace")
    (folder / "tests" / "test.sh").chmod(0o755)


def _toml(draft: Draft) -> str:
    """What becomes task.toml. JSON's strings and lists are TOML's, but for a DEL, which neutral text has not."""
    values = {
        "skill": draft.skill,
        "kind": draft.kind,
        "label": one_line(draft.label),
        "sessions": list(draft.sessions),
    }
    rows = "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in values.items())
    return f'version = "1.0"\n\n[metadata]\ngroup = "harvest"\n\n[harvest]\n{rows}'


def _stub(draft: Draft) -> str:
    said = "".join(f"#   {one_line(text, 200)}\n" for text in draft.said)
    return (
        "#!/bin/bash\n"
        f"# {STUB}: this verifier fails every attempt. Write one that tells right from wrong, and remove this line.\n"
        f"# What went wrong in {len(draft.sessions)} sessions: {draft.kind}: {one_line(draft.label, 120)}.\n"
        "# In their words:\n"
        f"{said}"
        "# The workspace is the current folder; /tests holds this script's own files.\n"
        "# Write one number from 0 to 1 to /logs/verifier/reward.txt, last.\n"
        "echo 0 > /logs/verifier/reward.txt\n"
        "exit 1\n"
    )


def _readme(draft: Draft) -> str:
    def listed(title: str, lines: Sequence[str]) -> str:
        return f"\n{title}\n" + "".join(f"- {one_line(line, 400)}\n" for line in lines) if lines else ""

    return (
        f"# Draft of a task: {draft.id}\n\n"
        f"Made of {len(draft.sessions)} sessions with the skill {draft.skill}, in which this went wrong: {draft.kind}: "
        f"{one_line(draft.label, 120)}.\nIt is no task: nothing runs or scores it before a person accepts it.\n\n"
        "1. Make `instruction.md` a request that stands on its own.\n"
        "2. Put what the agent needs under `environment/`.\n"
        f"3. Write `tests/test.sh`, and remove its line with {STUB}.\n"
        "   A `solution/solve.sh` lets `honed tasks check` prove it.\n"
        f"4. `honed harvest --accept {draft.id}`, then `honed tasks check`.\n"
        f"{listed('In the words of the sessions:', draft.said)}"
        f"{listed('Asked elsewhere when it went wrong:', draft.requests)}"
        f"{listed('Read by the agent, content not known:', draft.unknown)}"
    )
