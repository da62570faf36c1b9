"""The whole loop on fakes: what is learned, said, committed and reported."""

from __future__ import annotations

from pathlib import Path

from tests.support.optimizer import World, WorldHarness, task_set


def small(folder: Path) -> World:
    """Four train and selection tasks: half need rule-a, half rule-b."""
    tasks = task_set(4, 4, 4)
    needs = {task.id: ["rule-a" if int(task.id[-2:]) % 2 else "rule-b"] for task in tasks.tasks}
    return World(folder, WorldHarness(needs), tasks)


async def test_a_skill_learns_the_rules_that_its_tasks_need(tmp_path: Path) -> None:
    world = small(tmp_path)
    report = await world.training().run()
    assert report.selection.before is not None
    print(report)
    assert (await world.history.read(await world.history.base())).text.count("rule-") == 2
