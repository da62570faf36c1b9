"""One container's life against a scripted engine: what a real one does only rarely."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import requests
from docker.errors import APIError, NotFound

from sandboxes import docker as docker_engine
from sandboxes.attach import copy_frames
from sandboxes.container import (
    LABEL_APP,
    LABEL_ATTEMPT,
    LABEL_DEADLINE,
    LABEL_OWNER,
    ContainerEnd,
    ContainerRun,
    remove_own,
)
from sandboxes.docker import DockerSandbox, _ending
from sandboxes.guard import Stop
from sandboxes.left import LeftBox
from sandboxes.sandbox import Ending, SandboxError
from sandboxes.streams import CappedFile, Streams


def frame(kind: int, data: bytes) -> bytes:
    return struct.pack(">BxxxL", kind, len(data)) + data


def refused(status: int) -> APIError:
    response = requests.Response()
    response.status_code = status
    kind = NotFound if status == 404 else APIError
    return kind("refused", response=response, explanation=f"status {status}")


class Events(list[dict[str, Any]]):
    def close(self) -> None:
        self.closed = True


class Answer:
    status_code = 200

    def __init__(self, body: bytes | Exception) -> None:
        self.raw = self
        self._body = body
        self._io = io.BytesIO(body if isinstance(body, bytes) else b"")
        self.closed = False

    def read(self, amount: int) -> bytes:
        if isinstance(self._body, Exception):
            raise self._body
        return self._io.read(amount)

    def close(self) -> None:
        self.closed = True


class Api:
    """The few calls that a run makes; each attribute scripts one of them."""

    base_url, api_version = "http://engine", "1.41"

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.output: bytes | Exception = b""
        self.state: dict[str, Any] | Exception = {"Status": "exited", "ExitCode": 0, "OOMKilled": False}
        self.event_rounds: list[list[dict[str, Any]]] = [[]]
        self.failing: dict[str, Exception] = {}

    def _call(self, name: str) -> None:
        self.calls.append(name)
        if name in self.failing:
            raise self.failing[name]

    def post(self, url: str, **_: Any) -> Answer:
        self._call("attach")
        self.answer = Answer(self.output)
        return self.answer

    def start(self, _: str) -> None:
        self._call("start")

    def wait(self, _: str, timeout: float) -> None:
        self._call("wait")

    def kill(self, _: str) -> None:
        self._call("kill")

    def inspect_container(self, _: str) -> dict[str, Any]:
        self._call("inspect")
        if isinstance(self.state, Exception):
            raise self.state
        return {"State": self.state}

    def events(self, **_: Any) -> Events:
        self._call("events")
        return Events(self.event_rounds.pop(0) if len(self.event_rounds) > 1 else self.event_rounds[0])

    def remove_container(self, _: str, *, force: bool, v: bool) -> None:
        assert force
        assert v
        self._call("remove")


class Client:
    def __init__(self, api: Api) -> None:
        self.api = api
        self.containers = self
        self.id = "c0ffee"

    def create(self, **_: Any) -> Client:
        self.api._call("create")
        return self


OOM = {"Action": "oom", "Actor": {"Attributes": {}}}


def signalled(number: str) -> dict[str, Any]:
    return {"Action": "kill", "Actor": {"Attributes": {"signal": number}}}


@pytest.fixture
def api() -> Api:
    return Api()


def run(api: Api, tmp_path: Path, *, stop_at: str = "") -> tuple[ContainerEnd, Streams]:
    streams = Streams(tmp_path, 1, 1000)
    made: list[ContainerRun] = []
    started = lambda: made[0].stop() if stop_at == "started" else None  # noqa: E731
    arguments = {"name": "box", "labels": {LABEL_OWNER: "me"}}
    made.append(ContainerRun(Client(api), arguments, idle_s=1, streams=streams, started=started))  # type: ignore[arg-type]
    if stop_at == "before":
        made[0].stop()
    return made[0].execute(), streams


def state(code: int, *, oom: bool = False, status: str = "exited") -> dict[str, Any]:
    return {"Status": status, "ExitCode": code, "OOMKilled": oom}


def test_the_order_of_an_ordinary_life(api: Api, tmp_path: Path) -> None:
    api.output = frame(1, b"out") + frame(2, b"err") + frame(1, b"put")
    end, streams = run(api, tmp_path)

    assert api.calls == ["create", "attach", "start", "wait", "inspect", "events", "remove"]
    assert (end.exit_code, end.lost, end.oom_seen, end.stopped_by_us, end.stopped_by_others) == (
        0,
        "",
        False,
        False,
        False,
    )
    assert streams.stdout.path.read_bytes() == b"output"
    assert streams.stderr.path.read_bytes() == b"err"
    assert api.answer.closed


@pytest.mark.parametrize(
    ("code", "flag", "rounds", "expected"),
    [
        (0, False, [[]], Ending.EXITED),
        (1, False, [[]], Ending.EXITED),
        (137, False, [[], []], Ending.EXITED),
        (137, True, [[]], Ending.OUT_OF_MEMORY),
        (137, False, [[OOM]], Ending.OUT_OF_MEMORY),
        (137, False, [[], [OOM]], Ending.OUT_OF_MEMORY),
        (0, True, [[OOM]], Ending.EXITED),
        (1, True, [[OOM]], Ending.EXITED),
        (137, False, [[signalled("9")]], Ending.KILLED),
        (0, False, [[signalled("15")]], Ending.KILLED),
        (0, False, [[signalled("10")]], Ending.EXITED),
    ],
)
def test_how_an_end_is_told(
    api: Api, tmp_path: Path, code: int, flag: bool, rounds: list[list[dict[str, Any]]], expected: Ending
) -> None:
    api.state, api.event_rounds = state(code, oom=flag), rounds
    end, _ = run(api, tmp_path)

    assert _ending(end, None)[0] is expected
    assert end.oom_seen == (flag or any(OOM in events for events in rounds))


def test_our_own_kill_has_our_reason(api: Api, tmp_path: Path) -> None:
    api.state, api.event_rounds = state(137), [[signalled("9")]]
    end, _ = run(api, tmp_path, stop_at="started")

    assert api.calls.count("kill") == 1
    assert _ending(end, Stop(Ending.DEADLINE, "time"))[0] is Ending.DEADLINE
    assert _ending(end, None)[0] is Ending.KILLED


def test_our_own_kill_is_ours_before_the_engine_has_answered(api: Api, tmp_path: Path) -> None:
    """The container's end may be known to one thread before the answer to the kill is to the other."""
    api.state, api.event_rounds = state(137), [[signalled("9")]]
    api.failing["kill"] = TimeoutError("not answered yet")
    end, _ = run(api, tmp_path, stop_at="started")

    assert _ending(end, Stop(Ending.DEADLINE, "time"))[0] is Ending.DEADLINE


