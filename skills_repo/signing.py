"""Signatures on commits, made by git itself with the key that its configuration names.

Invariants: nothing asks a question or waits for one (no terminal, no askpass, no pinentry), and what hangs is ended
with all its children; no program runs that only the repository's own configuration names; under `auto` a signature
that cannot be made is said once and left out, under `always` nothing is committed without one.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import structlog

from skills_repo.git import Git, GitFailedError, command, environment
from skills_repo.history import RepositoryError
from skills_repo.processes import run_to_end
from skills_repo.signing_method import Method, read_method

SignMode = Literal["auto", "never", "always"]

log = structlog.get_logger(__name__)

TIMEOUT_S = 20.0
_AGENTS = ("HOME", "GNUPGHOME", "SSH_AUTH_SOCK", "XDG_RUNTIME_DIR")
"""What a signing program needs to find keys and agents; a display or a terminal it shall not find."""
_SILENT = {"SSH_ASKPASS": "false", "SSH_ASKPASS_REQUIRE": "force"}
_BATCH = "--batch --no-tty --pinentry-mode error"


class CannotSignError(Exception):
    """Why there is no signature, with what mends it."""


class Signer:
    """Signs commits in one repository. Reads its configuration when it is first asked."""

    def __init__(self, root: Path, mode: SignMode, *, timeout_s: float = TIMEOUT_S) -> None:
        self._root = root.absolute()
        self._mode = mode
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._given_up = False

    def commit_tree(self, tree: str, parent: str, message: bytes, who: Mapping[str, str]) -> str | None:
        """See `SignsCommits.commit_tree`."""
        with self._lock:
            if self._mode == "never" or self._given_up:
                return None
            try:
                method = self._method()
                if method is None:
                    return None
                return self._sign(method, [tree, "-p", parent], message, dict(who))
            except CannotSignError as error:
                if self._mode == "always":
                    raise RepositoryError(f'[git] sign = "always", but no commit can be signed: {error}') from error
                self._given_up = True
                log.warning("git is configured to sign commits, but these are not signed", reason=str(error))
                return None

    def probe(self, who: Mapping[str, str]) -> str:
        """Sign something in a folder of our own; how commits are signed, empty if they are not to be.

        Raises `CannotSignError`. Blocking.
        """
        with self._lock:
            method = None if self._mode == "never" else self._method()
            if method is None:
                return ""
            with tempfile.TemporaryDirectory(prefix="honed-sign-") as folder:
                try:
                    Git(Path(folder)).run("init", "-q", "--bare", "--template=", ".")
                    tree = Git(Path(folder)).line("mktree")
                except GitFailedError as error:
                    raise CannotSignError(str(error)) from error
                # Where the repository is, for a key may be named by a path from there.
                self._sign(method, [tree], b"x\n", {**who, "GIT_DIR": folder})
            return method.format

    def _method(self) -> Method | None:
        """None where nobody asks for signatures."""
        try:
            method = read_method(self._root)
        except RepositoryError as error:
            raise CannotSignError(str(error)) from error
        if self._mode == "auto" and not method.asked:
            return None
        if method.wrong:
            raise CannotSignError(method.wrong)
        return method

    def _sign(self, method: Method, what: Sequence[str], message: bytes, env: Mapping[str, str]) -> str:
        agents = {name: os.environ[name] for name in _AGENTS if name in os.environ}
        with tempfile.TemporaryDirectory(prefix="honed-sign-") as folder:
            committer = f"{env['GIT_COMMITTER_NAME']} <{env['GIT_COMMITTER_EMAIL']}>"
            settings = _batched(method, committer, Path(folder)).settings
            argv = command(*settings, "commit-tree", *what, "-S", "-F", "-")
            code, out, err = self._call(argv, environment({**env, **agents, **_SILENT}), message)
        made = out.decode("ascii", "replace").strip()
        if code != 0 or not made:
            key = f" (key {method.key or committer!r}: is it there, and its agent unlocked?)"
            raise CannotSignError(
                (_reason(err.decode("utf-8", "replace")) or f"git commit-tree -S ended with exit code {code}") + key
            )
        return made

    def _call(self, argv: Sequence[str], env: Mapping[str, str], stdin: bytes) -> tuple[int, bytes, bytes]:
        try:
            return run_to_end(argv, self._root, env, stdin=stdin, timeout_s=self._timeout_s)
        except OSError as error:
            raise CannotSignError(f"git cannot run in {self._root}: {error.strerror}") from error
        except subprocess.TimeoutExpired as error:
            what = f"signing took longer than {self._timeout_s:.0f} s"
            raise CannotSignError(f"{what} (is the key's agent unlocked, or does it wait for a touch?)") from error


def _batched(method: Method, committer: str, folder: Path) -> Method:
    """GnuPG by way of a script of ours that forbids it to ask; others are silent by their environment.

    Without a key it goes by who commits, as git does.
    """
    if method.format != "openpgp":
        return method
    script = folder / "gpg"
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(method.program)} {_BATCH} "$@"\n', encoding="utf-8")
    script.chmod(0o700)
    return replace(method, key=method.key or committer, program=str(script))


def _reason(said: str) -> str:
    """The line of what was printed that tells most, without control characters."""
    lines = [line.strip() for line in said.splitlines() if line.strip() and not line.startswith("[GNUPG:]")]
    errors = [line for line in lines if not line.startswith(("fatal: failed to write", "error: gpg failed"))] or lines
    text = " ".join(errors[-1:]).removeprefix("error: ").removeprefix("fatal: ")
    return "".join(char for char in text if char.isprintable())[:300]
