"""What the sandbox image is made of, read from the packaged files, and the tag that follows from it.

Invariant: any change of the recipe changes the tag, so an image made by another recipe is never taken for this one.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
from importlib import resources

IMAGE_NAME = "honed-sandbox"
SUITE = "bookworm"
"""The Debian release that debootstrap makes where the machine's own sources are Debian's."""
BASE_ARG = "SANDBOX_BASE"
PACKAGE_LIST = "sandboxes/image/packages.txt"
"""Where the Dockerfile expects the list in its build context."""
AGENT_UID = 1000
ACCOUNT_LINES = {
    "passwd": f"agent:x:{AGENT_UID}:{AGENT_UID}::/home/agent:/bin/bash",
    "group": f"agent:x:{AGENT_UID}:",
}
"""So that the numeric user has a name inside; the Dockerfile writes the same lines."""
LABEL = "honed.recipe"
_DEBOOTSTRAP_REVISION = "1"
"""Raised when `rootfs.py` makes something else of the same package list."""


def _read(name: str) -> str:
    return resources.files("sandboxes.image").joinpath(name).read_text(encoding="utf-8")


def dockerfile() -> str:
    """The packaged Dockerfile with the target `sandbox`."""
    return _read("Dockerfile")


def packages() -> tuple[str, ...]:
    """The Debian packages of the image, ordered."""
    return tuple(line.strip() for line in _read("packages.txt").splitlines() if line.strip())


def base_image() -> str:
    """The Dockerfile's default base, `name:tag`."""
    prefix = f"ARG {BASE_ARG}="
    lines = (line for line in dockerfile().splitlines() if line.startswith(prefix))
    return next(lines).removeprefix(prefix).strip()


def recipe_hash() -> str:
    """12 hex digits over everything that decides the image's content, apart from the packages' versions."""
    parts = (dockerfile(), "\n".join(packages()), SUITE, _DEBOOTSTRAP_REVISION)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


SANDBOX_IMAGE = f"{IMAGE_NAME}:{recipe_hash()}"
"""The reference every part uses for honed's own image."""


def labels() -> dict[str, str]:
    """What the image is labelled with."""
    return {LABEL: recipe_hash()}


def build_context() -> bytes:
    """A tar for `docker build` with the Dockerfile and the package list where it expects it."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, text in (("Dockerfile", dockerfile()), (PACKAGE_LIST, "\n".join(packages()) + "\n")):
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            tar.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()
