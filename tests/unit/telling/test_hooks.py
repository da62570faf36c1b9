"""Hooks: what they are told, and that the work never waits for them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from daemon.config import ConfigError
from daemon.journal.journal import JournalError
from daemon.service.desk import ProjectStatus, Status
from daemon.service.troubles import Troubles
from daemon.telling import hooks, metrics
from daemon.telling.events import Bus
from daemon.telling.hooks import Channel, Hooks, open_hooks
from daemon.telling.metrics import Book
from daemon.telling.notification import Notification, told_as
from daemon.telling.ways import HookError
from tests.support.desk import FakeDesk
from tests.support.telling import a_step, configured
from tests.support.waiting import PATIENCE_S, until

ALL = frozenset({"accepted", "rejected-by-person", "paused", "broken", "ended"})


@dataclass
class FakeWay:
    """A way that a test lets go, holds or breaks."""

    name: str = "command"
    wrong: str = ""
    fault: bool = False
    got: list[tuple[Notification, ProjectStatus | None]] = field(default_factory=list)
    may_go: asyncio.Event = field(default_factory=asyncio.Event)
    closed: bool = False
    asked: int = 0

    def __post_init__(self) -> None:
        self.may_go.set()

    async def deliver(self, notification: Notification, project: ProjectStatus | None) -> None:
        self.asked += 1
        await self.may_go.wait()
        if self.fault:
            raise ZeroDivisionError
        if self.wrong:
            raise HookError(self.wrong)
        self.got.append((notification, project))

    async def close(self) -> None:
        self.closed = True


@dataclass
class World:
    """A bus with hooks on it."""

    bus: Bus
    way: FakeWay
    book: Book
    troubles: Troubles

    def counted(self, result: str) -> float:
        return dict(self.book.series(metrics.HOOKS)).get((self.way.name, result), 0)

    def told(self) -> list[str]:
        return [notification.name for notification, _ in self.way.got]

    def body(self, number: int = 0) -> dict[str, Any]:
        notification, project = self.way.got[number]
        body: dict[str, Any] = json.loads(notification.body(project, 5.0))
        return body


@asynccontextmanager
async def hooked(way: FakeWay | None = None, desk: FakeDesk | None = None) -> AsyncIterator[World]:
    bus, book = Bus(clock=lambda: 1_000.0), Book()
    world = World(bus, way or FakeWay(), book, Troubles(bus))
    channel = Channel(world.way, desk or FakeDesk(), book, world.troubles)
    async with channel.open():
        with bus.listening(Hooks(ALL, (channel,)).notice):
            yield world


async def test_an_accepted_step_is_told_with_skill_branch_commits_and_scores() -> None:
    async with hooked() as world:
        world.bus.publish("published", "a request", project="greeting", outcome="opened", url="https://git.example/1")
        a_step(world.bus, flagged=["url: SKILL.md: evil.example.com"])
        await until(lambda: len(world.way.got) == 1)
    body = world.body()
    assert len(body.pop("delivery")) == 32
    assert body == {
        "version": 1,
        "event": "accepted",
        "time": 1_000.0,
        "sent": 5.0,
        "project": "greeting",
        "skill": "skills/greeting",
        "branch": "honed/greeting",
        "job": 1,
        "run": "run-1",
        "state": None,
        "commits": ["c1", "c2"],
        "flagged": ["url"],
        "url": "https://git.example/1",
        "before": 0.4,
        "after": 0.6,
        "reason": "better",
    }
    assert world.way.closed


def test_which_events_are_told() -> None:
    bus = Bus()
    told = {
        "accepted": [a_step(bus), a_step(bus, update="slow_update")],
        "rejected-by-person": [bus.publish("rejected-by-person", "a revert", project="greeting", key="c1")],
        "paused": [bus.publish("paused", "somebody paused it")],
        "broken": [bus.publish("broken", "the engine does not answer", trouble="engine", over=False)],
        "ended": [bus.publish("job", "done", state=state) for state in ("done", "failed", "cancelled", "joined")],
    }
    for name, events in told.items():
        assert [told_as(event) for event in events] == [name] * len(events)
    silent = [
        a_step(bus, outcome="rejected"),
        a_step(bus, replayed=True),
        bus.publish("broken", "the engine works again", trouble="engine", over=True),
        bus.publish("broken", "a hook fails", trouble="hook webhook", over=False),
        bus.publish("job", "waits", state="queued"),
        bus.publish("job", "begins", state="running"),
        bus.publish("attempt", "one ended"),
        bus.publish("resumed", "goes on"),
    ]
    assert [told_as(event) for event in silent] == [None] * len(silent)


async def test_the_end_of_a_job_says_how_and_what_for_and_an_unknown_project_is_told_too() -> None:
    async with hooked() as world:
        facts = {"state": "done", "run": "run-2", "score": 0.7, "branch": "honed/x", "commits": ["c3"]}
        world.bus.publish("job", "done: all steps", project="gone", job=7, **facts)
        world.bus.publish("paused", "a release", project="")
        await until(lambda: len(world.way.got) == 2)
    ended, paused = world.body(0), world.body(1)
    assert (ended["event"], ended["state"], ended["run"], ended["job"]) == ("ended", "done", "run-2", 7)
    assert (ended["after"], ended["branch"], ended["commits"], ended["skill"]) == (0.7, "honed/x", ["c3"], None)
    assert (paused["project"], paused["reason"], paused["url"]) == ("", "a release", None)


async def test_hostile_reasons_are_one_redacted_line() -> None:
    async with hooked() as world:
        world.bus.publish("rejected-by-person", "no\n\x1b[31m sk-ant-api03-" + "a1B2" * 20 + "\udcff" + "x" * 9_000)
        await until(lambda: len(world.way.got) == 1)
    reason = world.body()["reason"]
    assert "sk-ant" not in reason
    assert len(reason) <= 300
    assert not set("\n\x1b\udcff") & set(reason)


async def test_only_what_is_asked_for_is_told() -> None:
    bus, way = Bus(), FakeWay()
    channel = Channel(way, FakeDesk(), Book(), Troubles(bus))
    listener = Hooks(frozenset({"paused"}), (channel,))
    async with channel.open():
        with bus.listening(listener.notice):
            a_step(bus)
            bus.publish("paused", "a release")
    assert [notification.name for notification, _ in way.got] == ["paused"]


async def test_a_failure_is_a_trouble_until_it_works_again_and_no_hook_is_told_of_it() -> None:
    async with hooked(FakeWay(wrong="hooks.example: answered 404")) as world:
        a_step(world.bus)
        a_step(world.bus)
        await until(lambda: world.counted("failed") == 2)
        [trouble] = world.troubles.all()
        assert (trouble.name, trouble.project) == ("hook command", "")
        assert "hooks.example: answered 404" in trouble.what
        assert "[hooks]" in trouble.remedy
        world.way.wrong = ""
        a_step(world.bus)
        await until(lambda: world.counted("delivered") == 1)
        assert world.troubles.all() == ()
    assert world.told() == ["accepted"]


async def test_a_fault_of_ours_in_a_hook_stops_neither_hooks_nor_work() -> None:
    with capture_logs() as logs:
        async with hooked(FakeWay(fault=True)) as world:
            a_step(world.bus)
            await until(lambda: world.counted("failed") == 1)
            world.way.fault = False
            a_step(world.bus)
            await until(lambda: world.counted("delivered") == 1)
    assert [line["log_level"] for line in logs if line["event"] == "hook_failed"] == ["error"]


async def test_publishing_never_waits_and_the_oldest_fall_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks, "QUEUE", 3)
    way = FakeWay()
    way.may_go.clear()
    async with hooked(way) as world:
        a_step(world.bus, run="first")
        await until(lambda: way.asked)  # it is on its way now
        for number in range(6):
            a_step(world.bus, run=f"run-{number}")
        assert world.counted("dropped") == 3
        way.may_go.set()
        await until(lambda: len(way.got) == 4)
    assert [notification.event.data["run"] for notification, _ in way.got] == ["first", "run-3", "run-4", "run-5"]


async def test_the_remaining_ones_are_delivered_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks, "DRAIN_S", PATIENCE_S)
    async with hooked() as world:
        for _ in range(5):
            a_step(world.bus)
    assert len(world.way.got) == 5


async def test_the_end_does_not_wait_long_and_says_what_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks, "DRAIN_S", 0.05)
    way = FakeWay()
    way.may_go.clear()
    with capture_logs() as logs:
        async with asyncio.timeout(PATIENCE_S), hooked(way) as world:
            for _ in range(3):
                a_step(world.bus)
    assert world.counted("dropped") == 3
    assert len([line for line in logs if line["event"] == "hook_dropped"]) == 3
    assert way.closed


async def test_a_desk_that_cannot_say_how_it_stands_costs_the_notification_only_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Broken(FakeDesk):
        async def status(self) -> Status:
            raise JournalError("the job store is gone")

    async with hooked(desk=Broken()) as world:
        a_step(world.bus)
        await until(lambda: len(world.way.got) == 1)
    assert world.body()["branch"] is None
    assert world.body()["commits"] == ["c1", "c2"]


async def test_a_missing_or_short_secret_is_refused_by_its_variable(tmp_path: Path) -> None:
    config = configured(tmp_path, '[hooks]\nurl = "https://hooks.example/x"\nsecret_env = "TEAM_SECRET"\n')
    bus = Bus()
    for environ, what in (({}, "is not set"), ({"TEAM_SECRET": "hunter2"}, "has fewer than 16")):
        with pytest.raises(ConfigError, match=f"secret_env: the environment variable TEAM_SECRET {what}") as refused:
            async with open_hooks(FakeDesk(), bus, config, book=Book(), troubles=Troubles(bus), environ=environ):
                pass
        assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('url = "https://hooks.example/x"', "secret_env is missing"),
        ('url = "http://hooks.example/x"\nsecret_env = "S"', "must be https://"),
        ('url = "https://user:pw@hooks.example/"\nsecret_env = "S"', "must be https://"),
        ('url = "https://hooks.example/?token=x"\nsecret_env = "S"', "must be https://"),
        ('url = "file:///etc/passwd"\nsecret_env = "S"', "must be https://"),
        ('secret_env = "not a name"', "must be the name of an environment variable"),
        ('command = [""]', "must be a program and its arguments"),
        ("command = \"tell 'everybody'\"", "must be a list"),
        ('on = ["everything"]', "must be one of"),
        ("timeout_s = 0", "must be more than 0"),
        ("tries = 100", "must be at most 10"),
    ],
)
def test_a_wrong_section_is_one_line_without_the_value(tmp_path: Path, text: str, what: str) -> None:
    with pytest.raises(ConfigError, match=r"\[hooks\]") as refused:
        configured(tmp_path, f"[hooks]\n{text}\n")
    assert what in str(refused.value)
    assert "user:pw" not in str(refused.value)
    assert "token=x" not in str(refused.value)


def test_loopback_may_be_asked_without_tls(tmp_path: Path) -> None:
    config = configured(tmp_path, '[hooks]\nurl = "http://127.0.0.1:8080/x"\nsecret_env = "S"\n')
    assert config.hooks.url == "http://127.0.0.1:8080/x"
