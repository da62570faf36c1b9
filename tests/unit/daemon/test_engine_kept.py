"""`engine = "auto"` does not take a project to a weaker engine than it has run in."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.engine_kept import FILE, keep_engine
from sandboxes.choose import Choice, Preference
from sandboxes.fake import FakeAnswer, FakeSandbox
from sandboxes.sandbox import SandboxError

DOWN = "docker is not used: the Docker engine at unix:///var/run/docker.sock does not answer"


def choice(engine: str, *reasons: str) -> Choice:
    sandbox = FakeSandbox(lambda box, command: FakeAnswer())
    sandbox.name = engine
    return Choice(sandbox, reasons)


@pytest.mark.parametrize("first", ["docker", "bubblewrap", "process"])
def test_a_project_keeps_the_engine_it_has(tmp_path: Path, first: str) -> None:
    for _ in range(2):
        keep_engine(tmp_path, "auto", choice(first))
    assert (tmp_path / FILE).read_text().strip() == first
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


@pytest.mark.parametrize(
    ("before", "now"), [("docker", "bubblewrap"), ("docker", "process"), ("bubblewrap", "process")]
)
def test_it_is_not_moved_to_a_weaker_one(tmp_path: Path, before: str, now: str) -> None:
    keep_engine(tmp_path, "auto", choice(before))
    reasons = (DOWN,) if before == "docker" else ()
    with pytest.raises(SandboxError) as raised:
        keep_engine(tmp_path, "auto", choice(now, *reasons))
    assert f'engine = "{now}" in [sandbox]' in str(raised.value)
    assert (DOWN if reasons else "bubblewrap is not used") in str(raised.value)
    assert (tmp_path / FILE).read_text().strip() == before, "it is what it was when the engine is back"


def test_a_person_may_move_it_and_auto_moves_it_back_up(tmp_path: Path) -> None:
    keep_engine(tmp_path, "auto", choice("docker"))
    preference: Preference = "bubblewrap"
    keep_engine(tmp_path, preference, choice("bubblewrap"))
    keep_engine(tmp_path, "auto", choice("bubblewrap", DOWN))
    keep_engine(tmp_path, "auto", choice("docker"))
    assert (tmp_path / FILE).read_text().strip() == "docker"


def test_a_note_that_nobody_wrote_so_says_nothing(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"\xff\x00podman")
    keep_engine(tmp_path, "auto", choice("process"))
    assert (tmp_path / FILE).read_text().strip() == "process"
