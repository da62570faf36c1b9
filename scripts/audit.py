"""`make check`: known vulnerabilities of the locked packages, by pip-audit in an environment of its own.

A vulnerability fails it, unless `requirements/audit-ignore.toml` names it with a reason and a date that has not passed.
Where pip-audit or its database cannot be reached, it says so and passes. The same locks are asked about once a day.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ("dev.txt", "uv.txt", "build.txt", "audit.txt")
IGNORE = "audit-ignore.toml"
TOOL = ROOT / ".venv" / "audit"
STAMP = ROOT / ".venv" / ".honed-audit"
INSTALL_S, ASK_S = 120, 180


class NotAskedError(Exception):
    """Nobody could be asked; the message says why."""


def faults(report: Mapping[str, Any], ignored: Sequence[Mapping[str, Any]], today: datetime.date) -> list[str]:
    """What fails the check, a line each: vulnerabilities, and entries of the ignore list that do not hold."""
    found = []
    for entry in ignored:
        name = f"requirements/{IGNORE}: {entry.get('id', 'an entry')}"
        if not all(entry.get(key) for key in ("id", "package", "reason")) or not isinstance(
            entry.get("until"), datetime.date
        ):
            found.append(f"{name} needs id, package, reason and until (a date)")
        elif entry["until"] < today:
            found.append(f"{name} was looked at to hold until {entry['until']}: look again")
    known = {(entry.get("package"), entry.get("id")) for entry in ignored}
    for package in report["dependencies"]:
        for hole in package.get("vulns", ()):
            names = {hole["id"], *hole.get("aliases", ())}
            if not any((package["name"], name) in known for name in names):
                mended = ", ".join(hole.get("fix_versions", ())) or "no version yet"
                found.append(f"{package['name']} {package['version']}: {' '.join(sorted(names))}; mended in {mended}")
    return found


def unasked(report: Mapping[str, Any]) -> list[str]:
    """The packages that the database was not asked about."""
    return sorted(package["name"] for package in report["dependencies"] if "skip_reason" in package)


def ask() -> dict[str, Any]:
    """pip-audit's report. Raises `NotAskedError`."""
    python = TOOL / "bin" / "python"
    uv = str(ROOT / ".venv" / "bin" / "uv")
    wanted = hashlib.sha256((ROOT / "requirements" / "audit.txt").read_bytes()).hexdigest()
    made = TOOL / ".honed-stamp"
    if not made.is_file() or made.read_text("utf-8") != wanted:
        _run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(TOOL)], INSTALL_S)
        locked = str(ROOT / "requirements" / "audit.txt")
        _run([uv, "pip", "install", "--quiet", "--python", str(python), "--require-hashes", "-r", locked], INSTALL_S)
        made.write_text(wanted, "utf-8")
    asked = [part for name in LOCKS for part in ("-r", str(ROOT / "requirements" / name))]
    command = [
        str(python),
        "-m",
        "pip_audit",
        "--disable-pip",
        "--require-hashes",
        "--format",
        "json",
        "--timeout",
        "10",
    ]
    done = _run([*command, "--progress-spinner", "off", *asked], ASK_S, may_fail=True)
    try:
        report: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        why = done.stderr.strip().splitlines() or ["no answer"]
        raise NotAskedError(f"pip-audit: {why[-1][:200]}") from None
    return report


def _run(command: Sequence[str], seconds: float, *, may_fail: bool = False) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=not may_fail)
    except subprocess.CalledProcessError as error:
        why = error.stderr.strip().splitlines() or ["no reason given"]
        raise NotAskedError(f"pip-audit cannot be installed: {why[-1][:200]}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotAskedError(f"pip-audit: {type(error).__name__}") from error


def main() -> int:
    """Entry point."""
    now = datetime.datetime.now(datetime.UTC)
    today, hour = now.date(), f" {now:%H} h: not reached"
    texts = [(ROOT / "requirements" / name).read_bytes() for name in (*LOCKS, IGNORE)]
    mark = f"{today.isoformat()} {hashlib.sha256(b''.join(texts)).hexdigest()}"
    known = STAMP.read_text("utf-8") if STAMP.is_file() else ""
    if known in (mark, mark + hour):
        told = "asked about today, and nothing was found" if known == mark else "NOT audited: no database this hour"
        print(f"audit: {told}")
        return 0
    ignored = tomllib.loads(texts[-1].decode()).get("ignore", [])
    try:
        report = ask()
    except NotAskedError as error:
        print(f"audit: NOT audited: {error}")
        report = {"dependencies": []}
    found = faults(report, ignored, today)
    skipped, packages = unasked(report), len(report["dependencies"])
    if skipped:
        print(
            f"audit: NOT audited: the database knows nothing of {len(skipped)} of {packages} packages ({skipped[0]}, …)"
        )
    if packages > len(skipped):
        print(f"audit: {packages - len(skipped)} packages asked about, {len(found)} faults")
    for fault in found:
        print(f"audit: {fault}")
    if not found and (not skipped or len(skipped) == packages):
        STAMP.write_text(mark if packages > len(skipped) else mark + hour, "utf-8")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
