"""Nothing but the workspace, `/out`, the home and `/tmp` can be written; nothing of the host or other boxes is seen."""

from __future__ import annotations

from tests.hostile.probes import row

CLOSED = ("EROFS", "EACCES", "EPERM")

row("write_root", "makes a file in /", "EROFS")
row("write_usr", "puts a program into /usr/bin", *CLOSED)
row("write_etc", "adds a user to /etc/passwd", *CLOSED)
row("write_preload", "has every program load its library: /etc/ld.so.preload", *CLOSED)
row("write_opt", "puts a file beside the agent's CLI", *CLOSED)
row("write_run", "makes a file in /run", *CLOSED)
row("write_dev", "makes a file in /dev", *CLOSED)
row("write_init", "overwrites the box's first process's program", *CLOSED, "ETXTBSY")
row("write_mounts", "writes to and deletes from read-only mounts", *CLOSED)
row("write_sys", "names a program for the kernel to run: /sys/kernel/uevent_helper", *CLOSED)
row("write_core_pattern", "names a program for the kernel to run: core_pattern", *CLOSED)
row("write_modprobe", "names a program for the kernel to run: modprobe", *CLOSED, "ENOENT")
row("write_sysrq", "restarts the machine by /proc/sysrq-trigger", *CLOSED, "ENOENT")
row("write_proc_sys", "opens every kernel setting below /proc/sys for writing", *CLOSED)
row("write_cgroup", "raises its own limits: control group files", *CLOSED, "ENOENT")
row("write_other_attempts", "writes into another attempt's folders, over five ways to their paths", "ENOENT", *CLOSED)
row("read_kcore", "reads the kernel's memory: /proc/kcore", *CLOSED, "ENOENT", "masked: empty")
row("read_mem", "opens the machine's memory: /dev/mem", *CLOSED)
row("read_kmsg", "opens the kernel's log: /dev/kmsg", *CLOSED)
row("read_dmesg", "reads the kernel's log by system call", "EPERM")
row("read_kallsyms", "reads where the kernel lies in memory", "addresses are zero", "ENOENT")
row("read_hidden_proc", "reads keys, timers and disks of the host in /proc", "masked: empty or missing")
row("make_device", "makes a device file of a disk in its workspace", "EPERM")
row("make_memory_device", "makes a device file of the machine's memory in /tmp", "EPERM")
row("handle", "asks for a handle of a file, to open others by number", "EPERM")
row("open_handle", "opens the root of the host's disk by a guessed handle", "EPERM")
row("other_box_files", "looks for another box's files by name and by host path", "no file of it")
row("other_box_shared_memory", "looks for another box's shared memory and queues", "ENOENT", "EACCES")
row("other_box_processes", "looks for another box's processes in /proc", "no process of it")
