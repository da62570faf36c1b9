"""The hardened profile of a box's container, as data.

Every field is proven from inside a real container by `tests/integration/sandboxes/test_hardening.py`. Not set here on
purpose: AppArmor, so that the engine's default profile stays on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docker.types import LogConfig, Ulimit
from docker.types import Mount as DockerMount

from sandboxes.lay import Owner
from sandboxes.sandbox import MIB, VERIFIER_OUT, BoxSpec, Command, Layout, Mount
from sandboxes.seccomp.engine import profile as seccomp_profile
from sandboxes.wrapper import FORWARD_FILE, FORWARD_PORT, FORWARD_TARGET, PATH, inner_argv

GATEWAY_FOLDER = "/run/gateway"
HOSTNAME = "sandbox"
ULIMITS: Mapping[str, int] = {"core": 0, "nofile": 8192}
FILE_SLACK = MIB
"""One file may be this much larger than workspace and out may be together: so a box that tries is seen and told."""


def inner_layout(spec: BoxSpec) -> Layout:
    """The fixed paths inside every box that has a root of its own."""
    socket = spec.gateway_socket
    return Layout(
        workspace=spec.root.workspace if spec.root else "/workspace",
        home="/home/agent",
        tmp="/tmp",  # noqa: S108 - the box's own tmpfs
        out=VERIFIER_OUT if spec.role == "verifier" else "/out",
        tools="/opt/agents",
        gateway_socket=None if socket is None else f"{GATEWAY_FOLDER}/{socket.name}",
        model_url=None if socket is None else f"http://127.0.0.1:{FORWARD_PORT}",
    )


def shown_read_only(spec: BoxSpec) -> tuple[Mount, ...]:
    """Host paths shown read-only: the box's mounts, the folder of the gateway's socket, and the forwarder's script."""
    if spec.gateway_socket is None:
        return spec.mounts
    # The folder, not the socket: a socket file that is made anew would otherwise leave a dead mount.
    gateway = Mount(spec.gateway_socket.absolute().parent, GATEWAY_FOLDER)
    return (*spec.mounts, gateway, Mount(spec.folder.absolute() / FORWARD_FILE, FORWARD_TARGET))


@dataclass(frozen=True)
class Profile:
    """One container. The defaults are the hardening; what has no default comes from the box."""

    image: str
    argv: tuple[str, ...]
    user: str
    """Numeric `uid:gid`, never root."""
    working_dir: str
    writable: Mapping[str, Path]
    """Target to host folder, bind-mounted read-write."""
    readable: tuple[Mount, ...]
    tmpfs: Mapping[str, str]
    memory_bytes: int
    nano_cpus: int
    pids: int
    network_mode: str = "none"
    cap_drop: tuple[str, ...] = ("ALL",)
    security_opt: tuple[str, ...] = ("no-new-privileges:true",)
    read_only: bool = True
    privileged: bool = False
    init: bool = True
    ipc_mode: str = "private"
    hostname: str = HOSTNAME
    ulimits: Mapping[str, int] = field(default_factory=lambda: dict(ULIMITS))
    environment: Mapping[str, str] = field(default_factory=lambda: {"PATH": PATH})
    """Of the wrapper alone: it gives the command its own exact environment."""
    log_driver: str = "none"
    """Output is copied over the attached stream into capped files, so the engine keeps none."""
    oom_score_adj: int = 500
    """Where the host itself runs short of memory, a box goes before the host's services."""
    seccomp: str | None = field(default_factory=seccomp_profile, repr=False)
    """honed's own filter, stricter than the engine's default; None where the engine can load none."""
    runtime: str | None = None
    """None: the engine's own default."""

    def arguments(self) -> dict[str, Any]:
        """As keyword arguments of the docker SDK's `containers.create`."""
        return {
            "image": self.image,
            "entrypoint": list(self.argv),
            "command": [],
            "user": self.user,
            "working_dir": self.working_dir,
            "mounts": [*map(_writable, self.writable.items()), *map(_readable, self.readable)],
            "tmpfs": dict(self.tmpfs),
            "mem_limit": self.memory_bytes,
            "memswap_limit": self.memory_bytes,  # memory and swap together: no swap at all
            "nano_cpus": self.nano_cpus,
            "pids_limit": self.pids,
            "network_mode": self.network_mode,
            "cap_drop": list(self.cap_drop),
            "security_opt": [*self.security_opt, *([f"seccomp={self.seccomp}"] if self.seccomp else ())],
            "read_only": self.read_only,
            "privileged": self.privileged,
            "init": self.init,
            "ipc_mode": self.ipc_mode,
            "hostname": self.hostname,
            "ulimits": [Ulimit(name=name, soft=value, hard=value) for name, value in self.ulimits.items()],
            "environment": dict(self.environment),
            "log_config": LogConfig(type=self.log_driver),
            "oom_score_adj": self.oom_score_adj,
            "healthcheck": {"test": ["NONE"]},
            "auto_remove": False,  # it races with reading the exit code
            "detach": True,
            **({"runtime": self.runtime} if self.runtime else {}),
        }


def profile(spec: BoxSpec, command: Command, *, image: str, owner: Owner, layout: Layout) -> Profile:
    """The container for one command of a box. Pure; `SandboxError` for a command that cannot be passed on."""
    folder, limits = spec.folder.absolute(), spec.limits
    further = spec.root.folders if spec.root else {}
    common = f"rw,nosuid,nodev,exec,size={limits.tmpfs_bytes}"
    return Profile(
        image=image,
        argv=inner_argv(command, layout),
        user=f"{owner.uid}:{owner.gid}",
        working_dir=spec.root.workdir if spec.root else layout.workspace,
        writable={
            layout.workspace: folder / "workspace",
            layout.out: folder / "out",
            **{target: folder / "workspace" / name for target, name in further.items()},
        },
        readable=shown_read_only(spec),
        tmpfs={
            layout.home: f"{common},uid={owner.uid},gid={owner.gid},mode=0700",
            layout.tmp: f"{common},mode=1777",
        },
        memory_bytes=limits.memory_bytes,
        nano_cpus=round(limits.cpus * 1_000_000_000),
        pids=limits.pids,
        ulimits={**ULIMITS, "fsize": limits.workspace_bytes + FILE_SLACK},
    )


def _writable(item: tuple[str, Path]) -> DockerMount:
    return DockerMount(target=item[0], source=str(item[1]), type="bind", read_only=False)


def _readable(mount: Mount) -> DockerMount:
    return DockerMount(target=mount.target, source=str(mount.source.absolute()), type="bind", read_only=True)
