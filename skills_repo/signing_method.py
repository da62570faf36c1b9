"""How commits are to be signed: what the repository's and the person's git configuration ask for, and with which key.

Invariants: read by `git config` alone, which runs nothing; a repository's own configuration may name a key and a
format, never a program.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from skills_repo.history import RepositoryError

_TIMEOUT_S = 20.0
_PERSONS = ("system", "global")
"""Scopes that belong to whoever runs honed."""
_TRUE = ("true", "yes", "on", "1")
_KEPT = ("PATH", "HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
_PROGRAMS = {"openpgp": ("gpg.openpgp.program", "gpg.program"), "ssh": ("gpg.ssh.program",)}
_DEFAULTS = {"openpgp": "gpg", "ssh": "ssh-keygen"}


@dataclass(frozen=True)
class Method:
    """What git is told."""

    asked: bool
    """`commit.gpgSign` is on."""
    format: Literal["openpgp", "ssh"]
    key: str
    """`user.signingKey`; may be empty for openpgp, which then goes by the committer's address."""
    program: str
    wrong: str = ""
    """Why this cannot work, known without trying."""

    @property
    def settings(self) -> list[str]:
        """Options of git that leave no word to any configuration."""
        pairs = [
            ("gpg.format", self.format),
            ("user.signingKey", self.key),
            *((name, self.program) for names in _PROGRAMS.values() for name in names),
            ("gpg.ssh.defaultKeyCommand", ""),
        ]
        return [part for key, value in pairs for part in ("-c", f"{key}={value}")]


def read_method(root: Path) -> Method:
    """The method that holds in a repository for whoever runs this. Blocking; raises `RepositoryError`."""
    rows = _rows(root)
    found = {key: value for scope, key, value in rows if scope in _PERSONS or not key.endswith("program")}
    form = found.get("gpg.format", "openpgp").lower()
    key = found.get("user.signingkey", "")
    asked = found.get("commit.gpgsign", "false").lower() in _TRUE
    if form == "ssh":
        wrong = "" if key else "git's user.signingKey names no key (set it to your public key or its file)"
        return _checked(asked, "ssh", key, found, wrong)
    wrong = "" if form == "openpgp" else f"gpg.format {form[:20]!r} is not supported here (use openpgp or ssh)"
    return _checked(asked, "openpgp", key, found, wrong)


def _checked(asked: bool, form: Literal["openpgp", "ssh"], key: str, found: Mapping[str, str], wrong: str) -> Method:
    if not key.isprintable() or key.startswith("-"):
        key, wrong = "", "git's user.signingKey is no key (set it to your key's id, or its file)"
    program = next((found[name] for name in _PROGRAMS[form] if found.get(name)), _DEFAULTS[form])
    program = os.path.expanduser(program)  # noqa: PTH111 - a path would lose the `./` that tells a file from a name
    return Method(asked, form, key, program, wrong)


def _rows(root: Path) -> list[tuple[str, str, str]]:
    """Scope, key (in small letters) and value of each setting, the strongest last."""
    env = {name: os.environ[name] for name in _KEPT if name in os.environ}
    argv = ["git", "-c", "safe.directory=*", "config", "--null", "--show-scope", "--list", "--includes"]
    try:
        done = subprocess.run(argv, cwd=root, env=env, capture_output=True, timeout=_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RepositoryError(f"git's configuration cannot be read in {root}: {error}") from error
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise RepositoryError(f"git's configuration cannot be read in {root}: {''.join(said) or 'git config failed'}")
    fields = done.stdout.decode("utf-8", "replace").split("\0")[:-1]
    rows = []
    for scope, row in zip(fields[::2], fields[1::2], strict=True):
        key, given, value = row.partition("\n")
        rows.append((scope, key.lower(), value if given else "true"))
    return rows
