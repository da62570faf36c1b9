"""Where something better cannot be had, the next best does the job and says loudly what it lacks."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from daemon.setup.home import honed_home
from sandboxes.bubblewrap import BubblewrapSandbox
from sandboxes.image.rootfs import rootfs_status
from tests.support.honed_cli import Ran, environment, git, honed, scored_count
from tests.support.projects import demo_project
from tests.support.upstream import Upstream

KEEP = {"train": 2, "selection": 4, "test": 1}


def train_with(engine: str, project: Path) -> Ran:
    config = project / "honed.toml"
    config.write_text(config.read_text().replace("[sandbox]", f'[sandbox]\nengine = "{engine}"'))
    return honed("train", "--json", cwd=project, limit_s=600)


def assert_learned(ran: Ran, engine: str) -> None:
    assert ran.code == 0, ran.stderr[-3000:]
    assert ran.result["sandbox"] == engine
    assert ran.result["invalid"] == 0
    assert ran.result["edits"]["accepted"] >= 1
    score = ran.result["score"]["selection"]
    assert score["after"] > score["before"]


def told_of(ran: Ran, engine: str) -> bool:
    """Something was said of what the engine lacks."""
    return any(engine in line for line in ran.stderr.splitlines() if '"notice"' in line)


@pytest.mark.clis
@pytest.mark.bubblewrap
@pytest.mark.slow
async def test_bubblewrap_does_the_job(tmp_path: Path) -> None:
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    ran = train_with("bubblewrap", demo_project(tmp_path / "p", keep=KEEP))
    assert_learned(ran, "bubblewrap")
    rootfs = rootfs_status(honed_home())
    lacks = (await BubblewrapSandbox(rootfs.path if rootfs else None, owner="test-fallbacks").facts()).lacks
    assert told_of(ran, "bubblewrap") == bool(lacks), lacks


@pytest.mark.clis
@pytest.mark.slow
def test_plain_processes_do_the_job_for_the_simulated_model(tmp_path: Path) -> None:
    ran = train_with("process", demo_project(tmp_path / "p", keep=KEEP))
    assert_learned(ran, "process")
    assert told_of(ran, "process"), ran.stderr[:3000]
    assert "no isolation at all" in ran.stderr


@pytest.mark.clis
@pytest.mark.parametrize("allowed", [False, True])
async def test_plain_processes_never_meet_a_real_key_unless_that_is_allowed(tmp_path: Path, *, allowed: bool) -> None:
    project = demo_project(tmp_path / "p", keep=KEEP)
    async with Upstream() as provider:
        config = project / "honed.toml"
        text = config.read_text().replace("simulated:", provider.base_url("openai"))
        allow = "allow_unsandboxed = true\n" if allowed else ""
        config.write_text(text.replace("[sandbox]", f'[sandbox]\nengine = "process"\n{allow}'))
        env = environment(OPENAI_API_KEY="sk-real-0123456789abcdefghij")
        ran = await asyncio.to_thread(honed, "eval", "--json", cwd=project, env=env, limit_s=600)
        asked = len(provider.requests)
    if allowed:
        assert asked > 0
        assert ran.result["sandbox"] == "process"
    else:
        assert ran.code == 3
        assert "allow_unsandboxed = true" in ran.error
        assert asked == 0
        assert scored_count(project) == 0
    assert "sk-real" not in ran.stdout + ran.stderr


def test_without_the_clis_the_demo_talks_to_a_chat_model(tmp_path: Path) -> None:
    """No npm: nothing can be brought; an empty HONED_HOME: nothing is there."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("git", "sh", "env"):
        tools.joinpath(name).symlink_to(shutil.which(name) or name)
    env = environment(PATH=str(tools), HONED_HOME=str(tmp_path / "home"), HONED_INSTALL_ENGINE="0")
    folder = tmp_path / "demo"
    ran = honed("demo", "--json", "--dir", folder, cwd=tmp_path, env=env)
    assert ran.code == 0, ran.stderr[-3000:]
    assert ran.result["harnesses"] == ["chat"]
    assert "NO CODEX AND NO CLAUDE CODE" in ran.stderr
    for pair in ran.result["score"].values():
        assert pair["after"] > pair["before"]
    assert ran.result["edits"]["accepted"] >= 1
    assert ran.result["edits"]["rejected"] >= 1
    assert git(folder, "rev-list", "--reverse", "main..honed/text").splitlines() == ran.result["commits"]
