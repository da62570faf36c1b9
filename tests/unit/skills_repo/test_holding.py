"""What `git log` is asked with: exactly the text, and never by a way that makes machine code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from skills_repo.log import holding

TEXTS = ("Honed-Run:", "r5565e187bcc2", "a.b*c", "^start$", "[set]", "back\\slash", "+?{1}|(x)")
_LOCKED = """
import ctypes, os, sys
if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0):  # PR_SET_MDWE, Linux 6.3
    sys.exit(77)
os.execvp("git", sys.argv[1:])
"""


@pytest.fixture
def messages(tmp_path: Path) -> Path:
    def git(*arguments: str) -> None:
        settings = ("-c", "user.name=a", "-c", "user.email=a@b.invalid", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *settings, *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q")
    for text in (*TEXTS, "axbc", "start", "s", "backslash", "Honed-Rum:"):
        git("commit", "-q", "--allow-empty", "--cleanup=verbatim", "-m", f"subject\n\nbefore {text} after")
    git("config", "grep.patternType", "perl")
    return tmp_path


@pytest.mark.parametrize("text", TEXTS)
def test_it_finds_the_text_and_nothing_else(messages: Path, text: str) -> None:
    done = subprocess.run(
        ["git", "log", *holding(text), "--format=%b"], cwd=messages, check=True, capture_output=True, encoding="utf-8"
    )
    assert done.stdout.split("\n")[:1] == [f"before {text} after"]
    assert done.stdout.count("before") == 1


@pytest.mark.parametrize("text", TEXTS[:2])
def test_it_needs_no_memory_that_is_written_and_run(messages: Path, text: str) -> None:
    command = [sys.executable, "-c", _LOCKED, "git", "log", *holding(text), "--format=%b"]
    done = subprocess.run(command, cwd=messages, capture_output=True, encoding="utf-8", check=False)
    if done.returncode == 77:
        pytest.skip("this kernel cannot forbid it by prctl")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"before {text} after")
