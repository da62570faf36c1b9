"""Every failure that docs/daemon.md states, provoked under a real runner: what the job does, and that it heals.

The engine, the provider, the repository and the folder are real or on loopback; only what breaks is made to break.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import structlog.testing

from daemon import wiring
from daemon.config import load_config
from daemon.housekeeping import room
from daemon.housekeeping.disk import Disk
from daemon.jobs.job import Cause, Job
from daemon.rollouts.progress import AttemptFinished
from daemon.service.board import Board
from daemon.service.circuits import Circuits
from daemon.service.ends import BEFORE_PAYING, BY_ATTEMPTS, OF_RUNS, JobEnd
from daemon.service.leash import Leash
from daemon.service.project import Project
from daemon.service.runner import Runner
from daemon.service.troubles import Troubles
from daemon.telling.events import Bus
from sandboxes.sandbox import GIB, MIB, SandboxError
from tests.support.ports import free_port
from tests.support.projects import chat_project, greeting_tasks
from tests.support.upstream import Upstream
from tests.support.wire import Step
from tests.unit.service.test_worker import House

KEY = "sk-0123456789abcdef"
REFUSED = Step(status=401, body={"error": {"code": "invalid_api_key", "message": "Incorrect API key provided"}})
QUICK = "attempt_tries = 1\n"
BROKEN = ("provider", "engine", "repository", "journal", "state folder", "disk")


@dataclass
class Daemon:
    """One project and its runner."""

    folder: Path
    config: Any
    runner: Runner = field(init=False)

    def __post_init__(self) -> None:
        self.runner = Runner(Bus(), Board(), Circuits())

    async def job(self) -> JobEnd:
        """Begin the job (again)."""
        job = Job(1, "greeter", Cause("skill", "1"), "running", created=0.0, tries=1)
        return await self.runner.run(Project("greeter", self.config), job, Leash())


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_API_KEY", KEY)


def lay(folder: Path, base_url: str, *, toml: str = "", tasks: list[dict[str, Any]] | None = None) -> Daemon:
    tasks = tasks or [{**row, "answer": "Hello"} for row in greeting_tasks()]
    project = chat_project(folder / "p", base_url, toml=QUICK + toml, tasks=tasks)
    file = project / "honed.toml"
    # One try and no waits: what is tested is what follows, not how patiently a request is repeated.
    file.write_text(file.read_text().replace('api_key_env = "TEST_API_KEY"', 'api_key_env = "TEST_API_KEY"\ntries = 1'))
    return Daemon(project, load_config(file))


def waits(end: JobEnd, trouble: str) -> None:
    """It is no end for good, and the status tells why."""
    assert (end.state, end.trouble) == ("queued", trouble), end
    assert end.not_before > 0
    assert end.reason


async def test_a_revoked_key_opens_the_circuit_names_the_key_and_heals_once_it_is_good(tmp_path: Path) -> None:
    revoked = True
    async with Upstream([lambda _: REFUSED if revoked else Step(text="Hello")]) as provider:
        daemon = lay(tmp_path, provider.base_url("openai"))
        with structlog.testing.capture_logs() as logs:
            end = await daemon.job()
        waits(end, "provider")
        assert "TEST_API_KEY" in end.reason
        assert KEY not in end.reason
        [line] = [row for row in logs if row["event"] == "circuit"]
        assert (line["state"], line["log_level"]) == ("open", "warning")
        asked = len(provider.requests)
        waits(await daemon.job(), "provider")
        assert len(provider.requests) - asked == 1, "nothing but the probe"
        revoked = False
        assert (await daemon.job()).state == "done"
        assert all(circuit.admits(0.0) for circuit in daemon.runner.circuits.all())


class Falls:
    """An observer of a run: at its first scored attempt, honed itself fails."""

    def notify(self, event: object) -> None:
        if isinstance(event, AttemptFinished):
            raise RuntimeError("a fault")


async def test_a_trouble_is_over_with_its_cause_though_the_run_then_ends_for_another(tmp_path: Path) -> None:
    revoked = True
    async with Upstream([lambda _: REFUSED if revoked else Step(text="Hello")]) as provider:
        daemon = lay(tmp_path, provider.base_url("openai"))
        troubles = Troubles(Bus())
        daemon.runner.over = troubles.end_all
        for name in ("provider", "repository", "engine", "honed"):
            troubles.begin(name, "does not work", project="greeter")
        waits(await daemon.job(), "provider")
        assert {one.name for one in troubles.all()} == {"provider", "repository", "engine", "honed"}
        revoked = False
        daemon.runner.observers = lambda project, job: (Falls(),)
        waits(await daemon.job(), "honed")
    assert [one.name for one in troubles.all()] == ["engine", "honed"], "no attempt was seen to end"


async def test_a_run_that_goes_on_ends_the_troubles_that_it_has_left_behind(tmp_path: Path) -> None:
    async with Upstream([Step(text="Hello")]) as provider:
        daemon = lay(tmp_path, provider.base_url("openai"))
        told: list[frozenset[str]] = []
        daemon.runner.over = lambda project, names: told.append(frozenset(names))
        assert (await daemon.job()).state == "done"
    assert told[0] == BEFORE_PAYING
    assert set(told[1:]) == {BY_ATTEMPTS}
    assert BEFORE_PAYING | BY_ATTEMPTS <= OF_RUNS


async def test_a_lost_network_heals_once_it_is_back(tmp_path: Path) -> None:
    port = free_port()
    daemon = lay(tmp_path, f"http://127.0.0.1:{port}/v1")
    for _ in range(3):
        end = await daemon.job()
        waits(end, "provider")
        assert "unreachable" in end.reason
    assert daemon.runner.circuits.blocked(daemon.config) is not None
    async with Upstream([Step(text="Hello")], port=port):
        assert (await daemon.job()).state == "done"
    assert daemon.runner.circuits.blocked(daemon.config) is None


async def test_a_deleted_repository_heals_once_it_is_there_again(tmp_path: Path) -> None:
    async with Upstream([Step(text="Hello")]) as provider:
        daemon = lay(tmp_path, provider.base_url("openai"))
        (daemon.folder / ".git").rename(tmp_path / "elsewhere")
        waits(await daemon.job(), "repository")
        assert provider.requests == [], "not even a canary is paid"
        (tmp_path / "elsewhere").rename(daemon.folder / ".git")
        assert (await daemon.job()).state == "done"


async def test_a_state_folder_that_cannot_be_written_heals_once_it_can(tmp_path: Path) -> None:
    async with Upstream([Step(text="Hello")]) as provider:
        daemon = lay(tmp_path, provider.base_url("openai"))
        state = daemon.folder / ".honed"
        state.write_text("no folder can be made here")
        end = await daemon.job()
        waits(end, "journal")
        assert f"{state} is no folder" in end.reason
        assert "move it away" in end.reason
        assert provider.requests == []
        state.unlink()
        assert (await daemon.job()).state == "done"


async def test_a_full_disk_is_waited_for_with_nothing_paid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = [MIB, MIB, 50 * GIB]
    slept: list[int] = []
    async with Upstream([Step(text="Hello")]) as provider:
        daemon = lay(tmp_path, provider.base_url("openai"))

        async def sleep(_: float) -> None:
            slept.append(len(provider.requests))

        def look(_: Path) -> Disk:
            return Disk(free.pop(0) if len(free) > 1 else free[0], 100 * GIB)

        monkeypatch.setattr(wiring, "Room", lambda state, patient: room.Room(state, patient, look, sleep))
        assert (await daemon.job()).state == "done"
        assert len(slept) == 2
        assert set(slept) == {2}, "the two canaries came before, and nothing else"


SCRIPTED = [
    {
        "id": f"{split}-{number}",
        "prompt": f"Say {split} {number}.",
        "split": split,
        "scorer": "test_script",
        "tests": {"test.sh": "test.sh"},
    }
    for split, size in (("train", 2), ("selection", 4), ("test", 1))
    for number in range(size)
]


async def test_an_engine_that_restarts_heals_once_it_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Upstream([Step(text="Hello")]) as provider:
        daemon = lay(
            tmp_path,
            provider.base_url("openai"),
            toml='\n[sandbox]\nengine = "process"\nallow_unsandboxed = true\n',
            tasks=SCRIPTED,
        )
        (daemon.folder / "test.sh").write_text('echo 1 >"$LOGS_DIR/reward.txt"\n')

        async def restarting(*_: object, **__: object) -> None:
            raise SandboxError("the Docker engine does not answer: is it restarting?")

        with monkeypatch.context() as down:
            down.setattr(wiring, "choose_engine", restarting)
            end = await daemon.job()
        waits(end, "engine")
        assert "does not answer" in end.reason
        assert provider.requests == []
        assert (await daemon.job()).state == "done"


async def test_a_clock_that_was_wrong_puts_no_job_off(tmp_path: Path) -> None:
    house = House(tmp_path)
    job = await house.queue()
    await house.store.save(replace(job, not_before=house.worker.clock() + 400 * 86_400.0, reason="waits"))
    async with house.working():
        await house.settled()
    assert await house.states() == ["done"]


def test_the_table_tells_of_each_with_what_is_really_logged_and_shown() -> None:
    root = Path(__file__).parents[3]
    text = (root / "docs" / "daemon.md").read_text("utf-8").split("\n## What happens when", 1)[1].split("\n## ", 1)[0]
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")][1:]
    told = [row[0].removeprefix("| ") for row in rows]
    for words in ("engine", "disk", "read-only", "clock", "network", "key", "repository"):
        assert any(words in row for row in told), words
    sources = "\n".join(path.read_text("utf-8") for path in sorted((root / "daemon").rglob("*.py")))
    for row in rows:
        events = [name for name in re.findall(r"`([a-z_]+)`", row[2]) if name.endswith(("ed", "seen", "read"))]
        assert [name for name in events if f'"{name}"' not in sources] == []
        assert [name for name in re.findall(r"`([a-z ]+)`", row[3]) if f'"{name}"' not in sources] == []
    assert set(BROKEN) <= set(re.findall(r"`([a-z ]+)`", " ".join(row[3] for row in rows)))
