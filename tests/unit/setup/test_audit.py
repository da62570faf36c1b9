"""What the audit of `make check` makes of pip-audit's report and of the ignore list."""

from __future__ import annotations

import datetime
import importlib.util
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
TODAY = datetime.date(2026, 11, 30)
HOLE = {"id": "PYSEC-1", "aliases": ["GHSA-a"], "fix_versions": ["2.0"]}
REPORT: dict[str, Any] = {
    "dependencies": [
        {"name": "good", "version": "1", "vulns": []},
        {"name": "bad", "version": "1", "vulns": [HOLE]},
        {"name": "own", "skip_reason": "not known"},
    ]
}
ENTRY = {"id": "GHSA-a", "package": "bad", "reason": "never called", "until": TODAY}


@pytest.fixture(scope="module")
def audit() -> ModuleType:
    spec = importlib.util.spec_from_file_location("audit", ROOT / "scripts" / "audit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_known_vulnerability_fails_with_its_names_and_the_version_that_mends_it(audit: ModuleType) -> None:
    assert audit.faults(REPORT, [], TODAY) == ["bad 1: GHSA-a PYSEC-1; mended in 2.0"]
    assert audit.unasked(REPORT) == ["own"]


def test_one_that_was_looked_at_is_ignored_until_its_date(audit: ModuleType) -> None:
    assert audit.faults(REPORT, [ENTRY], TODAY) == []
    assert audit.faults(REPORT, [{**ENTRY, "package": "other"}], TODAY) != []
    [late] = audit.faults(REPORT, [ENTRY], TODAY + datetime.timedelta(days=1))
    assert "look again" in late


@pytest.mark.parametrize("key", ["id", "package", "reason", "until"])
def test_an_entry_says_why_and_until_when(audit: ModuleType, key: str) -> None:
    entry = {name: value for name, value in ENTRY.items() if name != key}
    assert any("needs id, package, reason and until" in fault for fault in audit.faults(REPORT, [entry], TODAY))


def test_without_a_way_to_the_tool_it_says_so_and_passes(
    audit: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def unreachable() -> None:
        raise audit.NotAskedError("no network")

    monkeypatch.setattr(audit, "ask", unreachable)
    monkeypatch.setattr(audit, "STAMP", tmp_path / "stamp")
    assert audit.main() == 0
    assert "NOT audited: no network" in capsys.readouterr().out
    monkeypatch.setattr(audit, "ask", lambda: REPORT)
    monkeypatch.setattr(audit, "STAMP", tmp_path / "other")
    assert audit.main() == 1
    assert not (tmp_path / "other").exists()


def test_the_ignore_list_of_this_tree_can_be_read() -> None:
    assert isinstance(tomllib.loads((ROOT / "requirements" / "audit-ignore.toml").read_text()).get("ignore", []), list)
