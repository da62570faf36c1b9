"""The control socket's answers: every route, every fault in one line, and whoever would hold the daemon up."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

import pytest

from daemon import __version__
from daemon.control.address import SOCKET_NAME
from daemon.control.client import Client, Line
from daemon.control.errors import KINDS, ControlError, RefusedError
from daemon.control.following import lines
from daemon.control.routes import EVENTS, ROUTES
from daemon.control.server import Bounds, serve_control
from daemon.control.wire import to_data
from daemon.jobs.job import Job
from daemon.service.desk import Explanation, Status
from daemon.telling.events import Bus
from tests.support.control import answered, apart, closed, connected, raw, request
from tests.support.desk import FakeDesk, a_job, a_project, a_status
from tests.support.streams import to_the_end
from tests.support.waiting import PATIENCE_S, until


@pytest.fixture
def desk() -> FakeDesk:
    return FakeDesk(shown=a_status(a_project()), queue=(a_job(1, state="done", ended=5.0), a_job(2), a_job(3)))


@pytest.fixture
async def path(desk: FakeDesk, tmp_path: Path) -> AsyncIterator[Path]:
    async with serve_control(desk, tmp_path, bounds=Bounds(patience_s=PATIENCE_S, heartbeat_s=0.05)) as made:
        yield made


async def test_what_can_be_read(desk: FakeDesk, path: Path) -> None:
    client = Client(path)
    assert await apart(client.get, "/status", "status", Status) == desk.shown
    assert await apart(client.get_all, "/jobs?newest=2", "jobs", Job) == desk.queue[1:]
    assert await apart(client.get_all, "/jobs", "jobs", Job) == desk.queue
    explained = await apart(client.get, "/jobs/2", "explanation", Explanation)
    assert (explained.job, explained.why) == (a_job(2), "it is the only one")
    assert client.version == __version__
    assert client.other_version() == ""
    assert desk.asked == []


@pytest.mark.parametrize(
    ("target", "body", "asked"),
    [
        ("/train", {"file": "/team/greeting/honed.toml"}, ("train", "/team/greeting/honed.toml")),
        ("/pause", {}, ("pause", "", "")),
        ("/pause", {"project": "greeting", "reason": "a release"}, ("pause", "greeting", "a release")),
        ("/resume", {"project": "greeting"}, ("resume", "greeting")),
        ("/jobs/2/cancel", {}, ("cancel", 2, False)),
        ("/jobs/2/cancel", {"hard": True}, ("cancel", 2, True)),
        ("/jobs/1/retry", {}, ("retry", 1)),
        ("/reload", {}, ("reload",)),
    ],
)
async def test_every_act_reaches_the_desk(
    desk: FakeDesk, path: Path, target: str, body: dict[str, Any], asked: tuple[object, ...]
) -> None:
    found = await apart(lambda: Client(path).post(target, **body))
    assert found["honed"] == __version__
    assert desk.asked == [asked]


async def test_a_queued_run_is_told_with_where_to_follow_it_from(desk: FakeDesk, path: Path) -> None:
    desk.events.publish("house", "before")
    found = await apart(lambda: Client(path).post("/train", file="/team/greeting/honed.toml"))
    assert found["after"] == 1
    assert found["job"]["number"] == 4


async def test_a_refusal_is_the_desk_s_own_sentence(desk: FakeDesk, path: Path) -> None:
    desk.refuses = "job 1 has\nended already"
    with pytest.raises(RefusedError, match=r"^job 1 has ended already$"):
        await apart(lambda: Client(path).post("/jobs/1/retry"))


async def test_every_route_is_tried_here() -> None:
    tried = {"/status", "/jobs", "/jobs/{number}", "/train", "/pause", "/resume", "/reload"}
    assert {form for _, form, _ in ROUTES} == tried | {"/jobs/{number}/cancel", "/jobs/{number}/retry"}


@pytest.mark.parametrize(
    ("sent", "status", "kind", "says"),
    [
        (request("GET", "/"), 404, "not-found", "no such page: there is /events, /jobs"),
        (request("GET", "/jobs/x"), 404, "not-found", "no such page"),
        (request("GET", "/jobs/-1"), 404, "not-found", "no such page"),
        (request("GET", "/jobs/" + "9" * 30), 404, "not-found", "no such page"),
        (request("DELETE", "/status"), 405, "not-allowed", "this page takes GET"),
        (request("POST", EVENTS, b"{}"), 404, "not-found", "no such page"),
        (request("GET", "/train"), 405, "not-allowed", "this page takes POST"),
        (request("GET", "/jobs/77"), 409, "refused", "there is no job 77"),
        (request("GET", "/jobs?newest=many"), 400, "bad-request", "`newest` must be a whole number from 0"),
        (request("GET", "/jobs?newest=%D9%A3"), 400, "bad-request", "`newest` must be a whole number from 0"),
        (request("GET", "/events?after=-1"), 400, "bad-request", "`after` must be a whole number from 0"),
        (request("GET", "/events?follow=yes"), 400, "bad-request", "`follow` must be a whole number from 0"),
        (request("POST", "/pause", b"{"), 400, "bad-request", "the body is not JSON"),
        (request("POST", "/pause", b"\xff\xfe"), 400, "bad-request", "the body is not JSON"),
        (request("POST", "/pause", b"[" * 9_000), 400, "bad-request", "the body is not JSON"),
        (request("POST", "/pause", b"[]"), 400, "bad-request", "the body must be a JSON object"),
        (request("POST", "/pause", b'{"project": 7}'), 400, "bad-request", "`project` must be a text of at most 500"),
        (request("POST", "/pause", b'{"reason": "\\ud800"}'), 400, "bad-request", "`reason` must be a text"),
        (request("POST", "/train", b'{"file": "\\udfff"}'), 400, "bad-request", "`file` must be a text"),
        (request("POST", "/pause", b'{"reason": "' + b"x" * 501 + b'"}'), 400, "bad-request", "`reason` must be"),
        (request("POST", "/train", b"{}"), 400, "bad-request", "`file` must be a text of at most 4096"),
        (request("POST", "/train", b'{"file": "a\\u0000b"}'), 400, "bad-request", "`file` must be"),
        (request("POST", "/jobs/2/cancel", b'{"hard": "yes"}'), 400, "bad-request", "`hard` must be true or false"),
        (request("POST", "/pause", b'{"x": "' + b"x" * 20_000 + b'"}'), 413, "too-large", "at most 16,384 bytes"),
    ],
)
async def test_a_fault_is_one_line_of_a_closed_set(
    desk: FakeDesk, path: Path, sent: bytes, status: int, kind: str, says: str
) -> None:
    code, data = answered(await raw(path, sent))
    assert set(data) == {"honed", "error"}
    assert (code, data["error"]["kind"]) == (status, kind)
    assert data["error"]["kind"] in KINDS
    assert says in data["error"]["message"]
    assert "\n" not in data["error"]["message"]
    assert desk.asked == []


async def test_a_fault_of_honed_names_no_more_than_its_kind(
    desk: FakeDesk, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken() -> Status:
        raise LookupError("secret-of-mine")

    monkeypatch.setattr(desk, "status", broken)
    with pytest.raises(ControlError, match=r"the daemon says: a fault of honed: LookupError \(its log"):
        await apart(Client(path).ask, "GET", "/status")
    monkeypatch.undo()
    assert (await apart(Client(path).ask, "GET", "/status"))["status"] == to_data(desk.shown)


async def test_what_is_told_is_redacted(desk: FakeDesk, path: Path) -> None:
    key = "sk-ant-" + "api03-" + "A1b2C3d4" * 6
    desk.events.publish("broken", f"refused with {key}", note=[key])
    [told] = await apart(lambda: list(iter(Client(path).stream("after=0").read, None)))
    assert key not in json.dumps(told.event)
    assert "[redacted]" in json.dumps(told.event)


async def lines_of(path: Path, query: str) -> list[Line]:
    return await apart(lambda: list(iter(Client(path).stream(query).read, None)))


async def test_events_after_a_number(desk: FakeDesk, path: Path) -> None:
    made = [desk.events.publish("house", f"n{n}", project="greeting", job=n, left=[n]) for n in range(5)]
    assert [line.event for line in await lines_of(path, "after=3")] == [to_data(event) for event in made[3:]]
    assert [line.event for line in await lines_of(path, "newest=2")] == [to_data(event) for event in made[3:]]
    assert await lines_of(path, "after=5") == []
    # A number that this process has not come to is of an earlier one.
    assert len(await lines_of(path, "after=1000")) == 5


async def test_lost_events_are_counted(tmp_path: Path) -> None:
    desk = FakeDesk(events=Bus(keep=3))
    for n in range(10):
        desk.events.publish("house", f"n{n}")
    async with serve_control(desk, tmp_path) as path:
        found = await lines_of(path, "after=2")
    assert found[0] == Line(None, 5)
    assert [line.event["number"] for line in found[1:] if line.event] == [8, 9, 10]


async def test_a_follower_sees_what_comes_and_signs_of_life(desk: FakeDesk, path: Path) -> None:
    desk.events.publish("house", "before")
    reader, writer = await connected(path)
    writer.write(request("GET", "/events?after=0&follow=1"))
    found: list[dict[str, Any]] = []

    async def comes(name: str) -> None:
        while not (found and name in found[-1]):
            line = await reader.readline()
            if line.startswith(b"{"):
                found.append(json.loads(line))

    await comes("event")
    await comes("heartbeat")
    desk.events.publish("house", "after")
    await comes("event")
    assert [line["event"]["what"] for line in found if "event" in line] == ["before", "after"]
    assert found[0] == {"honed": __version__, "newest": 1}
    await closed(writer)
    await until(lambda: not desk.events._listeners)  # the follower that has gone is noticed


@pytest.mark.parametrize("stall_s", [0.2, PATIENCE_S], ids=["soon", "late"])
async def test_one_who_does_not_read_ten_thousand_events_holds_up_nobody(tmp_path: Path, stall_s: float) -> None:
    desk = FakeDesk(events=Bus(keep=2_000))
    async with serve_control(desk, tmp_path, bounds=Bounds(stall_s=stall_s)) as path:
        reader, writer = await connected(path)
        writer.write(request("GET", "/events?after=0&follow=1"))
        await reader.readline()
        for n in range(10_000):
            desk.events.publish("house", "x" * 250, job=n)
            if n % 100 == 0:
                await asyncio.sleep(0)
        # The others are answered meanwhile, to the newest event.
        assert (await apart(Client(path).get, "/status", "status", Status)).events == 10_000
        if stall_s == PATIENCE_S:  # else a busy machine might cut this one off as well
            assert len([line for line in await lines_of(path, "after=9000") if line.event]) == 1_000
            assert desk.events._listeners
        else:
            await until(lambda: not desk.events._listeners)  # it is cut off
        await closed(writer)


async def test_a_slow_reader_is_told_how_many_it_lost(tmp_path: Path) -> None:
    desk = FakeDesk(events=Bus(keep=100))
    async with serve_control(desk, tmp_path) as path:
        reader, writer = await connected(path)
        writer.write(request("GET", "/events?after=0&follow=1"))
        await reader.readline()
        for n in range(5_000):
            desk.events.publish("house", "x" * 250, job=n)
            if n % 50 == 0:
                await asyncio.sleep(0)
        seen = lost = 0
        async with asyncio.timeout(PATIENCE_S):
            while seen + lost < 5_000:
                line = await reader.readline()
                if line.startswith(b'{"event"'):
                    seen += 1
                    assert json.loads(line)["event"]["number"] == seen + lost
                elif line.startswith(b'{"lost"'):
                    lost += json.loads(line)["lost"]
        assert lost > 0
        await closed(writer)


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET /sta", request("POST", "/pause", b"{", **{"Content-Length": "20"})],
    ids=["nothing", "half a line", "half a body"],
)
async def test_half_open_clients_are_let_go(desk: FakeDesk, tmp_path: Path, sent: bytes) -> None:
    async with serve_control(desk, tmp_path, bounds=Bounds(patience_s=0.3)) as path:
        reader, writer = await connected(path)
        writer.write(sent)
        data = await to_the_end(reader)
        await closed(writer)
    assert not data or answered(data)[1]["error"]["message"] == "the request did not arrive whole"


async def test_more_connections_than_there_may_be_are_turned_away(desk: FakeDesk, tmp_path: Path) -> None:
    async with serve_control(desk, tmp_path, bounds=Bounds(connections=3, patience_s=PATIENCE_S)) as path:
        held = [await connected(path) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(ControlError, match=r"does not answer|cannot ask"):
            await apart(Client(path).ask, "GET", "/status")
        for _, writer in held:
            await closed(writer)
        await served_again(path)


async def test_connections_that_ask_nothing_take_nobodys_place_for_long(desk: FakeDesk, tmp_path: Path) -> None:
    async with serve_control(desk, tmp_path, bounds=Bounds(connections=3, patience_s=0.2)) as path:
        held = [await connected(path) for _ in range(3)]
        for reader, writer in held:
            assert await to_the_end(reader) == b""
            await closed(writer)
        await served_again(path)


async def served_again(path: Path) -> None:
    """The daemon notices that a connection has gone when its loop comes to it."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            with suppress(ControlError):
                assert (await apart(Client(path).get, "/status", "status", Status)).state == "working"
                return


