"""The socket's file: whose it is, what stood in its place, what is left of it; and the file that points to it."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
from contextlib import closing
from pathlib import Path

import pytest

from daemon.control.address import SOCKET_NAME, listening, short
from daemon.control.announcing import FILE, announce, read_announcement, withdraw
from daemon.control.client import Client, find_daemon
from daemon.control.errors import ControlError, NoDaemonError
from daemon.control.server import serve_control
from daemon.service.desk import Status
from daemon.service.project import Project
from tests.support.control import apart, project_at
from tests.support.desk import FakeDesk
from tests.support.processes import descriptors

LONG = "a-folder-with-a-name-that-is-longer-than-most/" * 4


def dead_socket(path: Path) -> None:
    """What a killed daemon leaves."""
    with closing(socket.socket(socket.AF_UNIX)) as made:
        made.bind(str(path))


@pytest.mark.parametrize("below", ["state", LONG + "state"], ids=["short", "long"])
async def test_its_user_alone_may_ask_and_it_is_gone_afterwards(tmp_path: Path, below: str) -> None:
    state = tmp_path / below
    async with serve_control(FakeDesk(), state) as path:
        assert path == state / SOCKET_NAME
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(state.stat().st_mode) == 0o700
        client = await apart(find_daemon, state)
        assert (await apart(client.get, "/status", "status", Status)).pid == 4711
        assert [one.name for one in state.iterdir()] == [SOCKET_NAME]
    assert list(state.iterdir()) == []
    with pytest.raises(NoDaemonError, match=r"no daemon runs for .*\(start one with `honed daemon`\)"):
        await apart(find_daemon, state)


async def test_an_open_state_folder_is_closed_to_others(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    async with serve_control(FakeDesk(), tmp_path):
        assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


async def test_a_dead_process_s_socket_is_replaced(tmp_path: Path) -> None:
    dead_socket(tmp_path / SOCKET_NAME)
    assert not listening(tmp_path / SOCKET_NAME)
    async with serve_control(FakeDesk(), tmp_path) as path:
        assert await apart(listening, path)


async def test_a_live_one_is_never_replaced(tmp_path: Path) -> None:
    async with serve_control(FakeDesk(), tmp_path) as path:
        before = path.stat().st_ino
        with pytest.raises(ControlError, match=r"another daemon answers on .*control.sock: stop it first"):
            async with serve_control(FakeDesk(), tmp_path):
                pass
        assert path.stat().st_ino == before
        assert await apart(listening, path)


@pytest.mark.parametrize("what", ["file", "link", "folder"])
async def test_what_is_no_socket_is_left_alone(tmp_path: Path, what: str) -> None:
    place, state = tmp_path / "elsewhere", tmp_path / "state"
    state.mkdir()
    path = state / SOCKET_NAME
    if what == "link":
        dead_socket(place)
        path.symlink_to(place)
    elif what == "file":
        path.write_text("precious")
    else:
        path.mkdir()
    with pytest.raises(ControlError, match=f"control.sock is {'a link' if what == 'link' else 'no socket'}: remove it"):
        async with serve_control(FakeDesk(), state):
            pass
    assert [one.name for one in state.iterdir()] == [SOCKET_NAME]
    assert what != "file" or path.read_text() == "precious"


async def test_a_socket_that_came_later_is_not_taken_away(tmp_path: Path) -> None:
    async with serve_control(FakeDesk(), tmp_path) as path:
        path.unlink()
        dead_socket(path)
    assert path.exists()


async def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ControlError, match=r"cannot open the control socket .*/file/state/control.sock: .* \(make its"):
        async with serve_control(FakeDesk(), tmp_path / "file" / "state"):
            pass


def test_a_name_that_is_too_long_for_the_kernel_still_leads_there(tmp_path: Path) -> None:
    folder = tmp_path / LONG
    folder.mkdir(parents=True)
    before = descriptors()
    with short(folder / "x") as name:
        assert len(name) < 108
        Path(name).write_text("there")
    assert (folder / "x").read_text() == "there"
    assert descriptors() == before


async def test_a_project_s_verbs_find_the_daemon_that_keeps_it(tmp_path: Path) -> None:
    main, other = tmp_path / "main", project_at(tmp_path / "other", "greeting")
    async with serve_control(FakeDesk(), main) as path:
        announce(other, path, boot="boot-1")
        assert stat.S_IMODE((other.state / FILE).stat().st_mode) == 0o600
        client = await apart(find_daemon, other.state)
        assert (client.path, client.project) == (path, "greeting")
        told = read_announcement(other.state)
        assert told is not None
        assert (told.pid, told.boot, told.project, told.socket) == (os.getpid(), "boot-1", "greeting", str(path))
    withdraw(other)
    assert read_announcement(other.state) == told, "where its jobs stand is known after the daemon's end, too"
    with pytest.raises(NoDaemonError):
        await apart(find_daemon, other.state)


async def test_a_daemon_s_own_folder_has_no_signpost_after_its_end(tmp_path: Path) -> None:
    own = project_at(tmp_path / "own", "greeting")
    async with serve_control(FakeDesk(), own.state) as path:
        announce(own, path)
        assert (await apart(find_daemon, own.state)).path == path
        withdraw(own)
        assert read_announcement(own.state) is None
        withdraw(own)


async def test_a_file_that_a_killed_daemon_left_is_no_sign_of_life(tmp_path: Path) -> None:
    other = project_at(tmp_path / "other", "greeting")
    announce(other, tmp_path / "main" / SOCKET_NAME)
    with pytest.raises(NoDaemonError):
        find_daemon(other.state)


async def test_its_own_socket_is_found_where_the_file_is_of_a_daemon_that_is_gone(tmp_path: Path) -> None:
    own = project_at(tmp_path / "own", "greeting")
    announce(own, tmp_path / "gone" / SOCKET_NAME)
    async with serve_control(FakeDesk(), own.state) as path:
        assert (await apart(find_daemon, own.state)).path == path


def test_another_process_s_announcement_stays(tmp_path: Path) -> None:
    project = project_at(tmp_path, "greeting")
    announce(project, tmp_path / SOCKET_NAME)
    file = project.state / FILE
    file.write_text(json.dumps(json.loads(file.read_text()) | {"pid": os.getpid() + 1}))
    withdraw(project)
    assert file.exists()


def _link(file: Path) -> None:
    file.with_name("real").write_text(file.read_text())
    file.unlink()
    file.symlink_to("real")


def _pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda file: file.write_text("{"),
        lambda file: file.write_text("[]"),
        lambda file: file.write_text('{"pid": "x"}'),
        lambda file: file.write_bytes(b"\xff\xfe"),
        lambda file: file.write_text("[" * 100_000),
        lambda file: file.write_text(json.dumps(json.loads(file.read_text()) | {"more": "x" * 70_000})),
        _link,
        _pipe,
        _folder,
    ],
    ids=["cut", "list", "kind", "bytes", "deep", "large", "link", "pipe", "folder"],
)
def test_a_spoilt_announcement_is_as_good_as_none(tmp_path: Path, spoil: object) -> None:
    project: Project = project_at(tmp_path, "greeting")
    announce(project, tmp_path / SOCKET_NAME)
    assert read_announcement(project.state) is not None
    spoil(project.state / FILE)  # type: ignore[operator]
    assert read_announcement(project.state) is None
    with pytest.raises(NoDaemonError):
        find_daemon(project.state)


def test_an_announcement_leads_to_control_sockets_alone(tmp_path: Path) -> None:
    """A cloned repository may bring such a file: it must not send requests to the Docker engine."""
    project = project_at(tmp_path, "greeting")
    with closing(socket.socket(socket.AF_UNIX)) as engine:
        engine.bind(str(tmp_path / "docker.sock"))
        engine.listen()
        announce(project, tmp_path / "docker.sock")
        with pytest.raises(NoDaemonError):
            find_daemon(project.state)


async def test_another_user_s_daemon_is_asked_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = FakeDesk()
    async with serve_control(desk, tmp_path) as path:
        monkeypatch.setattr("daemon.control.client.owner_of", lambda _peer: 12345)
        monkeypatch.setattr("daemon.control.client.os.getuid", lambda: 1000)
        with pytest.raises(ControlError, match=r"another user's \(user id 12345\): nothing was asked"):
            await apart(lambda: Client(path).post("/pause"))
    assert desk.asked == []


async def test_what_answers_otherwise_is_no_daemon(tmp_path: Path) -> None:
    async def other(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_unix_server(other, tmp_path / SOCKET_NAME)
    async with server:
        with pytest.raises(ControlError, match="is no honed daemon"):
            await apart(Client(tmp_path / SOCKET_NAME).ask, "GET", "/status")


async def test_a_daemon_of_another_version_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve_control(FakeDesk(), tmp_path) as path:
        client = Client(path)
        monkeypatch.setattr("daemon.control.client.__version__", "9.9")
        await apart(client.get, "/status", "status", Status)
        assert client.other_version() == "the daemon is honed 0.1.0, this is 9.9: restart the daemon"
        with pytest.raises(ControlError, match=r"no such page: .* \(the daemon is honed 0.1.0, this is 9.9"):
            await apart(client.ask, "GET", "/weather")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"[1]", "is no honed daemon"),
        (b"{", "stopped telling"),
        (b'{"error": {"message": "no"}}', "the daemon says: no"),
    ],
)
async def test_events_that_are_none_are_one_line(tmp_path: Path, line: bytes, says: str) -> None:
    async def other(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nHoned-Version: 0.1.0\r\nConnection: close\r\n\r\n" + line + b"\n")
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_unix_server(other, tmp_path / SOCKET_NAME)
    async with server:
        stream = await apart(Client(tmp_path / SOCKET_NAME).stream, "follow=1")
        with pytest.raises(ControlError, match=says):
            await apart(stream.read)
        stream.cut()
