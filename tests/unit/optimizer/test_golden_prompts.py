"""Each role's whole prompt for one small case, as it is sent: what is read here is what a model reads.

Written anew with `HONED_UPDATE_GOLDEN=1`; look at the difference before you commit it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.prompts import GOLDEN, REPLIES, all_prompts, as_text, roles
from tests.support.prompts_files import ROLES, file_prompts


@pytest.mark.parametrize("role", roles())
async def test_the_whole_prompt(role: str) -> None:
    asked = await all_prompts()
    assert role in asked, f"add a reply and a scene for {role} to tests/support/prompts.py"
    _compare(role, as_text(asked[role]), GOLDEN / f"{role}.txt")


@pytest.mark.parametrize("role", ROLES)
async def test_the_whole_prompt_where_other_files_are_edited(role: str) -> None:
    _compare(role, as_text((await file_prompts())[role]), GOLDEN / "files" / f"{role}.txt")


def _compare(role: str, text: str, path: Path) -> None:
    if os.environ.get("HONED_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert path.is_file(), f"no golden prompt of {role}: run this test with HONED_UPDATE_GOLDEN=1"
    assert text == path.read_text(encoding="utf-8"), (
        f"the prompt of {role} changed: HONED_UPDATE_GOLDEN=1 writes it anew"
    )


def test_no_golden_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(roles())
    assert set(REPLIES) == set(roles())
    assert {path.stem for path in (GOLDEN / "files").glob("*.txt")} == set(ROLES)


async def test_no_prompt_shows_the_skill_twice() -> None:
    for role, request in (await all_prompts()).items():
        whole = request.system + request.messages[0].content
        assert whole.count("- Look at the sheet first.") == 1, role