def test_an_end_that_came_before_our_kill_is_its_own(api: Api, tmp_path: Path) -> None:
    api.failing["kill"] = refused(409)
    end, _ = run(api, tmp_path, stop_at="started")

    assert _ending(end, Stop(Ending.DEADLINE, "time"))[0] is Ending.EXITED


def test_stopped_before_the_start_never_starts(api: Api, tmp_path: Path) -> None:
    end, _ = run(api, tmp_path, stop_at="before")

    assert end.stopped_by_us
    assert "start" not in api.calls
    assert api.calls[-1] == "remove"


@pytest.mark.parametrize("call", ["wait", "inspect", "events"])
@pytest.mark.parametrize(
    "error", [refused(404), refused(500), requests.ConnectionError("gone"), TimeoutError("silent")]
)
def test_an_engine_that_cannot_tell_means_lost(api: Api, tmp_path: Path, call: str, error: Exception) -> None:
    api.failing[call] = error
    end, _ = run(api, tmp_path)

    assert end.lost
    assert end.exit_code is None
    assert _ending(end, None)[0] is Ending.LOST
    assert api.calls[-1] == "remove"


def test_output_that_breaks_off_means_lost(api: Api, tmp_path: Path) -> None:
    api.output = requests.exceptions.ReadTimeout("silent")
    end, _ = run(api, tmp_path)

    assert end.lost


@pytest.mark.parametrize("status", ["removing", "dead"])
def test_a_container_that_others_remove_is_lost(api: Api, tmp_path: Path, status: str) -> None:
    api.state = state(137, status=status)

    assert run(api, tmp_path)[0].lost


@pytest.mark.parametrize("call", ["create", "attach", "start"])
def test_what_fails_before_the_start_is_raised(api: Api, tmp_path: Path, call: str) -> None:
    api.failing[call] = refused(500)

    with pytest.raises(SandboxError, match="status 500"):
        run(api, tmp_path)

    assert ("remove" in api.calls) == (call != "create")


