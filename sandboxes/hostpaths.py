"""Paths of the engines without a root of their own: everything lies under the attempt's folder on the host."""

from __future__ import annotations

import shutil
from pathlib import Path

from sandboxes.lay import Owner
from sandboxes.rooms import private_folder
from sandboxes.sandbox import BoxSpec, Layout


def host_layout(spec: BoxSpec, *, model_url: str | None) -> Layout:
    """The layout of an engine without a root of its own: everything under the attempt's folder."""
    folder = spec.folder.absolute()
    socket = spec.gateway_socket
    return Layout(
        workspace=str(folder / "workspace"),
        home=str(folder / "home"),
        tmp=str(folder / "tmp"),
        out=str(folder / "out"),
        tools=str(folder / "tools"),
        gateway_socket=None if socket is None else str(socket.absolute()),
        model_url=None if socket is None else model_url,
    )


def fresh_home(layout: Layout, owner: Owner) -> None:
    """Empty home and tmp: each command starts from fresh ones."""
    for path in (Path(layout.home), Path(layout.tmp)):
        shutil.rmtree(path, ignore_errors=True)
        private_folder(path, owner)
