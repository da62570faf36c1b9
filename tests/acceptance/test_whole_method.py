"""Every part of the method through the real command, killed at random: the same commits, nothing paid twice."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest

from tests.acceptance.test_kill import containers_of, kill_at
from tests.support.honed_cli import HONED, edits, git, honed, journal_rows, scored_count
from tests.support.projects import demo_project
from tests.support.sandboxes import docker_image

CHAT = {"train": 8, "selection": 5, "test": 3}
CODEX = {"train": 4, "selection": 4, "test": 1}
MODES = {
    "paired": 'gate = "paired"\nepochs = 2\nslow_update_samples = 4\n',
    "forced": 'slow_update = "forced"\nepochs = 2\nslow_update_samples = 4\nschedule = "unbounded"\naccumulation = 2\n',
    "attributed": "attribution = true\nepochs = 2\n",
    "paper": 'mode = "paper"\nepochs = 3\nslow_update_samples = 3\n',
}


def project(folder: Path, mode: str, keep: dict[str, int], *, chat: bool) -> Path:
    made = demo_project(folder, keep=keep, chat=chat)
    file = made / "honed.toml"
    lines = [line for line in file.read_text().splitlines() if not line.startswith(("gate =", "epochs ="))]
    file.write_text("\n".join(lines).replace("[train]\n", f"[train]\n{MODES[mode]}") + "\n")
    git(made, "commit", "--quiet", "--all", "--message", f"Train with {mode}")
    return made


def assert_killed_it_ends_alike(tmp_path: Path, mode: str, keep: dict[str, int], *, chat: bool, kills: int) -> Path:
    calm = project(tmp_path / "calm", mode, keep, chat=chat)
    # Started, it has a hash seed of its own: no order of a set may show in what comes of it.
    undisturbed = honed("train", "--json", cwd=calm, limit_s=600, program=HONED if mode == "paired" else None)
    assert undisturbed.code == 0, undisturbed.stderr[-3000:]
    total = scored_count(calm)
    stormy = project(tmp_path / "stormy", mode, keep, chat=chat)
    rng = random.Random(f"20261129/{mode}")
    for count in sorted(rng.sample(range(1, total - 2), kills)):
        code = kill_at(stormy, count, rng.uniform(0, 0.3), forked=chat)
        assert code in (-signal.SIGKILL, 0), "it may have come to its end before the last kill"
    last = honed("train", "--json", cwd=stormy, limit_s=600)
    assert last.code == 0, last.stderr[-3000:]
    branch = last.result["branch"].removeprefix("refs/heads/")
    assert edits(stormy, branch) == edits(calm, branch)
    assert len(edits(calm, branch)) > 0
    twice = "SELECT key FROM attempts WHERE score IS NOT NULL GROUP BY key HAVING count(*) > 1"
    assert journal_rows(stormy, twice) == []
    assert scored_count(stormy) == total
    assert git(stormy, "status", "--porcelain") == ""
    return stormy


@pytest.mark.parametrize("mode", sorted(MODES))
def test_killed_at_random_it_comes_to_the_same_commits(tmp_path: Path, mode: str) -> None:
    stormy = assert_killed_it_ends_alike(tmp_path, mode, CHAT, chat=True, kills=3)
    shown = honed("show", "latest", "--json", cwd=stormy)
    assert shown.code == 0, shown.stderr
    assert shown.result["steps"]
    kinds = {kind for (kind,) in journal_rows(stormy, "SELECT DISTINCT kind FROM decisions")}
    assert "slow_update" in kinds
    if mode == "forced":
        phases = git(stormy, "log", "--format=%(trailers:key=Honed-Phase,valueonly)", "honed/text").split()
        assert phases == ["slow_update"]
        assert "honed:slow-update:start" in git(stormy, "show", "honed/text:skills/text/SKILL.md")


@pytest.mark.docker
@pytest.mark.clis
@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(1200)
def test_the_whole_method_on_real_agents_in_containers(tmp_path: Path) -> None:
    """In `make test`: real agents killed again and again in `test_kill.py`, and each part of the method here above."""
    docker_image()
    stormy = assert_killed_it_ends_alike(tmp_path, "paired", CODEX, chat=False, kills=2)
    assert containers_of(stormy) == []
