"""The verbs that ask a daemon, in text and in JSON, with one and without."""

from __future__ import annotations

import json
import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from daemon.cli.asking import clock, lasting, listed
from daemon.control.wire import to_data
from daemon.jobs.job import Cause
from daemon.jobs.sqlite import FILE, SqliteStore
from daemon.jobs.store import Pause
from daemon.journal.records import RunRecord
from daemon.journal.sqlite import SqliteJournal
from daemon.service.desk import Progress, Trouble, Weighed
from tests.support.control import Beside, verb
from tests.support.desk import FakeDesk, a_job, a_project, a_status
from tests.support.projects import chat_project
from tests.support.waiting import interrupt, once, printed, wait_until

NOW = 1_780_000_000.0


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    return chat_project(tmp_path, "http://127.0.0.1:9/v1") / "honed.toml"


@pytest.fixture
def daemon(toml: Path) -> Iterator[Beside]:
    running = a_job(7, "pdf-forms", state="running", started=NOW - 180, run_id="r7")
    done = a_job(6, state="done", started=1.0, ended=2.0, reason="4 of 4 steps made", accepted=2, score=0.8125, tasks=9)
    desk = FakeDesk(
        shown=a_status(
            a_project("pdf-forms", state="training", progress=Progress(running, "r7", "gate", 3, 4, 17, 2)),
            a_project("greeting", state="idle", last=done, queued=(a_job(8),)),
            a_project("greeting-old", skill="old/greeting", state="paused", why="paused: a release"),
            now=NOW,
            started=NOW - 7_500,
            troubles=(Trouble("disk", "greeting", NOW - 65, "the disk is full", "free some space"),),
        ),
        queue=(done, running, a_job(8)),
    )
    with Beside(desk, toml.parent / ".honed") as made:
        yield made


def asked(daemon: Beside) -> list[tuple[object, ...]]:
    return daemon.desk.asked


def test_status_tells_everything_that_matters(daemon: Beside, toml: Path, capsys: Any) -> None:
    said = verb("status", toml, capsys)
    assert said.code == 0
    lines = said.out.splitlines()
    assert lines[0] == "honed 0.1.0 working for 2 h 5 min (process 4711, docker 20.10)"
    assert lines[1:3] == ["! disk of greeting, for 1 min 5 s", "  the disk is full (free some space)"]
    assert "pdf-forms  training  score 0.500  2 accepted  today 12 attempts, $0.25" in lines
    assert "  job 7 for 3 min: a person changed it" in lines
    assert "  ━━━━━━━━━━━━━━━━ step 3/4 gate, 17 attempts done, 2 running" in lines
    assert "  queued: job 8 (a person changed it)" in lines
    assert "  last: job 6 done 1970-01-01" in said.out
    assert "  paused: a release (`honed resume greeting-old` goes on)" in lines


def test_status_says_a_failure_once(daemon: Beside, toml: Path, capsys: Any) -> None:
    failed = a_job(6, state="failed", ended=990.0, reason="tasks.jsonl:3: no prompt")
    done = replace(failed, state="done", reason="all steps done")
    daemon.desk.shown = a_status(
        a_project("greeting", why="job 6 failed: tasks.jsonl:3: no prompt", last=failed), a_project("pdf", last=done)
    )
    said = verb("status", toml, capsys).out
    assert said.count("tasks.jsonl:3: no prompt") == 1
    assert "all steps done" in said


def test_status_as_json_is_the_desk_s_own(daemon: Beside, toml: Path, capsys: Any) -> None:
    said = verb("status --json", toml, capsys)
    assert said.out.count("\n") == 1
    assert said.result == {"running": True, "status": to_data(daemon.desk.shown)}


def test_everything_paused_is_said_with_what_ends_it(daemon: Beside, toml: Path, capsys: Any) -> None:
    daemon.desk.shown = a_status(paused="a release")
    assert "everything is paused: a release (`honed resume` goes on)" in verb("status", toml, capsys).out


def test_hostile_text_reaches_no_terminal(daemon: Beside, toml: Path, capsys: Any) -> None:
    evil = "\x1b[2Jgone [bold]x[/bold] [/nonsense]"
    cause = Cause("skill", "k", evil)
    job = a_job(9, state="queued", cause=cause, reason=evil)
    daemon.desk.queue = (job,)
    daemon.desk.shown = a_status(
        a_project("greeting", why=evil, queued=(job,)), troubles=(Trouble(evil, "", 1.0, evil, evil),)
    )
    daemon.do(lambda: daemon.desk.events.publish("house", evil, project="greeting"))
    for line in ("status", "jobs", "explain 9", "events"):
        said = verb(line, toml, capsys)
        assert said.code == 0
        assert "\x1b" not in said.out
        assert "[bold]x[/bold]" in " ".join(said.out.split()), line
    assert "\x1b" not in verb("status --json", toml, capsys).out


