"""Spans as a collector on loopback gets them, and that nothing is sent or imported unasked."""

from __future__ import annotations

import asyncio
import gzip
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from structlog.testing import capture_logs

from daemon.config import ConfigError
from daemon.telling import otel
from daemon.telling.events import Bus
from daemon.telling.telling import Telling
from tests.support.desk import FakeDesk
from tests.support.loopback import Loopback
from tests.support.ports import refusing_port
from tests.support.telling import a_step, an_attempt, configured
from tests.support.waiting import PATIENCE_S

pytest.importorskip("opentelemetry.sdk", reason="the extra honed[otel] is not installed")
pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="the extra honed[otel] is not installed")


@dataclass
class Collector:
    """An OTLP/HTTP server."""

    status: int = 200
    hang_s: float = 0.0
    headers: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    spans: list[Any] = field(default_factory=list)
    service: set[str] = field(default_factory=set)
    port: int = 0

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        raw = await request.read()
        await asyncio.sleep(self.hang_s)
        self.asked.append(f"{request.method} {request.path}")
        body = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
        if self.status == 200:
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                named = {one.key: one.value.string_value for one in resource.resource.attributes}
                self.service.add(named["service.name"])
                self.spans += [span for scope in resource.scope_spans for span in scope.spans]
        return web.Response(status=self.status, headers=self.headers)

    def named(self, name: str) -> list[Any]:
        return [span for span in self.spans if span.name == name]


def attributes(span: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}


def seconds(span: Any) -> float:
    return float((span.end_time_unix_nano - span.start_time_unix_nano) / 1e9)


@asynccontextmanager
async def collecting(**changes: Any) -> AsyncIterator[Collector]:
    collector = Collector(**changes)
    loopback = Loopback(collector.handle)
    loopback.start()
    collector.port = loopback.port
    try:
        yield collector
    finally:
        loopback.stop()


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine needs its time to send what is left at the end."""
    monkeypatch.setattr(otel, "CLOSING_S", PATIENCE_S)


class Clock:
    """Goes on by a second with each event."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


def a_run(bus: Bus) -> None:
    """A run with one accepted step, a slow update and the notes after it."""

    def say(kind: Any, **data: Any) -> None:
        bus.publish(kind, "words of people", project="greeting", job=1, run="run-1", **data)

    say("run", state="started", skill="skills/greeting", steps=1)
    say("phase", step=0, phase="baseline")
    an_attempt(bus, run="run-1", attempt="a-0", wall_s=0.5)
    say("phase", step=1, phase="rollout")
    an_attempt(bus, run="run-1", attempt="a-1", wall_s=0.5, task="the task's name", outcome="sandbox_lost", score=None)
    an_attempt(bus, run="run-1", attempt="a-2", reused=True)
    say("phase", step=1, phase="gate")
    a_step(bus)
    say("phase", step=1, phase="slow_update")
    an_attempt(bus, run="run-1", attempt="a-3")
    a_step(bus, update="slow_update", outcome="rejected")
    say("phase", step=1, phase="meta_skill")
    say("phase", step=0, phase="report")
    say("run", state="done", reason="all steps")


async def test_run_step_and_attempt_are_spans_inside_each_other(tmp_path: Path) -> None:
    bus = Bus(clock=Clock())
    async with collecting() as collector:
        text = f'[telemetry]\notlp_endpoint = "http://127.0.0.1:{collector.port}/"\nservice_name = "skills"\n'
        async with Telling.open(FakeDesk(), bus, configured(tmp_path, text)):
            a_run(bus)
    assert set(collector.asked) == {"POST /v1/traces"}
    assert collector.service == {"skills"}
    [run], [step], [slow], [notes] = map(collector.named, ("run", "step", "slow_update", "meta_skill"))
    assert {span.parent_span_id for span in (step, slow, notes)} == {run.span_id}
    parents = {attributes(span)["honed.attempt"]: span.parent_span_id for span in collector.named("attempt")}
    assert parents == {"a-0": run.span_id, "a-1": step.span_id, "a-3": slow.span_id}
    assert len({span.trace_id for span in collector.spans}) == 1
    assert (seconds(run), seconds(step), seconds(slow), seconds(notes)) == (13.0, 4.0, 2.0, 1.0)
    assert attributes(step)["honed.outcome"] == "accepted"
    assert attributes(run).items() >= {"honed.project": "greeting", "honed.job": 1, "honed.state": "done"}.items()
    lost = next(span for span in collector.named("attempt") if attributes(span)["honed.attempt"] == "a-1")
    assert seconds(lost) == pytest.approx(0.5)
    assert lost.status.code == 2
    assert run.status.code == 0


