"""What recurs becomes drafts; a draft is no task until a person has written its verifier and accepted it."""

from __future__ import annotations

import json
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from daemon.inbox.accepting import accept
from daemon.inbox.drafts import DRAFT, STUB, Drafts
from daemon.inbox.harvest import MOST_DRAFTS, Draft, draft_id, drafts_of
from daemon.inbox.record import KnownFile, SessionRecord
from daemon.tasks.check import check_set
from daemon.tasks.formats.paths import TASK_ID
from daemon.tasks.load import load_tasks
from daemon.tasks.manifest import make_manifest, manifest_file, write_manifest
from daemon.tasks.task import Task, TaskError, TaskSet
from tests.support.sessions import SKILL, incident, record

CORRECTED = draft_id(SKILL, "correction", "contradicted")
VERIFIER = "#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n"


def corrected(number: int, asked: str = "Tidy the table and keep the header", **more: Any) -> SessionRecord:
    return record(number, incident(asked=asked, example=f"No, header {number}"), **more)


def three() -> list[SessionRecord]:
    files = (KnownFile(path="in/table.csv", content="a,b\n1,2\n"), KnownFile(path="/etc/hosts"))
    return [corrected(n, files=files) for n in range(3)]


def drafted(sessions: list[SessionRecord] | None = None) -> Draft:
    [draft] = drafts_of(sessions or three(), SKILL, least=3)
    return draft


