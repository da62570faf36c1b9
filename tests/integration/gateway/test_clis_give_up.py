"""The real CLIs, their own retries left on, give up at once when the gateway says no: it has already tried for them."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from harnesses.clis import CliName
from sandboxes.gateway.policy import Caps, ProviderFailure, Tally
from sandboxes.gateway.upstream import Waits
from tests.support.agents import MODELS, REAL_KEY, installed
from tests.support.gateway import Sleeps, opened, policy
from tests.support.upstream import Upstream
from tests.support.waiting import PATIENCE_S
from tests.support.wire import Call, Step

pytestmark = [pytest.mark.clis]

F = ProviderFailure
CODEX = """exec --json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox -m {model}
 -c model_provider=p -c model_providers.p={{name="p",base_url="{url}/v1",env_key="DUMMY",wire_api="responses"}}
 -c analytics.enabled=false --disable plugins -c skills.bundled.enabled=false
 -c web_search="disabled" go"""
CLAUDE = """-p go --output-format stream-json --verbose --dangerously-skip-permissions --model {model}
 --tools Bash --strict-mcp-config"""
TOOLS = {
    "codex": Step(text="", calls=(Call("exec_command", {"cmd": "true"}),)),
    "claude": Step(text="", calls=(Call("Bash", {"command": "true"}),)),
}


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def forwarded(socket: Path) -> AsyncIterator[str]:
    """A loopback address that leads to the door, as inside a sandbox."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            door_reader, door_writer = await asyncio.open_unix_connection(str(socket))
        except OSError:
            writer.close()
            return
        await asyncio.gather(_pump(reader, door_writer), _pump(door_reader, writer))

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


async def run(cli: CliName, folder: Path, url: str, token: str) -> tuple[int, str]:
    """The CLI as a plain process; exit code and stdout."""
    binary = installed(cli)
    home, work = folder / "home", folder / "work"
    for each in (home / "cli", work):
        each.mkdir(parents=True)
    line = CODEX if cli == "codex" else CLAUDE
    model = MODELS["openai" if cli == "codex" else "anthropic"]
    env = {"PATH": "/usr/bin:/bin", "HOME": str(home), "CODEX_HOME": str(home / "cli"), "DUMMY": token}
    env |= {"CLAUDE_CONFIG_DIR": str(home / "cli"), "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": token}
    env |= {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "IS_SANDBOX": "1", "LANG": "C.UTF-8"}
    process = await asyncio.create_subprocess_exec(
        str(binary.path),
        *line.format(model=model, url=url).split(),
        cwd=work,
        env=env,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(PATIENCE_S):
            out, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return process.returncode, out.decode()


async def attempt(
    cli: CliName, folder: Path, steps: list[Step], *, caps: Caps | None = None, base_url: str = ""
) -> tuple[int, str, Tally, Upstream]:
    dialect, provider = ("responses", "openai") if cli == "codex" else ("messages", "anthropic")
    async with Upstream(steps) as server:
        address = base_url or server.base_url(provider)
        door = policy(dialect, address, caps=caps, model=MODELS[provider])  # type: ignore[index]
        waits = Waits(rng=random.Random(1), sleep=Sleeps())
        async with opened(folder / "s", door, waits=waits) as sandbox, forwarded(sandbox.door.socket) as url:
            code, out = await run(cli, folder, url, sandbox.door.token)
            return code, out, await sandbox.door.close(), server


@pytest.fixture(params=["codex", "claude"])
def cli(request: pytest.FixtureRequest) -> CliName:
    name: CliName = request.param
    installed(name)
    return name


async def test_success_is_counted_and_nothing_the_cli_sends_is_removed(cli: CliName, tmp_path: Path) -> None:
    code, out, tally, _ = await attempt(cli, tmp_path, [TOOLS[cli], Step(text="all done")])
    assert code == 0
    assert "all done" in out
    assert (tally.usage.requests, tally.usage.tokens) == (2, 2100)
    assert tally.refusals == tally.failures == ()
    assert tally.removed_tools == ()
    assert REAL_KEY not in out


@pytest.mark.parametrize(("caps", "what"), [(Caps(requests=2), "cap: requests"), (Caps(tokens=2000), "cap: tokens")])
async def test_a_cap_ends_it_with_one_refused_request(cli: CliName, tmp_path: Path, caps: Caps, what: str) -> None:
    code, out, tally, server = await attempt(cli, tmp_path, [TOOLS[cli]], caps=caps)
    assert code == 1
    assert "honed policy: this attempt's" in out
    assert (tally.refusals, len(server.requests), tally.failures) == ((what,), 2, ())


def _error(cli: CliName, message: str) -> dict[str, Any]:
    inner = {"type": "invalid_request_error", "message": message}
    return {"error": inner} if cli == "codex" else {"type": "error", "error": inner}


@pytest.mark.parametrize(
    ("status", "kind", "requests"),
    [(401, F.AUTH, 1), (404, F.MODEL_NOT_FOUND, 1), (429, F.RATE_LIMIT, 3), (500, F.SERVER_ERROR, 3)],
)
async def test_a_failing_provider_is_told_once(
    cli: CliName, tmp_path: Path, status: int, kind: ProviderFailure, requests: int
) -> None:
    step = Step(status=status, body=_error(cli, "model says no"))
    code, _, tally, server = await attempt(cli, tmp_path, [step])
    assert code == 1
    assert (tally.failures, len(server.requests), tally.last_request_failed) == ((kind,), requests, True)


async def test_an_unreachable_provider_is_told_once(cli: CliName, tmp_path: Path) -> None:
    base = "http://127.0.0.1:9/v1" if cli == "codex" else "http://127.0.0.1:9"
    code, _, tally, _ = await attempt(cli, tmp_path, [Step()], base_url=base)
    assert (code, tally.failures) == (1, (F.UNREACHABLE,))
