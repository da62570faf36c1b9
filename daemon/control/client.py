"""A verb's side of the control socket. Quick to import: no HTTP library but the standard one's.

Everything blocks for at most its timeout and raises `ControlError`; a verb's coroutine calls it in a thread.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from daemon import __version__
from daemon.control.address import SOCKET_NAME, connect, owner_of
from daemon.control.announcing import Announcement, read_announcement
from daemon.control.errors import ControlError, NoDaemonError, RefusedError
from daemon.control.wire import WireError, from_data

T = TypeVar("T")
ANSWER_S = 30.0
SILENCE_S = 45.0
"""A stream of events shows a sign of life more often than this."""
_MOST = 16 * 1024 * 1024
_LINE = 1024 * 1024


@dataclass(frozen=True)
class Line:
    """One line of the events' stream: an event, a number of lost ones, or a sign of life (neither)."""

    event: dict[str, Any] | None = None
    lost: int = 0


class Client:
    """Asks the daemon behind one socket."""

    def __init__(self, path: Path, project: str = "", *, timeout_s: float = ANSWER_S) -> None:
        self.path = path
        self._timeout_s = timeout_s
        self.project = project
        """What the project that was looked for is called there; empty: not known."""
        self.version = ""
        """Of the honed that answered; empty before the first answer."""

    def get(self, path: str, name: str, kind: type[T]) -> T:
        """One answer's part of that name; raises `ControlError`."""
        return self._part(self.ask("GET", path), name, kind)

    def get_all(self, path: str, name: str, kind: type[T]) -> tuple[T, ...]:
        """The same of a list."""
        rows = self.ask("GET", path).get(name)
        return tuple(self._part({name: row}, name, kind) for row in (rows if isinstance(rows, list) else ()))

    def post(self, path: str, **body: Any) -> dict[str, Any]:
        """Ask for an act; raises `RefusedError` with the daemon's reason, or another `ControlError`."""
        return self.ask("POST", path, body)

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """One request and its answer."""
        with closing(self._connected(self._timeout_s)) as connection:
            response = self._sent(connection, method, path, body)
            try:
                data = json.loads(response.read(_MOST + 1))
            except (OSError, http.client.HTTPException, ValueError, RecursionError) as error:
                raise ControlError(f"the daemon at {self.path} gave no usable answer: {_plainly(error)}") from error
        if not isinstance(data, dict):
            raise ControlError(f"what answers at {self.path} is no honed daemon")
        self.check(data)
        return data

    def stream(self, query: str) -> Stream:
        """The lines of `/events?query`, as they come; cut it when you stop reading. Raises `ControlError`."""
        connection = self._connected(SILENCE_S)
        try:
            peer = connection.sock  # the connection forgets it once an answer has no length
            return Stream(self, peer, self._sent(connection, "GET", f"/events?{query}", None))
        except BaseException:
            connection.close()
            raise

    def _connected(self, timeout_s: float) -> _Connection:
        connection = _Connection(self.path, timeout_s)
        try:
            connection.connect()
        except (ConnectionRefusedError, FileNotFoundError) as error:
            raise NoDaemonError(no_daemon(self.path.parent)) from error
        except OSError as error:
            raise ControlError(f"cannot ask the daemon at {self.path}: {error.strerror or error}") from error
        if os.getuid() not in (0, owner := owner_of(connection.sock)) and owner != 0:
            connection.close()
            raise ControlError(f"what answers at {self.path} is another user's (user id {owner}): nothing was asked")
        return connection

    def _sent(
        self, connection: _Connection, method: str, path: str, body: dict[str, Any] | None
    ) -> http.client.HTTPResponse:
        headers = {"Host": "honed", "Honed-Version": __version__, "Content-Type": "application/json"}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            raise ControlError(f"the daemon at {self.path} does not answer: {_plainly(error)}") from error
        self.version = response.headers.get("Honed-Version", "")
        if not self.version:
            raise ControlError(f"what answers at {self.path} is no honed daemon")
        return response

    def _part(self, data: dict[str, Any], name: str, kind: type[T]) -> T:
        try:
            return from_data(kind, data.get(name))
        except WireError as error:
            other = self.other_version() or f"the daemon's answer cannot be read: {error}"
            raise ControlError(other) from error

    def other_version(self) -> str:
        """What to say where the daemon is of another version; empty where it is not."""
        if self.version in ("", __version__):
            return ""
        return f"the daemon is honed {self.version}, this is {__version__}: restart the daemon"

    def check(self, data: dict[str, Any]) -> None:
        """Raise what an answer says is wrong."""
        error = data.get("error")
        if isinstance(error, dict):
            kind, message = str(error.get("kind", "")), str(error.get("message", ""))
            if kind == "refused":
                raise RefusedError(message)
            other = self.other_version()
            raise ControlError(f"the daemon says: {message}{f' ({other})' if other else ''}")


class Stream:
    """Reads the events' stream, in any one thread; may be cut from another."""

    def __init__(self, client: Client, peer: socket.socket, response: http.client.HTTPResponse) -> None:
        self._client = client
        self._peer = peer
        self._response = response

    def read(self) -> Line | None:
        """The next line; None at the end. Raises `ControlError`."""
        while True:
            try:
                raw = self._response.readline(_LINE)
                data = json.loads(raw) if raw else None
            except (OSError, http.client.HTTPException, ValueError, RecursionError) as error:
                self._close()
                raise ControlError(f"the daemon at {self._client.path} stopped telling: {_plainly(error)}") from error
            if data is None:
                self._close()
                return None
            if not isinstance(data, dict):
                self._close()
                raise ControlError(f"what answers at {self._client.path} is no honed daemon")
            self._client.check(data)
            event, lost = data.get("event"), data.get("lost", 0)
            if "honed" not in data:
                return Line(event if isinstance(event, dict) else None, lost if isinstance(lost, int) else 0)

    def cut(self) -> None:
        """Read no more."""
        with suppress(OSError):
            self._peer.shutdown(socket.SHUT_RDWR)
        self._close()

    def _close(self) -> None:
        self._response.close()
        self._peer.close()


class _Connection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    sock: socket.socket

    def __init__(self, path: Path, timeout_s: float) -> None:
        super().__init__("honed", timeout=timeout_s)
        self._path = path
        self._timeout_s = timeout_s

    def connect(self) -> None:
        self.sock = connect(self._path, self._timeout_s)


def find_daemon(state: Path, timeout_s: float = ANSWER_S) -> Client:
    """The daemon that keeps the project of this state folder; raises `NoDaemonError` if none answers."""
    told = read_announcement(state)
    for path, project in _places(state, told):
        try:
            connect(path, timeout_s).close()
        except (ConnectionRefusedError, FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise ControlError(f"cannot ask the daemon at {path}: {error.strerror or error}") from error
        return Client(path, project, timeout_s=timeout_s)
    raise NoDaemonError(no_daemon(state))


def _places(state: Path, told: Announcement | None) -> Iterator[tuple[Path, str]]:
    """Where it may be. The announced one first: a folder's own socket is that of a daemon that keeps others too."""
    if told is not None and Path(told.socket).name == SOCKET_NAME:
        yield Path(told.socket), told.project
    yield state.absolute() / SOCKET_NAME, told.project if told else ""


def no_daemon(state: Path) -> str:
    """What to say where none answers."""
    return f"no daemon runs for {state.parent} (start one with `honed daemon`)"


def _plainly(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "it took too long"
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(text).split())
