"""A `python3` with openpyxl for engines that show the host's own programs: the sandbox image has both, hosts rarely do.

Invariant: what is shown inside is this folder alone, made of two pure-Python packages that honed itself is locked to.
"""

from __future__ import annotations

import shutil
import sys
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from daemon.setup.errors import SetupError
from harnesses.clis import PYTHON_TOOLS
from sandboxes.image.command import Say
from sandboxes.image.scratch import set_up_lock, temporary_folder
from sandboxes.sandbox import Mount

_PACKAGES = ("openpyxl", "et_xmlfile")
_SHIM = """\
#!/bin/sh
PYTHONPATH="${{0%/bin/python3}}/lib${{PYTHONPATH:+:$PYTHONPATH}}" exec {python} "$@"
"""


async def ensure_toolkit(home: Path, say: Say) -> Mount:
    """The folder under `home` and where harnesses expect it; raises `SetupError` if there is no Python to show."""
    folder = home / "toolkit" / f"openpyxl-{metadata.version('openpyxl')}"
    if not folder.is_dir():
        async with set_up_lock(home, "toolkit", say):
            if not folder.is_dir():
                async with temporary_folder(home / "toolkit") as draft:
                    _make(draft)
                    draft.rename(folder)
    return Mount(folder, PYTHON_TOOLS)


def _make(folder: Path) -> None:
    folder.chmod(0o755)
    for name in _PACKAGES:
        found = find_spec(name)
        assert found is not None, f"{name} is one of honed's own requirements"
        assert found.origin is not None
        source = Path(found.origin).parent
        shutil.copytree(source, folder / "lib" / name, ignore=shutil.ignore_patterns("__pycache__"))
    shim = folder / "bin" / "python3"
    shim.parent.mkdir()
    shim.write_text(_SHIM.format(python=_interpreter()))
    shim.chmod(0o755)


def _interpreter() -> str:
    """The system's, which every engine shows; else the one that runs honed, for the engine that shows everything."""
    for path in ("/usr/bin/python3", "/usr/local/bin/python3", sys.executable):
        if Path(path).exists():
            return path
    msg = "no python3 under /usr/bin or /usr/local/bin: install python3"
    raise SetupError(msg)