@pytest.mark.parametrize("as_json", ["", " --json"], ids=["text", "json"])
def test_watching_tells_changes_line_by_line_until_interrupted(
    daemon: Beside, toml: Path, capsys: Any, as_json: str
) -> None:
    desk = daemon.desk

    def change() -> None:
        desk.shown = a_status(a_project("greeting", state="waiting", why="the provider is away"))
        looks = desk.looks
        once(lambda: printed("the provider is away")() and desk.looks > looks + 2, interrupt)

    # Each state is looked at more than once, and told once.
    once(lambda: printed("pdf-forms")() and desk.looks > 2, lambda: daemon.do(change))
    said = verb(f"status --watch --every 0.1{as_json}", toml, capsys)
    assert said.code == 0
    told = [line for line in said.out.splitlines() if "the provider is away" in line]
    assert len(told) == 1
    if as_json:
        states = [json.loads(line)["status"]["projects"][0]["state"] for line in said.out.splitlines()]
        assert states == ["training", "waiting"]
    else:
        assert told[0][9:] == "greeting waiting: the provider is away"
        assert len([line for line in said.out.splitlines() if "pdf-forms" in line]) == 1


def said_after(first: str, then: str) -> bool:
    """Whether the verb that is running has printed the one after the other."""
    out: str = getattr(sys.stdout, "getvalue", str)()
    return then in out.partition(first)[2]


def test_watching_outlives_the_daemon(toml: Path, capsys: Any) -> None:
    def down_and_up() -> None:
        for name in ("first", "second"):
            with Beside(FakeDesk(shown=a_status(a_project(name))), toml.parent / ".honed"):
                wait_until(printed(f"{name} idle"))
            wait_until(partial(said_after, f"{name} idle", "no daemon runs"))
        interrupt()

    thread = threading.Thread(target=down_and_up)
    thread.start()
    said = verb("status --watch --every 0.1", toml, capsys)
    thread.join()
    assert said.code == 0
    order = [said.out.index(word) for word in ("first idle", "no daemon runs", "second idle")]
    assert said.out.count("no daemon runs") >= 2 or order == sorted(order)


def test_events_so_far(daemon: Beside, toml: Path, capsys: Any) -> None:
    for n in range(60):
        daemon.do(lambda n=n: daemon.desk.events.publish("house", f"n{n}.", project="greeting", job=n))
    said = verb("events", toml, capsys)
    assert said.code == 0
    lines = said.out.splitlines()
    assert len(lines) == 50
    assert lines[-1][9:] == "house     greeting job 59 n59."
    assert verb("events --after 58", toml, capsys).out.count("\n") == 2
    found = verb("events --after 57 --json", toml, capsys)
    assert [event["what"] for event in found.result["events"]] == ["n57.", "n58.", "n59."]
    assert found.out.count("\n") == 1


@pytest.mark.parametrize("as_json", ["", " --json"], ids=["text", "json"])
def test_events_are_followed_until_interrupted(daemon: Beside, toml: Path, capsys: Any, as_json: str) -> None:
    events = daemon.desk.events
    once(lambda: events._listeners, lambda: daemon.do(lambda: events.publish("step", "accepted", job=3)))
    once(printed("accepted"), interrupt)
    said = verb(f"events --follow{as_json}", toml, capsys)
    assert said.code == 0
    [line] = said.out.splitlines()
    assert json.loads(line)["event"]["what"] == "accepted" if as_json else line[9:] == "step      job 3 accepted"


def test_following_ends_with_the_daemon(toml: Path, capsys: Any) -> None:
    daemon = Beside(FakeDesk(), toml.parent / ".honed")
    daemon.__enter__()
    once(lambda: daemon.desk.events._listeners, daemon.__exit__)
    said = verb("events --follow --json", toml, capsys)
    assert said.code == 1
    assert said.result["error"]["kind"] == "daemon"


def test_jobs(daemon: Beside, toml: Path, capsys: Any) -> None:
    text = verb("jobs", toml, capsys).out
    assert "0.812" in text
    assert text.index("  6 ") < text.index("  7 ") < text.index("  8 ")
    found = verb("jobs -n 2 --json", toml, capsys)
    assert found.result == {"jobs": [to_data(job) for job in daemon.desk.queue[1:]]}


def test_explain(daemon: Beside, toml: Path, capsys: Any) -> None:
    said = verb("explain 7", toml, capsys)
    assert said.out.splitlines()[:2] == ["job 7 of pdf-forms: running (a person changed it)", "it is the only one"]
    assert "run r7: see `honed show r7`" in said.out
    assert "chosen for" not in said.out
    daemon.desk.queue = tuple(replace(job, chosen="it has the highest expected gain") for job in daemon.desk.queue)
    assert "chosen for: it has the highest expected gain" in verb("explain 7", toml, capsys).out
    assert verb("explain 7 --json", toml, capsys).result["explanation"]["job"]["number"] == 7


