"""What is refused of a repository, each with one plain line that says how to mend it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from skills_repo.history import RepositoryError
from skills_repo.repository import SkillRepository
from skills_repo.skill import SkillError
from tests.support.skills import HONED, SKILL_PATH, a_change, a_repository, a_skill, git, history_of, lay, skill_text

NEW = a_skill("\n- new\n")


async def test_a_symbolic_link_inside_the_skill_is_read_and_kept(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "r", a_skill(references__a_md=b"text"))
    (folder / SKILL_PATH / "alias.md").symlink_to("references/a_md")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Link")
    history = history_of(folder)
    read = await history.read("HEAD")
    assert read.files["alias.md"] == b"text"
    (made,) = await history.commit_edits(await history.base(), [a_change(read.with_text(NEW.text))], 100)
    assert git(folder, "ls-tree", made, f"{SKILL_PATH}/alias.md").startswith("120000")


@pytest.mark.parametrize(
    "target", ["/etc/passwd", "../../notes.txt", "../other/SKILL.md", "nothing", "loop", "references"]
)
async def test_a_link_that_leaves_the_skill_is_refused(tmp_path: Path, target: str) -> None:
    folder = a_repository(tmp_path / "r", a_skill(references__a_md=b"text"))
    (folder / SKILL_PATH / "loop").symlink_to(target)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Link")
    with pytest.raises(SkillError, match=f"^{SKILL_PATH}/loop: is a link that leaves the skill"):
        await history_of(folder).read("HEAD")


async def test_a_submodule_is_refused(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "r")
    head = git(folder, "rev-parse", "HEAD").strip()
    git(folder, "update-index", "--add", "--cacheinfo", f"160000,{head},{SKILL_PATH}/vendor")
    git(folder, "commit", "-qm", "Vendor")
    with pytest.raises(SkillError, match="vendor: is a submodule"):
        await history_of(folder).read("HEAD")


@pytest.mark.parametrize("name", ["a\nb", "back\\slash", "\x1b[31m", b"latin-\xe9".decode("utf-8", "surrogateescape")])
async def test_an_odd_file_name_is_refused_in_one_plain_line(tmp_path: Path, name: str) -> None:
    folder = a_repository(tmp_path / "r")
    lay(folder / SKILL_PATH, {name: b"x"})
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Odd")
    with pytest.raises(SkillError, match="rename") as raised:
        await history_of(folder).read("HEAD")
    assert str(raised.value).isprintable()


def _no_repository(folder: Path) -> None:
    folder.mkdir()


def _unborn(folder: Path) -> None:
    folder.mkdir()
    git(folder, "init", "-q")


def _inside(folder: Path) -> None:
    a_repository(folder.parent)
    folder.mkdir()


def _without_the_skill(folder: Path) -> None:
    a_repository(folder)
    git(folder, "rm", "-rq", SKILL_PATH)
    git(folder, "commit", "-qm", "Remove")


def _damaged(folder: Path) -> None:
    a_repository(folder)
    oid = git(folder, "rev-parse", f"HEAD:{SKILL_PATH}/SKILL.md").strip()
    (folder / ".git/objects" / oid[:2] / oid[2:]).unlink()


@pytest.mark.parametrize(
    ("prepare", "said"),
    [
        (lambda _: None, r"no such folder: .*\(check \[skill\] repository\)"),
        (_no_repository, r"is not a git repository \(run `git init` there\)"),
        (_unborn, r"has no commits yet \(commit the skill first\)"),
        (_inside, r"is inside the repository .*\(name that in \[skill\] repository\)"),
        (
            _without_the_skill,
            rf"there is no folder {SKILL_PATH} at [0-9a-f]{{12}} \(commit it, or mend \[skill\] path\)",
        ),
        (_damaged, r"is missing|git fsck"),
    ],
)
async def test_what_cannot_be_read_is_named_with_its_remedy(
    tmp_path: Path, prepare: Callable[[Path], None], said: str
) -> None:
    folder = tmp_path / "top" / "r"
    folder.parent.mkdir()
    prepare(folder)
    with pytest.raises(RepositoryError, match=said) as raised:
        await history_of(folder).read("HEAD")
    assert "\n" not in str(raised.value)


async def test_a_path_that_goes_through_a_link_or_a_submodule_is_told_where_it_leads(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "r")
    (folder / ".claude").mkdir()
    (folder / ".claude/skills").symlink_to("../team/skills")
    git(folder, "add", "-A")
    head = git(folder, "rev-parse", "HEAD").strip()
    git(folder, "update-index", "--add", "--cacheinfo", f"160000,{head},vendor")
    git(folder, "commit", "-qm", "Ways to the skill")
    through = SkillRepository(folder, ".claude/skills/xlsx", author=HONED)
    with pytest.raises(RepositoryError, match=rf"is a link to \.\./team/skills \(write {SKILL_PATH} in \[skill\] path"):
        await through.read("HEAD")
    inside = SkillRepository(folder, "vendor/skills/xlsx", author=HONED)
    with pytest.raises(RepositoryError, match=r"is a submodule.*name vendor in .*, and skills/xlsx in \[skill\] path"):
        await inside.read("HEAD")


async def test_a_folder_that_only_head_has_is_told(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "r")
    git(folder, "branch", "honed/new")
    lay(folder / "team/skills/new", {"SKILL.md": skill_text("\n- one\n", name="new").encode()})
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "A new skill")
    history = SkillRepository(folder, "team/skills/new", author=HONED)
    assert await history.read("HEAD")
    with pytest.raises(RepositoryError, match=r"on branch honed/new, .*but on HEAD \(merge HEAD into it"):
        await history.read(await history.base())


async def test_a_partial_clone_whose_remote_is_gone_says_so(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "r")
    git(folder, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", "--no-checkout", f"file://{folder}", str(tmp_path / "part"))
    folder.rename(tmp_path / "gone")
    with pytest.raises(RepositoryError, match=rf"partial clone.*`git log .* -- {SKILL_PATH} > /dev/null`"):
        await history_of(tmp_path / "part").read("HEAD")


@pytest.mark.parametrize(
    "path", ["", ".", "/abs/skill", "../skill", "a/../b", "a//b", "skills/Bad_Name", "-x", ".git/x"]
)
def test_a_path_that_is_no_skill_folder_is_refused_at_once(tmp_path: Path, path: str) -> None:
    with pytest.raises(RepositoryError, match=r"mend \[skill\] path|rename the folder"):
        SkillRepository(tmp_path, path, author=HONED)


@pytest.mark.parametrize(
    "ref", ["--all", "-x", "main", "HEAD~1", "refs/heads/a..b", "@", "", "a" * 39, "refs/heads/x\ny"]
)
async def test_only_full_ids_and_ref_names_reach_git(tmp_path: Path, ref: str) -> None:
    with pytest.raises(RepositoryError, match="neither a full commit id nor a full ref name"):
        await history_of(a_repository(tmp_path / "r")).read(ref)


async def test_a_branch_named_honed_is_in_the_way_and_named(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "r")
    git(folder, "branch", "honed")
    history = history_of(folder)
    with pytest.raises(RepositoryError, match=r"honed/xlsx cannot be written: .*\(rename the branch `honed`\)"):
        await history.commit_edits(await history.base(), [a_change(NEW)], 100)


async def test_git_that_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history = history_of(a_repository(tmp_path / "r"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RepositoryError, match="git is not installed"):
        await history.base()
