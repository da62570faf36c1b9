"""A bare repository served over loopback HTTP by git's own `http-backend`, and people's clones of it.

async with GitServer(folder) as server:
    git(work, "remote", "add", "origin", server.url("team/skills"))
"""

from __future__ import annotations

import asyncio
import base64
import subprocess
from collections.abc import Callable
from pathlib import Path

from aiohttp import web

from tests.support.loopback import Loopback, Served
from tests.support.skills import git

MAX_BODY = 64 * 1024 * 1024


def backend() -> Path:
    """The CGI program."""
    where = subprocess.run(["git", "--exec-path"], capture_output=True, text=True, check=True).stdout.strip()
    return Path(where) / "git-http-backend"


class GitServer(Served):
    """Serves the bare repositories below a folder; an async context manager."""

    def __init__(self, folder: Path, *, password: str | None = None) -> None:
        self.folder = folder
        self.password = password
        """Asked for as basic authorization, user `honed`, if given."""
        self.requests: list[tuple[str, str]] = []
        """Method and path with query."""
        self.before_push: Callable[[], None] | None = None
        """Called once, when the next push's pack arrives: somebody is faster."""
        self.loopback = Loopback(self._handle)

    def url(self, project: str, *, user: str = "") -> str:
        """The address of a bare repository, which is made if need be."""
        self.bare(project)
        return f"http://{user}127.0.0.1:{self.loopback.port}/{project}.git"

    def bare(self, project: str) -> Path:
        """Its folder."""
        path = self.folder / f"{project}.git"
        if not path.exists():
            path.mkdir(parents=True)
            git(path, "init", "-q", "--bare", "-b", "main")
            git(path, "config", "http.receivepack", "true")
        return path

    @property
    def pushes(self) -> int:
        """How many packs arrived."""
        return sum(method == "POST" and "git-receive-pack" in path for method, path in self.requests)

    async def _handle(self, request: web.BaseRequest) -> web.Response:
        self.requests.append((request.method, request.path_qs))
        if self.password is not None:
            wanted = base64.b64encode(f"honed:{self.password}".encode()).decode()
            if request.headers.get("Authorization") != f"Basic {wanted}":
                return web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="git"'})
        body = await request.read()
        if self.before_push and request.method == "POST" and "git-receive-pack" in request.path:
            hook, self.before_push = self.before_push, None
            await asyncio.to_thread(hook)
        out = await asyncio.to_thread(self._cgi, request, body)
        head, _, rest = out.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        status = int(fields.pop("Status", "200 OK").split()[0])
        return web.Response(status=status, headers=fields, body=rest)

    def _cgi(self, request: web.BaseRequest, body: bytes) -> bytes:
        environment = {
            "GIT_PROJECT_ROOT": str(self.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
            "HOME": str(self.folder),
            "PATH": "/usr/bin:/bin",
            "PATH_INFO": request.path,
            "QUERY_STRING": request.query_string,
            "REQUEST_METHOD": request.method,
            "CONTENT_TYPE": request.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": "",
            "HTTP_GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
            "REMOTE_ADDR": "127.0.0.1",
        }
        done = subprocess.run([backend()], input=body, env=environment, capture_output=True, check=True)
        return done.stdout


def clone(url: str, folder: Path) -> Path:
    """Another person's clone."""
    git(folder.parent, "clone", "-q", url, str(folder))
    return folder
