"""The profile field by field as data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from docker.types import HostConfig

from sandboxes.hardening import GATEWAY_FOLDER, Profile, inner_layout, profile, shown_read_only
from sandboxes.lay import Owner
from sandboxes.sandbox import MIB, BoxSpec, Command, Limits, Mount, SandboxError
from sandboxes.seccomp.engine import profile as seccomp_profile
from sandboxes.wrapper import FORWARD_TARGET

LIMITS = Limits(memory_bytes=300 * MIB, cpus=1.5, pids=77, tmpfs_bytes=5 * MIB)
SPEC = BoxSpec(
    "a-1",
    Path("/state/a-1"),
    123.0,
    gateway_socket=Path("/run/honed/door-1/model.sock"),
    mounts=(Mount(Path("/cli/codex"), "/opt/agents/codex"),),
    limits=LIMITS,
)
OPENINGS = set(
    "cap_add devices device_requests group_add pid_mode ports volumes volumes_from extra_hosts links network dns "
    "userns_mode uts_mode runtime".split()
)
COMMAND = Command(("codex", "exec"), {"B": "2", "A": "1"}, 60)


@pytest.fixture
def made() -> Profile:
    return profile(SPEC, COMMAND, image="sha256:abc", owner=Owner(1234, 4321), layout=inner_layout(SPEC))


def test_walls(made: Profile) -> None:
    given = made.arguments()

    assert given["network_mode"] == "none"
    assert given["cap_drop"] == ["ALL"]
    assert given["security_opt"] == ["no-new-privileges:true", f"seccomp={seccomp_profile()}"]
    assert given["read_only"] is True
    assert given["privileged"] is False
    assert given["ipc_mode"] == "private"
    assert given["init"] is True
    assert given["auto_remove"] is False
    assert not OPENINGS & set(given)


def test_an_engine_without_seccomp_is_given_no_filter(made: Profile) -> None:
    """It would refuse the container; `EngineFacts.lacks` says that there is none."""
    assert replace(made, seccomp=None).arguments()["security_opt"] == ["no-new-privileges:true"]


def test_the_runtime_is_the_engines_own_unless_named(made: Profile) -> None:
    assert replace(made, runtime="runsc").arguments()["runtime"] == "runsc"


def test_user_is_numeric(made: Profile) -> None:
    assert made.arguments()["user"] == "1234:4321"


def test_limits(made: Profile) -> None:
    given = made.arguments()

    assert given["mem_limit"] == given["memswap_limit"] == 300 * MIB
    assert given["nano_cpus"] == 1_500_000_000
    assert given["pids_limit"] == 77
    assert {(limit.name, limit.soft, limit.hard) for limit in given["ulimits"]} == {
        ("core", 0, 0),
        ("fsize", 1025 * MIB, 1025 * MIB),
        ("nofile", 8192, 8192),
    }
    assert given["oom_score_adj"] > 0


def test_writable_places(made: Profile) -> None:
    given = made.arguments()

    assert given["tmpfs"] == {
        "/home/agent": "rw,nosuid,nodev,exec,size=5242880,uid=1234,gid=4321,mode=0700",
        "/tmp": "rw,nosuid,nodev,exec,size=5242880,mode=1777",
    }
    writable = {mount["Target"]: mount["Source"] for mount in given["mounts"] if not mount["ReadOnly"]}
    assert writable == {"/workspace": "/state/a-1/workspace", "/out": "/state/a-1/out"}
    assert given["working_dir"] == "/workspace"


def test_what_is_shown_read_only(made: Profile) -> None:
    shown = {mount["Target"]: mount["Source"] for mount in made.arguments()["mounts"] if mount["ReadOnly"]}

    assert shown == {
        "/opt/agents/codex": "/cli/codex",
        GATEWAY_FOLDER: "/run/honed/door-1",
        FORWARD_TARGET: "/state/a-1/forward.py",
    }
    assert not any("docker.sock" in source for source in shown.values())
    assert all(mount["Type"] == "bind" for mount in made.arguments()["mounts"])


def test_a_box_without_a_door_shows_only_its_mounts() -> None:
    spec = replace(SPEC, gateway_socket=None, mounts=())

    assert shown_read_only(spec) == ()
    layout = inner_layout(spec)
    assert layout.gateway_socket is None
    assert layout.model_url is None


def test_layout() -> None:
    layout = inner_layout(SPEC)

    assert layout.gateway_socket == "/run/gateway/model.sock"
    assert layout.model_url == "http://127.0.0.1:18080"
    assert (layout.workspace, layout.home, layout.tmp, layout.out, layout.tools) == (
        "/workspace",
        "/home/agent",
        "/tmp",
        "/out",
        "/opt/agents",
    )


def test_entry_point_is_explicit_and_environment_exact(made: Profile) -> None:
    given = made.arguments()

    assert given["entrypoint"] == ["/usr/bin/env", "-i", "A=1", "B=2", "codex", "exec"]
    assert given["command"] == []
    assert set(given["environment"]) == {"PATH"}
    assert given["healthcheck"] == {"test": ["NONE"]}
    assert given["hostname"] == "sandbox"


def test_no_output_is_kept_by_the_engine(made: Profile) -> None:
    assert made.arguments()["log_config"].type == "none"


def test_the_arguments_are_ones_the_sdk_knows(made: Profile) -> None:
    given = made.arguments()
    of_the_container = {"image", "entrypoint", "command", "user", "working_dir", "hostname", "environment"}
    of_the_call = {"auto_remove", "detach", "healthcheck"}
    host = HostConfig(
        version="1.41", **{name: value for name, value in given.items() if name not in of_the_container | of_the_call}
    )

    assert host["NetworkMode"] == "none"
    assert host["ReadonlyRootfs"] is True


def test_relative_folders_become_absolute() -> None:
    spec = replace(SPEC, folder=Path("state/a-1"), mounts=(Mount(Path("cli"), "/opt/agents/cli"),))
    made = profile(spec, COMMAND, image="i", owner=Owner(1, 1), layout=inner_layout(spec))

    assert all(Path(mount["Source"]).is_absolute() for mount in made.arguments()["mounts"])


def test_a_command_that_cannot_be_passed_on_is_refused() -> None:
    with pytest.raises(SandboxError, match="bad command"):
        profile(SPEC, Command(("A=b",), {}, 1), image="i", owner=Owner(1, 1), layout=inner_layout(SPEC))
