"""A real sshd on loopback with keys of its own, as whoever runs the tests: bare repositories over ssh.

with SshServer(folder) as server:
    git(work, "remote", "add", "origin", server.url("team/skills"))
    monkeypatch.setenv("GIT_SSH_COMMAND", server.command())

Nobody's ~/.ssh is read or written: the client is given a configuration file in the folder.
"""

from __future__ import annotations

import getpass
import os
import signal
import socket
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.ports import free_port
from tests.support.skills import git
from tests.support.waiting import PATIENCE_S, wait_until

SSHD = Path("/usr/sbin/sshd")
_SEPARATION = Path("/run/sshd")
"""Where an sshd of root locks itself in; Debian makes it at boot, which a container may never have seen."""


def missing() -> str:
    """Why there can be no server here; empty if there can."""
    return "" if SSHD.exists() else f"{SSHD} is not installed (Debian: apt-get install openssh-server)"


def keypair(file: Path, passphrase: str = "") -> Path:
    """A new key; returns its private file."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", file], check=True)
    return file


class SshServer:
    """A context manager."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.host_key = keypair(folder / "host")
        self.key = keypair(folder / "key")
        self.authorized = folder / "authorized_keys"
        self.authorized.write_bytes(self.key.with_suffix(".pub").read_bytes())
        self.known_hosts = folder / "known_hosts"
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        if os.geteuid() == 0:
            _SEPARATION.mkdir(mode=0o755, exist_ok=True)
        settings = (
            f"Port {self.port}",
            "ListenAddress 127.0.0.1",
            f"HostKey {self.host_key}",
            f"AuthorizedKeysFile {self.authorized}",
            "PidFile none",
            "StrictModes no",
            "UsePAM no",
            "PasswordAuthentication no",
            "KbdInteractiveAuthentication no",
            "PermitRootLogin prohibit-password",
        )
        config = self.folder / "sshd_config"
        config.write_text("\n".join(settings) + "\n")
        log = (self.folder / "log").open("wb")
        self._process = subprocess.Popen(
            [SSHD, "-D", "-e", "-f", config], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
        log.close()
        self._wait()
        self.trust()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGTERM)
        self._process.wait(PATIENCE_S)

    def trust(self, key: Path | None = None) -> None:
        """The client knows the host by this key (by default its own)."""
        kind, text = (key or self.host_key).with_suffix(".pub").read_text().split()[:2]
        self.known_hosts.write_text(f"[127.0.0.1]:{self.port} {kind} {text}\n")

    def command(self, *options: str, key: Path | None = None, agent: bool = False) -> str:
        """ssh as a person with this key (by default one that is let in) has set it up: for GIT_SSH_COMMAND."""
        config = self.folder / "ssh_config"
        mine = ["IdentityFile none"] if agent else [f"IdentityFile {key or self.key}", "IdentitiesOnly yes"]
        hosts = [f"UserKnownHostsFile {self.known_hosts}", "GlobalKnownHostsFile /dev/null"]
        config.write_text("\n".join([*mine, *hosts, *options]) + "\n")
        return f"ssh -F {config}"

    def url(self, project: str, *, object_format: str = "sha1") -> str:
        """The address of a bare repository, which is made if need be."""
        bare = self.bare(project, object_format=object_format)
        return f"ssh://{getpass.getuser()}@127.0.0.1:{self.port}{bare}"

    def bare(self, project: str, *, object_format: str = "sha1") -> Path:
        """Its folder."""
        path = self.folder / f"{project}.git"
        if not path.exists():
            path.mkdir(parents=True)
            git(path, "init", "-q", "--bare", "-b", "main", f"--object-format={object_format}")
        return path

    def _wait(self) -> None:
        wait_until(self._answers, every_s=0.02)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.folder / "log").read_text()
        try:
            socket.create_connection(("127.0.0.1", self.port), PATIENCE_S).close()
        except OSError:
            return False
        return True
