"""The policy: every system call of `NUMBERS` but those refused here, and some with certain arguments alone.

Refused is what an agent's tools do not need and the kernel's holes are found in, also where the kernel itself asks for
a privilege that no box has: the check then comes before the code, not in it. Stricter than Docker's own filter where
that leaves something (`ptrace`, io_uring, kernel keyrings, socket families, 32-bit calls). A filter compares
the argument's 32 low bits alone, as the kernel does: high bits never make another value of it.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import dataclass

from sandboxes.seccomp.numbers import NUMBERS

MASK = 0xFFFFFFFF

REFUSED: Mapping[str, str] = {
    "memory and descriptors of other processes": """
        ptrace process_vm_readv process_vm_writev process_madvise process_mrelease pidfd_getfd kcmp
    """,
    "keys of the kernel": "add_key request_key keyctl",
    "programs and queues in the kernel": """
        bpf perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register fanotify_init fanotify_mark
        vmsplice memfd_secret remap_file_pages modify_ldt lookup_dcookie
    """,
    "mounts and namespaces": """
        mount umount2 pivot_root chroot unshare setns open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr
        name_to_handle_at open_by_handle_at quotactl quotactl_fd swapon swapoff sethostname setdomainname
    """,
    "the machine": """
        reboot kexec_load kexec_file_load create_module init_module finit_module delete_module get_kernel_syms
        query_module iopl ioperm acct settimeofday clock_settime adjtimex clock_adjtime vhangup syslog mbind
        set_mempolicy get_mempolicy set_mempolicy_home_node migrate_pages move_pages
    """,
    "what the kernel has long left": """
        _sysctl sysfs uselib ustat nfsservctl afs_syscall getpmsg putpmsg security tuxcall vserver epoll_ctl_old
        epoll_wait_old
    """,
}
"""Answer EPERM, by what they are for."""

MISSING: Mapping[str, int] = {"clone3": errno.ENOSYS, "fallocate": errno.EOPNOTSUPP}
"""Answer as if the kernel lacked them, with the error that programs then expect; the C library does it another way.

The flags of `clone3` lie in memory, where no filter can see them. `fallocate` would take all of the host's disk in less
time than any look at it needs: without it blocks must be written.
"""


@dataclass(frozen=True)
class Masked:
    """Argument number `index` (from 0) has just `value` under `mask`."""

    index: int
    mask: int
    value: int


Rule = tuple[Masked, ...]
"""All must hold."""

_NAMESPACES = 0x7E020000
"""Of `clone`: new mount, cgroup, uts, ipc, user, pid and network namespaces."""
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_ROUTE = 0
_STREAM, _DGRAM = 1, 2
_TCP, _UDP = 6, 17
_KIND = MASK & ~0o2004000
"""Of a socket's type: without SOCK_CLOEXEC and SOCK_NONBLOCK."""
_TERMINAL = (0x5412, 0x541C, 0x5423)
"""Of `ioctl`: type into a terminal (TIOCSTI), its console (TIOCLINUX), its line discipline (TIOCSETD)."""


def all_but(values: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """(mask, value) pairs that together match every 32-bit number but these."""
    found: list[tuple[int, int]] = []
    for bit in range(31, -1, -1):
        mask = MASK & ~((1 << bit) - 1)
        siblings = sorted({(value & mask) ^ (1 << bit) for value in values})
        found += [(mask, sibling) for sibling in siblings if not any(value & mask == sibling for value in values)]
    return tuple(found)


def _exactly(index: int, value: int) -> Masked:
    return Masked(index, MASK, value)


def _internet() -> tuple[Rule, ...]:
    """TCP and UDP alone: other protocols would have the kernel load their modules."""
    return tuple(
        (_exactly(0, family), Masked(1, _KIND, kind), _exactly(2, protocol))
        for family in (_INET, _INET6)
        for kind, named in ((_STREAM, _TCP), (_DGRAM, _UDP))
        for protocol in (0, named)
    )


ARGUMENTS: Mapping[str, tuple[Rule, ...]] = {
    "clone": ((Masked(0, _NAMESPACES, 0),),),
    "ioctl": tuple((Masked(1, mask, value),) for mask, value in all_but(_TERMINAL)),
    "personality": ((_exactly(0, 0),), (_exactly(0, MASK),)),
    "socket": ((_exactly(0, _UNIX),), (_exactly(0, _NETLINK), _exactly(2, _ROUTE)), *_internet()),
    "socketpair": ((_exactly(0, _UNIX),),),
}
"""Let through if any rule holds, else EPERM."""


def refused() -> frozenset[str]:
    """Every name that answers EPERM whatever its arguments."""
    return frozenset(name for names in REFUSED.values() for name in names.split())


def allowed() -> tuple[str, ...]:
    """Every name that is let through whatever its arguments, of all machines."""
    known = {name for table in NUMBERS.values() for name in table}
    return tuple(sorted(known - refused() - MISSING.keys() - ARGUMENTS.keys()))