def test_explain_says_which_skill_runs_now_and_which_may_not_begin(daemon: Beside, toml: Path, capsys: Any) -> None:
    runs, waits = Weighed("pdf-forms", False, 0.5, (), running=7), Weighed("greeting", False, 0.25, ())
    daemon.desk.weighed = (runs, waits, Weighed("xls", True, 0.125, ()))
    said = verb("explain 7", toml, capsys).out.splitlines()
    assert said[-3:] == ["  pdf-forms  running now (job 7)", "  greeting  not eligible", "  xls  0.125"]


@pytest.mark.parametrize(
    ("line", "call", "text", "data"),
    [
        ("pause", ("pause", "", ""), "everything is paused: `honed resume` ends it", {"paused": None, "reason": ""}),
        (
            "pause skills/pdf-forms --reason Friday",
            ("pause", "pdf-forms", "Friday"),
            "pdf-forms is paused: `honed resume pdf-forms` ends it",
            {"paused": "pdf-forms", "reason": "Friday"},
        ),
        ("pause greeting", ("pause", "greeting", ""), "greeting is paused", {"paused": "greeting", "reason": ""}),
        ("pause old/greeting/", ("pause", "greeting-old", ""), "greeting-old is paused", {"paused": "greeting-old"}),
        ("resume", ("resume", ""), "everything goes on", {"resumed": None}),
        ("resume pdf-forms", ("resume", "pdf-forms"), "pdf-forms goes on", {"resumed": "pdf-forms"}),
        ("cancel 7", ("cancel", 7, False), "job 7 of pdf-forms has ended", {}),
        ("cancel 7 --hard", ("cancel", 7, True), "job 7 of pdf-forms has ended", {}),
        ("retry 6", ("retry", 6), "queued as job 6 of greeting: `honed explain 6` says when it begins", {}),
        ("reload", ("reload",), "configuration read: it keeps pdf-forms, greeting, greeting-old", {"troubles": []}),
    ],
)
def test_acts(
    daemon: Beside, toml: Path, capsys: Any, line: str, call: tuple[object, ...], text: str, data: dict[str, Any]
) -> None:
    said = verb(line, toml, capsys)
    assert (said.code, asked(daemon)) == (0, [call])
    assert text in said.out
    asked(daemon).clear()
    found = verb(f"{line} --json", toml, capsys)
    assert (found.code, asked(daemon), found.out.count("\n")) == (0, [call], 1)
    assert data.items() <= found.result.items()
    assert found.result.keys() & {"paused", "resumed", "job", "projects"}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("pause weather", "the daemon keeps no skill weather: it keeps pdf-forms, greeting, greeting-old"),
        ("explain 99", "there is no job 99"),
        ("cancel 99", "there is no job 99"),
    ],
)
def test_what_the_daemon_refuses_is_one_line(daemon: Beside, toml: Path, capsys: Any, line: str, says: str) -> None:
    said = verb(f"{line} --json", toml, capsys)
    assert said.code == 1
    assert said.result["error"]["kind"] == "refused"
    assert says in said.result["error"]["message"]
    assert [row for row in asked(daemon) if row[0] != "cancel"] == []


def test_a_name_that_may_be_two_is_refused(daemon: Beside, toml: Path, capsys: Any) -> None:
    daemon.desk.shown = a_status(a_project("a/x", skill="a/x"), a_project("b/x", skill="b/x"))
    said = verb("pause x --json", toml, capsys)
    assert said.result["error"]["message"] == "x may be a/x or b/x: give the whole name"


def test_a_configuration_that_cannot_be_used_is_said_on_reload(daemon: Beside, toml: Path, capsys: Any) -> None:
    trouble = Trouble("config", "", 1.0, "honed.toml:3: [train] batch must be at least 1", "correct the file")
    daemon.desk.shown = a_status(troubles=(trouble,))
    said = verb("reload --json", toml, capsys)
    assert said.code == 1
    assert said.result["troubles"] == [to_data(trouble)]
    assert "honed.toml:3: [train] batch must be at least 1: correct the file" in said.err


VERBS = ("events", "explain 1", "pause", "resume", "cancel 1", "retry 1", "reload")


@pytest.mark.parametrize("line", VERBS)
def test_without_a_daemon_a_verb_says_so_and_makes_nothing(toml: Path, capsys: Any, line: str) -> None:
    said = verb(f"{line} --json", toml, capsys)
    assert said.code == 1
    error = said.result["error"]
    assert error["kind"] == "no-daemon"
    assert error["message"] == f"no daemon runs for {toml.parent} (start one with `honed daemon`)"
    assert not (toml.parent / ".honed").exists()


