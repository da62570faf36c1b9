"""The bare CLI: what an attempt costs without honed.

The same binary, arguments, prompt and model server as the harness uses, as a plain process with a fresh home: no
sandbox, no gateway, nothing collected or parsed.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from harnesses.cli_harness import CliHarness
from harnesses.clis import CliBinary
from harnesses.harness import Assignment
from sandboxes.sandbox import Layout


class BenchError(Exception):
    """A measured attempt did not end well, so its time means nothing."""


async def run_bare(harness: CliHarness, cli: CliBinary, assignment: Assignment, origin: str) -> float:
    """Run the harness's own command line on the host; returns its wall time in seconds.

    `origin`: the model server's address without a path. Raises `BenchError` unless the CLI exits with 0.
    """
    began = time.perf_counter()
    layout = _layout(assignment.folder, cli, origin)
    env = dict(harness.env(layout, "no-key"))
    if "ANTHROPIC_BASE_URL" in env:
        env["ANTHROPIC_BASE_URL"] = origin
    prompt = assignment.folder / "prompt.txt"
    prompt.write_text(harness.prompt(assignment))
    Path(harness.config_home(layout)).mkdir()
    stdout, stderr = assignment.folder / "stdout", assignment.folder / "stderr"
    with prompt.open("rb") as asked, stdout.open("wb") as told, stderr.open("wb") as complained:
        process = await asyncio.create_subprocess_exec(
            *harness.argv(assignment, layout),
            stdin=asked,
            stdout=told,
            stderr=complained,
            env=env,
            cwd=layout.workspace,
        )
        code = await _until_end(process, assignment.deadline_s)
    wall_s = time.perf_counter() - began
    if code != 0:
        tail = stderr.read_bytes()[-300:].decode("utf-8", "replace").strip()
        message = f"the bare {cli.name} ended with exit code {code}: {tail}"
        raise BenchError(message)
    return wall_s


async def _until_end(process: asyncio.subprocess.Process, deadline_s: float) -> int:
    try:
        async with asyncio.timeout(deadline_s):
            return await process.wait()
    except BaseException:
        process.kill()
        await process.wait()
        raise


def _layout(folder: Path, cli: CliBinary, origin: str) -> Layout:
    """The rooms as host folders; the binary under the path that the harness asks for is a link."""
    for name in ("workspace", "home", "tmp", "out", "tools"):
        (folder / name).mkdir(parents=True)
    (folder / "tools" / cli.name).symlink_to(cli.folder)
    return Layout(
        workspace=str(folder / "workspace"),
        home=str(folder / "home"),
        tmp=str(folder / "tmp"),
        out=str(folder / "out"),
        tools=str(folder / "tools"),
        gateway_socket=None,
        model_url=origin,
    )
