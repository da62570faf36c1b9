"""The fingerprint: what makes another run of it, and what does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from daemon.config import Config
from daemon.config_train import TrainSection
from daemon.optimizer.settings import Fingerprint, Knobs, fingerprint
from tests.support.optimizer import task_set


def made(knobs: Knobs | None = None, **parts: Any) -> Fingerprint:
    parts = {"tasks": task_set(2, 2, 2), "target": {"model": "m"}, "optimizer": {"model": "o"}, **parts}
    return fingerprint(knobs or Knobs(), harness=parts.pop("harness", "chat"), **parts)


def test_equal_parts_give_an_equal_fingerprint() -> None:
    assert made().digest == made().digest
    assert made().parts["harness"] == "chat"


@pytest.mark.parametrize(
    "other",
    [
        {"knobs": Knobs(TrainSection(edit_budget=3))},
        {"knobs": Knobs(TrainSection(gate_metric="soft"))},
        {"knobs": Knobs(max_skill_chars=900)},
        {"tasks": task_set(2, 3, 2)},
        {"target": {"model": "m", "image": "sha256:1"}},
        {"optimizer": {"model": "p"}},
        {"harness": "codex"},
    ],
    ids=lambda other: next(iter(other)),
)
def test_any_part_that_decides_makes_another(other: dict[str, Any]) -> None:
    assert made(**other).digest != made().digest


def test_how_often_a_failure_is_tried_again_does_not() -> None:
    assert made(Knobs(TrainSection(attempt_tries=9))).digest == made().digest


def test_the_same_model_name_on_another_host_is_another_optimizer() -> None:
    def host(base_url: str | None) -> str:
        sections: dict[str, Any] = {"skill": {"path": "s"}, "tasks": {"path": "t"}}
        target, optimizer = {"harness": "chat", "model": "m"}, {"model": "o", "base_url": base_url}
        return Knobs.from_config(
            Config.model_validate({**sections, "target": target, "optimizer": optimizer})
        ).optimizer_host

    assert (host(None), host("http://127.0.0.1:8080/v1"), host("https://models.example/v1")) == (
        "",
        "127.0.0.1",
        "models.example",
    )


def test_where_the_tasks_lie_does_not() -> None:
    moved = replace(task_set(2, 2, 2), source=Path("elsewhere.jsonl"))
    assert made(tasks=moved).digest == made().digest