async def test_spans_hold_no_texts(tmp_path: Path) -> None:
    bus = Bus()
    async with collecting() as collector:
        text = f'[telemetry]\notlp_endpoint = "http://127.0.0.1:{collector.port}"\n'
        async with Telling.open(FakeDesk(), bus, configured(tmp_path, text)):
            a_run(bus)
    said = json.dumps([attributes(span) for span in collector.spans]) + str(collector.spans)
    for text in ("words of people", "the task's name", "better", "all steps"):
        assert text not in said


async def test_what_is_cut_off_is_ended_with_its_job_or_the_daemon(tmp_path: Path) -> None:
    bus = Bus()
    async with collecting() as collector:
        text = f'[telemetry]\notlp_endpoint = "http://127.0.0.1:{collector.port}"\n'
        async with Telling.open(FakeDesk(), bus, configured(tmp_path, text)):
            for job, end in ((1, True), (2, False)):
                bus.publish("run", "", project="greeting", job=job, run=f"run-{job}", state="started")
                bus.publish("phase", "", project="greeting", job=job, run=f"run-{job}", step=1, phase="rollout")
                if end:
                    bus.publish("job", "waits", project="greeting", job=job, state="queued")
    runs = collector.named("run")
    assert sorted(attributes(span)["honed.job"] for span in runs) == [1, 2]
    assert {attributes(span)["honed.state"] for span in runs} == {"cut off"}
    assert len(collector.named("step")) == 2


async def test_redirects_are_not_followed_and_the_environment_s_proxy_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bus = Bus()
    async with collecting() as other:
        there = {"Location": f"http://127.0.0.1:{other.port}/v1/traces"}
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{other.port}")
        async with collecting(status=307, headers=there) as collector:
            text = f'[telemetry]\notlp_endpoint = "http://127.0.0.1:{collector.port}"\n'
            async with Telling.open(FakeDesk(), bus, configured(tmp_path, text)):
                a_run(bus)
    assert collector.asked
    assert other.asked == []


async def test_a_collector_that_is_not_there_stops_nothing(tmp_path: Path) -> None:
    bus = Bus()
    with refusing_port() as port:
        text = f'[telemetry]\notlp_endpoint = "http://127.0.0.1:{port}"\ntimeout_s = 0.5\n'
        async with Telling.open(FakeDesk(), bus, configured(tmp_path, text)):
            a_run(bus)


async def test_a_collector_that_hangs_is_given_up_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otel, "CLOSING_S", 0.05)
    bus = Bus()
    async with collecting(hang_s=30.0) as collector:
        text = f'[telemetry]\notlp_endpoint = "http://127.0.0.1:{collector.port}"\ntimeout_s = 0.3\n'
        with capture_logs() as logs:
            async with Telling.open(FakeDesk(), bus, configured(tmp_path, text)):
                a_run(bus)
    assert [line["event"] for line in logs] == ["spans_lost"]


async def test_a_missing_extra_is_one_line_that_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    config = configured(tmp_path, '[telemetry]\notlp_endpoint = "http://127.0.0.1:4318"\n')
    with pytest.raises(ConfigError, match=r"\[telemetry\] otlp_endpoint needs .*pip install 'honed\[otel\]'"):
        async with Telling.open(FakeDesk(), Bus(), config):
            pass


@pytest.mark.parametrize(
    "endpoint", ["127.0.0.1:4318", "ftp://host/", "http://user:pw@host/", "http://host/?token=x", "http://"]
)
def test_a_wrong_address_is_refused_without_its_value(tmp_path: Path, endpoint: str) -> None:
    with pytest.raises(ConfigError, match=r"\[telemetry\] otlp_endpoint must be http") as refused:
        configured(tmp_path, f'[telemetry]\notlp_endpoint = "{endpoint}"\n')
    assert endpoint not in str(refused.value)


def test_spans_are_imported_by_nobody_but_who_asks(tmp_path: Path) -> None:
    code = "import sys, daemon.telling.otel; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not [name for name in done.stdout.split() if name.startswith("opentelemetry")]
