"""`make check`'s own script: it finds what it is there to find, and nothing in this tree."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def check() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_tree", ROOT / "scripts" / "check_tree.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


HASHED = "aiohttp==3.14.5 \\\n    --hash=sha256:ab \\\n    --hash=sha256:cd\n    # via honed\n"


def test_this_trees_requirements_are_in_step(check: ModuleType) -> None:
    assert check.requirement_faults(ROOT) == []


@pytest.mark.parametrize("name", ["runtime", "dev", "uv", "build", "alfworld"])
def test_every_locked_requirement_is_hashed(check: ModuleType, name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text("utf-8")
    assert check.lock_faults(name, text) == []
    assert check.locked(text)


def test_a_good_lock(check: ModuleType) -> None:
    assert check.lock_faults("x", HASHED) == []
    assert check.locked(HASHED) == {"aiohttp": "3.14.5"}


@pytest.mark.parametrize(
    "bad",
    [
        "aiohttp==3.14.5\n",
        "aiohttp>=3 \\\n    --hash=sha256:ab\n",
        "--index-url https://mirror.example/simple\n" + HASHED,
        "--extra-index-url file:///x\n" + HASHED,
        "--find-links /x\n" + HASHED,
        "aiohttp @ file:///x.whl \\\n    --hash=sha256:ab\n",
    ],
)
def test_faulty_locks(check: ModuleType, bad: str) -> None:
    assert check.lock_faults("x", bad) != []


def test_a_requirement_that_is_not_locked_or_too_old(check: ModuleType) -> None:
    assert check.step_faults(["aiohttp>=3.11"], "x", {"aiohttp": "3.14.5"}) == []
    assert check.step_faults(["aiohttp>=4"], "x", {"aiohttp": "3.14.5"}) != []
    assert check.step_faults(["Some.Thing"], "x", {"some-thing": "1"}) == []
    assert check.step_faults(["missing"], "x", {}) != []


def test_locks_that_are_installed_together_agree(check: ModuleType) -> None:
    dev = {"a": "1", "b": "2"}
    assert check.differing({"a": "1"}, dev) == []
    assert check.differing({"b": "3", "a": "2", "c": "1"}, dev) == ["a", "b", "c"]
    assert check.differing({"b": "2", "c": "1"}, dev, on_top=True) == []
    assert check.differing({"b": "3", "c": "1"}, dev, on_top=True) == ["b"]


def test_npm_locks(check: ModuleType) -> None:
    good = {"packages": {"": {"name": "x"}, "node_modules/a": {"integrity": "sha512-x"}}}
    assert check.npm_faults("x", json.dumps(good)) == []
    bad = {"packages": {"": {}, "node_modules/a": {"resolved": "x"}}}
    assert len(check.npm_faults("x", json.dumps(bad))) == 2


def test_paths_of_this_machine(check: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    (tmp_path / "good").write_text("/tmp/x /home/agent")
    (tmp_path / "bad").write_text(f"see {tmp_path}/x")
    (tmp_path / "worse").write_text("/home/somebody/.cache")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    faults = check.path_faults(tmp_path, ["good", "bad", "worse", "binary", "gone"])
    assert [fault.split(":")[0] for fault in faults] == ["bad", "worse"]
