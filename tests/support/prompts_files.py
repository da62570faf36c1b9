"""The prompts of patch mode where references may be edited: the same small case with a whole folder."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from daemon.optimizer.asking import Optimizer
from daemon.optimizer.reflect import Reflector
from daemon.optimizer.skill_files import SkillFiles
from daemon.optimizer.updates.learning_rate import LearningRate
from daemon.optimizer.updates.mode import UpdateContext
from daemon.optimizer.updates.modes import MODES
from daemon.optimizer.updates.reask import repaired
from harnesses.models.client import ModelRequest
from skills_repo.edits import REFERENCE_OPS, Edit, EditLimits, Op
from tests.support.optimizer import ScriptedOptimizer
from tests.support.prompts import MEMORY, REPLIES, SKILL, buffer, failed, solved
from tests.support.updates import optimizer_for

ROLES = ("reflect_failures", "reflect_successes", "merge", "rank", "repair")
LIMITS = EditLimits(1, references=True, also=REFERENCE_OPS)
FOLDER = replace(
    SKILL.with_text(SKILL.text + "- Forms: see references/forms.md.\n"),
    files={
        "SKILL.md": (SKILL.text + "- Forms: see references/forms.md.\n").encode(),
        "assets/logo.png": b"\x89PNG\x00",
        "references/forms.md": b"# Forms\n\n- Fill every field.\n",
        "scripts/fill.py": b"print()\n",
    },
)


def _reply(request: ModelRequest) -> dict[str, Any]:
    reply = dict(REPLIES[request.schema_name])
    if "edits" in reply:
        reply["edits"] = [{"file": "SKILL.md", "link": "", **edit} for edit in reply["edits"]]
    return reply


async def _step(optimizer: Optimizer) -> None:
    mode, files = MODES["patch"], SkillFiles.of(FOLDER, LIMITS)
    reflector = Reflector(optimizer, FOLDER, buffer(), 1, step=3, meta_skill=MEMORY, form=mode.form, files=files)
    found = await reflector.reflect([failed("t1"), failed("t2"), solved("t3")])
    rate = LearningRate(1, 4, 40)
    await mode.propose(found.patches, UpdateContext(optimizer, FOLDER, buffer(), 3, 8, LIMITS, rate, meta_skill=MEMORY))
    missed = [
        Edit(Op.REPLACE, "- Fill it.", "- Fill all.", file="references/forms.md"),
        Edit(Op.CREATE, content="# Maps", file="references/maps.md", link="See the maps page."),
    ]
    await repaired(optimizer, FOLDER, missed, replace(LIMITS, budget=2), "3/repair/0")


async def file_prompts() -> dict[str, ModelRequest]:
    """The first request of every role that knows files, by role."""
    client = ScriptedOptimizer(_reply)
    await _step(await optimizer_for(client))
    asked: dict[str, ModelRequest] = {}
    for request in client.requests:
        asked.setdefault(request.schema_name, request)
    return {role: asked[role] for role in ROLES}