@pytest.mark.parametrize("line", [*VERBS, "status", "jobs", "status --watch"])
def test_without_a_configuration_too(tmp_path: Path, capsys: Any, line: str) -> None:
    said = verb(f"{line} --json", tmp_path / "honed.toml", capsys)
    assert (said.code, said.result["error"]["kind"]) == (2, "config")
    assert "no such file" in said.result["error"]["message"]


def test_status_without_a_daemon_and_without_anything(toml: Path, capsys: Any) -> None:
    said = verb("status", toml, capsys)
    assert said.code == 0
    assert said.out.splitlines() == [
        f"no daemon runs for {toml.parent} (start one with `honed daemon`)",
        "nothing was trained here yet: `honed train` trains once, `honed daemon` keeps at it",
    ]
    assert verb("jobs", toml, capsys).out == "no jobs yet\n"
    assert not (toml.parent / ".honed").exists()


async def a_store(folder: Path) -> None:
    folder.mkdir()
    store = SqliteStore(folder / FILE)
    first = await store.add("greeting", Cause("tasks", "a", "2 new tasks"), 5.0)
    await store.add("greeting", Cause("skill", "b"), 6.0)
    assert first is not None
    await store.save(a_job(1, state="done", started=5.0, ended=7.0, reason="4 of 4 steps made", tries=1))
    await store.pause(Pause("greeting", 8.0, "a release"))
    await store.close()
    journal = SqliteJournal(folder / "journal.sqlite")
    await journal.open_run(RunRecord("r1", "f", "skills/greeter", "c" * 40, "open", 5.0))
    await journal.close()


def test_status_without_a_daemon_reads_what_it_left(toml: Path, capsys: Any) -> None:
    import asyncio

    state = toml.parent / ".honed"
    asyncio.run(a_store(state))
    before = {one.name: one.stat().st_mtime_ns for one in state.iterdir() if one.suffix == ".sqlite"}
    said = verb("status", toml, capsys)
    assert said.code == 0
    lines = said.out.splitlines()
    assert lines[1:3] == ["paused: greeting a release", "job 2 of greeting: queued (a person changed the skill)"]
    assert lines[3].startswith("last: job 1 done 1970-01-01")
    assert lines[4] == "newest run r1: open, 0 steps decided (`honed show latest`)"
    found = verb("status --json", toml, capsys).result
    assert (found["running"], found["run"]) == (False, {"run": "r1", "state": "open", "steps": 0})
    assert [job["state"] for job in found["jobs"]] == ["done", "queued"]
    listed_jobs = verb("jobs --json", toml, capsys)
    assert [job["number"] for job in listed_jobs.result["jobs"]] == [1, 2]
    assert "no daemon runs" in listed_jobs.err
    assert {one.name: one.stat().st_mtime_ns for one in state.iterdir() if one.suffix == ".sqlite"} == before


def test_a_store_that_is_none_is_one_line(toml: Path, capsys: Any) -> None:
    state = toml.parent / ".honed"
    state.mkdir()
    with closing(sqlite3.connect(state / FILE)) as other:
        other.execute("CREATE TABLE theirs (x)")
    said = verb("status --json", toml, capsys)
    assert (said.code, said.result["error"]["kind"]) == (1, "journal")


def test_a_daemon_of_another_version_is_said(
    daemon: Beside, toml: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daemon.control.client.__version__", "9.9")
    said = verb("status", toml, capsys)
    assert said.code == 0
    assert "the daemon is honed 0.1.0, this is 9.9: restart the daemon" in said.err


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (3_725, "1 h 2 min"),
        (86_400, "1 d"),
        (90_061, "1 d 1 h"),
        (-5, "0 s"),
    ],
)
def test_spans_of_time(seconds: float, words: str) -> None:
    assert lasting(seconds) == words


def test_moments_and_lists() -> None:
    assert len(clock(NOW, NOW)) == len("12:34:56")
    assert clock(NOW - 10 * 86_400, NOW)[:4] == "2026"
    assert listed(["a", "b"], most=2) == "a, b"
    assert listed(["a", "b", "c", "d"], most=2) == "a, b and 2 more"


def test_status_says_what_all_skills_together_have_taken_of_the_day(
    daemon: Beside, toml: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "all skills together" not in verb("status", toml, capsys).out
    daemon.desk.shown = replace(daemon.desk.shown, cap_today_usd=5.0, cap_today_attempts=50)
    assert (
        "today, all skills together: 36 of 50 attempts, $0.75 of $5.00" in verb("status", toml, capsys).out.splitlines()
    )
