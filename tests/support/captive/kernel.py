"""Ways into the kernel."""

# ruff: noqa: PTH100, PTH101, PTH102, PTH103, PTH108, PTH110, PTH111, PTH115, PTH118, PTH119, PTH123, PTH207, PTH208, SIM115, N802, E731, N818, B904, F405, F403, RUF059, RUF100, PERF401
import ctypes
import fcntl
import mmap
import os
import platform
import pty
import struct

from base import NUMBERS, Nothing, plain, probe, syscall


@probe
def keyring_add():
    return syscall("add_key", b"user", b"honed", b"x", 1, -3)


plain("keyring_request", lambda: syscall("request_key", b"user", b"honed", None, -3))
plain("keyring_read", lambda: syscall("keyctl", 0, -3, 1))
plain("keyring_session", lambda: syscall("keyctl", 1, None))
plain("bpf", lambda: syscall("bpf", 0, struct.pack("=IIII", 2, 4, 4, 1) + bytes(56), 72))
plain("perf", lambda: syscall("perf_event_open", struct.pack("=IIQ", 1, 112, 0) + bytes(96), 0, -1, -1, 0))
plain("userfaultfd", lambda: syscall("userfaultfd", 1))
plain("io_uring", lambda: syscall("io_uring_setup", 4, ctypes.create_string_buffer(120)))
plain("kexec", lambda: syscall("kexec_load", 0, 0, None, 0))
plain("kexec_file", lambda: syscall("kexec_file_load", 0, 0, 0, None, 0))
plain("module", lambda: syscall("init_module", b"x", 1, b""))
plain("module_file", lambda: syscall("finit_module", 0, b"", 0))
plain("reboot", lambda: syscall("reboot", -18751827, 672274793, 0))
plain("set_clock", lambda: syscall("clock_settime", 0, struct.pack("=qq", 0, 0)))
plain("adjust_clock", lambda: syscall("adjtimex", ctypes.create_string_buffer(256)))
plain("quota", lambda: syscall("quotactl", 0x800005 << 8, b"/dev/vda", 0, ctypes.create_string_buffer(8)))
plain("swap", lambda: syscall("swapon", b"/tmp/x", 0))
plain("accounting", lambda: syscall("acct", b"/tmp/acct"))
plain("personality", lambda: syscall("personality", 0x0040000))
plain("fanotify", lambda: syscall("fanotify_init", 0x600, 0))
plain("kcmp", lambda: syscall("kcmp", os.getpid(), os.getppid(), 0, 0, 0))
plain("secret_memory", lambda: syscall("memfd_secret", 0))
plain("unknown_call", lambda: syscall(499, 0, 0))


@probe
def handle():
    buffer = ctypes.create_string_buffer(struct.pack("=Ii", 128, 0) + bytes(128), 136)
    return syscall("name_to_handle_at", -100, b"/workspace", buffer, ctypes.byref(ctypes.c_int()), 0)


@probe
def open_handle():
    fd = os.open("/workspace", os.O_RDONLY)
    return syscall("open_by_handle_at", fd, struct.pack("=IiII", 8, 1, 2, 0), os.O_RDONLY)


@probe
def vmsplice():
    read, out = os.pipe()
    data = ctypes.create_string_buffer(b"x" * 16)
    return syscall("vmsplice", out, struct.pack("=QQ", ctypes.addressof(data), 16), 1, 0)


@probe
def remap_pages():
    area = mmap.mmap(-1, 8192)
    start = ctypes.addressof(ctypes.c_char.from_buffer(area))
    return syscall("remap_file_pages", start, 4096, 0, 1, 0)


@probe
def io_ports():
    if "iopl" not in NUMBERS:
        raise Nothing("this machine has none")
    return syscall("iopl", 3)


@probe
def local_table():
    if "modify_ldt" not in NUMBERS:
        raise Nothing("this machine has none")
    return syscall("modify_ldt", 0, ctypes.create_string_buffer(64), 64)


def machine_code(code):
    if platform.machine() != "x86_64":
        raise Nothing("of another machine")
    area = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    area.write(code)
    call = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(area)))
    result = call()
    if result < 0:
        raise OSError(-ctypes.c_int(result).value, "answered")
    return f"answered {result}"


@probe
def calls_of_32_bits():
    # mov eax, 20 (getpid); int 0x80; movsxd rax, eax; ret
    return machine_code(b"\xb8\x14\x00\x00\x00\xcd\x80\x48\x63\xc0\xc3")


@probe
def calls_of_x32():
    # mov eax, 0x40000000 + 39 (getpid); syscall; ret
    return machine_code(b"\xb8\x27\x00\x00\x40\x0f\x05\xc3")


def terminal(request, argument):
    master, slave = pty.openpty()
    try:
        fcntl.ioctl(slave, request, argument)
    finally:
        os.close(master)
    return "done"


plain("line_discipline", lambda: terminal(0x5423, struct.pack("=i", 21)))


@probe
def type_into_terminal():
    if os.fork() == 0:
        os._exit(0)
    os.wait()
    os.setsid() if os.getsid(0) != os.getpid() else None
    master, slave = os.openpty()
    fcntl.ioctl(slave, 0x540E, 0)
    fcntl.ioctl(slave, 0x5412, b"x")
    os.close(master)
    return "typed"


@probe
def type_high_bits():
    os.setsid() if os.getsid(0) != os.getpid() else None
    master, slave = os.openpty()
    fcntl.ioctl(slave, 0x540E, 0)
    return syscall(16 if platform.machine() == "x86_64" else 29, slave, 0x5412 + (1 << 32), b"x")