async def test_nonsense_is_answered_and_forgotten(path: Path) -> None:
    assert b" 400 " in (await raw(path, b"\x00\x01\x02 what\r\n\r\n")).splitlines()[0]
    assert (await apart(Client(path).get, "/status", "status", Status)).state == "working"


async def test_leaving_cuts_followers_off(desk: FakeDesk, tmp_path: Path) -> None:
    async with serve_control(desk, tmp_path) as path:
        reader, writer = await connected(path)
        writer.write(request("GET", "/events?follow=1"))
        await reader.readline()
    await to_the_end(reader)
    await closed(writer)
    assert desk.events._listeners == []


async def test_a_daemon_that_goes_while_it_is_followed_is_an_end_and_no_wait(desk: FakeDesk, tmp_path: Path) -> None:
    socket = tmp_path / SOCKET_NAME

    async def rest() -> str:
        try:
            return str([line.event["what"] async for line in lines(Client(socket), "follow=1") if line.event])
        except ControlError as error:
            return str(error)

    async with serve_control(desk, tmp_path):
        task = asyncio.create_task(rest())
        await until(lambda: desk.events._listeners)
        desk.events.publish("house", "one")
        await asyncio.sleep(0.05)  # it may come to be told, or not
    async with asyncio.timeout(PATIENCE_S):
        found = await task
    assert found == "['one']" or "stopped telling" in found


async def test_following_is_cancelled_at_once_though_nothing_comes(desk: FakeDesk, tmp_path: Path) -> None:
    socket = tmp_path / SOCKET_NAME

    async def follow() -> None:
        async with aclosing(lines(Client(socket), "follow=1")) as told:
            async for _ in told:
                pass

    async with serve_control(desk, tmp_path):
        task = asyncio.create_task(follow())
        async with asyncio.timeout(PATIENCE_S):
            await until(lambda: desk.events._listeners)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            while desk.events._listeners:
                desk.events.publish("house", "is anybody there?")
                await asyncio.sleep(0.02)
