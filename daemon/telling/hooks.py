"""Hooks: notifications of what a team wants to know, on their ways beside the work.

Invariants: nothing waits for a hook but the daemon's end, and that only for a short time; queues are bounded, and what
falls out of one is said; a hook that fails is a log line and a trouble until it works again, and never more.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Protocol

import structlog
from pydantic import SecretStr

from daemon.config import Config, ConfigError
from daemon.journal.journal import JournalError
from daemon.redaction import register_secret
from daemon.service.desk import Desk, ProjectStatus
from daemon.telling import metrics
from daemon.telling.events import Bus, DaemonEvent
from daemon.telling.metrics import Book
from daemon.telling.notification import OWN, Notification, told_as
from daemon.telling.ways import Command, HookError, Way, Webhook

log = structlog.get_logger(__name__)

QUEUE = 100
"""Notifications that wait for one way; the oldest fall out."""
DRAIN_S = 5.0
"""What the remaining ones get when the daemon ends."""
STATUS_S = 5.0
_SHORTEST = 16
"""Characters of the secret."""


class TroubleBook(Protocol):
    """Where troubles are kept while they last (`daemon.service.troubles.Troubles`)."""

    def begin(self, name: str, what: str, *, project: str = "", remedy: str = "") -> None:
        """Something does not work."""

    def end(self, name: str, *, project: str = "") -> None:
        """It works again."""


@dataclass
class Channel:
    """One way with those that wait for it, in order."""

    way: Way
    desk: Desk
    book: Book
    troubles: TroubleBook
    _waiting: deque[Notification] = field(default_factory=deque)
    _current: Notification | None = None
    """On its way."""
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _idle: asyncio.Event = field(default_factory=asyncio.Event)

    def offer(self, notification: Notification) -> None:
        """Queue it; never waits."""
        if len(self._waiting) >= QUEUE:
            lost = self._waiting.popleft()
            self._note("dropped")
            log.warning("hook_dropped", way=self.way.name, hook=lost.name, delivery=lost.delivery, waiting=QUEUE)
        self._waiting.append(notification)
        self._idle.clear()
        self._news.set()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Deliver as long as this is open, and for a short time more."""
        self._idle.set()
        task = asyncio.create_task(self._work(), name=f"hook {self.way.name}")
        try:
            yield
        finally:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._idle.wait(), DRAIN_S)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            await self.way.close()
            for left in (*([self._current] if self._current else []), *self._waiting):
                self._note("dropped")
                log.warning("hook_dropped", way=self.way.name, hook=left.name, delivery=left.delivery, ending=True)

    async def _work(self) -> None:
        while True:
            while self._waiting:
                self._current = self._waiting.popleft()
                await self._deliver(self._current)
                self._current = None
            self._idle.set()
            self._news.clear()
            await self._news.wait()

    async def _deliver(self, notification: Notification) -> None:
        name = OWN + self.way.name
        about = {"way": self.way.name, "hook": notification.name, "delivery": notification.delivery}
        try:
            await self.way.deliver(notification, await self._project(notification.event.project))
        except HookError as error:
            self._note("failed")
            log.warning("hook_failed", reason=str(error), **about)
            self.troubles.begin(name, f"{error}: the notification is lost, work goes on", remedy="mend [hooks]")
        except Exception:
            self._note("failed")
            log.exception("hook_failed", reason="a fault of honed", **about)
            self.troubles.begin(name, "a fault of honed (see the log): the notification is lost, work goes on")
        else:
            self._note("delivered")
            log.info("hook_delivered", **about)
            self.troubles.end(name)

    async def _project(self, name: str) -> ProjectStatus | None:
        """How the project stands; None: there is no such one, or nobody can say now."""
        try:
            async with asyncio.timeout(STATUS_S):
                status = await self.desk.status()
        except (TimeoutError, JournalError) as error:
            log.warning("hook_without_status", reason=str(error) or "the daemon did not say how it stands")
            return None
        return next((one for one in status.projects if one.name == name), None)

    def _note(self, result: str) -> None:
        self.book.add(metrics.HOOKS, self.way.name, result)


@dataclass
class Hooks:
    """Listens to the bus for all ways."""

    on: frozenset[str]
    channels: tuple[Channel, ...]
    _urls: dict[str, str] = field(default_factory=dict)

    def notice(self, event: DaemonEvent) -> None:
        """A listener of the bus."""
        if event.kind == "published" and event.data.get("url"):
            self._urls[event.project] = str(event.data["url"])
        name = told_as(event)
        if name is None or name not in self.on:
            return
        notification = Notification(name, event, self._urls.get(event.project))
        for channel in self.channels:
            channel.offer(notification)


@asynccontextmanager
async def open_hooks(
    desk: Desk,
    bus: Bus,
    config: Config,
    *,
    book: Book,
    troubles: TroubleBook,
    environ: Mapping[str, str] | None = None,
) -> AsyncIterator[Hooks]:
    """Listen until this is closed; raises `ConfigError` naming the variable where the secret is missing."""
    ways = _ways(config, os.environ if environ is None else environ)
    channels = tuple(Channel(way, desk, book, troubles) for way in ways)
    hooks = Hooks(frozenset(config.hooks.on), channels)
    async with AsyncExitStack() as stack:
        for channel in channels:
            await stack.enter_async_context(channel.open())
        stack.enter_context(bus.listening(hooks.notice))
        yield hooks


def _ways(config: Config, environ: Mapping[str, str]) -> tuple[Way, ...]:
    section = config.hooks
    ways: list[Way] = []
    if section.command:
        ways.append(Command(section.command, config.file.parent, section.timeout_s))
    if section.url is not None:
        name = section.secret_env or ""
        secret = environ.get(name, "")
        if len(secret) < _SHORTEST:
            what = "is not set" if not secret else f"has fewer than {_SHORTEST} characters"
            msg = (
                f"{config.file}: [hooks] secret_env: the environment variable {name} {what}: put a long random text in"
            )
            raise ConfigError(msg)
        register_secret(SecretStr(secret))
        ways.append(Webhook(section.url, secret.encode("utf-8", "surrogateescape"), section.timeout_s, section.tries))
    return tuple(ways)
