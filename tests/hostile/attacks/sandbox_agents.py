"""The same ways out, taken by the real CLIs' shell tools: a model tells the CLI to run the attacker's program.

One attempt a CLI, from the assignment to the collected workspace; its report is read by all rows.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
import uuid
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from harnesses.cli_harness import CliSettings
from harnesses.harness import Assignment
from sandboxes.docker import DockerSandbox
from sandboxes.gateway.proxy import ModelGateway
from tests.hostile.attack import Area, Attack, Stage, add, holds
from tests.hostile.attacks.sandbox_processes import alive
from tests.hostile.attacks.sandbox_secrets import FORMS
from tests.integration.harnesses.conftest import KINDS
from tests.support.agents import SKILL, door_policy, installed
from tests.support.captives import captive_files, captive_report, host_that_listens
from tests.support.sandboxes import docker_image
from tests.support.upstream import Upstream
from tests.support.wire import Step

SUBJECTS = {
    "network": "tries every address, socket family and unix socket",
    "files": "writes and reads everywhere it may not",
    "privileges": "tries for every privilege",
    "kernel": "tries every dangerous system call",
}
_SEEN: dict[str, dict[str, Any]] = {}
_ONE = asyncio.Lock()


async def _seen(cli: str) -> dict[str, Any]:
    async with _ONE:
        if cli not in _SEEN:
            folder = Path(tempfile.mkdtemp(prefix="honed-"))
            try:
                _SEEN[cli] = await _attempt(cli, folder)
            finally:
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
    return _SEEN[cli]


async def _attempt(cli: str, folder: Path) -> dict[str, Any]:
    kind, owner, mark = KINDS[cli], f"hostile-{uuid.uuid4().hex}", f"mark-{uuid.uuid4().hex}"
    image, binary = docker_image(), installed(kind.cli)
    async with AsyncExitStack() as stack:
        host = stack.enter_context(host_that_listens())
        asked = {
            **host,
            "other": {"name": mark[:12], "key": 4711, "port": 9, "paths": [str(folder)]},
            "attempts": [str(folder / "x")],
            "readable": ["/opt/agents", "/run/gateway"],
        }
        stay = f"import time; time.sleep(3000) # {mark}"
        command = (
            f"python3 -I captive '{json.dumps(asked)}' > report.txt 2>&1; "
            "(env; cat /proc/*/environ /proc/*/cmdline /proc/mounts) > seen.bin 2>/dev/null; "
            f"setsid nohup python3 -c '{stay}' >/dev/null 2>&1 & sleep 1; echo done"
        )
        provider = await stack.enter_async_context(Upstream([kind.run(command), Step(text="done")]))
        gateway = ModelGateway(folder / "s")
        stack.push_async_callback(gateway.close)
        policy = door_policy(kind.provider, provider.base_url(kind.provider))
        harness = kind.harness(DockerSandbox(image, owner=owner), gateway, CliSettings(binary, policy))
        given = Assignment("agent", "t-1", "Do it.", folder / "agent", captive_files(), SKILL, deadline_s=200.0)
        attempt = await harness.run(given)
        heard = json.dumps([request.body for request in provider.requests]).encode()
    files = attempt.workspace.files
    assert "report.txt" in files, f"{attempt.outcome}: {attempt.detail}; {attempt.trace.final_answer[:200]}"
    report = captive_report(files["report.txt"].decode(errors="replace"))
    return {"report": report, "said": files["seen.bin"] + heard, "left": alive(mark), "outcome": attempt.outcome.value}


def _subject(cli: str, subject: str, what: str) -> None:
    async def run(_: Stage) -> str:
        report = (await _seen(cli))["report"]
        source = captive_files()[f"captive/{subject}.py"].decode()
        mine = {name: told for name, told in report.items() if f'"{name}"' in source or f"def {name}(" in source}
        through = [f"{name}: {told}" for name, told in mine.items() if told[0] not in {"refused", "dead"}]
        return holds(len(mine) > 15 and not through, f"{len(mine)} ways tried; through: {'; '.join(through) or 'none'}")

    _add(cli, subject, what, "none gets through", run)


def _key(cli: str) -> None:
    async def run(_: Stage) -> str:
        said = (await _seen(cli))["said"]
        found = [form for form, text in FORMS.items() if text in said]
        return holds(len(said) > 1000 and not found, f"{len(said):,} bytes; the key: {', '.join(found) or 'not there'}")

    _add(cli, "key", "reads the environment and arguments of every process for the key", "the key in no form", run)


def _left(cli: str) -> None:
    async def run(_: Stage) -> str:
        seen = await _seen(cli)
        return holds(not seen["left"], f"{seen['outcome']}; {len(seen['left'])} processes left on the host")

    _add(cli, "leaves-a-process", "starts a process in a session of its own and ends", "nothing left on the host", run)


def _add(cli: str, name: str, what: str, expected: str, run: Any) -> None:
    add(Attack(Area.SANDBOX, f"{cli}-{name}", f"{cli}'s shell tool: {what}", expected, run, needs_engine=True))


for _cli in sorted(KINDS):
    for _name, _what in SUBJECTS.items():
        _subject(_cli, _name, _what)
    _key(_cli)
    _left(_cli)
