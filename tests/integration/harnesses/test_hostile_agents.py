"""Agents that misbehave in the real sandbox: the attempt ends with the right name, and honed keeps standing."""

from __future__ import annotations

import pytest

from harnesses.harness import Attempt
from harnesses.outcome import Outcome
from harnesses.traces.builder import TEXT_CHARS
from harnesses.traces.trace import ToolCall
from tests.integration.harnesses.conftest import Bench
from tests.support.agents import MODELS, REAL_KEY
from tests.support.upstream import Upstream
from tests.support.wire import Step

pytestmark = [pytest.mark.docker, pytest.mark.clis, pytest.mark.hostile]


async def after(bench: Bench, command: str) -> tuple[Attempt, Upstream]:
    """What comes of an agent that runs one command and says it is done."""
    async with Upstream([bench.kind.run(command), Step(text="done")]) as provider:
        attempt = await bench.harness(provider).run(bench.assignment())
    return attempt, provider


def output(attempt: Attempt) -> str:
    return "\n".join(event.output for event in attempt.trace.events if isinstance(event, ToolCall))


async def test_deleting_the_session_files_takes_no_attempt_back(bench: Bench) -> None:
    attempt, provider = await after(bench, "find /out -name '*.jsonl' -delete; echo gone")
    assert "gone" in output(attempt)
    # Both go on without what was deleted; the gateway saw the skill go by, out of the agent's reach.
    assert (attempt.outcome, attempt.trace.skill_opened) == (Outcome.COMPLETED, True)
    assert len(provider.requests) == 2


async def test_links_pipes_and_floods_are_not_collected(bench: Bench) -> None:
    attempt, _ = await after(
        bench,
        "ln -s /etc/passwd link; ln -s / root; mkfifo pipe; printf x > ok.txt; truncate -s 900M sparse; "
        "ln -s /proc/1/environ environ; mkdir deep && ln -s .. deep/up; ls",
    )
    assert attempt.outcome is Outcome.COMPLETED, attempt.detail
    assert attempt.workspace.files["ok.txt"] == b"x"
    assert not {"link", "pipe", "sparse", "environ"} & set(attempt.workspace.files)
    assert not [path for path in attempt.workspace.files if path.startswith(("root/", "deep/up/"))]
    assert len(attempt.workspace.skipped) >= 5


async def test_a_flood_of_output_stays_bounded(bench: Bench) -> None:
    attempt, _ = await after(bench, "head -c 60000000 /dev/zero | tr '\\0' 'x' | fold -w 200; echo; echo THE_END")
    assert attempt.outcome is Outcome.COMPLETED, attempt.detail
    assert len(output(attempt)) < TEXT_CHARS * 3
    assert len(attempt.summary) < 6_000


async def test_killing_its_own_cli_takes_no_attempt_back(bench: Bench) -> None:
    attempt, _ = await after(bench, "for p in /proc/[0-9]*; do [ $p = /proc/$$ ] || kill -9 ${p#/proc/}; done")
    assert attempt.outcome is Outcome.AGENT_ENDED_CLI, attempt.detail
    assert attempt.usage.requests == 1


ASK = r"""
python3 - <<'EOF'
import json, os, socket
def reach(what, family, address):
    try:
        with socket.socket(family) as s:
            s.settimeout(2)
            s.connect(address)
            print('REACHED', what)
    except OSError as error:
        print('blocked', what)
reach('internet', socket.AF_INET, ('1.1.1.1', 443))
reach('provider', socket.AF_INET, ('127.0.0.1', PORT))
reach('engine', socket.AF_UNIX, '/var/run/docker.sock')
def ask(path, token, body):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect('/run/gateway/m.sock')
        data = json.dumps(body).encode()
        s.sendall(b'POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n'
                  b'Authorization: Bearer %s\r\nx-api-key: %s\r\nContent-Length: %d\r\n\r\n'
                  % (path.encode(), token, token, len(data)) + data)
        reply = b''
        while chunk := s.recv(65536):
            reply += chunk
    print('STATUS', path, reply.split()[1].decode())
token = b'x'
for pid in filter(str.isdigit, os.listdir('/proc')):
    try:
        for item in open(f'/proc/{pid}/environ', 'rb').read().split(b'\0'):
            if item.startswith((b'HONED_GATEWAY_TOKEN=', b'ANTHROPIC_API_KEY=')):
                token = item.split(b'=', 1)[1]
    except OSError:
        pass
ask('/v1/files', token, {})
ask('/PATH', b'wrong', {'model': 'MODEL'})
ask('/PATH', token, {'model': 'a-dearer-model'})
EOF
"""


async def test_the_door_is_the_only_way_out_and_serves_nothing_else(bench: Bench) -> None:
    path, model = (
        ("v1/responses", MODELS["openai"]) if bench.kind.cli == "codex" else ("v1/messages", MODELS["anthropic"])
    )
    steps = [Step(text="done")]
    async with Upstream(steps) as provider:
        port = provider.base_url("anthropic").rsplit(":", 1)[1]
        script = ASK.replace("PORT", port).replace("PATH", path).replace("MODEL", model)
        provider.steps = [bench.kind.run(script), Step(text="done")]
        attempt = await bench.harness(provider).run(bench.assignment())
    said = output(attempt)
    assert attempt.outcome is Outcome.COMPLETED, attempt.detail
    assert "REACHED" not in said
    for what in ("internet", "provider", "engine"):
        assert f"blocked {what}" in said
    assert "STATUS /v1/files 403" in said
    assert f"STATUS /{path} 401" in said
    assert f"STATUS /{path} 200" not in said
    assert len(provider.requests) == 2, "nothing of it reached the provider"
    assert REAL_KEY not in said
