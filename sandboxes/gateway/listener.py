"""The door's socket: private folder, mode bits, bounded connections, and a closing that really cuts.

The folder (mode 0711) holds nothing but the socket (mode 0666): it is what gets mounted into the sandbox, whose user
is another one than ours.
"""

from __future__ import annotations

import asyncio
import errno
import secrets
import shutil
import socket
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from aiohttp import web

from sandboxes.gateway.connection import DoorServer
from sandboxes.sandbox import SandboxError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from sandboxes.gateway.bounds import Bounds
    from sandboxes.gateway.connection import Malformed

    Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

SOCKET_NAME = "m.sock"
PATH_BYTES = 107
"""What fits into `sun_path` with its closing zero."""
CONNECTIONS = 64
_PREFIX = "door-"


class Listener:
    """Serves a handler on a fresh socket."""

    def __init__(self, folder: Path, server: asyncio.Server, web_server: DoorServer, tasks: set[asyncio.Task[object]]):
        self.socket = folder / SOCKET_NAME
        self._folder = folder
        self._server = server
        self._web = web_server
        self._tasks = tasks

    @classmethod
    async def start(cls, sockets: Path, handler: Handler, malformed: Malformed, bounds: Bounds) -> Listener:
        """Make the folder and listen; raises `SandboxError` if the system does not let us.

        `malformed` is told what was wrong with a request that is no HTTP, and gives the answer.
        """
        tasks: set[asyncio.Task[object]] = set()

        async def tracked(request: web.BaseRequest) -> web.StreamResponse:
            task = asyncio.current_task()
            assert task is not None
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            return await handler(request)

        web_server = DoorServer(tracked, malformed, bounds, most=CONNECTIONS, auto_decompress=False, lingering_time=1.0)
        folder = None
        try:
            folder = await asyncio.to_thread(make_folder, sockets)
            path = folder / SOCKET_NAME
            server = await asyncio.get_running_loop().create_unix_server(web_server.protocol, str(path))
            await asyncio.to_thread(path.chmod, 0o666)
        except OSError as error:
            if folder is not None:
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
            raise SandboxError(f"cannot open a gateway socket under {sockets}: {error.strerror or error}") from error
        return cls(folder, server, web_server, tasks)

    async def close(self) -> int:
        """Stop listening, cancel running requests and wait for them, drop connections, remove the folder.

        Returns how many requests were running.
        """
        self._server.close()
        self._web.closed = True
        running = len(self._tasks)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for connection in self._web.connections:
            connection.force_close()
        # Not zero: that means no limit to aiohttp.
        await self._web.shutdown(0.05)
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)
        return running


def make_folder(sockets: Path) -> Path:
    """A new private folder below `sockets`, or below the system's temporary folder if the path would be too long."""
    name = f"{_PREFIX}{secrets.token_hex(6)}"
    folder = sockets.absolute() / name
    if len(str(folder / SOCKET_NAME).encode()) > PATH_BYTES:
        folder = Path(tempfile.mkdtemp(prefix="honed-")).absolute()
        if len(str(folder / SOCKET_NAME).encode()) > PATH_BYTES:
            folder.rmdir()
            raise OSError(errno.ENAMETOOLONG, "socket path too long; set TMPDIR to a short folder")
    else:
        folder.mkdir(parents=True, mode=0o700)
    folder.chmod(0o711)
    return folder


def remove_dead(sockets: Path) -> list[str]:
    """Remove the folders of doors whose process is gone (nobody listens any more); returns their names."""
    gone = dead_doors(sockets)
    for folder in gone:
        shutil.rmtree(folder, ignore_errors=True)
    return [folder.name for folder in gone]


def dead_doors(sockets: Path) -> list[Path]:
    """Folders of doors that nobody listens at: their process is gone, or is making them at this very moment."""
    folders = [folder for folder in sorted(sockets.glob(f"{_PREFIX}*")) if not folder.is_symlink() and folder.is_dir()]
    return [folder for folder in folders if not _listening(folder / SOCKET_NAME)]


def _listening(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            return True  # cannot tell: leave it alone
    return True
