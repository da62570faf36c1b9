"""`git bisect` over a skill's commits, in a bare repository of its own that borrows the objects of the real one.

Invariant: the real repository sees nothing of it: no `BISECT_…` file, no ref, no checkout.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from skills_repo.git import Git, GitFailedError
from skills_repo.history import RepositoryError

Word = Literal["good", "bad", "skip"]
_FIRST = re.compile(r"^# first bad commit: \[([0-9a-f]{40,64})\]", re.MULTILINE)
_POSSIBLE = re.compile(r"^# possible first bad commit: \[([0-9a-f]{40,64})\]", re.MULTILINE)
_ONLY_SKIPPED = 2
"""Git's exit code where what is left cannot be told apart."""


@dataclass(frozen=True)
class Bisection:
    """One search. Blocking: call it from a thread."""

    _git: Git

    @property
    def asks(self) -> str | None:
        """The commit to be judged next; None at the end."""
        return None if self.found else self._git.line("rev-parse", "--verify", "BISECT_HEAD")

    @property
    def found(self) -> tuple[str, ...]:
        """The first bad commit; several where skipped ones leave it open; empty before the end."""
        log = self._git.line("bisect", "log")
        first = _FIRST.findall(log)
        return tuple(first or dict.fromkeys(_POSSIBLE.findall(log)))

    def say(self, word: Word) -> None:
        """Judge the commit that is asked for."""
        try:
            self._git.run("bisect", word)
        except GitFailedError as error:
            if error.code != _ONLY_SKIPPED:
                raise


@contextmanager
def bisection(source: Git, skill_path: str, good: str, bad: str) -> Iterator[Bisection]:
    """Search between two commits (ids; `bad` grew from `good`) among those that changed the skill."""
    if source.line("rev-parse", "--is-shallow-repository") == "true":
        raise RepositoryError(f"{source.folder} is a shallow clone: its history is cut (run `git fetch --unshallow`)")
    objects = Path(source.line("rev-parse", "--git-path", "objects"))
    kind = source.line("rev-parse", "--show-object-format")
    with tempfile.TemporaryDirectory(prefix="honed-bisect-") as folder:
        git = Git(Path(folder))
        git.run("init", "--quiet", "--bare", f"--object-format={kind}", "--initial-branch=bisected", ".")
        borrowed = Path(folder, "objects", "info", "alternates")
        borrowed.write_bytes(_quoted((source.folder / objects).resolve()) + b"\n")
        git.run("update-ref", "refs/heads/bisected", bad)
        git.run("bisect", "start", "--no-checkout", bad, good, "--", skill_path)
        yield Bisection(git)


def _quoted(path: Path) -> bytes:
    """A path as git reads it in `alternates`, whatever its name holds: line ends, quotes, a leading `#`."""
    return b'"%s"' % b"".join(
        b"\\%03o" % byte if byte in b'"\\' or byte < 32 else b"%c" % byte for byte in os.fsencode(path)
    )
