from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from daemon.tasks.digest import build_digest, task_digest
from daemon.tasks.images import in_own_images, prepare, with_artifacts, without_skills
from daemon.tasks.task import Environment, TaskSet, limits_for
from sandboxes.fake import FakeAnswer, FakeSandbox
from sandboxes.image.task_image import TaskImage
from sandboxes.sandbox import GIB, Limits, Root, SandboxError
from tests.support.tasks import task_for

FILES = {
    "data/a.txt": b"a",
    "skills/pdf/SKILL.md": b"s",
    "skills/pdf/scripts/x.py": b"s",
    ".claude/skills/pdf/SKILL.md": b"s",
    ".goose/skills/pdf/SKILL.md": b"s",
    "SKILL.md": b"s",
    "skilled/SKILL.md": b"kept",
}


def test_skills_of_an_image_are_left_out() -> None:
    assert without_skills(FILES) == {"data/a.txt": b"a", "skilled/SKILL.md": b"kept"}


def test_skills_of_an_image_are_left_out_where_the_agent_starts() -> None:
    files = {"work/SKILL.md": b"s", "work/.codex/config.toml": b"s", "work/in.csv": b"a", "other/SKILL.md": b"kept"}
    assert without_skills(files, "work/") == {"work/in.csv": b"a", "other/SKILL.md": b"kept"}


def test_folders_of_artifacts_that_the_image_lacks_are_made() -> None:
    root = Root("sha256:1", "/app", "/app", folders={"/data": ".root/data"}, make=("sub",))
    wanted = (
        "/output/deep/a.md",
        "/output/b",
        "/data/c",
        "/app/d",
        "/etc/e",
        "/f",
        "/logs/artifacts/g",
        "h/i/j",
        "/k/../etc/l",
        "",
    )
    made = with_artifacts(root, wanted)
    assert made.folders == {"/data": ".root/data", "/output": ".root/output"}
    assert made.make == (".root/output", "sub")
    assert with_artifacts(root, ()) == root
    plain, further = Environment(image="x"), Environment(image="x", artifacts=("/output/b",))
    start = Environment(image="x", workdir="/app")
    made = (plain, further, start)
    digests = {task_digest(task_for("exact_match", "x", environment=one), scorer_version=1) for one in made}
    assert len(digests) == 3


async def test_a_prepared_task_has_the_images_files_and_its_old_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, object, object]] = []

    async def build(address: str, context: Path, *, tag: str, timeout_s: float, workdir: str | None) -> TaskImage:
        asked.append((tag, timeout_s, workdir))
        return TaskImage(
            Root("sha256:" + "1" * 64, "/app", "/app", make=("data", "skills", "skills/pdf", ".codex")), FILES
        )

    monkeypatch.setattr("sandboxes.image.task_image.build_task_image", build)
    (tmp_path / "context").mkdir()
    (tmp_path / "context" / "Dockerfile").write_text("FROM x\n")
    environment = Environment(build=tmp_path / "context", build_timeout_s=7.0, workdir="/app")
    task = replace(task_for("exact_match", "x", environment=environment), digest="sha256:d")
    ready = await prepare(task, "unix:///x", tmp_path / "kept")
    assert ready.file_bytes() == {"data/a.txt": b"a", "skilled/SKILL.md": b"kept"}
    assert ready.root == Root("sha256:" + "1" * 64, "/app", "/app", make=("data",))
    assert ready.digest == task.digest
    [(tag, timeout, workdir)] = asked
    assert (tag, timeout, workdir) == (f"honed-task:{build_digest(tmp_path / 'context')[7:23]}", 7.0, "/app")
    assert await prepare(task_for("exact_match", "x"), "unix:///x", tmp_path) == task_for("exact_match", "x")


def test_what_an_image_is_made_of_is_in_the_digest(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM x\n")
    plain = task_for("exact_match", "x")
    tasks = [
        plain,
        replace(plain, environment=Environment(image="a")),
        replace(plain, environment=Environment(image="b")),
    ]
    built = replace(plain, environment=Environment(build=tmp_path))
    digests = {task_digest(task, scorer_version=1) for task in (*tasks, built)}
    (tmp_path / "Dockerfile").write_text("FROM y\n")
    assert len(digests | {task_digest(built, scorer_version=1)}) == 5


def test_a_task_gets_no_more_than_is_configured() -> None:
    asked = task_for("exact_match", "x", environment=Environment(image="a", memory_bytes=8 * GIB, cpus=0.5))
    assert limits_for(asked, Limits()) == replace(Limits(), cpus=0.5)
    assert limits_for(task_for("exact_match", "x"), Limits()) == Limits()


async def test_an_engine_without_images_refuses_such_a_set(tmp_path: Path) -> None:
    plain = task_for("exact_match", "x")
    tasks = TaskSet((plain, replace(plain, id="u", environment=Environment(image="a"))), tmp_path)
    fake = FakeSandbox(lambda box, command: FakeAnswer())
    with pytest.raises(
        SandboxError, match="task u has an image of its own, which the fake engine cannot run: use Docker"
    ):
        await in_own_images(tasks, fake, "unix:///x", tmp_path)
    assert await in_own_images(tasks, None, None, tmp_path) == tasks
    assert await in_own_images(TaskSet((plain,), tmp_path), fake, None, tmp_path) == TaskSet((plain,), tmp_path)
