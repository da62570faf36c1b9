"""What is counted: once, under bounded and harmless labels, and exposed as Prometheus wants it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr

from daemon.redaction import register_secret
from daemon.service.desk import CircuitStatus, Trouble
from daemon.telling import metrics
from daemon.telling.counting import Counting
from daemon.telling.events import Bus
from daemon.telling.exposition import registry_of, written
from daemon.telling.metrics import METRICS, SERIES, Book
from sandboxes.gateway.heard import Answered
from sandboxes.gateway.policy import Usage
from tests.support.desk import a_job, a_project, a_status
from tests.support.telling import a_step, an_attempt

DOC = Path(__file__).parents[3] / "docs" / "daemon.md"
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def samples(book: Book) -> Samples:
    """Every sample of the page by name and labels, read as Prometheus reads it."""
    families = text_string_to_metric_families(written(registry_of(book)).decode())
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for family in families for s in family.samples}


def value(found: Samples, name: str, /, **labels: str) -> float:
    return found[name, tuple(sorted(labels.items()))]


def test_every_metric_is_in_the_documents_table_and_no_other() -> None:
    rows = re.findall(r"^\| `((?:honed|process)_\w+)` \| (\w+) \| ([^|]*) \|", DOC.read_text("utf-8"), re.MULTILINE)
    documented = {name: (kind, tuple(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows}
    known = {metric.name: (metric.kind, metric.labels) for metric in METRICS}
    assert {name: row for name, row in documented.items() if name.startswith("honed_")} == known
    exposed = {family.name: family.type for family in registry_of(Book()).collect()}
    as_exposed = {
        name.removesuffix("_total") if kind == "counter" else name: kind for name, (kind, _) in documented.items()
    }
    assert as_exposed == exposed


def test_names_follow_the_conventions() -> None:
    for metric in METRICS:
        assert re.fullmatch(r"honed_[a-z_]+", metric.name)
        assert metric.name.endswith("_total") == (metric.kind == "counter")
        assert metric.kind != "histogram" or (metric.name.endswith("_seconds") and metric.buckets)
        assert list(metric.buckets) == sorted(set(metric.buckets))
        assert not {"task", "attempt", "run", "job", "commit"} & set(metric.labels)


def test_attempts_are_counted_by_outcome_and_what_was_read_back_apart() -> None:
    bus, counting = Bus(), Counting()
    with bus.listening(counting.notice):
        an_attempt(bus)
        an_attempt(bus, outcome="sandbox_lost", score=None)
        an_attempt(bus, reused=True)
    found = samples(counting.book)
    assert value(found, "honed_attempts_total", project="greeting", harness="codex", outcome="completed") == 1
    assert value(found, "honed_engine_errors_total", project="greeting", outcome="sandbox_lost") == 1
    assert value(found, "honed_attempts_reused_total", project="greeting") == 1
    assert value(found, "honed_attempt_duration_seconds_count", harness="codex") == 2
    assert value(found, "honed_attempt_duration_seconds_sum", harness="codex") == 40
    assert value(found, "honed_attempt_duration_seconds_bucket", harness="codex", le="15") == 0
    assert value(found, "honed_attempt_duration_seconds_bucket", harness="codex", le="30") == 2
    assert value(found, "honed_attempt_duration_seconds_bucket", harness="codex", le="+Inf") == 2
    assert value(found, "honed_events_total", kind="attempt") == 3


def test_verdicts_runs_jobs_and_notices_are_counted_and_replays_are_not() -> None:
    bus, counting = Bus(), Counting()
    with bus.listening(counting.notice):
        a_step(bus)
        a_step(bus, replayed=True)
        a_step(bus, update="slow_update", outcome="rejected")
        for state in ("started", "done"):
            bus.publish("run", "", project="greeting", state=state)
        for state in ("queued", "running", "failed"):
            bus.publish("job", "", project="greeting", state=state)
        bus.publish("noticed", "", project="greeting", cause="tasks")
    found = samples(counting.book)
    assert value(found, "honed_verdicts_total", project="greeting", update="step", outcome="accepted") == 1
    assert value(found, "honed_verdicts_total", project="greeting", update="slow_update", outcome="rejected") == 1
    assert {key for key in found if key[0] == "honed_runs_total"} == {
        ("honed_runs_total", (("project", "greeting"), ("state", "done")))
    }
    assert {dict(labels)["state"] for name, labels in found if name == "honed_jobs_total"} == {"failed"}
    assert value(found, "honed_notices_total", project="greeting", cause="tasks") == 1


def test_requests_to_providers_are_counted_with_latency_tokens_and_retries() -> None:
    counting = Counting()
    counting.heard(Answered("openai", "gpt", "ok", 3.0, Usage(1, 100, 40, 7), retries=2))
    counting.heard(Answered("openai", "gpt", "rate_limit", 0.2, Usage()))
    found = samples(counting.book)
    who = {"provider": "openai", "model": "gpt"}
    assert value(found, "honed_model_requests_total", **who, outcome="ok") == 1
    assert value(found, "honed_model_requests_total", **who, outcome="rate_limit") == 1
    assert value(found, "honed_model_request_duration_seconds_bucket", **who, le="0.25") == 1
    assert value(found, "honed_model_request_duration_seconds_count", **who) == 2
    tokens = {
        kind: value(found, "honed_model_tokens_total", **who, kind=kind) for kind in ("input", "cached_input", "output")
    }
    assert tokens == {"input": 100, "cached_input": 40, "output": 7}
    assert value(found, "honed_model_retries_total", **who) == 2


def test_what_stands_replaces_what_stood() -> None:
    counting = Counting()
    project = a_project(state="training", queued=(a_job(), a_job(2)), cap_today_usd=3.0, cap_today_attempts=50)
    troubles = (Trouble("engine", "greeting", 1.0, "gone", "start it"),)
    circuits = (CircuitStatus("openai", "half_open", "no answer"), CircuitStatus("anthropic", "closed", ""))
    status = a_status(project, troubles=troubles, circuits=circuits, looks=7, cap_today_usd=9.5)
    counting.stand(status, ready=False)
    found = samples(counting.book)
    assert value(found, "honed_ready") == 0
    assert value(found, "honed_looks_total") == 7
    assert value(found, "honed_queued_jobs", project="greeting") == 2
    assert value(found, "honed_project_state", project="greeting", state="training") == 1
    assert value(found, "honed_trouble", name="engine", project="greeting") == 1
    assert value(found, "honed_circuit_open", provider="openai") == 1
    assert value(found, "honed_circuit_open", provider="anthropic") == 0
    assert value(found, "honed_budget_spent_usd", project="greeting") == 0.25
    assert value(found, "honed_budget_cap_usd", project="greeting") == 3
    assert value(found, "honed_budget_cap_attempts", project="greeting") == 50
    assert value(found, "honed_budget_cap_usd", project="*") == 9.5
    assert ("honed_budget_cap_attempts", (("project", "*"),)) not in found

    counting.stand(a_status(a_project("other", score=None, spent_today_usd=None)), ready=True)
    found = samples(counting.book)
    assert not [key for key in found if "greeting" in str(key) or key[0] in ("honed_trouble", "honed_circuit_open")]
    assert not [key for key in found if key[0] in ("honed_score", "honed_budget_spent_usd", "honed_budget_cap_usd")]


def test_hostile_labels_do_no_harm() -> None:
    register_secret(SecretStr("hunter2-hunter2"))
    counting, bus = Counting(), Bus()
    with bus.listening(counting.notice):
        an_attempt(bus, project='a"} 1\nhoned_up 1\\', harness="\udcff\x00\x1b", outcome="hunter2-hunter2")
        an_attempt(bus, project="x" * 5_000)
        an_attempt(bus, outcome=None, harness=7, wall_s=None)
    page = written(registry_of(counting.book)).decode()
    assert "hunter2" not in page
    assert not re.search(r"^honed_up", page, re.MULTILINE)
    assert max(map(len, page.splitlines())) < 400
    assert samples(counting.book)


def test_the_number_of_series_is_bounded() -> None:
    book = Book()
    for number in range(SERIES * 2):
        book.add(metrics.ATTEMPTS, f"project-{number}", "codex", "completed")
        book.observe(metrics.ATTEMPT_TIME, f"harness-{number}", value=1.0)
    rows = dict(book.series(metrics.ATTEMPTS))
    assert len(rows) == SERIES + 1
    assert rows["other", "other", "other"] == SERIES
    assert len(book.heaps[metrics.ATTEMPT_TIME.name]) == SERIES + 1
    book.add(metrics.ATTEMPTS, "project-0", "codex", "completed")
    assert dict(book.series(metrics.ATTEMPTS))["project-0", "codex", "completed"] == 2


def test_the_process_tells_its_memory_and_two_books_share_nothing() -> None:
    one, other = Book(), Book()
    one.add(metrics.EVENTS, "job")
    assert ("honed_events_total", (("kind", "job"),)) not in samples(other)
    assert value(samples(one), "process_resident_memory_bytes") > 1_000_000


@pytest.mark.parametrize("seconds", [0.0, 0.1, 1e9, float("inf")])
def test_every_duration_is_in_some_bucket(seconds: float) -> None:
    book = Book()
    book.observe(metrics.REQUEST_TIME, "openai", "m", value=seconds)
    found = samples(book)
    assert value(found, "honed_model_request_duration_seconds_bucket", provider="openai", model="m", le="+Inf") == 1
