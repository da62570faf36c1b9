"""A project keeps its engine: `engine = "auto"` never moves it to a weaker one in the middle of its history.

Invariant: what a project last ran in is noted before anything runs in it. Neither scores nor protection are the same in
a weaker engine, so going there is a person's word in honed.toml, never what is left when Docker happens to be down.
"""

from __future__ import annotations

from pathlib import Path

from sandboxes.choose import Choice, Preference
from sandboxes.sandbox import SandboxError

FILE = "engine"
"""In the state folder."""
_STRONGEST_FIRST = ("docker", "bubblewrap", "process")


def keep_engine(state: Path, preference: Preference, choice: Choice) -> None:
    """Note the engine that was chosen (blocks); raises `SandboxError` where `auto` fell back from a stronger one."""
    before, now = _noted(state), choice.sandbox.name
    if preference == "auto" and _weaker(now, before):
        why = next((reason for reason in choice.reasons if reason.startswith(f"{before} ")), f"{before} is not used")
        message = (
            f"{why}, and this project has run in {before} so far: bring it back (`honed doctor` says how), or set "
            f'engine = "{now}" in [sandbox] to go on without it, in a new run and less protected'
        )
        raise SandboxError(message)
    if now != before:
        fresh = state / f".{FILE}.new"
        fresh.write_text(f"{now}\n", encoding="utf-8")
        fresh.replace(state / FILE)


def _noted(state: Path) -> str:
    try:
        return (state / FILE).read_text(encoding="utf-8", errors="replace").strip()
    except FileNotFoundError:
        return ""


def _weaker(now: str, before: str) -> bool:
    known = _STRONGEST_FIRST
    return now in known and before in known and known.index(now) > known.index(before)
