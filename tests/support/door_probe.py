"""Runs inside a box and does what it is told at the door there; reports as JSON. Standard library only."""

# ruff: noqa: PTH101, PTH104, PTH108, PTH113, PTH116, PTH118, PTH120, PTH123, PTH202, PTH208, SIM115
import contextlib
import http.client
import json
import os
import re
import socket
import sys
import time


class Door(http.client.HTTPConnection):
    """HTTP over the door's socket."""

    def __init__(self, path):
        super().__init__("door", timeout=20)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(20)
        self.sock.connect(self.path)


def ask(path, token, model="m", line="/v1/responses"):
    door = Door(path)
    body = json.dumps({"model": model, "input": "hi"})
    door.request("POST", line, body, {"Authorization": "Bearer " + token, "Content-Type": "application/json"})
    answer = door.getresponse()
    return answer.status, answer.read().decode()


def sockets():
    """Every unix socket that can be found, and what is around the door."""
    found = []
    for folder, _, names in os.walk("/"):
        if folder.startswith(("/proc", "/sys")):
            continue
        for name in names:
            with contextlib.suppress(OSError):
                if (os.stat(os.path.join(folder, name)).st_mode & 0o170000) == 0o140000:
                    found.append(os.path.join(folder, name))
    return sorted(found)


def tamper(path):
    """Try to take the socket's place, to remove it, or to put another beside it."""
    tries = {
        "remove": lambda: os.unlink(path),
        "rename": lambda: os.rename(path, path + ".old"),
        "beside": lambda: socket.socket(socket.AF_UNIX).bind(os.path.join(os.path.dirname(path), "n.sock")),
        "mode": lambda: os.chmod(path, 0),
    }
    done = []
    for name, attempt in tries.items():
        with contextlib.suppress(OSError):
            attempt()
            done.append(name)
    return done


def hunt(word):
    """Files of /proc, of the mounts and of the door's answers that hold a word."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        for name in ("environ", "cmdline", "maps", "status", "mountinfo"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/{name}", "rb") as file:
                if word.encode() in file.read():
                    found.append(f"/proc/{pid}/{name}")
    for root in ("/workspace", "/out", "/home", "/tmp", "/run", "/etc", "/opt"):
        for folder, _, names in os.walk(root):
            for name in names:
                path = os.path.join(folder, name)
                with contextlib.suppress(OSError):
                    if os.path.isfile(path) and os.path.getsize(path) < 1_000_000:
                        with open(path, "rb") as file:
                            if word.encode() in file.read() and not path.endswith(("probe.py", "told.json")):
                                found.append(path)
    return found


def reach(address):
    try:
        socket.create_connection(tuple(address), timeout=5).close()
        return "reached"
    except OSError as error:
        return error.strerror or type(error).__name__


def until_refused(path, token):
    """Ask until the door is gone, and a little longer."""
    told, end = [], time.monotonic() + 30
    while time.monotonic() < end and (len(told) < 3 or isinstance(told[-3], int)):
        try:
            told.append(ask(path, token)[0])
        except (OSError, http.client.HTTPException) as error:
            told.append(type(error).__name__)
        time.sleep(0.02)
    return told


def main():
    told, path = json.load(open(os.path.join(os.path.dirname(sys.argv[0]), "told.json"))), os.environ["DOOR"]
    token = os.environ["TOKEN"]
    if "until_refused" in told:
        sys.stdout.write(json.dumps(until_refused(path, token)))
        return
    right = ask(path, token)
    texts = [right[1], ask(path, token, model="big")[1], ask(path, "x")[1], ask(path, token, line="/v1/files")[1]]
    report = {
        "right": right[0],
        "other_tokens": [ask(path, other)[0] for other in told["tokens"]],
        "sockets": sockets(),
        "tampered": tamper(path),
        "after": ask(path, token)[0],
        "hunted": [hunt(word) for word in told["words"]],
        "answered": [word for word in told["words"] if any(re.search(re.escape(word), text) for text in texts)],
        "reached": [reach(address) for address in told["addresses"]],
    }
    sys.stdout.write(json.dumps(report))


main()
