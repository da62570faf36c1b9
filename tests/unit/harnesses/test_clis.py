from __future__ import annotations

from pathlib import Path

import pytest

from harnesses.clis import CliError, CliName, ask_version, find_binaries, find_cli

PLACES: dict[CliName, str] = {
    "codex": "node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
    "claude": "node_modules/@anthropic-ai/claude-code-linux-x64/claude",
}


def lay(root: Path, name: CliName, script: str, *, mode: int = 0o755) -> Path:
    path = root / PLACES[name]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(mode)
    return path


async def test_both_are_found_and_asked(tmp_path: Path) -> None:
    lay(tmp_path, "codex", "echo codex-cli 0.171.0")
    lay(tmp_path, "claude", "echo '2.1.332 (Claude Code)'")
    found = await find_binaries(tmp_path)
    assert (found.codex.version, found.claude.version) == ("0.171.0", "2.1.332")
    assert found.codex.mount.target == "/opt/agents/codex"
    assert found.codex.inside("/opt/agents") == "/opt/agents/codex/bin/codex"
    assert found.claude.inside("/tools") == "/tools/claude/claude"
    assert found.codex.path == tmp_path / PLACES["codex"]


@pytest.mark.parametrize("name", ["codex", "claude"])
def test_missing_or_not_executable(name: CliName, tmp_path: Path) -> None:
    with pytest.raises(CliError, match=f"no {name} binary under .*: run `honed setup`"):
        find_cli(tmp_path, name)
    lay(tmp_path, name, "exit 0", mode=0o644)
    with pytest.raises(CliError, match="run `honed setup`"):
        find_cli(tmp_path, name)


@pytest.mark.parametrize(
    ("script", "says"),
    [("exit 3", "exit code 3"), ("echo no number", "failed"), ("echo 1.2.3; exit 1", "exit code 1")],
)
async def test_a_binary_that_does_not_tell(script: str, says: str, tmp_path: Path) -> None:
    lay(tmp_path, "codex", script)
    with pytest.raises(CliError, match=says):
        await ask_version(find_cli(tmp_path, "codex"))


async def test_a_file_that_is_no_program(tmp_path: Path) -> None:
    path = lay(tmp_path, "claude", "")
    path.write_bytes(b"\x7fELF not really")
    with pytest.raises(CliError, match="does not run"):
        await ask_version(find_cli(tmp_path, "claude"))


async def test_a_binary_that_hangs_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harnesses.clis._VERSION_S", 0.2)
    lay(tmp_path, "codex", "exec sleep 60")
    with pytest.raises(CliError, match=r"did not end within 0\.2 s"):
        await ask_version(find_cli(tmp_path, "codex"))


async def test_the_hosts_environment_is_not_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    lay(tmp_path, "codex", 'test -z "$OPENAI_API_KEY" && echo 1.0.0')
    assert await ask_version(find_cli(tmp_path, "codex")) == "1.0.0"
