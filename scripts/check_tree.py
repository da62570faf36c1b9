"""`make check`: what must hold of the committed files besides style and types.

The locked requirements fit pyproject.toml and carry hashes; no file names an index, a resolved address or a path of the
machine it was written on. Needs no network. Prints one line a fault and exits 1 if there is any.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ("runtime", "dev", "uv", "build", "alfworld", "audit")
_PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^\s;\\]+)", re.MULTILINE)
_INDEX = re.compile(r"^\s*(--(extra-)?index-url|--find-links|-[if]) |@ *(https?|file):|https?://", re.MULTILINE)


def locked(text: str) -> dict[str, str]:
    """Package to version, of a requirements file."""
    return {canonicalize_name(name): version for name, version in _PIN.findall(text)}


def lock_faults(name: str, text: str) -> list[str]:
    """Every requirement is pinned and hashed, and no place to get it from is named."""
    faults = []
    if found := _INDEX.search(text):
        faults.append(f"{name}: names a place to get packages from: {found.group().strip()}")
    entries = (entry for entry in re.split(r"\n(?=\S)", text.strip()) if not entry.startswith("#"))
    loose = (entry for entry in entries if "--hash=sha256:" not in entry or "==" not in entry.split("\n")[0])
    return faults + [f"{name}: {entry.split()[0]} is not pinned by hash: run `make lock`" for entry in loose]


def step_faults(wanted: list[str], name: str, versions: dict[str, str]) -> list[str]:
    """Each requirement of pyproject.toml is locked at a version it allows."""
    faults = []
    for requirement in map(Requirement, wanted):
        version = versions.get(canonicalize_name(requirement.name))
        if version is None or not requirement.specifier.contains(version, prereleases=True):
            faults.append(f"{name}: {requirement} is locked at {version}: run `make lock`")
    return faults


def differing(own: dict[str, str], dev: dict[str, str], *, on_top: bool = False) -> list[str]:
    """The packages at another version than in dev.txt; what dev.txt lacks is fine in an extra that goes on top."""
    return sorted(package for package, version in own.items() if dev.get(package, version if on_top else "") != version)


def requirement_faults(root: Path) -> list[str]:
    """All requirement files against each other and pyproject.toml."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    texts = {name: (root / "requirements" / f"{name}.txt").read_text("utf-8") for name in LOCKS}
    versions = {name: locked(text) for name, text in texts.items()}
    faults = [fault for name, text in texts.items() for fault in lock_faults(f"requirements/{name}.txt", text)]
    wanted = project["dependencies"]
    faults += step_faults(wanted, "requirements/runtime.txt", versions["runtime"])
    faults += step_faults([*wanted, *project["optional-dependencies"]["dev"]], "requirements/dev.txt", versions["dev"])
    extra = project["optional-dependencies"]["alfworld"]
    faults += step_faults(extra, "requirements/alfworld.txt", versions["alfworld"])
    for name in ("runtime", "build", "alfworld"):
        others = differing(versions[name], versions["dev"], on_top=name == "alfworld")
        faults += [f"requirements/{name}.txt: {package} differs from dev.txt: run `make lock`" for package in others]
    return faults


def npm_faults(name: str, text: str) -> list[str]:
    """A package lock with integrity but without resolved addresses."""
    faults = []
    for path, entry in json.loads(text)["packages"].items():
        if "resolved" in entry:
            faults.append(f"{name}: {path} has a resolved address: npm install --package-lock-only without it")
        if path and "integrity" not in entry:
            faults.append(f"{name}: {path} has no integrity")
    return faults


def path_faults(root: Path, files: list[str]) -> list[str]:
    """No tracked text file names this checkout's folder or the home of whoever commits."""
    own = [path for path in {str(root), str(Path.home())} if path.count("/") > 1]
    faults = []
    for file in files:
        path = root / file
        text = path.read_text("utf-8", errors="ignore") if path.is_file() else ""
        faults += [f"{file}: names {one}, a folder of this machine" for one in own if one in text]
    return faults


def main() -> int:
    """Run every check on the tracked files."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    files = [name for name in listed.decode().split("\0") if name]
    faults = requirement_faults(ROOT) + path_faults(ROOT, files)
    for name in files:
        if name == "uv.lock":
            faults.append("uv.lock: names an index: the locks are requirements/*.txt")
        if name.endswith("package-lock.json"):
            faults += npm_faults(name, (ROOT / name).read_text("utf-8"))
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{len(files)} files, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
