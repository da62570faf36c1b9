"""`kill -9` during `honed train`: started again it comes to the same commits, pays nothing twice and leaves nothing."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from daemon.config import load_config
from daemon.wiring import owner_id
from sandboxes.container import LABEL_OWNER
from tests.support.forked import Forked
from tests.support.honed_cli import HONED, LIMIT_S, edits, environment, git, honed, journal_rows, scored_count
from tests.support.projects import demo_project
from tests.support.sandboxes import docker_client, docker_image

pytestmark = [pytest.mark.docker, pytest.mark.clis, pytest.mark.slow, pytest.mark.timeout(1200)]

KEEP = {"train": 8, "selection": 6, "test": 2}
BRANCH = "honed/spreadsheets"


def kill_at(project: Path, count: int, delay_s: float, *, forked: bool = False) -> int:
    """Start a training and kill it once `count` attempts are scored and a moment has passed; returns its exit code."""
    command: list[str | Path] = [HONED, "train", "--json"]
    process: Forked | subprocess.Popen[bytes]
    with (project / ".git" / "train.log").open("ab") as log, Path(os.devnull).open("rb") as nothing:
        if forked:
            process = Forked(command, cwd=project, env=environment(), stdout=log, stderr=log)
        else:
            process = subprocess.Popen(command, cwd=project, env=environment(), stdout=log, stderr=log, stdin=nothing)
    limit = time.monotonic() + LIMIT_S
    while process.poll() is None and scored_count(project) < count:
        assert time.monotonic() < limit, "the training does not get on"
        time.sleep(0.01)
    time.sleep(delay_s)
    if process.poll() is None:
        with suppress(ProcessLookupError):  # it ended just now
            os.kill(process.pid, signal.SIGKILL)
    return process.wait(LIMIT_S)


def containers_of(project: Path) -> list[str]:
    owner = owner_id(load_config(project / "honed.toml"))
    with docker_client() as client:
        found = client.containers.list(all=True, ignore_removed=True, filters={"label": f"{LABEL_OWNER}={owner}"})
    return [container.name for container in found]


def test_killed_five_times_it_ends_where_an_undisturbed_run_ends(tmp_path: Path) -> None:
    docker_image()
    calm = demo_project(tmp_path / "calm", keep=KEEP)
    undisturbed = honed("train", "--json", cwd=calm, limit_s=600)
    assert undisturbed.code == 0, undisturbed.stderr[-3000:]
    total = scored_count(calm)

    rng = random.Random(20261129)
    project = demo_project(tmp_path / "stormy", keep=KEEP)
    assert git(project, "rev-parse", "main") == git(calm, "rev-parse", "main")
    for count in sorted(rng.sample(range(1, total * 2 // 3), 5)):  # so early that none is over before its kill
        assert kill_at(project, count, rng.uniform(0, 0.5)) == -signal.SIGKILL

    last = honed("train", "--json", cwd=project, limit_s=600)
    assert last.code == 0, last.stderr[-3000:]
    assert last.result["resumed"] is True
    assert last.result["score"] == undisturbed.result["score"]
    assert len(last.result["commits"]) == len(undisturbed.result["commits"]) > 0
    assert edits(project, BRANCH) == edits(calm, BRANCH)

    twice = "SELECT key FROM attempts WHERE score IS NOT NULL GROUP BY key HAVING count(*) > 1"
    assert journal_rows(project, twice) == []
    assert scored_count(project) == total
    assert journal_rows(project, "SELECT count(*) FROM attempts WHERE state = 'planned'") == [(0,)]
    assert containers_of(project) == []
    assert git(project, "status", "--porcelain") == ""
