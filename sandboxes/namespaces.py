"""The argument list of bubblewrap for one command: the hardened profile as far as namespaces can give it.

Two ways to be an unprivileged user inside: honed's own user mapped by a user namespace, or, where honed is root, a real
change to an unprivileged user after the mounts are made (bubblewrap then keeps just the three capabilities that needs).
The root is a read-only tmpfs on which single folders of the host or of a given root file system are shown: nothing
else of the host exists inside, wherever the state folder lies.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from sandboxes.hardening import HOSTNAME, shown_read_only
from sandboxes.lay import Owner
from sandboxes.rooms import INNER_UID
from sandboxes.sandbox import BoxSpec, Layout
from sandboxes.wrapper import PATH

HOST_FOLDERS = ("bin", "etc", "lib", "lib32", "lib64", "libx32", "sbin", "usr")
"""Shown of the host's own root."""
_OWN_FOLDERS = {"dev", "home", "media", "mnt", "opt", "out", "proc", "root", "run", "sys", "tmp", "workspace"}
"""Never taken from a given root file system: the box has its own, or needs none."""
# bubblewrap itself may not enter the workspace: it has no capability left to look into another user's folder.
_CHDIR = 'cd "$1" || exit 125; shift; exec "$@"'

# $1 address space in KiB, $2 processes; the rest is the command.
LIMITED = 'ulimit -v "$1"; ulimit -u "$2" 2>/dev/null || ulimit -p "$2" || exit 125; shift 2; exec "$@"'


@dataclass(frozen=True)
class Way:
    """How the user inside is made unprivileged."""

    user_namespace: bool

    @property
    def uid(self) -> int:
        """The user id seen inside."""
        return INNER_UID

    def owner(self) -> Owner:
        """Whose the rooms are on the host."""
        if self.user_namespace:
            return Owner(os.geteuid(), os.getegid())
        return Owner(INNER_UID, INNER_UID)


def bubblewrap_options(
    spec: BoxSpec, layout: Layout, *, way: Way, root: Path | None, status_fd: int
) -> tuple[str, ...]:
    """The options: passed over a descriptor, because process 1 shows its arguments inside and these name host paths."""
    return (
        *("--json-status-fd", str(status_fd), "--die-with-parent", "--new-session"),
        *("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
        *("--hostname", HOSTNAME, "--clearenv", "--setenv", "PATH", PATH),
        *_user(way),
        *_files(spec, layout, root),
        *("--chdir", layout.workspace if way.user_namespace else "/"),
    )


def _user(way: Way) -> tuple[str, ...]:
    if way.user_namespace:
        return ("--unshare-user", "--uid", str(way.uid), "--gid", str(way.uid), "--cap-drop", "ALL")
    kept = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")
    return ("--cap-drop", "ALL", *(word for capability in kept for word in ("--cap-add", capability)))


def becoming(way: Way, layout: Layout) -> tuple[str, ...]:
    """Words before the command that change the user where the namespace does not."""
    if way.user_namespace:
        return ()
    uid = str(way.uid)
    return (
        "/usr/bin/setpriv", "--reuid", uid, "--regid", uid, "--clear-groups", "--inh-caps=-all",
        "--bounding-set=-all", "--no-new-privs", "--",
        "/bin/sh", "-c", _CHDIR, "sh", layout.workspace,
    )  # fmt: skip


def _files(spec: BoxSpec, layout: Layout, root: Path | None) -> Iterable[str]:
    folder, size = spec.folder.absolute(), str(spec.limits.tmpfs_bytes)
    yield from _system(root)
    yield from ("--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--size", size, "--tmpfs", "/dev/shm")  # noqa: S108
    yield from ("--remount-ro", "/dev", "--perms", "1777", "--size", size, "--tmpfs", layout.tmp)
    # Made open: bubblewrap itself would close the folders above to the user inside.
    for parent in sorted({str(PurePosixPath(path).parent) for path in (layout.home, layout.out)} - {"/"}):
        yield from ("--perms", "0755", "--dir", parent)
    # One user lives inside, so this mode is as private as 0700; its owner differs between the two ways.
    yield from ("--perms", "1777", "--size", size, "--tmpfs", layout.home)
    yield from ("--bind", str(folder / "workspace"), layout.workspace, "--bind", str(folder / "out"), layout.out)
    mounts = shown_read_only(spec)
    for parent in _parents(mount.target for mount in mounts):
        yield from ("--perms", "0755", "--dir", parent)
    for mount in mounts:
        yield from ("--ro-bind", str(mount.source.absolute()), mount.target)
    yield from ("--remount-ro", "/")


def _system(root: Path | None) -> Iterable[str]:
    base = root or Path("/")
    for name in HOST_FOLDERS if root is None else sorted(os.listdir(root)):  # noqa: PTH208
        source = base / name
        if name in _OWN_FOLDERS or not source.exists():
            continue
        if source.is_symlink():
            yield from ("--symlink", str(source.readlink()), f"/{name}")
        else:
            yield from ("--ro-bind", str(source), f"/{name}")


def _parents(targets: Iterable[str]) -> list[str]:
    """Folders above the targets that the box's own root must hold: bubblewrap would make them closed to others."""
    above = {str(parent) for target in targets for parent in PurePosixPath(target).parents}
    return sorted(path for path in above if path != "/" and path.split("/")[1] in _OWN_FOLDERS)
