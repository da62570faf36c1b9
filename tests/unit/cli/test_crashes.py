"""A crash shows no secret: in a process of its own, since the hooks are the process's."""

from __future__ import annotations

import subprocess
import sys

import pytest

SECRET = "k-crash-0123456789"
START = f"""
import threading
from pydantic import SecretStr
from daemon.cli.crashes import guard_crashes
from daemon.redaction import register_secret
guard_crashes()
key = "{SECRET}"
register_secret(SecretStr(key))
"""
WAYS = {
    "main": "raise RuntimeError(f'it was {key}')",
    "cause": "try:\n    raise ValueError(key)\nexcept ValueError as error:\n    raise RuntimeError('x') from error",
    "note": "error = RuntimeError('x')\nerror.add_note(key)\nraise error",
    "group": "raise ExceptionGroup(key, [ValueError(key)])",
    "thread": "def fail():\n    raise RuntimeError(key)\nt = threading.Thread(target=fail)\nt.start()\nt.join()",
    "destructor": "class A:\n    def __del__(self):\n        raise RuntimeError(key)\nA()",
}


@pytest.mark.parametrize("way", WAYS)
def test_no_traceback_shows_a_secret(way: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", START + WAYS[way]], capture_output=True, text=True, timeout=120, check=False
    )
    assert SECRET not in done.stderr.replace(START, "")
    assert "Traceback" in done.stderr
    assert "[redacted]" in done.stderr


def test_no_core_file_is_written() -> None:
    script = f"{START}\nimport resource\nprint(resource.getrlimit(resource.RLIMIT_CORE)[0])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "0\n"
