"""Git as a subprocess with fixed arguments and an environment of its own.

Invariants: no user or system configuration, hook, signing key, pager, editor or `GIT_…` variable has a say; nothing
stays running after a call; text from models goes through stdin, never into arguments.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from skills_repo.history import RepositoryError
from skills_repo.ownership import hand_over, is_of_another
from skills_repo.processes import run_to_end

TIMEOUT_S = 120.0
_GLOBAL = Path(__file__).with_name("gitconfig")
"""Instead of a person's own: what git before 2.38 takes from no option."""
_SETTINGS = (
    "core.hooksPath=/dev/null",  # reference-transaction hooks run on update-ref
    "core.fsmonitor=false",
    "core.fsync=committed,reference",
    "core.splitIndex=false",  # the shared part of an index of our own would lie in the repository
    "core.filesRefLockTimeout=2000",  # somebody's `git pack-refs` or `git fetch` is waited for
    "core.packedRefsTimeout=10000",
    "diff.orderFile=/dev/null",
    "color.ui=false",
    "i18n.commitEncoding=UTF-8",
    "i18n.logOutputEncoding=UTF-8",
    "log.showSignature=false",
    "log.follow=false",
    "log.mailmap=false",
    "gc.auto=0",
)
_ENVIRONMENT = {
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": str(_GLOBAL),
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
}


class GitFailedError(Exception):
    """Git said no: `code` is its exit code, `stderr` its last line."""

    def __init__(self, verb: str, code: int, stderr: str) -> None:
        super().__init__(f"git {verb} failed: {stderr or f'exit code {code}'}")
        self.code = code
        self.stderr = stderr


def command(*argv: str) -> list[str]:
    """`git <argv>` with the settings that hold in every call."""
    return ["git", "--no-pager", *[part for setting in _SETTINGS for part in ("-c", setting)], *argv]


def environment(env: Mapping[str, str] | None = None) -> dict[str, str]:
    """The whole environment of a call, `env` on top of what holds in every one."""
    return {"PATH": os.environ.get("PATH", os.defpath), **_ENVIRONMENT, **(env or {})}


class Git:
    """Runs git in one folder. Blocking: call it from a thread."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, *argv: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> bytes:
        """Standard output of `git <argv>`; raises `GitFailedError`, or `RepositoryError` if git cannot run at all."""
        try:
            code, out, err = run_to_end(command(*argv), self.folder, environment(env), stdin=stdin, timeout_s=TIMEOUT_S)
        except subprocess.TimeoutExpired as error:
            raise RepositoryError(f"git {argv[0]} took longer than {TIMEOUT_S:.0f} s in {self.folder}") from error
        except FileNotFoundError as error:
            if not self.folder.is_dir():
                raise RepositoryError(f"no such folder: {self.folder} (check [skill] repository)") from error
            raise RepositoryError("git is not installed (install git 2.32 or newer)") from error
        except OSError as error:
            raise RepositoryError(f"git cannot run in {self.folder}: {error.strerror}") from error
        if code != 0:
            lines = err.decode("utf-8", "replace").strip().splitlines() or [""]
            said = next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[-1])
            raise GitFailedError(argv[0], code, said.removeprefix("fatal: ").removeprefix("error: "))
        if argv[0] == "update-ref" and is_of_another(self.folder):
            hand_over(self.folder / self.line("rev-parse", "--git-common-dir"))  # objects come before the ref
        return out

    def line(self, *argv: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> str:
        """The same for commands that answer with one line of text."""
        return self.run(*argv, stdin=stdin, env=env).decode("utf-8", "replace").strip("\n")

    def fields(self, argv: Sequence[str], stdin: bytes = b"", env: Mapping[str, str] | None = None) -> list[str]:
        """The same for commands that answer with NUL-ended fields; names that are not UTF-8 keep surrogates."""
        return self.run(*argv, stdin=stdin, env=env).decode("utf-8", "surrogateescape").split("\0")[:-1]
