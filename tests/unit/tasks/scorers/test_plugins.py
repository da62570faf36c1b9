"""Scorers of other packages: a package on the path is usable by name, and a broken one is named."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from daemon.tasks.digest import task_digest
from daemon.tasks.load import load_tasks
from daemon.tasks.scorers.plugins import load_plugin, plugin_names
from daemon.tasks.scorers.registry import check_scorer, score_task, scorer_kind
from daemon.tasks.scorers.scorer import VerifierError
from daemon.tasks.task import TaskError
from tests.support.tasks import left, row, task_for, write_rows

MODULE = """
from daemon.tasks.scorers.scorer import Options, ScorerKind
from daemon.tasks.task import Score

class Asked(Options):
    letter: str

class Counting:
    def __init__(self, letter):
        self.letter = letter
    async def score(self, task, result):
        share = result.final_answer.count(self.letter) / len(result.final_answer)
        return Score(share, share == 1, "" if share == 1 else "not only that letter")

def check(task, options):
    if len(options.letter) != 1:
        raise ValueError("scorer.letter: give one letter")

LETTERS = ScorerKind("letters", 3, Asked, check, lambda options, context: Counting(options.letter))
NAMELESS = ScorerKind("other", 1, Asked, check, None)
UNVERSIONED = ScorerKind("unversioned", 0, Asked, check, None)
BARE = ScorerKind("bare", 1, dict, check, None)
TEXT = "no kind"
"""

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Lays packages as an installer does, and forgets them afterwards."""

    def lay(package: str, module: str = MODULE, **entries: str) -> None:
        name = f"honed_test_{package.replace('-', '_')}"
        tmp_path.joinpath(f"{name}.py").write_text(module)
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        info.joinpath("METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = "".join(f"{scorer} = {name}:{attribute}\n" for scorer, attribute in entries.items())
        info.joinpath("entry_points.txt").write_text(f"[honed.scorers]\n{lines}")
        forget()

    def forget() -> None:
        plugin_names.cache_clear()
        load_plugin.cache_clear()
        for name in [name for name in sys.modules if name.startswith("honed_test_")]:
            del sys.modules[name]

    monkeypatch.syspath_prepend(str(tmp_path))
    yield lay
    monkeypatch.undo()
    forget()


async def test_a_package_s_scorer_is_usable_by_name(install: Install, tmp_path: Path) -> None:
    install("letter-scorers", letters="LETTERS")
    scorer = {"name": "letters", "letter": "a"}
    lines = [row(f"t{n}", scorer=scorer, split="train" if n == 0 else "selection") for n in range(5)]
    loaded = load_tasks(write_rows(tmp_path / "tasks.jsonl", *lines), min_selection=1)
    task = loaded.split("train")[0]
    assert task.digest == task_digest(task, scorer_version=3)
    assert (await score_task(task, left("aab"))).value == pytest.approx(2 / 3)


def test_its_options_are_checked_like_ours(install: Install) -> None:
    install("letter-scorers", letters="LETTERS")
    with pytest.raises(TaskError, match=r"scorer\.letter: give one letter"):
        check_scorer(task_for("letters", options={"letter": "ab"}))
    with pytest.raises(TaskError, match=r"scorer\.word: .*letters takes letter"):
        check_scorer(task_for("letters", options={"letter": "a", "word": "b"}))


async def test_its_bugs_make_attempts_invalid(install: Install) -> None:
    install("letter-scorers", letters="LETTERS")
    with pytest.raises(VerifierError, match="scorer letters failed: ZeroDivisionError"):
        await score_task(task_for("letters", options={"letter": "a"}), left(""))


@pytest.mark.parametrize(
    ("module", "attribute", "complaint"),
    [
        ("import no_such_module_at_all", "X", r"cannot be loaded: ModuleNotFoundError: .*no_such_module_at_all"),
        ("raise RuntimeError('at import')", "X", "cannot be loaded: RuntimeError: at import"),
        ("class Bad(", "X", "cannot be loaded: SyntaxError"),
        (MODULE, "MISSING", "cannot be loaded: AttributeError"),
        (MODULE, "TEXT", r"is a str, not a daemon\.tasks\.scorers\.scorer\.ScorerKind"),
        (MODULE, "NAMELESS", "calls itself 'other'"),
    ],
)
def test_a_broken_package_is_named(install: Install, module: str, attribute: str, complaint: str) -> None:
    install("broken-pack", module, broken=attribute)
    where = rf"scorer: 'broken' of the package broken-pack \(honed_test_broken_pack:{attribute}\) "
    with pytest.raises(TaskError, match=where + complaint + r".*: mend or uninstall that package"):
        scorer_kind(task_for("broken").scorer)


@pytest.mark.parametrize(("name", "attribute"), [("unversioned", "UNVERSIONED"), ("bare", "BARE")])
def test_a_kind_that_is_none_is_refused(install: Install, name: str, attribute: str) -> None:
    install("broken-pack", **{name: attribute})
    with pytest.raises(TaskError, match=r"has the version 0|has options that are no subclass"):
        scorer_kind(task_for(name).scorer)


def test_a_broken_package_hurts_nobody_else(install: Install) -> None:
    install("broken-pack", "raise RuntimeError('at import')", broken="X")
    check_scorer(task_for("exact_match", "x"))
    with pytest.raises(TaskError, match=r"no scorer 'rouge': use one of anls, broken, command_checks"):
        scorer_kind(task_for("rouge").scorer)


def test_a_name_declared_twice_is_refused(install: Install) -> None:
    install("first", letters="LETTERS")
    install("second", letters="LETTERS")
    with pytest.raises(
        TaskError, match=r"'letters' is declared twice: by first \(.*\) and by second \(.*\): remove one"
    ):
        scorer_kind(task_for("letters").scorer)


def test_our_own_names_stay_ours(install: Install) -> None:
    install("first", exact_match="LETTERS")
    assert scorer_kind(task_for("exact_match").scorer).version == 1
