"""No privilege is held or can be had: users, capabilities, mounts, namespaces, other processes."""

from __future__ import annotations

from tests.hostile.probes import row

row("become_root", "becomes root by setuid(0)", "EPERM")
row("become_group", "joins root's group", "EPERM")
row("capabilities", "gives itself a capability", "EPERM")
row("setuid_program", "runs a setuid program of root's", "it runs as 1000", "no such program could be made here")
row("file_capabilities", "gives a program in its workspace every capability", "EPERM")
row("mount_tmpfs", "mounts a file system", "EPERM")
row("mount_proc", "mounts another /proc", "EPERM")
row("remount_root", "makes the root writable by a new mount", "EPERM")
row("unmount", "unmounts what masks /proc/kcore", "EPERM")
row("new_mount_api", "mounts by the newer calls: fsopen", "EPERM")
row("open_tree", "clones the root's mount: open_tree", "EPERM")
row("mount_setattr", "changes a mount: mount_setattr", "EPERM")
row("pivot_root", "changes the root: pivot_root", "EPERM")
row("chroot", "changes the root: chroot", "EPERM")
row("unshare_user", "makes a user namespace: unshare", "EPERM")
row("unshare_all", "makes user, mount, network and process namespaces at once", "EPERM")
row("clone_user", "makes a user namespace: clone", "EPERM")
row("clone3_user", "makes a user namespace: clone3, whose flags no filter sees", "ENOSYS")
row("user_map", "maps itself to root: /proc/self/uid_map", "EPERM", "EACCES")
row("join_namespace", "joins a namespace of the first process", "EPERM", "EACCES")
row("sethostname", "changes the host name", "EPERM")
row("trace_init", "traces the box's first process", "EPERM")
row("trace_child", "traces any process", "EPERM")
row("read_memory_of_parent", "reads another process's memory by system call", "EPERM")
row("steal_descriptor", "takes another process's open files: pidfd_getfd", "EPERM")
