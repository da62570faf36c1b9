"""The `Sandbox` protocol: where one command runs, and how its end is told.

Invariants every engine keeps (the conformance suite in `tests/integration/sandboxes/` proves them):
the command is the main process with stdin closed and only the given environment; its deadline is ours; stdout and
stderr go to capped files on the host; the ways to end are told apart; what is collected is treated as hostile data;
after `open` is left, nothing of the box remains but the attempt's folder.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Set
    from contextlib import AbstractAsyncContextManager

    from sandboxes.left import LeftBox

MIB = 1024 * 1024
GIB = 1024 * MIB

VERIFIER_OUT = "/logs/verifier"
"""Where Harbor's test scripts write the reward: an engine with a root of its own puts a verifier's `out` room there."""

Room = Literal["workspace", "out"]
"""A writable folder of a box: `workspace` holds the task, `out` what the agent's CLI records about itself."""


class SandboxError(Exception):
    """The sandbox itself failed: a failure of ours, never a score. The message names what to check."""


class Ending(StrEnum):
    """How a command ended."""

    EXITED = "exited"
    """By itself; `Ended.exit_code` holds the code (128 + n where signal n came from inside the box)."""
    DEADLINE = "deadline"
    """Stopped by us because its time was up."""
    KILLED = "killed"
    """Stopped by us for another reason (cancelled, the host's disk is full), or by somebody outside the box."""
    OVER_DISK = "over_disk"
    """Stopped by us because what it wrote outgrew `Limits.workspace_bytes`, or could not be measured."""
    HUNG = "hung"
    """Stopped by us because whoever gave the command says that it does nothing any more (`Command.hung`)."""
    OUT_OF_MEMORY = "out_of_memory"
    """The kernel killed the main process for exceeding the memory limit."""
    LOST = "lost"
    """The engine can no longer say what became of it."""


@dataclass(frozen=True)
class Limits:
    """What one box may use at most. Bytes unless said otherwise."""

    memory_bytes: int = 4 * GIB
    cpus: float = 2.0
    pids: int = 512
    tmpfs_bytes: int = 512 * MIB
    """Size of the home and of /tmp, each."""
    stream_bytes: int = 32 * MIB
    """Kept of stdout and of stderr, each; the rest is read and dropped."""
    workspace_bytes: int = 1 * GIB
    """Polled while the command runs; beyond it the command is killed."""
    collect_files: int = 5_000
    collect_bytes: int = 256 * MIB
    collect_file_bytes: int = 64 * MIB


@dataclass(frozen=True)
class Mount:
    """A host path shown read-only inside the box."""

    source: Path
    target: str


@dataclass(frozen=True)
class Layout:
    """Where things are, as the command inside sees them (absolute paths)."""

    workspace: str
    home: str
    tmp: str
    out: str
    """A writable folder beside the workspace, collected apart from it; `VERIFIER_OUT` for the role `verifier`, unless
    the engine shares the host's paths."""
    tools: str
    """Where `BoxSpec.mounts` are expected to be put; a mount's own target is authoritative."""
    gateway_socket: str | None
    """The model gateway's unix socket, if the box has one."""
    model_url: str | None
    """Base address (no path) on loopback that the forwarder serves when `Command.forward` is set."""


@dataclass(frozen=True)
class Root:
    """A root file system of a task's own: a container image. Only engines that run images can show it."""

    image: str
    """The engine's id of it, `sha256:…`."""
    workspace: str = "/workspace"
    """Where the room `workspace` is shown, over what the image has there."""
    workdir: str = "/workspace"
    """Where commands start: `workspace`, or a folder in it."""
    folders: Mapping[str, str] = field(default_factory=dict)
    """Further writable folders: absolute path inside to the folder of the room `workspace` that is shown there."""
    make: tuple[str, ...] = ()
    """Folders of the room `workspace` that are there from the start, files or not."""
    env: Mapping[str, str] = field(default_factory=dict)
    """What the image sets; a command gets it only if it is told to."""


@dataclass(frozen=True)
class Carried:
    """A workspace that goes on from a box that was left."""

    folder: Path
    """Host folder of that box: its workspace is moved, links, empty folders and all, and is no longer there."""
    clear: tuple[str, ...] = ()
    """Paths in it that are set aside first, whatever stands there."""


