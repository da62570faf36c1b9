"""Keys for signing, a person's git configuration, and whether a signature holds."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.skills import HONED

needs_ssh = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
needs_gpg = pytest.mark.skipif(shutil.which("gpg") is None, reason="gpg is not installed")


def ssh_key(folder: Path, *, passphrase: str = "") -> Path:
    """A new ed25519 key; its public half is beside it (`.pub`)."""
    key = folder / "key"
    folder.mkdir(parents=True, exist_ok=True)
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", "test", "-f", str(key)]
    subprocess.run(argv, check=True, capture_output=True)
    return key


@contextmanager
def gpg_key(home: Path, *, passphrase: str = "") -> Iterator[str]:
    """A new key in a GnuPG folder of its own (`GNUPGHOME`), whose agent is ended afterwards; gives its id."""
    home.mkdir(mode=0o700)
    env = {"PATH": os.environ["PATH"], "GNUPGHOME": str(home), "LC_ALL": "C"}
    batch = ["gpg", "--batch", "--pinentry-mode", "loopback", "--passphrase", passphrase]
    who = f"{HONED.name} <{HONED.email}>"
    try:
        subprocess.run(
            [*batch, "--quick-generate-key", who, "ed25519", "sign"], env=env, check=True, capture_output=True
        )
        listed = subprocess.run(
            ["gpg", "--list-keys", "--with-colons"], env=env, check=True, capture_output=True, text=True
        )
        yield next(row.split(":")[9] for row in listed.stdout.splitlines() if row.startswith("fpr:"))
    finally:
        subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], env=env, check=False, capture_output=True)


def ssh_verifies(folder: Path, commit: str, key: Path) -> bool:
    """Git finds the commit signed by the key in honed's name."""
    allowed = key.with_name("allowed")
    allowed.write_text(f"{HONED.email} {key.with_suffix('.pub').read_text()}")
    options = ["-c", f"gpg.ssh.allowedSignersFile={allowed}", "-c", "gpg.format=ssh"]
    done = subprocess.run(["git", *options, "verify-commit", commit], cwd=folder, capture_output=True, check=False)
    return done.returncode == 0


def is_signed(folder: Path, commit: str) -> bool:
    """The commit carries a signature of any kind."""
    raw = subprocess.run(["git", "cat-file", "commit", commit], cwd=folder, check=True, capture_output=True).stdout
    return any(line.startswith(b"gpgsig") for line in raw.split(b"\n\n", 1)[0].split(b"\n"))
