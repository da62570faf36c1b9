"""Ways to more rights."""

# ruff: noqa: PTH100, PTH101, PTH102, PTH103, PTH108, PTH110, PTH111, PTH115, PTH118, PTH119, PTH123, PTH207, PTH208, SIM115, N802, E731, N818, B904, F405, F403, RUF059, RUF100, PERF401
import ctypes
import os
import signal
import struct
import time

from base import ASKED, LIBC, NUMBERS, Nothing, plain, probe, syscall

plain("become_root", lambda: (os.setuid(0), "root")[1])
plain("become_group", lambda: (os.setgroups([0]), "group root")[1])
plain("mount_tmpfs", lambda: syscall("mount", b"none", b"/tmp", b"tmpfs", 0, b""))
plain("mount_proc", lambda: syscall("mount", b"proc", b"/tmp", b"proc", 0, b""))
plain("remount_root", lambda: syscall("mount", b"none", b"/", b"", 0x20 | 0x1000, b""))
plain("unmount", lambda: syscall("umount2", b"/proc/kcore", 2))
plain("new_mount_api", lambda: syscall("fsopen", b"tmpfs", 0))
plain("open_tree", lambda: syscall("open_tree", -100, b"/", 1))
plain("mount_setattr", lambda: syscall("mount_setattr", -100, b"/", 0, ctypes.create_string_buffer(32), 32))
plain("pivot_root", lambda: syscall("pivot_root", b"/tmp", b"/tmp"))
plain("chroot", lambda: syscall("chroot", b"/tmp"))
plain("unshare_user", lambda: syscall("unshare", 0x10000000))
plain("unshare_all", lambda: syscall("unshare", 0x10000000 | 0x20000 | 0x40000000 | 0x20000000))
plain("clone_user", lambda: syscall("clone", 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0))
plain("sethostname", lambda: syscall("sethostname", b"x", 1))


@probe
def clone3_user():
    return syscall("clone3", struct.pack("=11Q", 0x10000000, 0, 0, 0, signal.SIGCHLD, *[0] * 6), 88)


@probe
def join_namespace():
    fd = os.open("/proc/1/ns/net", os.O_RDONLY)
    return syscall("setns", fd, 0)


@probe
def capabilities():
    return syscall("capset", struct.pack("=II", 0x20080522, 0), struct.pack("=6I", 1 << 21, 1 << 21, 0, 0, 0, 0))


@probe
def trace_init():
    return syscall("ptrace", 16, 1, 0, 0)


@probe
def trace_child():
    child = os.fork()
    if child == 0:
        time.sleep(20)
        os._exit(0)
    try:
        return syscall("ptrace", 16, child, 0, 0)
    finally:
        os.kill(child, signal.SIGKILL)


@probe
def read_memory_of_parent():
    buffer = ctypes.create_string_buffer(8)
    local = struct.pack("=QQ", ctypes.addressof(buffer), 8)
    return syscall("process_vm_readv", os.getppid(), local, 1, struct.pack("=QQ", ctypes.addressof(buffer), 8), 1, 0)


@probe
def steal_descriptor():
    fd = LIBC.syscall(ctypes.c_long(NUMBERS["pidfd_open"]), ctypes.c_long(os.getppid()), ctypes.c_long(0))
    return syscall("pidfd_getfd", fd, 1, 0)


@probe
def setuid_program():
    for path in ASKED.get("setuid", []):
        read, out = os.pipe()
        if os.fork() == 0:
            os.dup2(out, 1)
            os.execv(path, [path, "-u"])
        os.close(out)
        told = os.read(read, 100).strip()
        if told != str(os.getuid()).encode():
            return f"{path} runs as {told!r}"
        raise Nothing(f"it runs as {told.decode()}")
    raise Nothing("no such program could be made here")


@probe
def file_capabilities():
    path = "/workspace/capable"
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
    os.setxattr(path, "security.capability", struct.pack("<5I", 0x2000001, 0xFFFFFFFF, 0, 0xFFFFFFFF, 0))
    return "set"


@probe
def user_map():
    with open("/proc/self/uid_map", "w") as file:
        file.write("0 0 1")
    return "mapped"
