"""Ways to an address, a socket or another box."""

# ruff: noqa: PTH100, PTH101, PTH102, PTH103, PTH108, PTH110, PTH111, PTH115, PTH118, PTH119, PTH123, PTH207, PTH208, SIM115, N802, E731, N818, B904, F405, F403, RUF059, RUF100, PERF401
import ctypes
import glob
import os
import socket
import struct

from base import ASKED, LIBC, NUMBERS, Nothing, plain, probe, syscall


def connect(family, kind, address, data=b"GET / HTTP/1.0\r\n\r\n"):
    with socket.socket(family, kind) as s:
        s.settimeout(2)
        s.connect(address)
        s.sendall(data)
        try:
            return f"sent to {address}, heard {s.recv(200)!r}"
        except TimeoutError:
            return f"sent to {address}"


V4, V6, TCP, UDP = socket.AF_INET, socket.AF_INET6, socket.SOCK_STREAM, socket.SOCK_DGRAM
plain("tcp4", lambda: connect(V4, TCP, ("1.1.1.1", 443)))
plain("tcp6", lambda: connect(V6, TCP, ("2606:4700:4700::1111", 443)))
plain("udp4", lambda: connect(V4, UDP, ("1.1.1.1", 123)))
plain("udp6", lambda: connect(V6, UDP, ("2606:4700:4700::1111", 123)))
plain("broadcast", lambda: connect(V4, UDP, ("192.168.255.255", 67)))
plain("metadata4", lambda: connect(V4, TCP, ("169.254.169.254", 80)))
plain("metadata6", lambda: connect(V6, TCP, ("fd00:ec2::254", 80)))
plain("icmp", lambda: str(socket.socket(V4, UDP, socket.IPPROTO_ICMP)))
plain("icmp6", lambda: str(socket.socket(V6, UDP, socket.IPPROTO_ICMPV6)))
plain("raw_ip", lambda: str(socket.socket(V4, socket.SOCK_RAW, socket.IPPROTO_RAW)))
plain("packet", lambda: str(socket.socket(17, socket.SOCK_RAW, 3)))
plain("vsock_host", lambda: connect(40, TCP, (2, 1024)))
plain("sctp", lambda: str(socket.socket(V4, TCP, 132)))
plain("mptcp", lambda: str(socket.socket(V4, TCP, 262)))
plain("dccp", lambda: str(socket.socket(V4, 6, 33)))
plain("bluetooth", lambda: str(socket.socket(31, socket.SOCK_RAW, 1)))
plain("tipc", lambda: str(socket.socket(30, socket.SOCK_SEQPACKET, 0)))
plain("can", lambda: str(socket.socket(29, socket.SOCK_RAW, 1)))
plain("xdp", lambda: str(socket.socket(44, socket.SOCK_RAW, 0)))
plain("alg", lambda: str(socket.socket(38, socket.SOCK_SEQPACKET, 0)))
plain("netlink_netfilter", lambda: str(socket.socket(16, socket.SOCK_RAW, 12)))
plain("netlink_audit", lambda: str(socket.socket(16, socket.SOCK_RAW, 9)))
plain("netlink_xfrm", lambda: str(socket.socket(16, socket.SOCK_RAW, 6)))
plain("family_high_bits", lambda: syscall(41 if "modify_ldt" in NUMBERS else 198, 38 + (1 << 32), 5, 0))


@probe
def host_addresses():
    reached = []
    for address in ASKED["hosts"]:
        family = V6 if ":" in address else V4
        try:
            with socket.socket(family, TCP) as s:
                s.settimeout(2)
                s.connect((address, ASKED["port"]))
                reached.append(address)
        except OSError as error:
            last = error
    if reached:
        return f"reached {reached}"
    raise last


@probe
def dns():
    return str(socket.getaddrinfo("example.com", 443))


@probe
def dns_servers():
    servers = ["8.8.8.8", "127.0.0.11", "127.0.0.53"]
    for line in open("/etc/resolv.conf") if os.path.exists("/etc/resolv.conf") else ():
        if line.startswith("nameserver"):
            servers.append(line.split()[1])
    query = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07example\x03com\x00\x00\x01\x00\x01"
    for server in servers:
        for kind in (UDP, TCP):
            try:
                with socket.socket(V6 if ":" in server else V4, kind) as s:
                    s.settimeout(1)
                    s.connect((server, 53))
                    s.sendall(query if kind == UDP else struct.pack(">H", len(query)) + query)
                    return f"{server} answers {s.recv(512)[:20]!r}"
            except OSError as error:
                last = error
    raise last