@dataclass(frozen=True)
class BoxSpec:
    """What to open: one box for one attempt."""

    attempt_id: str
    """Matches `[a-z0-9][a-z0-9-]{0,62}`; names and labels are made of it."""
    folder: Path
    """Host folder of the attempt; the engine makes `workspace/` and `out/` in it."""
    deadline: float
    """Unix time after which a sweep may remove the box whoever owns it."""
    gateway_socket: Path | None = None
    """Host path of the door's socket, alone in its private folder; None: no way out at all."""
    mounts: tuple[Mount, ...] = ()
    limits: Limits = field(default_factory=Limits)
    role: Literal["agent", "verifier", "probe"] = "agent"
    root: Root | None = None
    """None: the engine's own."""
    carried: Carried | None = None
    """None: the workspace is new. Else what stands in the way of a file that is laid is set aside, too."""


@dataclass(frozen=True)
class Command:
    """What to run as the box's main process."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    deadline_s: float
    forward: bool = False
    """Start the loopback forwarder to the gateway's socket first, and wait until it listens."""
    hung: Callable[[], str] | None = field(default=None, compare=False, repr=False)
    """Asked every half second or so, in a thread: a line says why the command is to be stopped as `HUNG`."""


@dataclass(frozen=True)
class Ended:
    """What became of a command."""

    ending: Ending
    exit_code: int | None
    wall_s: float
    stdout: Path
    stderr: Path
    stdout_cut: bool = False
    """True if bytes beyond `Limits.stream_bytes` were dropped; likewise `stderr_cut`."""
    stderr_cut: bool = False
    oom_seen: bool = False
    """Some process in the box was killed for memory, though perhaps not the main one."""
    frozen: bool | None = None
    """Of a command that hung: some process in the box was stopped by a signal, as the engine sees it; None: unknown."""
    host_roomy: bool = False
    """The host had memory to spare when it ended, as far as can be told: no kill came of the host's own need."""
    detail: str = ""


@dataclass(frozen=True)
class Collected:
    """Regular files read out of a room as hostile data, ordered by path (POSIX, relative, valid UTF-8)."""

    files: Mapping[str, bytes]
    skipped: tuple[str, ...] = ()
    """One line for each thing left out: link, device, too large, bad name, too many."""
    modes: Mapping[str, int] = field(default_factory=dict, compare=False)
    """Permission bits of each file that was read (nine of them: what else there was is dropped)."""


@dataclass(frozen=True)
class EngineFacts:
    """What an engine is, for records and for people."""

    engine: str
    version: str
    image_digest: str
    """`sha256:…` of the image or root file system; `host` where the host's own is used."""
    isolated: bool
    """False where the command could reach the host's network or files: never with a real key."""
    lacks: tuple[str, ...] = ()
    """Plain sentences: what protection of the hardened profile this engine cannot give."""
    runtime: str = ""
    """What the engine starts boxes with, where that is not its default (`[sandbox] runtime`)."""


class Box(Protocol):
    """One open box. Its commands share workspace and out; each starts from a fresh home."""

    @property
    def layout(self) -> Layout:
        """Paths as seen from inside."""

    async def write(
        self, files: Mapping[str, bytes], *, room: Room = "workspace", modes: Mapping[str, int] | None = None
    ) -> None:
        """Lay files (relative POSIX paths to bytes); a path that leaves the room raises `SandboxError`.

        `modes` are permission bits by path; without them a file is readable, and a program (`#!`, ELF) executable.
        """

    async def run(self, command: Command) -> Ended:
        """Run to the end; raises `SandboxError` only if it could not be started.

        Cancelling the call stops the command before `CancelledError` is passed on.
        """

    async def collect(self, *, room: Room = "workspace") -> Collected:
        """Read the room back: no link is followed, only regular files, within `Limits`."""


class Sandbox(Protocol):
    """An engine."""

    @property
    def name(self) -> str:
        """One of `docker`, `bubblewrap`, `process`, `fake`."""

    async def facts(self) -> EngineFacts:
        """Ask the engine; raises `SandboxError` with the remedy if it cannot run commands."""

    def open(self, spec: BoxSpec) -> AbstractAsyncContextManager[Box]:
        """Open a box and, on leaving, stop and remove whatever of it still runs."""

    async def boxes(self) -> tuple[LeftBox, ...]:
        """Every box of any honed that the engine knows of, by name, apart from those open here.

        Raises `SandboxError` if the engine does not answer.
        """

    async def remove(self, name: str) -> bool:
        """Stop and remove one of `boxes`; False if it was gone already. Raises `SandboxError`."""

    async def sweep(self, *, keep: Set[str] = frozenset()) -> tuple[str, ...]:
        """Remove what dead owners left, apart from the attempt ids to keep; returns what was removed."""
