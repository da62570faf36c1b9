"""What a real daemon tells while it works: health, metrics, a signed hook, a program, spans, canonical lines."""

from __future__ import annotations

import hashlib
import hmac
import json
import urllib.request
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
from aiohttp import web
from prometheus_client.parser import text_string_to_metric_families

from tests.support.daemons import daemon
from tests.support.honed_cli import environment
from tests.support.loopback import Loopback
from tests.support.ports import free_port
from tests.support.projects import demo_project

pytestmark = [pytest.mark.slow]

SECRET = "the team's long random secret"
KEEP = {"train": 4, "selection": 6, "test": 4}


class Team:
    """A server that takes hooks and spans."""

    def __init__(self) -> None:
        self.hooks: list[tuple[str, bytes]] = []
        self.traces = 0

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        if request.path == "/v1/traces":
            self.traces += 1
        else:
            self.hooks.append((request.headers["X-Honed-Signature"], body))
        return web.Response()

    def told(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, body in self.hooks]


def page(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def total(text: str, name: str, **labels: str) -> float:
    """Sum of a metric's samples that have these labels."""
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return sum(one.value for one in samples if one.name == name and labels.items() <= one.labels.items())


def test_a_daemon_tells_what_it_does(tmp_path: Path) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="the extra honed[otel] is not installed")
    project, port, team = demo_project(tmp_path / "project", keep=KEEP, chat=True), free_port(), Team()
    loopback = Loopback(team.handle)
    loopback.start()
    there = f"http://127.0.0.1:{loopback.port}"
    with (project / "honed.toml").open("a", encoding="utf-8") as file:
        file.write(
            f'\n[daemon]\nlisten = "127.0.0.1:{port}"\nagain = false\n'
            '[hooks]\non = ["accepted", "paused", "ended"]\ncommand = ["/bin/sh", "-c", "cat >>told.jsonl"]\n'
            f'url = "{there}/hook"\nsecret_env = "TEAM_SECRET"\n'
            f'[telemetry]\notlp_endpoint = "{there}"\n'
        )
    try:
        with daemon(project, env=environment(TEAM_SECRET=SECRET)) as one:
            one.until(one.settled, "a run")
            one.until(lambda: len(team.hooks) >= 2, "the hooks")
            assert page(port, "/healthz") == (200, "ok\n")
            assert page(port, "/readyz") == (200, "ok\n")
            _, text = page(port, "/metrics")
            status = one.project()
            assert one.end() == 0
    finally:
        loopback.stop()
    attempts = [line for line in one.lines() if line["event"] == "attempt"]
    steps, [run] = ([line for line in one.lines() if line["event"] == name] for name in ("step", "run"))

    made = [line for line in attempts if not line["reused"]]
    assert total(text, "honed_attempts_total", project="text", harness="chat") == len(made) > 0
    assert total(text, "honed_verdicts_total", project="text") == len(steps) > 0
    assert total(text, "honed_score", project="text") == status.score
    assert total(text, "honed_jobs_total", state="done") == 1
    assert total(text, "honed_looks_total") >= 1
    assert total(text, "honed_model_requests_total", outcome="ok") >= len(made)
    assert total(text, "honed_model_tokens_total", kind="input") > 0
    assert total(text, "honed_trouble") == 0

    assert {(line["project"], line["job"], line["run"]) for line in (*attempts, *steps, run)} == {
        ("text", 1, run["run"])
    }
    assert run["accepted"] == sum(line["outcome"] == "accepted" for line in steps)
    assert sum(len(line["commits"]) for line in steps) == status.accepted > 0
    assert run["attempts"] == len(made)

    for signed, body in team.hooks:
        assert signed == "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    accepted, ended = ([told for told in team.told() if told["event"] == name] for name in ("accepted", "ended"))
    assert len(accepted) == sum(line["outcome"] == "accepted" for line in steps) > 0
    assert (accepted[0]["project"], accepted[0]["branch"]) == ("text", "honed/text")
    assert accepted[0]["commits"] == next(line["commits"] for line in steps if line["outcome"] == "accepted")
    assert [told["state"] for told in ended] == ["done"]
    by_program = [json.loads(line) for line in (project / "told.jsonl").read_text().splitlines()]
    assert [told["delivery"] for told in by_program] == [told["delivery"] for told in team.told()]
    assert team.traces > 0
