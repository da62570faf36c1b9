"""Runs inside a box and reports, as JSON, what the hardened profile promises. Standard library only."""

# ruff: noqa: PTH108, PTH110, PTH116, PTH118, PTH208
import contextlib
import json
import os
import resource
import socket
import stat
import sys
from pathlib import Path


def status():
    lines = Path("/proc/self/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def walk():
    """Every folder outside /proc and /sys in which a file can really be made, and every special file by kind."""
    writable, special = [], {"sockets": [], "block_devices": [], "char_devices": []}
    kinds = {stat.S_IFSOCK: "sockets", stat.S_IFBLK: "block_devices", stat.S_IFCHR: "char_devices"}
    for folder, below, _ in os.walk("/"):
        below[:] = [name for name in below if os.path.join(folder, name) not in {"/proc", "/sys"}]
        probe = os.path.join(folder, ".probe")
        try:
            os.close(os.open(probe, os.O_CREAT | os.O_EXCL))
            os.unlink(probe)
            writable.append(folder)
        except OSError:
            pass
        with os.scandir(folder) if os.access(folder, os.R_OK) else contextlib.nullcontext(()) as entries:
            for entry in entries:
                kind = kinds.get(stat.S_IFMT(entry.stat(follow_symlinks=False).st_mode))
                if kind:
                    special[kind].append(entry.path)
    return {"writable": writable, **special}


def writable_proc():
    paths = [
        "/proc/sys/kernel/core_pattern",
        "/proc/sysrq-trigger",
        "/proc/sys/vm/drop_caches",
        "/sys/kernel/uevent_helper",
    ]
    return [path for path in paths if os.path.exists(path) and os.access(path, os.W_OK)]


def attempts():
    """Things that must fail, by name, with what they said."""

    def mount():
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) != 0:
            raise OSError(ctypes.get_errno(), "mount")

    def raw():
        socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)

    wanted = {
        "setuid": lambda: os.setuid(0),
        "chroot": lambda: os.chroot("/tmp"),
        "mknod": lambda: os.mknod("/tmp/device", stat.S_IFBLK | 0o600, os.makedev(8, 0)),
        "chown": lambda: os.chown(sys.argv[0] if os.path.exists(sys.argv[0]) else ".", 0, 0),
        "mount": mount,
        "raw_socket": raw,
        "write_root": lambda: os.open("/new", os.O_CREAT),
        "sethostname": lambda: socket.sethostname("x"),
    }
    told = {}
    for name, call in wanted.items():
        try:
            call()
            told[name] = "done"
        except OSError as error:
            told[name] = error.strerror or str(error)
    return told


def main():
    about = status()
    first = Path("/proc/1/cmdline").read_bytes().split(b"\0")[0].decode()
    report = {
        "ids": [os.getuid(), os.geteuid(), os.getgid(), os.getegid(), os.getgroups()],
        "status": {
            key: about.get(key) for key in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp")
        },
        "interfaces": [line.split(":")[0].strip() for line in Path("/proc/net/dev").read_text().splitlines()[2:]],
        "routes": Path("/proc/net/route").read_text().splitlines()[1:],
        "root_read_only": bool(os.statvfs("/").f_flag & os.ST_RDONLY),
        "writable_proc": writable_proc(),
        "attempts": attempts(),
        "first": first,
        "pid": os.getpid(),
        "hostname": socket.gethostname(),
        "environment": dict(os.environ),
        "limits": {name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}")) for name in ("CORE", "NOFILE")},
        **walk(),
        "descriptors": sorted(int(name) for name in os.listdir("/proc/self/fd"))[:-1],
        "mounts": [line.split()[:4] for line in Path("/proc/mounts").read_text().splitlines()],
        "processes": sorted(int(name) for name in os.listdir("/proc") if name.isdigit()),
        "tmpfs": {path: os.statvfs(path).f_blocks * os.statvfs(path).f_frsize for path in ("/home/agent", "/tmp")},
        "home_mode": oct(os.stat("/home/agent").st_mode & 0o7777),
    }
    json.dump(report, sys.stdout)


main()
