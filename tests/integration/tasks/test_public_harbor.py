"""Public Harbor tasks, where a copy of them is at hand: their folders in `harbor/` of `HONED_REAL_DATA`.

Their Dockerfiles need their base images, and a verifier has no network, so the base must hold what the tests fetch. A
task that is not there, or whose image cannot be had, is skipped with the reason.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.tasks.formats.harbor import scan_harbor
from daemon.tasks.images import prepare
from daemon.tasks.prove import Proof, Verdict, prove
from daemon.tasks.scorers.scorer import Context
from sandboxes.engine_client import address
from sandboxes.image.debootstrap import ImageError
from tests.support.tasks import real_data

pytestmark = [pytest.mark.docker, pytest.mark.slow]

SOUND = (
    "regex-log",
    "sqlite-db-truncate",
    "log-summary-date-ranges",
    "cancel-async-tasks",
    "multi-source-data-merger",
    "git-leak-recovery",
    "polyglot-c-py",
    "openssl-selfsigned-cert",
    "constraints-scheduling",
    "civ6-adjacency-optimizer",
)
FAULTY = {
    "manufacturing-fjsp-optimization": (Verdict.UNSCORED, "wrote neither reward.json nor reward.txt"),
    "flood-risk-analysis": (Verdict.ORACLE_FAILS, "may use the network"),
}


async def proof_of(name: str, context: Context, tmp_path: Path) -> Proof:
    (found,) = scan_harbor(real_data(f"harbor/{name}"))
    assert found.task is not None, found.error
    try:
        task = await prepare(found.task, address(), tmp_path / "images")
    except ImageError as error:
        pytest.skip(str(error))
    return await prove(task, context)


@pytest.mark.parametrize("name", SOUND)
async def test_the_solution_scores_1_and_nothing_0(name: str, context: Context, tmp_path: Path) -> None:
    proof = await proof_of(name, context, tmp_path)
    assert (proof.oracle, proof.nothing) == (1.0, 0.0), proof.detail


@pytest.mark.parametrize("name", FAULTY)
async def test_a_faulty_task_is_told_as_what_it_is(name: str, context: Context, tmp_path: Path) -> None:
    verdict, detail = FAULTY[name]
    proof = await proof_of(name, context, tmp_path)
    assert proof.verdict is verdict, proof.detail
    assert detail in proof.detail
    assert proof.oracle in (None, 0.0)
