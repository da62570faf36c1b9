"""Ways to write where it may not, to read what is hidden."""

# ruff: noqa: PTH100, PTH101, PTH102, PTH103, PTH108, PTH110, PTH111, PTH115, PTH118, PTH119, PTH123, PTH207, PTH208, SIM115, N802, E731, N818, B904, F405, F403, RUF059, RUF100, PERF401
import ctypes
import errno
import os

from base import ASKED, Nothing, plain, probe, syscall


def write(path):
    with open(path, "ab") as file:
        file.write(b"x")
    return f"wrote {path}"


for _name, _path in {
    "write_root": "/new", "write_usr": "/usr/bin/new", "write_etc": "/etc/passwd", "write_dev": "/dev/new",
    "write_preload": "/etc/ld.so.preload", "write_sys": "/sys/kernel/uevent_helper", "write_opt": "/opt/new",
    "write_core_pattern": "/proc/sys/kernel/core_pattern", "write_modprobe": "/proc/sys/kernel/modprobe",
    "write_sysrq": "/proc/sysrq-trigger", "write_run": "/run/new", "read_kmsg": "/dev/kmsg", "read_mem": "/dev/mem",
    "write_oom": "/proc/1/oom_score_adj", "write_init": "/sbin/docker-init",
}.items():  # fmt: skip
    plain(_name, lambda path=_path: write(path))


@probe
def write_mounts():
    for folder in ASKED.get("readable", []):
        try:
            return write(os.path.join(folder, "new"))
        except OSError as error:
            last = error
        for name in os.listdir(folder) if os.access(folder, os.R_OK) else ():
            try:
                os.unlink(os.path.join(folder, name))
                return f"removed {folder}/{name}"
            except OSError as error:
                last = error
    raise last


@probe
def write_cgroup():
    tried = []
    for folder, _, names in os.walk("/sys/fs/cgroup"):
        for name in names:
            if name in {
                "cgroup.procs",
                "release_agent",
                "memory.limit_in_bytes",
                "memory.max",
                "devices.allow",
                "pids.max",
            }:  # noqa: E501
                try:
                    return write(os.path.join(folder, name))
                except OSError as error:
                    tried.append(error)
    raise tried[-1] if tried else FileNotFoundError(errno.ENOENT, "no cgroup file")


@probe
def write_proc_sys():
    tried = []
    for folder, _, names in os.walk("/proc/sys"):
        for name in names:
            try:
                os.close(os.open(os.path.join(folder, name), os.O_WRONLY))
                return f"can write {folder}/{name}"
            except OSError as error:
                tried.append(error)
    raise tried[-1]


@probe
def write_other_attempts():
    tried = []
    for path in ASKED.get("attempts", []):
        for prefix in ("", "/proc/1/root", "/proc/self/cwd/../../..", "/workspace/..", "/out/.."):
            try:
                return write(f"{prefix}{path}")
            except OSError as error:
                tried.append(error)
    raise tried[-1]


@probe
def read_kcore():
    with open("/proc/kcore", "rb") as file:
        data = file.read(4096)
    if not data:
        raise Nothing("masked: empty")
    return f"read {len(data)} bytes"


@probe
def read_kallsyms():
    shown = {line.split()[0] for line in open("/proc/kallsyms")}
    if shown <= {"0" * 16}:
        raise Nothing("addresses are zero")
    return f"{len(shown)} addresses"


@probe
def read_dmesg():
    buffer = ctypes.create_string_buffer(4096)
    return syscall("syslog", 3, buffer, 4096)


@probe
def read_hidden_proc():
    for path in ("/proc/keys", "/proc/timer_list", "/proc/sched_debug", "/proc/latency_stats", "/proc/scsi/scsi"):
        try:
            if data := open(path, "rb").read(100):
                return f"{path}: {data[:40]!r}"
        except OSError:
            pass
    raise Nothing("masked: empty or missing")


@probe
def make_device():
    os.mknod("/workspace/disk", 0o060666, os.makedev(*ASKED.get("disk", (8, 0))))
    return "made a block device"


@probe
def make_memory_device():
    os.mknod("/tmp/mem", 0o020666, os.makedev(1, 1))
    return "made /dev/mem"
