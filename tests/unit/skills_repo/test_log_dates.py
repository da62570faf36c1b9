"""Commits whose date is none: somebody's tool made them, and the log must still be read."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from skills_repo.git import Git
from skills_repo.log import read_log
from tests.support.skills import a_repository, git


@pytest.mark.parametrize("author", ["A <a@b>", "", "A <a@b> 99999999999999999999 +0000", "A <a@b> x y"])
def test_a_commit_without_a_date_is_read_as_of_the_beginning(tmp_path: Path, author: str) -> None:
    folder = a_repository(tmp_path)
    tree = git(folder, "rev-parse", "HEAD^{tree}").strip()
    raw = f"tree {tree}\nauthor {author}\ncommitter {author}\n\nsubject\n".encode()
    argv = ["git", "-c", "safe.directory=*", "hash-object", "-t", "commit", "-w", "--stdin", "--literally"]
    made = subprocess.run(argv, cwd=folder, input=raw, capture_output=True, check=True)
    (commit,) = read_log(Git(folder), made.stdout.decode().strip(), ".", 5)
    assert (commit.when, commit.subject) == (0.0, "subject")
