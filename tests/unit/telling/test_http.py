"""Health, readiness and metrics over a real loopback socket: for honest clients, and for others."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from daemon.config import ConfigError
from daemon.journal.journal import JournalError
from daemon.service.desk import Status
from daemon.telling import http
from daemon.telling.counting import Counting
from daemon.telling.http import Listening
from tests.support.desk import FakeDesk, a_project, a_status
from tests.support.streams import to_the_end
from tests.support.telling import configured, raw
from tests.support.waiting import PATIENCE_S

LISTEN = '[daemon]\nlisten = "127.0.0.1:0"\n'


@asynccontextmanager
async def listening(folder: Path, desk: FakeDesk | None = None, text: str = LISTEN) -> AsyncIterator[Listening]:
    server = await Listening.open(desk or FakeDesk(), configured(folder, text), Counting())
    try:
        yield server
    finally:
        await server.close()


async def get(server: Listening, path: str, **options: Any) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as session,
        session.request(options.pop("method", "GET"), f"http://127.0.0.1:{server.port}{path}", **options) as answer,
    ):
        return answer.status, await answer.text()


async def test_health_is_whether_the_loop_turns_and_readiness_has_its_reason(tmp_path: Path) -> None:
    desk = FakeDesk()
    async with listening(tmp_path, desk) as server:
        assert await get(server, "/healthz") == (200, "ok\n")
        assert await get(server, "/readyz") == (200, "ok\n")
        desk.is_alive, desk.not_ready = False, "the engine\ndoes not answer"
        status, _ = await get(server, "/healthz")
        assert status == 503
        assert await get(server, "/readyz") == (503, "the engine does not answer\n")


async def test_metrics_show_what_stands_now(tmp_path: Path) -> None:
    desk = FakeDesk()
    async with listening(tmp_path, desk) as server:
        status, page = await get(server, "/metrics")
        assert status == 200
        assert 'honed_score{project="greeting"} 0.5' in page
        desk.shown = a_status(a_project(score=0.75))
        desk.not_ready = "paused"
        status, page = await get(server, "/metrics")
        assert 'honed_score{project="greeting"} 0.75' in page
        assert "honed_ready 0.0" in page


async def test_the_content_type_is_the_one_that_prometheus_reads(tmp_path: Path) -> None:
    async with listening(tmp_path) as server:
        answer = await raw(server.port, b"HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert b"Content-Type: text/plain; version=0.0.4; charset=utf-8" in answer
    assert b"aiohttp" not in answer
    assert answer.endswith(b"\r\n\r\n")


async def test_nothing_else_is_served(tmp_path: Path) -> None:
    async with listening(tmp_path) as server:
        for path in ("/", "/metrics/", "//metrics", "/../etc/passwd", "/healthz%00", "/static"):
            assert (await get(server, path))[0] == 404, path
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            assert (await get(server, "/metrics", method=method, data=b"x" * 100_000))[0] == 405


@pytest.mark.parametrize("host", ["evil.example", "evil.example:9464", "127.0.0.1.evil.example", "[::1", ""])
async def test_a_page_that_was_led_here_by_its_name_is_not_answered(tmp_path: Path, host: str) -> None:
    async with listening(tmp_path) as server:
        status, page = await get(server, "/metrics", headers={"Host": host})
    assert status == 421
    assert "greeting" not in page


@pytest.mark.parametrize("host", ["localhost", "localhost:9464", "[::1]:9464", "127.0.0.1"])
async def test_the_machine_s_own_names_are_answered(tmp_path: Path, host: str) -> None:
    async with listening(tmp_path) as server:
        assert (await get(server, "/healthz", headers={"Host": host}))[0] == 200


def test_loopback_of_both_protocols_answers_a_probe_without_a_host(tmp_path: Path) -> None:
    async def probe(host: str) -> bytes:
        text = f'[daemon]\nlisten = "{f"[{host}]" if ":" in host else host}:0"\n'
        async with listening(tmp_path, text=text) as server:
            return await raw(server.port, b"GET /healthz HTTP/1.0\r\n\r\n", host)

    assert asyncio.run(probe("127.0.0.1")).startswith(b"HTTP/1.0 200")
    try:
        with socket.socket(socket.AF_INET6) as tried:
            tried.bind(("::1", 0))
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    assert asyncio.run(probe("::1")).startswith(b"HTTP/1.0 200")


async def test_where_it_is_meant_to_be_public_any_name_is_answered(tmp_path: Path) -> None:
    text = '[daemon]\nlisten = "0.0.0.0:0"\nlisten_public = true\n'
    async with listening(tmp_path, text=text) as server:
        assert (await get(server, "/healthz", headers={"Host": "honed.example:9464"}))[0] == 200


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\x00\xff\xfe garbage\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nzzz",
    ],
    ids=["garbage", "header", "path", "length", "smuggled"],
)
async def test_hostile_requests_get_no_figures_and_the_next_is_served(tmp_path: Path, request_bytes: bytes) -> None:
    async with listening(tmp_path) as server:
        answer = await raw(server.port, request_bytes)
        assert b"greeting" not in answer
        assert b"Traceback" not in answer
        assert await get(server, "/healthz") == (200, "ok\n")


async def test_more_connections_than_a_few_are_turned_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "LIFETIME_S", PATIENCE_S)
    async with listening(tmp_path) as server:
        idle = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(http.CONNECTIONS)]
        assert await raw(server.port, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n") == b""
        for _, writer in idle:
            writer.close()


async def test_idle_connections_are_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "LIFETIME_S", 0.2)
    async with listening(tmp_path) as server:
        idle = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(http.CONNECTIONS)]
        assert {await to_the_end(reader) for reader, _ in idle} == {b""}
        monkeypatch.setattr(http, "LIFETIME_S", PATIENCE_S)
        assert await get(server, "/healthz") == (200, "ok\n")
        for _, writer in idle:
            writer.close()


async def test_a_connection_serves_one_request(tmp_path: Path) -> None:
    one = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    async with listening(tmp_path) as server:
        answer = await raw(server.port, one + one)
    assert answer.count(b"HTTP/1.1 200") == 1
    assert b"Connection: close" in answer


async def test_a_desk_that_does_not_answer_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stuck(FakeDesk):
        async def status(self) -> Status:
            await asyncio.Event().wait()
            raise AssertionError

    monkeypatch.setattr(http, "STATUS_S", 0.05)
    async with listening(tmp_path, Stuck()) as server:
        assert (await get(server, "/metrics"))[0] == 503
        assert (await get(server, "/healthz"))[0] == 200


async def test_a_job_store_that_cannot_be_read_is_no_fault(tmp_path: Path) -> None:
    class Unread(FakeDesk):
        async def status(self) -> Status:
            raise JournalError("job store /some/where: it is damaged")

    async with listening(tmp_path, Unread()) as server:
        assert await get(server, "/metrics") == (503, "the daemon cannot read its job store\n")


async def test_a_fault_of_the_desk_s_own_shows_nothing_of_it(tmp_path: Path) -> None:
    class Faulty(FakeDesk):
        async def status(self) -> Status:
            raise RuntimeError("secret words")

    async with listening(tmp_path, Faulty()) as server:
        status, page = await get(server, "/metrics")
    assert status == 500
    assert "secret words" not in page


async def test_a_port_in_use_is_one_line_that_names_the_key(tmp_path: Path) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        port = held.getsockname()[1]
        config = configured(tmp_path, f'[daemon]\nlisten = "127.0.0.1:{port}"\n')
        with pytest.raises(ConfigError, match=r"honed\.toml: \[daemon\] listen = .*name another port") as refused:
            await Listening.open(FakeDesk(), config, Counting())
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("listen", ["127.0.0.1:9464", "localhost:0", "[::1]:9464"])
def test_loopback_is_taken(tmp_path: Path, listen: str) -> None:
    assert configured(tmp_path, f'[daemon]\nlisten = "{listen}"\n').daemon.listen == listen


@pytest.mark.parametrize("listen", ["0.0.0.0:9464", "10.0.0.7:80", "honed.example:80", "[::]:80", "127.1:80"])
def test_another_address_is_refused_unless_it_is_meant(tmp_path: Path, listen: str) -> None:
    with pytest.raises(ConfigError, match=r"\[daemon\] listen must be a loopback address.*listen_public"):
        configured(tmp_path, f'[daemon]\nlisten = "{listen}"\n')
    assert configured(tmp_path, f'[daemon]\nlisten = "{listen}"\nlisten_public = true\n').daemon.listen == listen


@pytest.mark.parametrize(
    "listen", ["9464", ":9464", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:99999", "a@127.0.0.1:1", "h:1/x"]
)
def test_what_is_no_address_is_refused(tmp_path: Path, listen: str) -> None:
    with pytest.raises(ConfigError, match=r"\[daemon\] listen must be host:port"):
        configured(tmp_path, f'[daemon]\nlisten = "{listen}"\nlisten_public = true\n')
