"""Several skills in one repository, skills inside skills, and files of any bytes around an edit."""

from __future__ import annotations

from pathlib import Path

import pytest

from skills_repo.edit import EditLimits, EditStatus
from skills_repo.edits import Edit, Op, apply
from skills_repo.history import RepositoryError
from skills_repo.repository import SkillRepository
from skills_repo.skill import Skill, from_files
from tests.support.skills import HONED, a_change, git, lay, skill_text
from tests.support.states import SKILL_FILES, copy_of, template

INNER = "sub/inner"


def text(name: str, rule: str) -> bytes:
    return skill_text(f"\n- {rule}\n", name=name).encode()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Skills `skills/outer`, `skills/outer/sub/inner` and `skills/beside`."""
    folder = template(tmp_path_factory.mktemp("template") / "r")
    for name, place in (("outer", "outer"), ("inner", f"outer/{INNER}"), ("beside", "beside")):
        lay(folder / "skills" / place, {"SKILL.md": text(name, "one"), "references/a.md": b"a\r\nb"})
        lay(folder / "skills" / place, {path.replace("__", "/"): data for path, data in SKILL_FILES.items()})
        (folder / "skills" / place / "scripts/run_sh").chmod(0o755)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Add three skills")
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return copy_of(made, tmp_path / "r")


def skill_at(folder: Path, path: str) -> SkillRepository:
    return SkillRepository(folder, f"skills/{path}", author=HONED)


def trees(folder: Path, commit: str) -> dict[str, str]:
    """Path to mode and id of every file."""
    rows = git(folder, "ls-tree", "-rz", commit).split("\0")[:-1]
    return {row.split("\t", 1)[1]: row.split("\t", 1)[0] for row in rows}


@pytest.mark.parametrize("path", ["outer", f"outer/{INNER}", "beside"])
async def test_an_edit_leaves_every_other_file_as_it_is(folder: Path, path: str) -> None:
    history = skill_at(folder, path)
    base = await history.base()
    skill = await history.read(base)
    (made,) = await history.commit_edits(base, [a_change(skill.with_text(skill.text + "- two\n"))], 100)
    before, after = trees(folder, base), trees(folder, made)
    assert {name for name in before | after if before.get(name) != after.get(name)} == {f"skills/{path}/SKILL.md"}
    assert (await history.read(made)).files["SKILL.md"] == text(history.name, "one") + b"- two\n"


async def test_each_skill_has_its_branch_and_its_log(folder: Path) -> None:
    for path in ("outer", f"outer/{INNER}", "beside"):
        history = skill_at(folder, path)
        skill = await history.read(await history.base())
        change = a_change(skill.with_text(skill.text + f"- {path}\n"), run=path)
        made = await history.commit_edits(await history.base(), [change], 100)
        assert await history.find_step(path, 1) == made
        assert [commit.kind for commit in await history.log()] == ["edit", "human"]
    names = git(folder, "for-each-ref", "--format=%(refname)", "refs/heads/honed").split()
    assert names == [f"refs/heads/honed/{name}" for name in ("beside", "inner", "outer")]


async def test_a_skill_is_its_whole_folder_with_the_skills_inside(folder: Path) -> None:
    skill = await skill_at(folder, "outer").read("HEAD")
    assert f"{INNER}/SKILL.md" in skill.files
    inner = await skill_at(folder, f"outer/{INNER}").read("HEAD")
    assert {path: skill.files[f"{INNER}/{path}"] for path in inner.files} == dict(inner.files)
    lay(folder / f"skills/outer/{INNER}", {"SKILL.md": text("inner", "changed")})
    git(folder, "commit", "-qam", "Change the inner skill")
    assert (await skill_at(folder, "outer").read("HEAD")).digest != skill.digest


def changed(skill: Skill, files: dict[str, bytes | None]) -> Skill:
    kept = {**skill.files, **files}
    return from_files(skill.name, {path: data for path, data in kept.items() if data is not None})


@pytest.mark.parametrize(
    "files",
    [
        {f"{INNER}/SKILL.md": text("inner", "two")},
        {f"{INNER}/references/a.md": b"x"},
        {f"{INNER}/references/new.md": b"x"},
        {f"{INNER}/references/a.md": None},
        {"new/SKILL.md": text("new", "one")},
        {f"{INNER}/SKILL.md": None},
    ],
)
async def test_a_skill_inside_is_not_edited_as_part_of_the_outer_one(
    folder: Path, files: dict[str, bytes | None]
) -> None:
    history = skill_at(folder, "outer")
    base = await history.base()
    change = a_change(changed(await history.read(base), files))
    path = next(iter(files))
    inner = path.split("/references")[0].removesuffix("/SKILL.md")
    with pytest.raises(RepositoryError, match=f"^skills/outer/{path} belongs to the skill skills/outer/{inner}, "):
        await history.commit_edits(base, [change], 100)
    assert await history.base() == base


async def test_the_optimizer_cannot_edit_a_skill_inside(folder: Path) -> None:
    skill = await skill_at(folder, "outer").read("HEAD")
    edit = Edit(Op.APPEND, content="- two", file=f"{INNER}/SKILL.md")
    applied = apply(skill, [edit], EditLimits(budget=1, editable=("**/*.md",)))
    assert [row.status for row in applied.report.rows] == [EditStatus.NOT_EDITABLE]
    assert applied.result == skill
