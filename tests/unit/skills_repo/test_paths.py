"""Names that git, the CLIs or another file system would mishandle are refused, with the reason and the path."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from skills_repo.paths import collision, inner_skill, wrong_path
from skills_repo.skill import SkillError
from tests.support.skills import SKILL_PATH, a_repository, git, history_of

NFC, NFD = "caf\u00e9.md", "cafe\u0301.md"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("", "not a plain path"),
        ("/abs.md", "not a plain path"),
        ("a//b.md", "not a plain path"),
        ("a/./b.md", "not a plain path"),
        ("../b.md", "not a plain path"),
        ("a/..", "not a plain path"),
        (".git", "git keeps the name .git for itself"),
        ("a/.GIT/config", "git keeps the name .GIT for itself"),
        (".git .", "git keeps"),
        (".git::$INDEX_ALLOCATION", "git keeps"),
        ("GIT~1", "git keeps"),
        (".g\u200cit", "character that nobody sees .U\\+200C"),
        ("a\\b", "backslash"),
        ("notes.", "ends with a dot or a blank"),
        ("notes /a.md", "ends with a dot or a blank"),
        ("con", "con is a device on Windows"),
        ("references/AUX.md", "AUX.md is a device on Windows"),
        ("lpt1 .txt", "device on Windows"),
        ("COM0.tar.gz", "device on Windows"),
        ("a\nb", "has a line end or a tab"),
        ("a\tb", "has a line end or a tab"),
        ("\x1b[31m", "nobody sees .U\\+001B"),
        ("evil\u202efdp.md", "nobody sees .U\\+202E"),
        ("a" * 256, "256 bytes, file systems take at most 255"),
        ("\u4e2d" * 86, "258 bytes"),
        ("/".join(["abcdefghij"] * 92), "1011 bytes, at most 1000"),
        (b"latin-\xe9".decode("utf-8", "surrogateescape"), "not UTF-8"),
    ],
)
def test_a_name_that_somebody_would_mishandle_has_a_reason(path: str, why: str) -> None:
    assert re.search(why, wrong_path(path))


@pytest.mark.parametrize(
    "path",
    [
        "SKILL.md",
        "references/two words.md",
        f"assets/{NFC}",
        f"assets/{NFD}",
        "assets/\u4e2d\u6587.png",
        "assets/\u26a0\ufe0f.md",
        ".gitignore",
        ".gitattributes",
        "scripts/-rf",
        "consul.md",
        "a.con",
        "com10",
        "a" * 255,
        "scripts/.hidden",
        "what?.md",
    ],
)
def test_a_plain_name_is_fine(path: str) -> None:
    assert wrong_path(path) == ""


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        (["a.md", "b.md"], None),
        (["refs/a.md", "Refs/b.md"], None),  # two folders that become one hold different files all the same
        (["a.md", "A.md"], ("a.md", "A.md", "in letter case")),
        ([NFC, NFD], (NFC, NFD, "in how its letters are composed")),
        (["refs/a.md", "Refs/A.md"], ("refs/a.md", "Refs/A.md", "in letter case")),
        (["docs/a.md", "Docs"], ("docs", "Docs", "in letter case")),
        (["\u00c9.md", "e\u0301.md"], ("\u00c9.md", "e\u0301.md", "in letter case")),
    ],
)
def test_two_names_that_are_one_elsewhere_are_found(paths: list[str], found: tuple[str, str, str] | None) -> None:
    assert collision(paths) == found
    assert collision(reversed(paths)) == found


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("con.md", r'"con.md": con.md is a device on Windows \(rename or remove it\)'),
        ("x /a", r'"x /a": its name ends with a dot'),
        ("Skill.MD", r'"Skill.MD": differs from "SKILL.md" only in letter case|differs from "Skill.MD"'),
        ("git~1", r'"git~1": git keeps the name'),
    ],
)
async def test_a_commit_that_holds_such_a_name_is_refused_with_its_path(tmp_path: Path, name: str, said: str) -> None:
    folder = a_repository(tmp_path / "r")
    oid = git(folder, "rev-parse", "HEAD:README.md").strip()
    setting = ("-c", "core.protectNTFS=false")
    git(folder, *setting, "update-index", "--add", "--cacheinfo", f"100644,{oid},{SKILL_PATH}/{name}")
    git(folder, *setting, "commit", "-qm", "Odd")
    with pytest.raises(SkillError, match=said) as raised:
        await history_of(folder).read("HEAD")
    assert str(raised.value).startswith(SKILL_PATH)


@pytest.mark.parametrize(
    ("path", "inner"),
    [
        ("SKILL.md", ""),
        ("sub/a.md", ""),
        ("sub/b/SKILL.md", "sub/b"),
        ("sub/b/references/x.md", "sub/b"),
        ("sub/b/c/SKILL.md", "sub/b"),
        ("sub/bc/x.md", ""),
        ("new/SKILL.md", ""),
    ],
)
def test_a_file_of_an_inner_skill_is_told(path: str, inner: str) -> None:
    files = ["SKILL.md", "sub/a.md", "sub/b/SKILL.md", "sub/b/references/x.md", "sub/b/c/SKILL.md", "sub/bc/x.md"]
    assert inner_skill(path, files) == inner


@pytest.mark.timeout(10)
@pytest.mark.parametrize("path", ["/etc/passwd", "/", "//a/b", "///", "a//b"])
def test_an_absolute_path_lies_in_no_skill_inside_and_the_search_ends(path: str) -> None:
    assert inner_skill(path, ["SKILL.md", path]) == ""
    assert collision(["SKILL.md", path]) is None
