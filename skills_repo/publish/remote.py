"""The remote as git sees it: what stands there, and an ordinary push.

Invariants: never forced; no hook, prompt, editor, signature, tag or submodule comes along; whatever runs is ended with
its children when its time is over. Unlike `skills_repo.git`, a person's own git configuration has a say here, for
credentials, proxies and keys are git's own affair. Blocking: call it from a thread.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from skills_repo.processes import run_to_end
from skills_repo.publish.address import same_project
from skills_repo.publish.errors import PublishError
from skills_repo.publish.said import reason

_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.askPass=",
    "credential.interactive=false",
    "safe.directory=*",
    "color.ui=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "fetch.recurseSubmodules=no",
    "push.recurseSubmodules=no",
    "push.followTags=false",
    "push.gpgSign=false",
)
_OUT = re.compile(r"GIT_(?!SSH|CONFIG_(?:GLOBAL|SYSTEM|NOSYSTEM)$|SSL_|PROXY_|HTTP_|EXEC_PATH$).*|SSH_ASKPASS|EDITOR")
"""Variables that would lead git to another repository, trace secrets, or ask a person."""
_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never",
}
_MOVED = ("fetch first", "non-fast-forward", "stale info", "failed to update ref", "cannot lock ref", "incorrect old")
"""What git and git servers say of a branch that another push has moved."""
_ROW = re.compile(r"(?:ref: (?P<target>refs/heads/\S+)|(?P<oid>[0-9a-f]{40,64}))\t(?P<name>\S+)")


class RemoteMovedError(PublishError):
    """The remote refused the push because its branch is not an ancestor: somebody was faster."""


@dataclass(frozen=True)
class Remote:
    """One named remote of one repository."""

    root: Path
    name: str
    timeout_s: float = 120.0
    withheld: frozenset[str] = field(default_factory=frozenset)
    """Environment variables that git must not see: keys of models."""

    def address(self) -> str:
        """Where pushes go: it may hold a password, so never print it. Raises `PublishError` if there is no such remote.

        A name that is no remote would be taken for a path by git, and what is read elsewhere than it is pushed to
        would say nothing about the push.
        """
        found = []
        for also in ((), ("--push",)):
            code, out, said = self._run("remote", "get-url", "--all", *also, "--", self.name)
            if code != 0:
                msg = f"there is no git remote {self.name} in {self.root} (`git remote add {self.name} …`, or mend "
                raise PublishError(msg + f"[publish] remote; git said: {reason(said)[0]})")
            found.append(out.split("\n")[:-1])
        if [len(urls) for urls in found] != [1, 1] or not same_project(found[0][0], found[1][0]):
            msg = f"remote {self.name} has several addresses, or pushes elsewhere than it fetches from"
            raise PublishError(f"{msg} (name one with a single address in [publish] remote)")
        return found[1][0]

    def heads(self) -> tuple[dict[str, str], str | None]:
        """Branch (full name) to commit, and the default branch's full name if the remote tells it."""
        self.address()
        code, out, said = self._run("ls-remote", "--symref", "--", self.name, "HEAD", "refs/heads/*")
        if code != 0:
            raise self._failed("cannot be read", said)
        found: dict[str, str] = {}
        default: str | None = None
        for line in out.splitlines():
            row = _ROW.fullmatch(line)
            if row is None:
                continue
            if row["target"] and row["name"] == "HEAD":
                default = row["target"]
            elif row["oid"] and row["name"].startswith("refs/heads/"):
                found[row["name"]] = row["oid"]
        return found, default

    def fetch(self, ref: str) -> None:
        """Bring a branch's commits here: objects alone, no ref and no FETCH_HEAD is written."""
        argv = (
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-prune",
            "--no-write-fetch-head",
            "--refmap=",
            "--no-recurse-submodules",
        )
        code, _, said = self._run(*argv, "--", self.name, ref)
        if code != 0:
            raise self._failed("cannot be fetched from", said)

    def push(self, commit: str, ref: str) -> None:
        """Move a branch of the remote forward to a commit; raises `RemoteMovedError` if that is no step forward."""
        argv = ("push", "--porcelain", "--no-verify", "--no-follow-tags", "--no-signed", "--recurse-submodules=no")
        code, out, said = self._run(*argv, "--", self.name, f"{commit}:{ref}")
        if code == 0:
            return
        row = next((line for line in out.splitlines() if line.startswith("!")), "")
        if any(words in row for words in _MOVED):
            msg = f"{ref.removeprefix('refs/heads/')} on {self.name} moved while honed was pushing; nothing is lost"
            raise RemoteMovedError(f"{msg} (run `honed publish` again)")
        raise self._failed("refused the push", row.rsplit("\t", 1)[-1] or said)

    def _failed(self, what: str, stderr: str) -> PublishError:
        said, remedy = reason(stderr)
        also = f"{remedy}; try it" if remedy else "check the address and git's own credentials, for instance"
        return PublishError(f"remote {self.name} {what}: {said} ({also} with `git ls-remote {self.name}`)")

    def _run(self, *argv: str) -> tuple[int, str, str]:
        """Exit code, output and stderr: an address in it may hold a password, so show what `reason` makes of it."""
        command = ["git", "--no-pager", *[part for setting in _SETTINGS for part in ("-c", setting)], *argv]
        env = self._environment(os.environ)
        try:
            code, out, err = run_to_end(command, self.root, env, timeout_s=self.timeout_s)
        except OSError as error:
            raise PublishError(
                f"git cannot run in {self.root}: {error.strerror} (install git, check the path)"
            ) from error
        except subprocess.TimeoutExpired as error:
            msg = f"git {argv[0]} with remote {self.name} took longer than {self.timeout_s:g} s"
            raise PublishError(f"{msg} (is it reachable? raise [publish] timeout_s)") from error
        return code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")

    def _environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        kept = {
            name: value for name, value in environ.items() if name not in self.withheld and not _OUT.fullmatch(name)
        }
        return {**kept, **_ENVIRONMENT}
