"""Real `git bisect` beside the real repository, which sees nothing of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from skills_repo.bisect import Bisection
from skills_repo.history import RepositoryError
from skills_repo.repository import SkillRepository
from tests.support.history import change, step_message, with_lines
from tests.support.skills import SKILL_PATH, a_repository, git, history_of, lay


async def grown(folder: Path, steps: int = 8) -> tuple[SkillRepository, list[str]]:
    """The base and so many edits, with a commit beside the skill between them."""
    history = history_of(folder)
    base = await history.base()
    edits = [change(with_lines(f"- {n}"), step_message(step=n)) for n in range(1, steps + 1)]
    return history, [base, *await history.commit_edits(base, edits, 1_000)]


def held(folder: Path) -> dict[str, bytes]:
    """Every file of the repository."""
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def searched(search: Bisection, bad: set[str], skipped: set[str] = frozenset()) -> list[str]:  # type: ignore[assignment]
    """Answer until the end; returns what was asked."""
    asked: list[str] = []
    while (commit := search.asks) is not None:
        asked.append(commit)
        assert len(asked) < 20
        search.say("skip" if commit in skipped else "bad" if commit in bad else "good")
    return asked


@pytest.mark.parametrize("first", range(1, 9))
async def test_the_first_bad_commit_is_found_in_few_looks(tmp_path: Path, first: int) -> None:
    folder = a_repository(tmp_path / "r")
    history, commits = await grown(folder)
    before = held(folder)
    with history.bisection(commits[0], commits[-1]) as search:
        asked = searched(search, set(commits[first:]))
        assert search.found == (commits[first],)
    assert len(asked) <= 3
    assert set(asked) <= set(commits[1:-1])
    assert held(folder) == before


async def test_what_is_skipped_leaves_several(tmp_path: Path) -> None:
    history, commits = await grown(a_repository(tmp_path / "r"), 4)
    with history.bisection(commits[0], commits[-1]) as search:
        searched(search, set(commits[2:]), set(commits[1:-1]))
        assert set(search.found) == set(commits[1:])


async def test_neighbours_need_no_look(tmp_path: Path) -> None:
    history, commits = await grown(a_repository(tmp_path / "r"), 1)
    with history.bisection(*commits) as search:
        assert search.asks is None
        assert search.found == (commits[1],)


async def test_commits_beside_the_skill_are_not_asked_about(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "r")
    commits = [git(folder, "rev-parse", "HEAD").strip()]
    for number in range(6):
        skill = number % 2 == 0
        lay(folder, {f"{SKILL_PATH}/notes.md" if skill else "README.md": f"{number}".encode()})
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", f"Change {number}")
        commits.append(git(folder, "rev-parse", "HEAD").strip())
    with history_of(folder).bisection(commits[0], commits[-1]) as search:
        asked = searched(search, set(commits[5:]))
        assert search.found == (commits[5],)
    assert set(asked) <= {commits[1], commits[3], commits[5]}


@pytest.mark.parametrize("kind", ["sha256", "linked", "bare"])
async def test_other_kinds_of_repositories(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "r"
    if kind == "sha256":
        folder.mkdir()
        git(folder, "init", "-q", "--object-format=sha256")
    a_repository(folder)
    where = tmp_path / "other"
    if kind == "linked":
        git(folder, "worktree", "add", "-q", "--detach", str(where))
    elif kind == "bare":
        git(folder, "clone", "-q", "--bare", str(folder), str(where))
    history, commits = await grown(folder if kind == "sha256" else where)
    with history.bisection(commits[0], commits[-1]) as search:
        searched(search, set(commits[3:]))
        assert search.found == (commits[3],)


async def test_a_shallow_clone_is_refused_with_the_remedy(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "r")
    lay(folder, {f"{SKILL_PATH}/notes.md": b"x"})
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "More")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{folder}", str(tmp_path / "s"))
    head = git(tmp_path / "s", "rev-parse", "HEAD").strip()
    with (
        pytest.raises(RepositoryError, match="git fetch --unshallow"),
        history_of(tmp_path / "s").bisection(head, head),
    ):
        pass
