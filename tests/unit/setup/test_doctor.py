"""The doctor's rows: `fail` exactly when the main job could not run, each with what mends it, and never a key."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from daemon.config import load_config
from daemon.config_train import TrainSection
from daemon.setup import checks_machine
from daemon.setup.check import Check, can_run, guarded
from daemon.setup.check_gateway import gateway_check
from daemon.setup.check_provider import judge, provider_check
from daemon.setup.checks_job import sizes_check
from daemon.setup.checks_machine import disk_check, engine_check, git_check
from daemon.setup.clis import agents_folder, pins
from daemon.setup.docker_ping import Pong
from daemon.setup.doctor import run_checks
from daemon.setup.engine import EngineReport
from daemon.setup.machine import FakeMachine
from daemon.tasks.task import ScorerSpec, Split, Task, TaskSet
from sandboxes.docker import UnknownRuntimeError
from sandboxes.gateway.policy import Upstream
from sandboxes.image.image import ImageFacts
from sandboxes.sandbox import EngineFacts
from tests.support.upstream import Upstream as Provider

SOCKET = "unix:///fake/docker.sock"
DOCKER = EngineReport("docker", SOCKET, "20.10", "running")
KEY = "sk-a-very-secret-key"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr("sandboxes.engine_socket.DEFAULT_ADDRESS", SOCKET)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a skill, tasks and a honed.toml; returns the file."""
    folder = tmp_path / "project"
    skill = folder / "skills" / "tidy"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(
        "---\nname: tidy\ndescription: Keep it tidy. Use when asked.\n---\n\n# Tidy\n\nDo it.\n"
    )
    _tasks(folder, selection=12)
    (folder / "honed.toml").write_text(
        '[skill]\npath = "skills/tidy"\n[tasks]\npath = "tasks.jsonl"\n[target]\nharness = "codex"\n'
        'model = "gpt-5.5"\n[optimizer]\nmodel = "gpt-5.5"\n'
    )
    (folder / ".gitignore").write_text(".honed/\n")
    _git(folder, "init", "-q")
    _git(folder, "add", ".")
    _git(folder, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "start")
    return folder / "honed.toml"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with CLIs that tell the pinned versions."""
    modules = agents_folder(tmp_path / "home") / "node_modules"
    for place, text in {
        "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex": f"codex-cli {pins()['codex']}",
        "@anthropic-ai/claude-code-linux-x64/claude": f"{pins()['claude-code']} (Claude Code)",
    }.items():
        file = modules / place
        file.parent.mkdir(parents=True)
        file.write_text(f"#!/bin/sh\necho '{text}'\n")
        file.chmod(0o755)
    return tmp_path / "home"


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> FakeMachine:
    """Docker runs and has the image."""

    async def status(address: str, *, image: str) -> ImageFacts:
        return ImageFacts(image, "sha256:" + "1" * 64, "present")

    class Sandbox:
        def __init__(self, *_: object, **__: object) -> None: ...

        async def facts(self) -> object:
            return type("Facts", (), {"lacks": ()})

    monkeypatch.setattr(checks_machine, "image_status", status)
    monkeypatch.setattr(checks_machine, "DockerSandbox", Sandbox)
    return FakeMachine(engines={SOCKET: Pong("20.10")}, programs={"bwrap"})


def _git(folder: Path, *args: str) -> None:
    subprocess.run(["git", *args], cwd=folder, check=True, capture_output=True)


def _tasks(folder: Path, *, selection: int) -> None:
    splits = {"train": 12, "selection": selection, "test": 12}
    rows = [
        {
            "id": f"{split}-{n}",
            "prompt": f"{split} {n}",
            "answer": "x",
            "scorer": {"name": "exact_match"},
            "split": split,
        }
        for split, count in splits.items()
        for n in range(count)
    ]
    (folder / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def _by_name(checks: tuple[Check, ...]) -> dict[str, Check]:
    return {check.name: check for check in checks}


async def test_a_runtime_that_the_engine_has_not_is_not_mended_by_setup(
    project: Path, home: Path, machine: FakeMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Sandbox:
        def __init__(self, *_: object, runtime: str | None, **__: object) -> None:
            self.runtime = runtime

        async def facts(self) -> object:
            raise UnknownRuntimeError(f"[sandbox] runtime = {self.runtime!r} is not known")

    monkeypatch.setattr(checks_machine, "DockerSandbox", Sandbox)
    project.write_text(f'{project.read_text()}\n[sandbox]\nruntime = "runsc"\n')
    found = _by_name(await run_checks(project, home=home, machine=machine))["image"]
    assert (found.state, "'runsc' is not known" in found.detail) == ("fail", True)
    assert found.remedy == "install it, or remove runtime from [sandbox]"


async def test_everything_there(project: Path, home: Path, machine: FakeMachine) -> None:
    checks = await run_checks(project, home=home, machine=machine)
    assert [check.name for check in checks] == [
        *("config", "python", "git", "engine", "image", "codex", "claude-code", "gateway", "disk"),
        *("repository", "signing", "tasks", "state", "publish", "key target", "key optimizer"),
    ]
    assert {check.name: (check.detail, check.remedy) for check in checks if check.state != "ok"} == {}
    assert can_run(checks)
    assert machine.done == [], "the doctor changes nothing"
    assert not (project.parent / ".honed").exists()
    assert "the gate finds a gain of 14 points" in _by_name(checks)["tasks"].detail


async def test_a_journal_in_a_folder_of_any_name_can_be_read(project: Path, home: Path, machine: FakeMachine) -> None:
    odd = project.parent.rename(project.parent.with_name("100%25 #1 a?mode=rw"))
    state = odd / ".honed"
    state.mkdir()
    sqlite3.connect(state / "journal.sqlite").close()
    assert _by_name(await run_checks(odd / project.name, home=home, machine=machine))["state"].state == "ok"


async def test_no_row_ever_shows_a_key(project: Path, home: Path, machine: FakeMachine) -> None:
    checks = await run_checks(project, home=home, machine=machine, online=False)
    assert KEY not in repr(checks)
    assert _by_name(checks)["key target"].detail == "OPENAI_API_KEY is set"


async def test_a_server_on_loopback_needs_no_key(
    project: Path, home: Path, machine: FakeMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    project.write_text(
        project.read_text().replace('harness = "codex"', 'harness = "codex"\nbase_url = "http://[::1]:9/v1"')
    )
    rows = _by_name(await run_checks(project, home=home, machine=machine))
    assert (rows["key target"].state, rows["key target"].detail) == ("ok", "loopback: no key needed")
    assert rows["key optimizer"].state == "fail"


@pytest.mark.parametrize("begun", [False, True], ids=["no commit at all", "the skill alone is not committed"])
async def test_what_is_not_committed_is_to_be_committed(
    project: Path, home: Path, machine: FakeMachine, begun: bool
) -> None:
    shutil.rmtree(project.parent / ".git")
    _git(project.parent, "init", "-q")
    if begun:
        _git(project.parent, "add", "honed.toml")
        _git(project.parent, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "start")
    row = _by_name(await run_checks(project, home=home, machine=machine))["repository"]
    assert row.state == "fail"
    assert row.remedy == f"`git add skills/tidy` and `git commit` in {project.parent}"


async def test_a_missing_key_fails_and_is_named(
    project: Path, home: Path, machine: FakeMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    rows = _by_name(await run_checks(project, home=home, machine=machine))
    assert rows["key target"].state == rows["key optimizer"].state == "fail"
    assert "OPENAI_API_KEY" in rows["key target"].detail


async def test_without_a_file_the_machine_alone_is_looked_at(home: Path, machine: FakeMachine) -> None:
    checks = await run_checks(None, home=home, machine=machine)
    assert {"config", "tasks", "repository", "key target"}.isdisjoint(_by_name(checks))
    assert can_run(checks)


async def test_a_missing_file_fails_with_init_but_the_machine_is_looked_at(
    tmp_path: Path, home: Path, machine: FakeMachine
) -> None:
    rows = _by_name(await run_checks(tmp_path / "honed.toml", home=home, machine=machine))
    assert (rows["config"].state, rows["config"].remedy) == ("fail", "honed init")
    assert rows["engine"].state == "ok"


async def test_a_broken_file_names_the_line(project: Path, home: Path, machine: FakeMachine) -> None:
    project.write_text(project.read_text() + "nonsense = 1\n")
    rows = _by_name(await run_checks(project, home=home, machine=machine))
    assert rows["config"].state == "fail"
    assert "nonsense" in rows["config"].detail
    assert "tasks" not in rows


async def test_only_the_cli_that_the_job_needs_fails(project: Path, tmp_path: Path, machine: FakeMachine) -> None:
    rows = _by_name(await run_checks(project, home=tmp_path / "empty", machine=machine))
    assert (rows["codex"].state, rows["codex"].remedy) == ("fail", "honed setup")
    assert rows["claude-code"].state == "warn"


async def test_another_version_than_the_pin_is_told(project: Path, home: Path, machine: FakeMachine) -> None:
    (binary,) = agents_folder(home).glob("node_modules/@openai/*/vendor/*/bin/codex")
    binary.write_text("#!/bin/sh\necho codex-cli 0.1.0\n")
    row = _by_name(await run_checks(project, home=home, machine=machine))["codex"]
    assert row.state == "fail"
    assert "0.1.0" in row.detail
    assert pins()["codex"] in row.detail


async def test_a_missing_image_fails(
    project: Path, home: Path, machine: FakeMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(address: str, *, image: str) -> None:
        return None

    monkeypatch.setattr(checks_machine, "image_status", nothing)
    row = _by_name(await run_checks(project, home=home, machine=machine))["image"]
    assert (row.state, row.remedy) == ("fail", "honed setup")
    project.write_text(project.read_text() + '[sandbox]\nimage = "mine:1"\n')
    row = _by_name(await run_checks(project, home=home, machine=machine))["image"]
    assert row.remedy.startswith("docker pull mine:1")


async def test_a_dirty_skill_fails(project: Path, home: Path, machine: FakeMachine) -> None:
    with (project.parent / "skills" / "tidy" / "SKILL.md").open("a") as file:
        file.write("more\n")
    row = _by_name(await run_checks(project, home=home, machine=machine))["repository"]
    assert row.state == "fail"
    assert "skills/tidy/SKILL.md" in row.detail


async def test_an_invalid_skill_and_no_repository_fail(project: Path, home: Path, machine: FakeMachine) -> None:
    skill = project.parent / "skills" / "tidy" / "SKILL.md"
    skill.write_text("no frontmatter\n")
    _git(project.parent, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qam", "break it")
    row = _by_name(await run_checks(project, home=home, machine=machine))["repository"]
    assert row.state == "fail"
    assert "SKILL.md" in row.detail
    (project.parent / ".git").rename(project.parent / "not-git")
    row = _by_name(await run_checks(project, home=home, machine=machine))["repository"]
    assert "not a git repository" in row.detail


async def test_a_small_selection_warns_with_the_smallest_effect(
    project: Path, home: Path, machine: FakeMachine
) -> None:
    _tasks(project.parent, selection=5)
    row = _by_name(await run_checks(project, home=home, machine=machine))["tasks"]
    assert row.state == "warn"
    assert "the gate finds a gain of 22 points" in row.detail
    assert "selection tasks show a gain of 10 points" in row.remedy


async def test_a_bad_task_line_fails_with_its_place(project: Path, home: Path, machine: FakeMachine) -> None:
    with (project.parent / "tasks.jsonl").open("a") as file:
        file.write("{not json\n")
    row = _by_name(await run_checks(project, home=home, machine=machine))["tasks"]
    assert row.state == "fail"
    assert "tasks.jsonl" in row.detail


async def test_a_broken_journal_fails(project: Path, home: Path, machine: FakeMachine) -> None:
    state = project.parent / ".honed"
    state.mkdir()
    (state / "journal.sqlite").write_bytes(b"this is no database" * 100)
    row = _by_name(await run_checks(project, home=home, machine=machine))["state"]
    assert row.state == "fail"
    (state / "journal.sqlite").unlink()
    sqlite3.connect(state / "journal.sqlite").close()
    assert _by_name(await run_checks(project, home=home, machine=machine))["state"].state == "ok"


@pytest.mark.parametrize(
    ("wanted", "docker", "bubblewrap", "options", "state", "engine"),
    [
        ("auto", DOCKER, "no", {}, "ok", "docker"),
        ("docker", DOCKER, None, {}, "ok", "docker"),
        ("docker", "no engine", None, {}, "fail", "docker"),
        ("docker", "no engine", None, {"needed": False}, "warn", "docker"),
        ("auto", "no engine", None, {}, "warn", "bubblewrap"),
        ("bubblewrap", DOCKER, None, {}, "ok", "bubblewrap"),
        ("bubblewrap", DOCKER, "no", {}, "fail", "bubblewrap"),
        ("auto", "no engine", "no", {}, "fail", "process"),
        ("auto", "no engine", "no", {"unsandboxed_ok": True}, "warn", "process"),
        ("auto", "no engine", "no", {"needed": False}, "warn", "process"),
        ("process", DOCKER, None, {}, "fail", "process"),
        ("process", DOCKER, None, {"unsandboxed_ok": True}, "warn", "process"),
    ],
)
def test_engines(
    wanted: Any, docker: EngineReport | str, bubblewrap: str | None, options: dict[str, bool], state: str, engine: str
) -> None:
    row, chosen = engine_check(wanted, docker=docker, bubblewrap=bubblewrap, **options)
    assert (row.state, chosen) == (state, engine)
    assert bool(row.remedy) == (state != "ok")


async def test_chat_needs_no_box(project: Path, tmp_path: Path) -> None:
    project.write_text(project.read_text().replace('harness = "codex"', 'harness = "chat"'))
    machine = FakeMachine(bubblewrap_error="refused")
    checks = await run_checks(project, home=tmp_path / "empty", machine=machine)
    assert {row.name: row.detail for row in checks if row.state == "fail"} == {}
    assert {row.name for row in checks if row.state == "warn"} == {"engine", "codex", "claude-code"}


async def test_bubblewraps_row_tells_what_it_lacks(project: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Sandbox:
        def __init__(self, root: Path | None, *, owner: str) -> None:
            self.root = root

        async def facts(self) -> EngineFacts:
            digest = "host" if self.root is None else "sha256:" + "2" * 64
            return EngineFacts("bubblewrap", "0.8", digest, isolated=True, lacks=("no seccomp filter",))

    monkeypatch.setattr(checks_machine, "BubblewrapSandbox", Sandbox)
    machine = FakeMachine(programs={"bwrap"})
    rows = _by_name(await run_checks(project, home=home, machine=machine))
    assert (rows["engine"].state, rows["image"].state) == ("warn", "warn")
    assert "root file system host; lacks: no seccomp filter" in rows["image"].detail
    assert can_run(rows.values())


def _set(**sizes: int) -> TaskSet:
    names: tuple[Split, ...] = ("train", "selection", "test")
    splits = {name: sizes.get(name, 0) for name in names}
    tasks = [
        Task(f"{name}{n}", "p", ScorerSpec("exact_match"), split=name) for name, k in splits.items() for n in range(k)
    ]
    return TaskSet(tuple(tasks), Path("tasks.jsonl"))


def test_sizes() -> None:
    assert sizes_check(_set(train=0, selection=20, test=5)).state == "fail"
    assert sizes_check(_set(train=9, selection=11, test=5)).state == "warn"
    no_test = sizes_check(_set(train=9, selection=20))
    assert (no_test.state, "no sealed test split" in no_test.detail) == ("warn", True)
    assert sizes_check(_set(train=9, selection=12, test=1)).state == "ok"


def test_what_the_gate_sees_depends_on_the_gate() -> None:
    split = _set(train=9, selection=20, test=5)
    assert "steps of 1/20 = 0.050" in sizes_check(split, TrainSection(gate="strict")).detail
    assert "nothing is measured" in sizes_check(split, TrainSection(gate="off")).detail
    few = sizes_check(split, TrainSection(gate="paired", gate_trials=3, gate_pool=6)).detail
    many = sizes_check(split, TrainSection(gate="paired", gate_trials=10, gate_pool=20)).detail
    assert "finds a gain of 11 points in 4 of 5 cases (3 trials against 6 pooled" in few
    assert "finds a gain of 6 points" in many


async def test_a_check_that_breaks_is_one_failing_row() -> None:
    async def broken() -> Check:
        raise RuntimeError("a\nb")

    row = await guarded("x", broken())
    assert (row.name, row.state) == ("x", "fail")
    assert "RuntimeError: a b" in row.detail


async def test_the_gateway_really_passes_a_request(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert await gateway_check() == Check("gateway", "ok", "a request went through a door and was counted")
    long = tmp_path / ("x" * 120)
    long.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(long))
    row = await gateway_check()
    assert (row.state, "TMPDIR" in row.remedy) == ("fail", True)


async def test_git_that_is_missing_or_old(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert (await git_check()).state == "ok"
    old = tmp_path / "git"
    old.write_text("#!/bin/sh\necho git version 2.20.1\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    row = await git_check()
    assert (row.state, "2.20.1 is too old" in row.detail) == ("fail", True)


async def test_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gib = 1024**3
    for free, state in ((100 * gib, "ok"), (2 * gib, "warn"), (gib // 4, "fail")):
        monkeypatch.setattr("shutil.disk_usage", lambda _, free=free: type("Usage", (), {"free": free}))
        assert (await disk_check(tmp_path / "not" / "there", attempts=2, attempt_bytes=gib)).state == state


async def test_a_provider_that_does_not_answer_fails_quickly(project: Path) -> None:
    config = load_config(project)
    section = config.target.model_copy(update={"base_url": "http://127.0.0.1:9/v1"})
    row = await provider_check("target", section)
    assert row.state == "fail"
    assert "127.0.0.1:9" in row.detail
    assert KEY not in repr(row)


async def test_a_provider_on_loopback_is_asked(project: Path) -> None:
    config = load_config(project)
    async with Provider() as provider:
        section = config.target.model_copy(update={"base_url": provider.base_url("openai")})
        row = await provider_check("target", section)
    assert row.state in ("ok", "warn")
    assert "127.0.0.1" in row.detail or section.model in row.detail


@pytest.mark.parametrize(
    ("status", "body", "state", "told"),
    [
        (200, '{"data": [{"id": "gpt-5.5"}]}', "ok", "gpt-5.5"),
        (200, '{"data": [{"id": "gpt-5.5-mini"}]}', "warn", "not among"),
        (401, "", "fail", "OPENAI_API_KEY"),
        (403, "", "fail", "OPENAI_API_KEY"),
        (404, "", "warn", "base_url"),
        (500, "", "warn", "500"),
    ],
)
def test_what_a_providers_answer_means(project: Path, status: int, body: str, state: str, told: str) -> None:
    section = load_config(project).target
    upstream = Upstream("openai", "https://model.example/v1", SecretStr(KEY), "OPENAI_API_KEY")
    row = judge("provider target", section, upstream, status, body)
    assert row.state == state
    assert told in f"{row.detail} {row.remedy}"


@pytest.mark.parametrize(
    ("follow", "remedy"),
    [("true", "nothing: the next new run of `honed train` follows it"), ("false", "git switch honed/tidy")],
)
async def test_another_version_on_head_is_said_with_what_becomes_of_it(
    project: Path, home: Path, machine: FakeMachine, follow: str, remedy: str
) -> None:
    project.write_text(project.read_text().replace("[tasks]", f"follow = {follow}\n[tasks]"))
    skill = project.parent / "skills" / "tidy" / "SKILL.md"
    _git(project.parent, "branch", "honed/tidy")
    skill.write_text(skill.read_text() + "\nMine.\n")
    _git(project.parent, "-c", "user.name=p", "-c", "user.email=p@example.com", "commit", "-qam", "Mine")
    row = _by_name(await run_checks(project, home=home, machine=machine))["repository"]
    assert (row.state, row.remedy) == ("warn", remedy)
    assert "has another version" in row.detail
