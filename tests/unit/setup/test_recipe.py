"""The image's recipe: its tag follows its content, and the Dockerfiles agree with the package list."""

from __future__ import annotations

import io
import re
import tarfile
from pathlib import Path

import pytest

from sandboxes.image import recipe
from sandboxes.image.recipe import SANDBOX_IMAGE

ROOT = Path(__file__).resolve().parents[3]


def test_the_tag_names_the_recipe() -> None:
    assert re.fullmatch(r"honed-sandbox:[0-9a-f]{12}", SANDBOX_IMAGE)
    assert SANDBOX_IMAGE.endswith(recipe.recipe_hash())


@pytest.mark.parametrize("changed", ["packages.txt", "Dockerfile"])
def test_another_recipe_is_another_tag(monkeypatch: pytest.MonkeyPatch, changed: str) -> None:
    before = recipe.recipe_hash()
    read = recipe._read
    monkeypatch.setattr(recipe, "_read", lambda name: read(name) + ("cowsay\n" if name == changed else ""))
    assert recipe.recipe_hash() != before


def test_packages_are_ordered_and_plain() -> None:
    names = recipe.packages()
    assert list(names) == sorted(set(names))
    assert {"python3", "git", "socat", "ripgrep"} <= set(names)
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9+.-]+", name) for name in names)


def test_the_packaged_stage_is_the_one_of_the_top_dockerfile() -> None:
    def stage(text: str) -> str:
        start = text.index("FROM ${SANDBOX_BASE} AS sandbox")
        return text[start:].split("\nFROM ", 1)[0].strip()

    top = (ROOT / "Dockerfile").read_text("utf-8")
    assert stage(top) == stage(recipe.dockerfile())
    assert f"ARG {recipe.BASE_ARG}={recipe.base_image()}\n" in top


def test_the_dockerfile_installs_the_list_and_makes_the_same_user() -> None:
    text = recipe.dockerfile()
    assert f"COPY {recipe.PACKAGE_LIST} /tmp/packages.txt" in text
    assert "< /tmp/packages.txt" in text
    for file, line in recipe.ACCOUNT_LINES.items():
        assert f"echo '{line}' >> /etc/{file}" in text
    assert f"USER {recipe.AGENT_UID}:{recipe.AGENT_UID}" in text
    assert "ENV " not in text, "a box gets only what its command is given"


def test_the_build_context_holds_what_the_dockerfile_copies() -> None:
    with tarfile.open(fileobj=io.BytesIO(recipe.build_context())) as tar:
        names = tar.getnames()
        listed = tar.extractfile(recipe.PACKAGE_LIST)
        assert listed is not None
        assert tuple(listed.read().decode().split()) == recipe.packages()
    assert names == ["Dockerfile", recipe.PACKAGE_LIST]


def _copies(text: str) -> list[str]:
    lines = [line.split()[1:-1] for line in text.splitlines() if line.startswith("COPY ") and "--from=" not in line]
    return [source for sources in lines for source in sources]


def test_everything_copied_exists_and_is_not_ignored() -> None:
    sources = _copies((ROOT / "Dockerfile").read_text("utf-8"))
    allowed = {
        line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line[:1] == "!"
    }
    assert len(sources) > 5
    for source in sources:
        assert (ROOT / source).exists(), source
        assert source in allowed or any(source.startswith(f"{name}/") for name in allowed), source


def test_no_stage_runs_as_root_in_the_end() -> None:
    text = (ROOT / "Dockerfile").read_text("utf-8")
    for name in ("sandbox", "daemon"):
        stage = next(part for part in re.split(r"(?m)^FROM ", text) if re.match(rf"\S+ AS {name}\n", part))
        users = re.findall(r"(?m)^USER (\S+)$", stage)
        assert users, name
        assert users[-1].split(":")[0].isdigit(), name
        assert users[-1].split(":")[0] != "0", name
