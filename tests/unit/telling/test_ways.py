"""The two ways on real programs and a real loopback server: what arrives, what is kept back, what is given up."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import os
import random
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from daemon.telling.events import Bus
from daemon.telling.notification import Notification
from daemon.telling.ways import Command, HookError, Webhook, signature
from tests.support.desk import a_project
from tests.support.loopback import Loopback
from tests.support.ports import refusing_port
from tests.support.processes import runs
from tests.support.telling import a_step
from tests.support.waiting import LONGER_S, PATIENCE_S, until

SECRET = b"a long random secret"
SHOW = (
    "import json, os, sys; told = json.load(sys.stdin); "
    "open('seen.json', 'w').write(json.dumps({'argv': sys.argv[1:], 'env': dict(os.environ), 'told': told}))"
)


def notification() -> Notification:
    return Notification("accepted", a_step(Bus()))


async def run(folder: Path, *argv: str, timeout_s: float = PATIENCE_S) -> None:
    await Command((sys.executable, *argv), folder, timeout_s).deliver(notification(), a_project())


async def test_a_program_gets_json_its_arguments_as_they_are_and_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real")
    monkeypatch.setenv("GITHUB_TOKEN", "ghp-real")
    await run(tmp_path, "-c", SHOW, "$(touch owned)", "; rm -rf *")
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert seen["argv"] == ["$(touch owned)", "; rm -rf *"]
    assert seen["told"]["event"] == "accepted"
    assert seen["told"]["skill"] == "skills/greeting"
    assert set(seen["env"]) <= {"PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"}
    assert not (tmp_path / "owned").exists()


async def test_a_program_that_fails_is_said_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(HookError, match=r"ended with code 3: x+ no such room$"):
        await run(tmp_path, "-c", "import sys; sys.stderr.write('x' * 5_000 + ' no such\\nroom'); sys.exit(3)")


async def test_a_program_that_never_ends_is_killed_with_its_children(tmp_path: Path) -> None:
    code = (
        "import os, subprocess, sys, time; child = subprocess.Popen(['sleep', '600']); "
        "open('new', 'w').write(f'{os.getpid()} {child.pid}'); os.rename('new', 'pids'); time.sleep(600)"
    )
    for timeout_s in LONGER_S:
        with pytest.raises(HookError, match=f"did not end within {timeout_s:g} s and was killed"):
            await run(tmp_path, "-c", code, timeout_s=timeout_s)
        if (tmp_path / "pids").exists():
            break
    for pid in map(int, (tmp_path / "pids").read_text().split()):
        await until(lambda pid=pid: not runs(pid))  # type: ignore[misc]


async def test_a_program_that_is_running_when_the_daemon_ends_is_killed(tmp_path: Path) -> None:
    code = "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(600)"
    task = asyncio.create_task(run(tmp_path, "-c", code))
    await until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: not runs(int((tmp_path / "pid").read_text())))


async def test_what_a_program_leaves_in_the_background_holds_nothing_up(tmp_path: Path) -> None:
    code = "import subprocess; print(subprocess.Popen(['sleep', '600']).pid, file=open('pid', 'w'))"
    await run(tmp_path, "-c", code)
    pid = int((tmp_path / "pid").read_text())
    assert runs(pid)
    os.kill(pid, 9)


@pytest.mark.parametrize("argv", [("/no/such/program",), (".",)])
async def test_a_program_that_cannot_be_run_is_one_line(tmp_path: Path, argv: tuple[str, ...]) -> None:
    with pytest.raises(HookError, match="cannot be run: "):
        await Command(argv, tmp_path, PATIENCE_S).deliver(notification(), None)


@dataclass
class Receiver:
    """A server that answers from a script (the last answer repeats) and keeps what came."""

    answers: list[web.Response | float]
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    port: int = 0

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.got.append((dict(request.headers), await request.read()))
        answer = self.answers[min(len(self.got), len(self.answers)) - 1]
        if isinstance(answer, float):
            await asyncio.sleep(answer)
            return web.Response()
        return web.Response(status=answer.status, headers=answer.headers, body=answer.body)

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    def webhook(self, **changes: Any) -> Webhook:
        given: dict[str, Any] = {"timeout_s": PATIENCE_S, "tries": 4, "sleep": self.sleep}
        hook = Webhook(f"http://127.0.0.1:{self.port}/x", SECRET, **{**given, **changes})
        hook._rng = random.Random(7)
        return hook


@asynccontextmanager
async def receiving(*answers: web.Response | float) -> AsyncIterator[Receiver]:
    receiver = Receiver(list(answers) or [web.Response()])
    loopback = Loopback(receiver.handle)
    loopback.start()
    receiver.port = loopback.port
    try:
        yield receiver
    finally:
        loopback.stop()


async def deliver(hook: Webhook, one: Notification | None = None) -> None:
    try:
        await hook.deliver(one or notification(), a_project())
    finally:
        await hook.close()


async def test_a_post_is_signed_over_its_exact_bytes_with_its_time_in_them() -> None:
    one = notification()
    async with receiving() as receiver:
        await deliver(receiver.webhook(), one)
    [(headers, body)] = receiver.got
    assert headers["X-Honed-Signature"] == "sha256=" + hmac.new(SECRET, body, hashlib.sha256).hexdigest()
    told = json.loads(body)
    assert headers["X-Honed-Delivery"] == told["delivery"] == one.delivery
    assert headers["X-Honed-Event"] == told["event"] == "accepted"
    assert headers["Content-Type"] == "application/json"
    assert told["sent"] >= told["time"]
    assert signature(SECRET, body) != signature(b"another long secret", body) != signature(SECRET, body + b" ")


async def test_what_may_pass_is_tried_again_with_the_same_delivery_and_growing_waits() -> None:
    async with receiving(web.Response(status=500), web.Response(status=429), web.Response()) as receiver:
        await deliver(receiver.webhook())
    told = [json.loads(body) for _, body in receiver.got]
    assert len({one["delivery"] for one in told}) == 1
    assert len({one["sent"] for one in told}) == 3
    assert len(receiver.waits) == 2
    assert all(0 <= wait <= 20 for wait in receiver.waits)


async def test_tries_are_bounded() -> None:
    async with receiving(web.Response(status=503)) as receiver:
        with pytest.raises(HookError, match=r"^127\.0\.0\.1: answered 503 \(4 tries\)$"):
            await deliver(receiver.webhook())
    assert len(receiver.got) == 4


async def test_the_server_s_own_wait_is_kept_and_one_that_is_too_long_gives_up() -> None:
    asked = [web.Response(status=429, headers={"Retry-After": value}) for value in ("7", "86400")]
    async with receiving(*asked) as receiver:
        with pytest.raises(HookError, match=r"answered 429 \(2 tries\)"):
            await deliver(receiver.webhook())
    assert len(receiver.waits) == 1
    assert 7 <= receiver.waits[0] <= 8


@pytest.mark.parametrize("status", [400, 401, 404, 410])
async def test_what_does_not_pass_is_not_tried_again(status: int) -> None:
    async with receiving(web.Response(status=status)) as receiver:
        with pytest.raises(HookError, match=f"answered {status}$"):
            await deliver(receiver.webhook())
    assert len(receiver.got) == 1


async def test_redirects_are_not_followed() -> None:
    async with receiving() as other:
        there = {"Location": f"http://127.0.0.1:{other.port}/"}
        async with receiving(web.Response(status=307, headers=there)) as receiver:
            with pytest.raises(HookError, match="answered 307, and redirects are not followed"):
                await deliver(receiver.webhook())
    assert other.got == []


async def test_a_silent_server_is_given_up_in_time() -> None:
    async with receiving(1_000.0) as receiver:
        with pytest.raises(HookError, match=r"no answer within 0\.1 s \(2 tries\)"):
            await deliver(receiver.webhook(timeout_s=0.1, tries=2))


async def test_a_server_that_is_not_there_is_said_without_the_address_s_path() -> None:
    with refusing_port() as port, pytest.raises(HookError, match=r"^127\.0\.0\.1: cannot be reached .*\(4 tries\)$"):
        await deliver(Receiver([], port=port).webhook())


async def test_the_environment_s_proxy_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async with receiving() as proxy, receiving() as receiver:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        await deliver(receiver.webhook())
    assert (len(proxy.got), len(receiver.got)) == (0, 1)


async def test_the_body_of_the_answer_is_not_read() -> None:
    async with receiving(web.Response(body=b"x" * 50_000_000)) as receiver:
        await deliver(receiver.webhook())
    assert len(receiver.got) == 1


def test_the_secret_is_not_in_what_a_webhook_shows() -> None:
    assert "secret" not in repr(Webhook("https://hooks.example/x", SECRET, 1.0, 1)).replace("secret=", "")
