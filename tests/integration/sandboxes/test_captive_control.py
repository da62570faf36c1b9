"""The hostile suite's probes really get through where a wall is gone: without honed's filter, and with the network."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sandboxes import docker
from sandboxes.hardening import Profile
from sandboxes.sandbox import Command
from tests.support.captives import box, captive_files, told
from tests.support.sandboxes import PATH

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.hostile]

# Without `trace_init`: it would stop the process that tells the end.
UNFILTERED = (
    "trace_child read_memory_of_parent keyring_add keyring_read keyring_session userfaultfd io_uring"
    " vmsplice remap_pages personality kcmp icmp mptcp netlink_audit netlink_xfrm adjust_clock handle local_table"
    " unshare_user clone_user clone3_user calls_of_32_bits"
).split()


async def test_without_the_filter_the_kernel_is_reached(
    owner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = docker.profile

    def open_wide(*args: Any, **more: Any) -> Profile:
        return replace(real(*args, **more), seccomp="unconfined")

    monkeypatch.setattr(docker, "profile", open_wide)
    async with box(tmp_path, owner) as inside:
        await inside.write(captive_files())
        asked = json.dumps({"probes": UNFILTERED})
        ended = await inside.run(Command(("python3", "-I", "captive", asked), {"PATH": PATH}, 120))

    through = [name for name, (kind, _) in told(ended).items() if kind == "through"]
    # A kernel may lack some of these, or keep namespaces from users by itself.
    assert len(through) > len(UNFILTERED) // 2, told(ended)
