"""The pinned CLIs by npm: complete and verified under the final name, or not there at all."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from daemon.setup import clis
from daemon.setup.clis import agents_folder, clis_status, ensure_clis, pins
from daemon.setup.errors import SetupError
from daemon.setup.home import honed_home

LOCK = json.loads(clis._packaged("package-lock.json"))

NPM = """#!/bin/sh
echo "$@" >> {log}
m=node_modules
c=$m/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin
mkdir -p $c $m/@anthropic-ai/claude-code-linux-x64
printf '#!/bin/sh\\necho "codex-cli {codex}"\\n' > $c/codex
printf '#!/bin/sh\\necho "{claude} (Claude Code)"\\n' > $m/@anthropic-ai/claude-code-linux-x64/claude
chmod 755 $c/codex $m/@anthropic-ai/claude-code-linux-x64/claude
{end}
"""


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Installs a fake npm; call `_write` to say what it brings. Returns its log."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    _write(tmp_path)
    return tmp_path / "npm.log"


def _write(folder: Path, *, codex: str | None = None, claude: str | None = None, end: str = "exit 0") -> None:
    told = {"codex": codex or pins()["codex"], "claude": claude or pins()["claude-code"], "end": end}
    script = folder / "bin" / "npm"
    script.parent.mkdir(exist_ok=True)
    script.write_text(NPM.format(log=folder / "npm.log", **told))
    script.chmod(0o755)


def test_the_pins_are_exact_and_the_lock_holds_them() -> None:
    assert pins() == {"codex": "0.171.0", "claude-code": "2.1.332"}
    packages = LOCK["packages"]
    assert packages["node_modules/@openai/codex"]["version"] == "0.171.0"
    assert packages["node_modules/@anthropic-ai/claude-code"]["version"] == "2.1.332"
    for platform_package in ("@openai/codex-linux-x64", "@openai/codex-linux-arm64"):
        assert f"node_modules/{platform_package}" in packages


def test_the_lock_has_integrity_but_no_addresses() -> None:
    entries = {path: entry for path, entry in LOCK["packages"].items() if path}
    assert all(entry["integrity"].startswith("sha512-") for entry in entries.values())
    assert "resolved" not in json.dumps(LOCK)
    assert "http" not in json.dumps({path: entry.get("resolved", "") for path, entry in entries.items()})


async def test_they_are_installed_once_without_scripts(npm: Path, tmp_path: Path) -> None:
    home, said = tmp_path / "home", list[str]()
    paths = await ensure_clis(home, said.append)
    assert paths.root == agents_folder(home)
    assert paths.versions == pins()
    assert paths.codex.is_relative_to(paths.root)
    assert paths.claude.name == "claude"
    assert await ensure_clis(home, said.append) == paths
    (argv,) = npm.read_text().splitlines()
    assert argv.split()[0] == "ci"
    assert {"--ignore-scripts", "--omit=dev", "--include=optional"} <= set(argv.split())
    assert len(said) == 1
    assert sorted(path.name for path in (home / "agents").iterdir()) == [paths.root.name]


async def test_two_set_ups_install_once(npm: Path, tmp_path: Path) -> None:
    both = await asyncio.gather(*(ensure_clis(tmp_path / "home", lambda _: None) for _ in range(2)))
    assert both[0] == both[1]
    assert len(npm.read_text().splitlines()) == 1


async def test_broken_ones_are_replaced(npm: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    paths = await ensure_clis(home, lambda _: None)
    paths.claude.write_text("#!/bin/sh\nexit 1\n")
    assert await clis_status(home) is None
    assert (await ensure_clis(home, lambda _: None)).versions == pins()


async def test_other_versions_than_the_pins_are_refused(npm: Path, tmp_path: Path) -> None:
    _write(tmp_path, codex="0.999.0")
    with pytest.raises(SetupError, match=r"0\.999\.0"):
        await ensure_clis(tmp_path / "home", lambda _: None)
    assert list((tmp_path / "home" / "agents").iterdir()) == []


async def test_npms_error_is_told(npm: Path, tmp_path: Path) -> None:
    _write(tmp_path, end="echo 'npm error code ENOTFOUND'; echo 'npm error network down'; exit 1")
    with pytest.raises(SetupError, match=r"npm error code ENOTFOUND npm error network down.*npm ping"):
        await ensure_clis(tmp_path / "home", lambda _: None)
    assert list((tmp_path / "home" / "agents").iterdir()) == []


async def test_binaries_that_do_not_run_here_are_told(npm: Path, tmp_path: Path) -> None:
    _write(tmp_path, end='find node_modules -type f -exec sh -c \'echo >"$1"; chmod -x "$1"\' sh {} \\;')
    with pytest.raises(SetupError, match="do not run on this machine"):
        await ensure_clis(tmp_path / "home", lambda _: None)


async def test_no_npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clis, "find_program", lambda _: None)
    with pytest.raises(SetupError, match="npm is not installed: install Node"):
        await ensure_clis(tmp_path, lambda _: None)


async def test_no_room(npm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = type("Usage", (), {"free": 5 * 1024**2})
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    with pytest.raises(SetupError, match="5 MiB free"):
        await ensure_clis(tmp_path / "home", lambda _: None)
    assert not npm.exists()


async def test_a_machine_they_are_not_made_for(npm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(SetupError, match="riscv64"):
        await ensure_clis(tmp_path, lambda _: None)


def test_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("HONED_HOME", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert honed_home() == tmp_path / ".local/share/honed"
    monkeypatch.setenv("XDG_DATA_HOME", "relative/is/ignored")
    assert honed_home() == tmp_path / ".local/share/honed"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert honed_home() == tmp_path / "data/honed"
    monkeypatch.setenv("HONED_HOME", "~/h")
    assert honed_home() == Path(os.environ["HOME"]) / "h"
