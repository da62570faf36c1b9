"""Prove every task of a set: images made ready, solutions and do-nothing agents run a few at a time, in order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

from daemon.tasks.images import prepare
from daemon.tasks.prove import Proof, Verdict, needs_box, prove
from daemon.tasks.scorers.registry import needs_judge
from daemon.tasks.scorers.scorer import Context
from daemon.tasks.task import Task
from sandboxes.image.debootstrap import ImageError
from sandboxes.sandbox import SandboxError


async def prove_all(
    tasks: AsyncIterator[Task], context: Context, *, images: str | None, folder: Path, workers: int, boxes: bool = True
) -> AsyncGenerator[Proof, None]:
    """Each task's proof, in the order of `tasks`, `workers` at a time; one that a judge model scores is left out.

    So is one that needs a box where there are to be none (`boxes`).
    Close it when you stop reading.
    `images` is the address of the Docker engine that makes images; None: tasks with one of their own are not run.
    """
    running: deque[asyncio.Task[Proof]] = deque()
    try:
        async for task in tasks:
            if needs_judge(task) or not (boxes or (task.environment is None and not needs_box(task))):
                continue
            running.append(asyncio.create_task(_one(task, context, images, folder)))
            if len(running) >= workers:
                yield await running.popleft()
        while running:
            yield await running.popleft()
    finally:
        for left in running:
            left.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _one(task: Task, context: Context, images: str | None, folder: Path) -> Proof:
    if task.environment is not None:
        if images is None:
            return Proof(task.id, Verdict.NOT_RUN, detail="its image needs a Docker engine: see `honed doctor`")
        try:
            task = await prepare(task, images, folder)
        except (ImageError, SandboxError) as error:
            return Proof(task.id, Verdict.NOT_RUN, detail=" ".join(str(error).split()))
    return await prove(task, context)
