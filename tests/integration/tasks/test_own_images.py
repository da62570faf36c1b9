"""Tasks in images of their own, on the real engine: built, laid, solved and tested; and what cannot be had."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemon.tasks.digest import build_digest
from daemon.tasks.formats.harbor import scan_harbor
from daemon.tasks.images import prepare
from daemon.tasks.prove import Verdict, prove
from daemon.tasks.scorers.scorer import Context
from daemon.tasks.task import Task
from sandboxes.engine_client import address
from sandboxes.image.debootstrap import ImageError
from sandboxes.image.task_image import TASK_IMAGE
from tests.support.sandboxes import docker_client, docker_image

pytestmark = pytest.mark.docker

DOCKERFILE = """
FROM {base}
USER 0:0
ENV WORD=lantern
WORKDIR /app
RUN mkdir -p /output /app/empty && echo 'one two' > /app/in.txt && ln -s in.txt /app/link && echo 3 > /data.txt
"""
SOLVE = """#!/bin/bash
set -e
[ "$PWD" = /app ] && [ -d empty ] && [ ! -e link ] && [ "$(cat /data.txt)" = 3 ]
echo "$WORD $(wc -w < in.txt)" > /output/out.txt
echo done > /report/out.md
echo key > /app/key && chmod 600 /app/key
"""
TEST = """#!/bin/bash
[ "$PWD" = /app ] && [ "$(cat /output/out.txt)" = "$WORD 2" ] && [ "$(stat -c %a /app/key)" = 600 ] &&
  [ "$(cat /report/out.md)" = done ]
echo $((1 - $?)) > /logs/verifier/reward.txt
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A Harbor task with a Dockerfile over the sandbox image; what was built is removed."""
    made = tmp_path / "set" / "count-words"
    for name in ("environment", "tests", "solution"):
        (made / name).mkdir(parents=True)
    (made / "task.toml").write_text(
        'artifacts = ["/report/out.md"]\n[metadata]\nsplit = "train"\n[environment]\nallow_internet = false\n'
    )
    (made / "instruction.md").write_text("Count the words.")
    (made / "environment" / "Dockerfile").write_text(DOCKERFILE.format(base=docker_image()))
    (made / "solution" / "solve.sh").write_text(SOLVE)
    (made / "tests" / "test.sh").write_text(TEST)
    yield made
    with docker_client() as client:
        for image in client.images.list(filters={"label": TASK_IMAGE}):
            if any(tag in image.tags for tag in tags(tmp_path)):
                client.images.remove(image.id, force=True)


def tags(tmp_path: Path) -> list[str]:
    """What the tasks below a folder built."""
    found = tmp_path.glob("set*/*/environment")
    return [f"honed-task:{build_digest(one).removeprefix('sha256:')[:16]}" for one in found]


def read(folder: Path) -> Task:
    (found,) = scan_harbor(folder)
    assert found.task is not None, found.error
    return found.task


async def test_solution_and_tests_in_the_tasks_own_image(folder: Path, context: Context, tmp_path: Path) -> None:
    task = await prepare(read(folder), address(), tmp_path / "images")
    assert task.root is not None
    assert (task.root.workspace, task.root.folders) == (
        "/app",
        {"/output": ".root/output", "/report": ".root/report"},
    )
    assert task.file_bytes() == {"in.txt": b"one two\n"}
    proof = await prove(task, context)
    assert (proof.verdict, proof.oracle, proof.nothing) == (Verdict.PROVED, 1.0, 0.0), proof.detail
    again = await prepare(read(folder), address(), tmp_path / "images")
    assert again.root == task.root


async def test_an_image_that_cannot_be_built_names_the_step(folder: Path, tmp_path: Path) -> None:
    file = folder / "environment" / "Dockerfile"
    file.write_text(file.read_text() + "RUN echo broken >&2 && exit 7\n")
    with pytest.raises(ImageError, match=r"environment/Dockerfile: cannot be built: Step 6/7 : RUN .* code: 7"):
        await prepare(read(folder), address(), tmp_path)
    shutil.rmtree(folder / "environment")
    (folder / "environment").mkdir()
    toml = '[metadata]\nsplit = "train"\n[environment]\ndocker_image = "localhost:9/none:1"\n'
    (folder / "task.toml").write_text(toml)
    with pytest.raises(ImageError, match="the image localhost:9/none:1 cannot be had: "):
        await prepare(read(folder), address(), tmp_path)
