"""What a task says of the network: read from each format, refused where it is needed, said aloud where it may be."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.tasks.check import check_set
from daemon.tasks.load import digest_of, load_tasks, read_set
from daemon.tasks.task import TaskError
from tests.support.tasks import read_harbor, read_jsonl, row, write_rows

HOSTS = "network_mode = 'allowlist'\nallowed_hosts = ['pypi.org']\n"
NO = "network_mode = 'no-network'\n"


def harbor(tmp_path: Path, toml: str) -> Path:
    folder = tmp_path / "set" / "one"
    (folder / "tests").mkdir(parents=True)
    (folder / "tests" / "test.sh").write_text("echo 1\n")
    (folder / "instruction.md").write_text("Do it.")
    (folder / "task.toml").write_text(toml)
    return folder


@pytest.mark.parametrize(
    ("toml", "network"),
    [
        ("", "allowed"),
        ("[environment]\nallow_internet = true", "allowed"),
        ("[environment]\nallow_internet = false", "none"),
        (f"[environment]\n{NO}", "none"),
        ("[environment]\nnetwork_mode = 'public'", "allowed"),
        ("[environment]\nnetwork_mode = 'allowlist'", "none"),
        (f"[environment]\n{NO}[verifier]\nnetwork_mode = 'public'", "allowed"),
        (f"[agent]\n{NO}", "allowed"),
        (f"[agent]\n{NO}[verifier]\n{NO}", "none"),
        (f"[environment]\n{HOSTS}[metadata]\nnetwork = 'none'", "none"),
        ("[environment]\nallow_internet = false\n[metadata]\nnetwork = 'required'", "required"),
    ],
)
def test_harbors_own_keys(tmp_path: Path, toml: str, network: str) -> None:
    ((_, task),) = read_harbor(harbor(tmp_path, toml))
    assert task.network == network


@pytest.mark.parametrize("table", ["environment", "agent", "verifier"])
def test_hosts_by_name_are_a_need_and_the_key_is_named(tmp_path: Path, table: str) -> None:
    folder = harbor(tmp_path, f"[{table}]\n{HOSTS}")
    with pytest.raises(TaskError) as caught:
        load_tasks(folder.parent)
    assert str(caught.value).startswith(f"{folder / 'task.toml'}: {table}.allowed_hosts: names hosts, and no box has")
    assert 'network = "none" under [metadata]' in str(caught.value)


def test_a_mode_that_harbor_does_not_know(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"environment\.network_mode: Input should be 'public', 'no-network' or"):
        read_harbor(harbor(tmp_path, "[environment]\nnetwork_mode = 'host'"))


def test_a_task_that_needs_a_network_is_refused_and_the_rest_is_read(tmp_path: Path) -> None:
    file = write_rows(tmp_path / "tasks.jsonl", row("a", network="required"), row("b", network="none"), row("c"))
    read = read_set(file)
    assert [str(fault) for fault in read.faults] == [
        f"{file}:1: network: the task needs one, and no box has any: put what it fetches into its files or image and "
        'write "none", or leave the task out'
    ]
    assert [task.id for task in read.held] == ["b", "c"]
    with pytest.raises(TaskError, match="network: the task needs one"):
        load_tasks(file)


def test_a_task_that_may_use_a_network_is_never_run_without_a_word(tmp_path: Path) -> None:
    rows = [row(f"t{number}", split="train", network="allowed") for number in range(7)]
    selection = [row(f"s{number}", split="selection") for number in range(4)]
    file = write_rows(tmp_path / "tasks.jsonl", *rows, *selection)
    (line,) = load_tasks(file).notices
    assert line.startswith("7 tasks may use a network, which no box has (t0, t1, t2, t3, t4 and 2 more): ")
    report, _ = check_set(file, ratio=(4, 1, 5), seed=42, min_selection=4, say=lambda _: None)
    assert (report.notices, report.problems) == ([line], [])


def test_what_a_task_says_of_the_network_is_in_no_digest(tmp_path: Path) -> None:
    found = read_jsonl(
        write_rows(tmp_path / "tasks.jsonl", row("a"), row("a", network="none"), row("a", network="allowed"))
    )
    assert len({digest_of(task) for _, task in found}) == 1


def test_other_words_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="network: Input should be 'none', 'allowed' or 'required'"):
        read_jsonl(write_rows(tmp_path / "tasks.jsonl", row("a", network="yes")))
