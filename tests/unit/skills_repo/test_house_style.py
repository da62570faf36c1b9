"""The convention read from real repositories: people's commits below the base alone, whatever their messages hold."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from skills_repo.convention import DEFAULT, Convention
from skills_repo.history import Author, RepositoryError
from skills_repo.house_style import HouseStyle
from tests.support.skills import HONED, SKILL_PATH, a_change, a_repository, a_skill, git, history_of

PERSON = "A Person <person@example.com>"


def commits(folder: Path, rows: Sequence[str | tuple[str, str]], *, path: str = "notes", who: str = PERSON) -> str:
    """One commit a message (or path and message) on main, made at once; returns the head."""
    head = git(folder, "rev-parse", "main").strip()
    out = [f"reset refs/heads/main\nfrom {head}\n\n".encode()]
    for number, row in enumerate(rows):
        where, message = row if isinstance(row, tuple) else (path, row)
        data = message.encode("utf-8", "surrogateescape")
        out.append(f"commit refs/heads/main\ncommitter {who} {2000 + number} +0000\ndata {len(data)}\n".encode())
        out.append(data + f"\nM 100644 inline {where}\ndata <<E\n{number} {len(data)}\nE\n\n".encode())
    subprocess.run(["git", "fast-import", "--quiet", "--force"], cwd=folder, input=b"".join(out), check=True)
    return git(folder, "rev-parse", "main").strip()


def style(folder: Path, author: Author = HONED) -> HouseStyle:
    return HouseStyle(folder, SKILL_PATH, author=author)


@pytest.mark.parametrize("kind", ["plain", "bare", "sha256"])
async def test_the_convention_of_a_repository(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "r"
    if kind == "sha256":
        folder.mkdir()
        git(folder, "init", "-q", "-b", "main", "--object-format=sha256")
    a_repository(folder)
    of_skill = (f"{SKILL_PATH}/SKILL.md", "feat(xlsx): a rule")
    head = commits(folder, ["docs(readme): one", "fix: two", "chore(ci): three", of_skill, "docs(x): four"])
    if kind == "bare":
        git(tmp_path, "clone", "-q", "--bare", str(folder), str(tmp_path / "bare"))
        folder = tmp_path / "bare"
    assert await style(folder).at(head) == Convention("conventional", "feat", scoped=True)


async def test_it_is_told_by_the_base_alone_however_the_repository_goes_on(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "r")
    base = commits(folder, [f"Do it {number}" for number in range(9)])
    before = await style(folder).at(base)
    commits(folder, [f"docs: say {number}" for number in range(99)])
    history = history_of(folder)
    await history.commit_edits(base, [a_change(a_skill("\n- new\n"))], 100)
    assert await style(folder).at(base) == before == Convention("plain", capital=True)
    assert await style(folder).at("HEAD") == Convention("conventional", "docs")


async def test_honeds_own_commits_bots_and_merges_show_nothing(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "r")
    commits(folder, [f"Do it {number}" for number in range(9)])
    commits(folder, [a_change(a_skill()).message] * 60)
    commits(folder, ["build(deps): bump it"] * 60, who="renovate[bot] <1+renovate[bot]@users.noreply.github.com>")
    head = commits(folder, ['Revert "docs: it"\n\nThis reverts it.'] * 20)
    assert await style(folder).at(head) == Convention("plain", capital=True)


async def test_a_young_repository_has_honeds_form(tmp_path: Path) -> None:
    assert await style(a_repository(tmp_path / "r")).at("HEAD") == DEFAULT


async def test_signing_off_follows_the_majority_who_sign_for_themselves(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "r")
    signed = f"Do it\n\nWhy.\n\nSigned-off-by: {PERSON}"
    other = "Do it\n\nSigned-off-by: Somebody Else <else@example.com>"
    head = commits(folder, [signed] * 7 + ["Do more"] * 3 + [other] * 2)
    author = Author("Skill Bot", "bot@example.com")
    assert (await style(folder, author).at(head)).sign_off == "Skill Bot <bot@example.com>"
    head = commits(folder, [other] * 9)
    assert (await style(folder).at(head)).sign_off == ""
    young = a_repository(tmp_path / "young")
    assert (await style(young).at(commits(young, [signed] * 3))).sign_off == ""


async def test_messages_may_hold_anything(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "r")
    git(folder, "config", "grep.patternType", "fixed")
    git(folder, "config", "log.showSignature", "true")
    git(folder, "config", "trailer.separators", "#")
    rows = [
        "docs(\x1b[31m): \u202eevil",
        "feat: " + "x" * 10_000,
        "fix(a\tb): one\n\nHoned-Run: r1",
        "docs: \udcff\udcfe bytes",
        "chore(--exec=x): @all closes #1\n\nSigned-off-by: <>\nHoned-Run: r9",
        "-- option",
        "docs: one\r\n\r\ntwo",
        "feat: \U0001f41b",
    ]
    head = commits(folder, rows * 3)
    assert await style(folder).at(head) == Convention("conventional", "docs")


async def test_what_git_refuses_names_the_repository(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "r")
    with pytest.raises(RepositoryError, match=f"{folder}: git log failed"):
        await style(folder).at("f" * 40)