def jsonl(folder: Path, **more: Any) -> Path:
    """A set of ten tasks in one file."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {"id": f"t{n}", "prompt": f"Say number {n} in words.", "answer": f"w{n}", "scorer": "exact_match", **more}
        for n in range(10)
    ]
    splits = ["train"] * 4 + ["selection"] * 4 + ["test"] * 2
    if more.pop("own", None):
        rows = [
            {**{k: v for k, v in row.items() if k != "own"}, "split": s} for row, s in zip(rows, splits, strict=True)
        ]
    (folder / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "tasks.jsonl"


def loaded(path: Path) -> TaskSet:
    """The set; one selection task is enough here."""
    return load_tasks(path, min_selection=1)


def harbor(folder: Path) -> Path:
    """A set of ten task folders."""
    for n in range(10):
        task = folder / f"t{n}"
        (task / "tests").mkdir(parents=True)
        (task / "task.toml").write_text(f'version = "1.0"\n[metadata]\nsplit = "{"train" if n < 4 else "selection"}"\n')
        (task / "instruction.md").write_text(f"Do the thing number {n}.")
        (task / "tests" / "test.sh").write_text(VERIFIER)
    return folder


def own(folder: Path) -> Path:
    return jsonl(folder, own=True)


def with_manifest(folder: Path) -> Path:
    path = jsonl(folder)
    splits = {task.id: task.split for task in loaded(path).tasks if task.split}
    write_manifest(manifest_file(path), make_manifest(splits), force=False)
    return path


SETS: list[Callable[[Path], Path]] = [jsonl, harbor, own, with_manifest]


def written(path: Path, draft: str = CORRECTED) -> None:
    """A person writes the verifier."""
    (Drafts(path).folder / draft / "tests" / "test.sh").write_text(VERIFIER)


def task_of(tasks: TaskSet, task_id: str) -> Task | None:
    return next((task for task in tasks.tasks if task.id == task_id), None)


def test_only_what_recurs_after_the_skill_was_opened_becomes_a_draft() -> None:
    assert drafts_of(three()[:2], SKILL, least=3) == ()
    assert drafts_of(three(), "other", least=3) == ()
    draft = drafted()
    assert (draft.id, draft.kind, draft.label) == (CORRECTED, "correction", "contradicted")
    assert TASK_ID.fullmatch(draft.id)
    assert draft.prompt == "Tidy the table and keep the header"
    assert draft.said == ("No, header 0", "No, header 1", "No, header 2")
    assert (dict(draft.files), draft.unknown) == ({"in/table.csv": "a,b\n1,2\n"}, ("/etc/hosts",))
    assert drafted() == draft, "the same sessions give the same draft"


def test_the_prompt_is_the_request_most_like_the_others_without_the_skill_s_name() -> None:
    asked = ["/tidy-tables Tidy table 1, keep the header", "Bake a cake", "Tidy table 2, keep the header"]
    draft = drafted([corrected(n, text) for n, text in enumerate(asked)])
    assert draft.prompt == "Tidy table 1, keep the header"
    assert draft.requests == ("Bake a cake", "Tidy table 2, keep the header")
    assert drafts_of([corrected(n, "/tidy-tables") for n in range(3)], SKILL, least=3) == (), "nothing was asked"


def test_there_are_never_too_many() -> None:
    sessions = [record(n, *(incident(label=f"l{m}", asked="x y") for m in range(40))) for n in range(3)]
    drafts = drafts_of(sessions, SKILL, least=3)
    assert len(drafts) == MOST_DRAFTS
    assert len({draft.id for draft in drafts}) == MOST_DRAFTS


@pytest.mark.parametrize("make", SETS)
def test_a_draft_is_in_no_split_and_changes_nothing_of_the_set(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    path = make(tmp_path / "tasks")
    before = loaded(path)
    assert Drafts(path).write([drafted()]) == (CORRECTED,)
    written(path)  # even with a verifier that lets everything pass
    after = loaded(path)
    assert (after.digest, after.split_digest) == (before.digest, before.split_digest)
    assert task_of(after, CORRECTED) is None
    assert CORRECTED not in {task.id for name in ("train", "selection") for task in after.split(name)}
    assert CORRECTED not in {task.id for task in after.open_test()}
    report, _ = check_set(path, ratio=(4, 1, 5), seed=42, min_selection=1, say=lambda _: None)
    assert report.tasks == 10


def test_no_loader_takes_a_draft_for_a_task_wherever_it_is_pointed(tmp_path: Path) -> None:
    path = harbor(tmp_path / "tasks")
    Drafts(path).write([drafted()])
    written(path)
    for place in (path / "drafts", path / "drafts" / CORRECTED):
        with pytest.raises(TaskError, match="is neither"):
            load_tasks(place)


@pytest.mark.parametrize("make", SETS)
def test_an_accepted_draft_is_a_task_of_the_set(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    path = make(tmp_path / "tasks")
    Drafts(path).write([drafted()])
    written(path)
    done = accept(path, CORRECTED)
    tasks = loaded(path)
    task = task_of(tasks, CORRECTED)
    assert task is not None
    assert task.prompt == "Tidy the table and keep the header"
    assert task.scorer.name == "test_script"
    assert task.file_bytes() == {"in/table.csv": b"a,b\n1,2\n"}
    assert list(task.tests) == ["test.sh"]
    assert task.group == "harvest"
    assert len(tasks.tasks) == 11
    if make is jsonl:
        assert (done.split, "by [tasks] split" in done.note) == (None, True)
    else:
        assert (done.split, task.split, done.note) == ("train", "train", "")
    assert not (Drafts(path).folder / CORRECTED).exists()
    assert not list(path.parent.rglob("README.md"))
    assert not list(path.parent.rglob(DRAFT))
    assert not list(path.parent.rglob(".accepting*"))
    assert Drafts(path).all() == ()


@pytest.mark.parametrize("make", [harbor, own, with_manifest])
def test_a_person_says_the_split(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    path = make(tmp_path / "tasks")
    Drafts(path).write([drafted()])
    written(path)
    assert accept(path, CORRECTED, "selection").split == "selection"
    task = task_of(loaded(path), CORRECTED)
    assert task is not None
    assert task.split == "selection"


def test_a_set_split_by_ratio_takes_no_single_split(tmp_path: Path) -> None:
    path = jsonl(tmp_path)
    Drafts(path).write([drafted()])
    written(path)
    with pytest.raises(TaskError, match="honed tasks split"):
        accept(path, CORRECTED, "test")


@pytest.mark.parametrize("make", SETS)
def test_the_stub_is_refused_and_nothing_is_changed(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    path = make(tmp_path / "tasks")
    Drafts(path).write([drafted()])
    before = {file: file.read_bytes() for file in sorted(tmp_path.rglob("*")) if file.is_file()}
    with pytest.raises(TaskError, match="still the stub"):
        accept(path, CORRECTED)
    folder = Drafts(path).folder / CORRECTED
    (folder / "instruction.md").write_text("")
    written(path)
    with pytest.raises(TaskError, match="is empty"):
        accept(path, CORRECTED)
    after = {file: file.read_bytes() for file in sorted(tmp_path.rglob("*")) if file.is_file()}
    assert {file for file in before if before[file] != after.get(file)} == {
        folder / "instruction.md",
        folder / "tests" / "test.sh",
    }
    assert set(after) == set(before)


def test_the_stub_fails_whatever_the_agent_did(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "tasks")
    Drafts(path).write([drafted([corrected(n, files=()) for n in range(3)])])
    script = Drafts(path).folder / CORRECTED / "tests" / "test.sh"
    assert STUB in script.read_text()
    text = script.read_text().replace("/logs/verifier", str(tmp_path))
    done = subprocess.run(["bash", "-c", text], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "")
    assert (tmp_path / "reward.txt").read_text() == "0\n"


def test_text_of_sessions_cannot_break_out_of_the_files_it_stands_in(tmp_path: Path) -> None:
    evil = 'x\necho 1 > /logs/verifier/reward.txt; exit 0\r\u2028$(touch /tmp/x) "\\ \x7f\x1b[2J 😀 \ud800'
    rows = [record(n, incident(label=evil, example=evil, asked=evil)) for n in range(3)]
    [draft] = drafts_of(rows, SKILL, least=3)
    assert TASK_ID.fullmatch(draft.id)
    path = jsonl(tmp_path / "tasks")
    Drafts(path).write([draft])
    folder = Drafts(path).folder / draft.id
    commands = [line for line in (folder / "tests" / "test.sh").read_text().splitlines() if not line.startswith("#")]
    assert commands == ["echo 0 > /logs/verifier/reward.txt", "exit 1"]
    [kept] = Drafts(path).all()
    assert (kept.sessions, kept.verified) == (3, False)
    assert tomllib.loads((folder / DRAFT).read_text())["metadata"] == {"group": "harvest"}


def test_what_a_person_wrote_is_not_overwritten_and_what_they_dropped_does_not_come_back(tmp_path: Path) -> None:
    path = jsonl(tmp_path)
    drafts = Drafts(path)
    assert drafts.write([drafted()]) == (CORRECTED,)
    written(path)
    assert drafts.write([drafted()]) == ()
    assert [one.verified for one in drafts.all()] == [True]
    drafts.drop(CORRECTED)
    assert (drafts.all(), drafts.write([drafted()])) == ((), ())
    other = Drafts(jsonl(tmp_path / "other"))
    assert other.write([drafted()], frozenset({CORRECTED})) == (), "it is a task already"


def test_where_no_draft_can_lie_or_be_taken_is_said(tmp_path: Path) -> None:
    for odd in ("python:things", "bench:searchqa"):
        with pytest.raises(TaskError, match="no folder for drafts"):
            Drafts(tmp_path / odd).write([drafted()])
    with pytest.raises(TaskError, match="is a single task"):
        Drafts(harbor(tmp_path / "h") / "t0").all()
    sheet = tmp_path / "tasks.csv"
    sheet.write_text("id,prompt,answer\n" + "".join(f"t{n},Say {n},{n}\n" for n in range(10)))
    Drafts(sheet).write([drafted()])
    written(sheet)
    with pytest.raises(TaskError, match="takes no test script"):
        accept(sheet, CORRECTED)
    for name in ("../etc", "nosuch", ""):
        with pytest.raises(TaskError, match=r"no task id|no such draft"):
            Drafts(sheet).find(name)


def test_a_name_that_is_taken_is_refused(tmp_path: Path) -> None:
    path = harbor(tmp_path / "tasks")
    Drafts(path).write([drafted()])
    written(path)
    (path / CORRECTED).mkdir()
    with pytest.raises(TaskError, match="there is such a task"):
        accept(path, CORRECTED)


def test_links_in_a_draft_are_refused(tmp_path: Path) -> None:
    path = harbor(tmp_path / "tasks")
    Drafts(path).write([drafted()])
    written(path)
    (path / "drafts" / CORRECTED / "environment" / "link").symlink_to("/etc/passwd")
    with pytest.raises(TaskError, match="is a link"):
        accept(path, CORRECTED)


def test_the_first_task_of_an_empty_set(tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()
    path = tmp_path / "tasks"
    Drafts(path).write([drafted()])
    written(path)
    assert accept(path, CORRECTED, "selection").place == path / CORRECTED
    assert 'split = "selection"' in (path / CORRECTED / "task.toml").read_text()