def test_a_removal_that_fails_is_left_to_the_sweep(api: Api, tmp_path: Path) -> None:
    api.failing["remove"] = refused(500)

    assert run(api, tmp_path)[0].exit_code == 0


@pytest.mark.parametrize("status", [404, 409])
async def test_the_sweep_passes_over_what_somebody_else_removes(
    api: Api, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    labels = {LABEL_APP: "honed", LABEL_OWNER: "me", LABEL_ATTEMPT: "a-1"}
    found = [{"Id": name, "Names": [f"/{name}"], "Labels": labels} for name in ("one", "two")]
    removed: list[str] = []

    def removing(container: str, *, force: bool, v: bool) -> None:
        if container == "one":
            raise refused(status)
        removed.append(container)

    monkeypatch.setattr(api, "containers", lambda **_: found, raising=False)
    monkeypatch.setattr(api, "remove_container", removing)
    monkeypatch.setattr(docker_engine, "connected", lambda _: nullcontext(Client(api)))
    assert await DockerSandbox("image", owner="me").sweep() == ("two",)
    assert removed == ["two"]


@pytest.mark.parametrize(
    ("state", "running"), [("running", True), ("paused", True), ("exited", False), ("created", False), ("odd", None)]
)
async def test_boxes_are_told_by_their_labels(
    api: Api, monkeypatch: pytest.MonkeyPatch, state: str, running: bool | None
) -> None:
    mine = {LABEL_APP: "honed", LABEL_OWNER: "me", LABEL_ATTEMPT: "a-1", LABEL_DEADLINE: "12.5"}
    odd = {LABEL_APP: "honed", LABEL_OWNER: "other", LABEL_DEADLINE: "soon"}
    found = [
        {"Id": "i1", "Names": ["/mine"], "Labels": mine, "State": state},
        {"Id": "i2", "Names": None, "Labels": odd},
    ]
    monkeypatch.setattr(api, "containers", lambda **_: found, raising=False)
    monkeypatch.setattr(docker_engine, "connected", lambda _: nullcontext(Client(api)))
    boxes = await DockerSandbox("image", owner="me").boxes()
    assert sorted(boxes, key=lambda box: box.name) == [
        LeftBox("i2", "", ours=False, running=None),
        LeftBox("mine", "a-1", ours=True, running=running, deadline=12.5),
    ]


async def test_an_engine_that_does_not_tell_is_no_empty_one(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(**_: object) -> None:
        raise refused(500)

    monkeypatch.setattr(api, "containers", refusing, raising=False)
    monkeypatch.setattr(docker_engine, "connected", lambda _: nullcontext(Client(api)))
    with pytest.raises(SandboxError, match="which containers are left"):
        await DockerSandbox("image", owner="me").boxes()


def test_a_strangers_container_of_our_name_is_not_removed(api: Api) -> None:
    for labels in (None, {}, {LABEL_APP: "honed", LABEL_OWNER: "other"}, {LABEL_OWNER: "me"}):
        api.inspect_container = lambda _, labels=labels: {"Id": "1", "Config": {"Labels": labels}}  # type: ignore[method-assign,misc]
        with pytest.raises(SandboxError, match="not ours"):
            remove_own(Client(api), "box", "me")  # type: ignore[arg-type]

    assert "remove" not in api.calls


def test_frames_are_split_and_a_broken_one_kept(tmp_path: Path) -> None:
    class Slow(io.BytesIO):
        """Gives at most seven bytes of data at a time."""

        def read(self, size: int | None = -1, /) -> bytes:
            return super().read(size if size == 8 else min(size or 7, 7))

    streams = Streams(tmp_path, 1, 100)
    copy_frames(Slow(frame(1, b"0123456789abcdef") + frame(2, b"") + frame(2, b"!") + frame(1, b"half")[:-2]), streams)
    streams.close()

    assert streams.stdout.path.read_bytes() == b"0123456789abcdefha"
    assert streams.stderr.path.read_bytes() == b"!"


@pytest.mark.parametrize("pieces", [[b"12345"], [b"1", b"2345"], [b"12345", b"", b""]])
def test_a_file_up_to_its_cap_is_not_cut(tmp_path: Path, pieces: Iterable[bytes]) -> None:
    file = CappedFile(tmp_path / "f", 5)
    for piece in pieces:
        file.write(piece)

    assert not file.cut
    file.write(b"6")
    file.close()
    file.close()
    assert file.cut
    assert file.path.read_bytes() == b"12345"
