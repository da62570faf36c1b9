"""A one-layer image in the format that `docker load` takes.

Made by hand rather than by `docker import` so that the image's id depends on its content alone: the same packages
give the same digest on every machine.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tarfile
from pathlib import Path

from sandboxes.image import recipe

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_CREATED = "1980-01-01T00:00:00Z"


def image_config(diff_id: str, machine: str) -> bytes:
    """The image's configuration: no environment, since a box gets only what its command is given."""
    config = {
        "architecture": _ARCHITECTURES.get(machine, machine),
        "os": "linux",
        "created": _CREATED,
        "config": {
            "User": f"{recipe.AGENT_UID}:{recipe.AGENT_UID}",
            "Cmd": ["/bin/bash"],
            "Labels": recipe.labels(),
        },
        "rootfs": {"type": "layers", "diff_ids": [diff_id]},
        "history": [{"created": _CREATED, "created_by": "honed: debootstrap"}],
    }
    return json.dumps(config, sort_keys=True).encode()


def write_image(layer: Path, diff_id: str, target: Path, *, machine: str = platform.machine()) -> str:
    """Write `layer` (an uncompressed tar, digest `diff_id`) as a loadable image; returns the id it will have."""
    config = image_config(diff_id, machine)
    image_id = hashlib.sha256(config).hexdigest()
    layer_name = f"{diff_id.removeprefix('sha256:')}/layer.tar"
    manifest = [{"Config": f"{image_id}.json", "RepoTags": [recipe.SANDBOX_IMAGE], "Layers": [layer_name]}]
    with tarfile.open(target, "w") as tar:
        _add(tar, f"{image_id}.json", config)
        _add(tar, "manifest.json", json.dumps(manifest).encode())
        tar.add(layer, arcname=layer_name)
    return f"sha256:{image_id}"


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))
