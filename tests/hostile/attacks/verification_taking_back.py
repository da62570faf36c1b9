"""Agents that would have an attempt count as a failure of ours, so that it is tried again or left out: it is scored.

With the real CLIs: the model asks for one command, which does it.
"""

from __future__ import annotations

from dataclasses import replace

from harnesses.harness import Attempt
from harnesses.outcome import POLICIES
from sandboxes.docker import DockerSandbox
from sandboxes.gateway.proxy import ModelGateway
from sandboxes.sandbox import MIB, Limits
from tests.hostile.attack import Area, Attack, Attempted, Stage, add, holds
from tests.integration.harnesses.conftest import KINDS, Bench
from tests.support.agents import installed
from tests.support.sandboxes import docker_image
from tests.support.upstream import Upstream
from tests.support.wire import Step

_KILL = """python3 - <<'EOP'
import os, signal
for pid in filter(str.isdigit, os.listdir('/proc')):
    try:
        words = open(f'/proc/{pid}/cmdline', 'rb').read().split(b'\\0')
    except OSError:
        continue
    if b'exec' in words and b'--json' in words or b'stream-json' in words:
        os.kill(int(pid), signal.SIGNAL)
EOP
sleep 20
"""
_FORWARDER = _KILL.replace(
    "b'exec' in words and b'--json' in words or b'stream-json' in words",
    "words[0].endswith(b'socat') or b'/run/forward.py' in words",
)
_COMMANDS = {
    **{
        f"sends-its-cli-{name.lower()}": _KILL.replace("SIGNAL", name)
        for name in ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP")
    },
    "stops-its-cli": _KILL.replace("SIGNAL", "SIGSTOP"),
    "kills-its-forwarder": _FORWARDER.replace("SIGNAL", "SIGKILL").replace("sleep 20", "true"),
    "stops-its-forwarder": _FORWARDER.replace("SIGNAL", "SIGSTOP").replace("sleep 20", "true"),
    "deletes-its-session-files": "rm -rf /out/codex/sessions /out/claude/projects",
    "aborts-its-cli": _KILL.replace("SIGNAL", "SIGABRT"),
    "fills-its-disk": "head -c 400000000 /dev/zero > big; sleep 20",
    "digs-too-deep-to-be-measured": (
        "python3 -c \"import os\nfor i in range(200):\n  os.mkdir('d')\n  os.chdir('d')\"; sleep 20"
    ),
    "fills-its-memory": (
        "python3 -c \"import os, time\nfor i in range(60):\n  if os.fork() == 0:\n    x = bytearray(b'x') * 24000000\n"
        '    time.sleep(20)\n    os._exit(0)\ntime.sleep(20)"'
    ),
    "fills-its-home": "cat /dev/zero > $HOME/x; cat /dev/zero > /tmp/x; sleep 20",
    "shuts-its-workspace": "chmod 000 /workspace /out; sleep 2",
}
LIMITS = Limits(memory_bytes=1024 * MIB, workspace_bytes=200 * MIB, pids=256)


async def told(stage: Stage, kind: str, command: str) -> Attempt:
    """What became of an agent that ran the command."""
    installed(KINDS[kind].cli)
    gateway = ModelGateway(stage.folder / "s")
    stage.stack.push_async_callback(gateway.close)
    bench = Bench(KINDS[kind], DockerSandbox(docker_image(), owner=stage.owner), gateway, stage.folder)
    async with Upstream([bench.kind.run(command), Step(text="done")]) as provider:
        harness = bench.harness(provider)
        harness._settings = replace(harness._settings, limits=LIMITS)
        return await harness.run(bench.assignment(deadline_s=60.0))


def _taken_back(kind: str, command: str) -> Attempted:
    async def taken_back(stage: Stage) -> str:
        attempt = await told(stage, kind, command)
        return holds(POLICIES[attempt.outcome].scored, f"{attempt.outcome.value}: {attempt.detail[:90]}")

    return taken_back


for _kind in KINDS:
    for _name, _command in _COMMANDS.items():
        add(
            Attack(
                Area.VERIFICATION,
                f"{_kind}-{_name}",
                f"an agent ({_kind}) {_name.replace('-', ' ')} to take its attempt back",
                "a scored end",
                _taken_back(_kind, _command),
                needs_engine=True,
            )
        )
