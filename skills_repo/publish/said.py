"""What git, ssh and git servers say when they refuse, as one line and its remedy.

Invariant: no line holds the user part of an address; what the server wrote is neutral and short.
"""

from __future__ import annotations

import re

from skills_repo.hidden import drop_hidden
from skills_repo.publish.address import without_user

LONGEST = 300
_KNOWN: tuple[tuple[str, str], ...] = (
    (
        r"Host key for .* has changed",
        "the host's key is another one now: ask who runs it, and only then `ssh-keygen -R` the old one",
    ),
    (
        r"Host key verification failed|No .* host key is known",
        "ssh does not know this host: connect once by hand with `ssh`, compare the fingerprint and accept it",
    ),
    (
        r"Permission denied \(",
        "load your key with `ssh-add`, or name it in ~/.ssh/config; honed never asks for a passphrase",
    ),
    (
        r"could not read (?:Username|Password)|terminal prompts disabled",
        "give git a credential helper (`git help credentials`); honed never asks for a password",
    ),
    (r"Authentication failed|returned error: 401", "renew what git's credential helper holds"),
    (r"returned error: 403", "the credentials may not do this: give them the right to write"),
    (
        r"does not appear to be a git repository|[Rr]epository .*not found|returned error: 404",
        "check the address with `git remote -v`, and that you may see it",
    ),
    (
        r"Could not resolve host|Connection refused|Connection timed out|No route to host|Network is unreachable|"
        r"Failed to connect|Couldn't connect|Operation timed out",
        "check the address with `git remote -v`, and the network",
    ),
)
_PATTERNS = tuple((re.compile(pattern), remedy) for pattern, remedy in _KNOWN)
_MARKS = ("fatal:", "error:", "remote: ")


def reason(stderr: str) -> tuple[str, str]:
    """The line that says why, and what mends it (empty where that is not known).

    ssh speaks before git does: git's own `Could not read from remote repository` says nothing.
    """
    lines = [line.strip() for line in drop_hidden(stderr.replace("\r", "\n")).splitlines() if line.strip()]
    for pattern, remedy in _PATTERNS:
        for line in lines:
            if pattern.search(line):
                return _short(line), remedy
    told = next((line for line in lines if line.startswith(_MARKS)), lines[-1] if lines else "")
    return _short(told), ""


def _short(line: str) -> str:
    told = without_user(line.removeprefix("fatal: ").removeprefix("error: "))
    return told[:LONGEST] or "git gave no reason"
