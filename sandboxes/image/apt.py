"""Install Debian packages for set-up, saying so."""

from __future__ import annotations

import os
from collections.abc import Sequence

from sandboxes.image.command import Finished, Say, run_command
from sandboxes.image.mirror import read_os_release

_INSTALL = ("apt-get", "install", "-y", "-q", "--no-install-recommends", "--no-remove", "-o", "DPkg::Lock::Timeout=120")
_ENV = {"DEBIAN_FRONTEND": "noninteractive"}


def can_install() -> bool:
    """Root on Debian, Ubuntu or a relative of theirs."""
    release = read_os_release()
    names = {release.get("ID", ""), *release.get("ID_LIKE", "").split()}
    return os.geteuid() == 0 and bool(names & {"debian", "ubuntu"})


async def install(packages: Sequence[str], say: Say) -> Finished:
    """Install `packages`; where the lists are missing or old, renew them and try once more."""
    say(f"installing {' '.join(packages)} with apt-get")
    finished = await run_command([*_INSTALL, *packages], timeout_s=600, env=_ENV)
    if finished.code:
        say("renewing the package lists")
        # A third-party source may fail here; whether what we need can be had, the install itself tells.
        await run_command(["apt-get", "update", "-q"], timeout_s=300, env=_ENV)
        finished = await run_command([*_INSTALL, *packages], timeout_s=600, env=_ENV)
    return finished