def route(kind, flags, body):
    """Ask the kernel over a netlink socket; OSError with what it answered."""
    with socket.socket(16, socket.SOCK_RAW, 0) as s:
        s.settimeout(2)
        s.send(struct.pack("=IHHII", 16 + len(body), kind, flags, 1, 0) + body)
        answer = s.recv(65536)
        length, told = struct.unpack_from("=IH", answer)
        if told == 2:
            code = -struct.unpack_from("=i", answer, 16)[0]
            if code:
                raise OSError(code, "netlink")
        return answer


@probe
def netlink_new_interface():
    info = b"dummy\0"
    inner = struct.pack("=HH", 4 + len(info), 1) + info + b"\0\0"
    linkinfo = struct.pack("=HH", 4 + len(inner), 18) + inner
    return repr(route(16, 0x605, struct.pack("=BxHiII", 0, 0, 0, 0, 0) + linkinfo))


@probe
def netlink_new_address():
    address = struct.pack("=HH4s", 8, 2, socket.inet_aton("172.17.0.9"))
    return repr(route(20, 0x605, struct.pack("=BBBBI", V4, 24, 0, 0, 1) + address))


@probe
def netlink_other_interfaces():
    seen = sorted({name for _, name in socket.if_nameindex()})
    if seen != ["lo"]:
        return f"interfaces {seen}"
    raise Nothing("lo alone")


@probe
def engine_sockets():
    places = ["/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock"]
    for place in [*places, *glob.glob("/proc/*/root/run/*.sock"), *ASKED.get("sockets", [])]:
        try:
            return connect(socket.AF_UNIX, TCP, place)
        except OSError as error:
            last = error
    raise last


@probe
def sockets_anywhere():
    found = []
    for folder, below, names in os.walk("/"):
        own = {"/proc", "/sys", "/tmp", "/home/agent"}  # the last two are new with every box
        below[:] = [name for name in below if os.path.join(folder, name) not in own]
        for name in names:
            path = os.path.join(folder, name)
            try:
                if os.lstat(path).st_mode & 0o170000 == 0o140000:
                    found.append(path)
            except OSError:
                pass
    if found:
        return f"sockets {found}"
    raise Nothing("no socket in any folder")


@probe
def abstract_sockets():
    for name in ASKED.get("abstract", ["\0/tmp/.X11-unix/X0"]):
        try:
            return connect(socket.AF_UNIX, TCP, name)
        except OSError as error:
            last = error
    listed = [line.split()[-1] for line in open("/proc/net/unix") if line.split()[-1].startswith("@")]
    if listed:
        return f"abstract sockets {listed}"
    raise last


# Other boxes: ASKED["other"] is what the first box opened


@probe
def other_box_tcp():
    return connect(V4, TCP, ("127.0.0.1", ASKED["other"]["port"]))


@probe
def other_box_abstract():
    return connect(socket.AF_UNIX, TCP, "\0" + ASKED["other"]["name"])


@probe
def other_box_shared_memory():
    key, found = ASKED["other"]["key"], glob.glob("/dev/shm/*") + glob.glob("/dev/mqueue/*")
    if found:
        return f"{found}"
    identity = LIBC.shmget(ctypes.c_int(key), ctypes.c_size_t(4096), 0)
    if identity >= 0:
        return f"segment {identity}"
    raise OSError(ctypes.get_errno(), "shmget")


@probe
def other_box_processes():
    name, seen = ASKED["other"]["name"], []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            if int(entry) != os.getpid() and name in open(f"/proc/{entry}/environ").read():
                seen.append(entry)
        except OSError:
            pass
    if seen:
        return f"processes {seen}"
    raise Nothing("no process of it")


@probe
def other_box_files():
    name = ASKED["other"]["name"]
    for folder in ("/tmp", "/home/agent", "/workspace", "/out", "/dev/shm", "/proc/1/root/tmp"):
        if os.path.exists(f"{folder}/{name}"):
            return folder
    for path in ASKED["other"]["paths"]:
        if os.path.exists(path):
            return path
    raise Nothing("no file of it")
