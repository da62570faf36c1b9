"""Each field of the hardened profile, proven from inside a real box."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from sandboxes.rooms import INNER_UID
from sandboxes.sandbox import MIB, Command, Ending, Limits, Mount
from tests.support.sandboxes import PATH, Engine, bubblewrap_engine, docker_client, docker_engine, sh
from tests.support.waiting import PATIENCE_S

PROBE = Path(__file__).parents[2] / "support" / "probe_box.py"
LIMITS = Limits(memory_bytes=256 * MIB, pids=100, tmpfs_bytes=8 * MIB, cpus=1.0)
REPORTS: dict[str, dict[str, Any]] = {}
GIVEN = {"PATH": PATH, "LANG": "C.UTF-8"}

pytestmark = pytest.mark.slow


@pytest.fixture(
    params=[
        pytest.param("docker", marks=pytest.mark.docker),
        pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
    ]
)
async def walled(request: pytest.FixtureRequest, owner: str) -> Engine:
    return docker_engine(owner) if request.param == "docker" else await bubblewrap_engine(owner)


async def probe(engine: Engine, folder: Path, **more: Any) -> dict[str, Any]:
    """One probe an engine is enough for all tests of this module."""
    if engine.sandbox.name in REPORTS:
        return REPORTS[engine.sandbox.name]
    async with engine.box(folder, limits=LIMITS, **more) as box:
        await box.write({"probe.py": PROBE.read_bytes()})
        ended = await box.run(Command(("python3", "-I", "probe.py"), GIVEN, 60))
    assert (ended.ending, ended.exit_code) == (Ending.EXITED, 0), ended.stderr.read_text()
    report = REPORTS[engine.sandbox.name] = json.loads(ended.stdout.read_text())
    return report


async def test_the_profile_seen_from_inside(walled: Engine, tmp_path: Path, gateway_socket: Path) -> None:
    report = await probe(walled, tmp_path, gateway_socket=gateway_socket)

    uid = INNER_UID if walled.sandbox.name == "bubblewrap" else os.geteuid() or INNER_UID
    *ids, groups = report["ids"]
    assert ids == [uid] * 4
    # An unprivileged honed cannot drop its own further groups; inside they are nobody's.
    assert set(groups) <= ({uid} if os.geteuid() == 0 or walled.sandbox.name == "docker" else {uid, 65534})
    status = report["status"]
    assert {status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2", "honed's own filter"

    assert report["interfaces"] == ["lo"]
    assert report["routes"] == []
    assert report["root_read_only"]
    writable = {folder for folder in report["writable"] if folder != "/dev/mqueue"}
    assert writable == {"/dev/shm", "/home/agent", "/out", "/tmp", "/workspace"}
    assert report["writable_proc"] == []
    assert report["environment"] == GIVEN
    assert report["hostname"] == "sandbox"
    assert report["limits"] == {"CORE": [0, 0], "NOFILE": [8192, 8192]}
    assert report["descriptors"] == [0, 1, 2]
    assert report["tmpfs"] == {"/home/agent": 8 * MIB, "/tmp": 8 * MIB}
    # No engine's socket. The door's folder can be listed by its owner alone.
    assert set(report["sockets"]) <= {"/run/gateway/model.sock"}
    assert report["block_devices"] == []
    assert {Path(path).name for path in report["char_devices"]} <= {
        "null", "zero", "full", "random", "urandom", "tty", "ptmx", "console",
    }  # fmt: skip


async def test_an_init_reaps_as_process_one(walled: Engine, tmp_path: Path) -> None:
    report = await probe(walled, tmp_path)

    assert report["first"].endswith("docker-init") or report["first"] == "bwrap"
    assert report["pid"] != 1
    assert set(report["processes"]) <= {1, report["pid"]}, "nothing of the host is seen"


async def test_orphans_do_not_become_zombies(walled: Engine, tmp_path: Path) -> None:
    script = "for i in 1 2 3; do sh -c 'sh -c \"exit 0\" & exit 0'; done; sleep 0.3; cat /proc/[0-9]*/stat"
    async with walled.box(tmp_path) as box:
        ended = await sh(box, script)

    assert " Z " not in ended.stdout.read_text()


async def test_privileged_calls_fail(walled: Engine, tmp_path: Path) -> None:
    report = await probe(walled, tmp_path)

    refused = dict(report["attempts"])
    assert refused.pop("write_root") == "Read-only file system"
    # "Invalid argument": in a user namespace there is no other user at all.
    assert set(refused.values()) <= {"Operation not permitted", "Invalid argument", "mount"}, refused


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can prepare a setuid program of root's")
async def test_setuid_programs_do_not_raise(walled: Engine, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir(mode=0o755)
    shutil.copy("/usr/bin/env", tools / "raise")
    (tools / "raise").chmod(0o4755)
    async with walled.box(tmp_path, mounts=(Mount(tools, "/opt/agents/tools"),)) as box:
        ended = await sh(box, "ls -l /opt/agents/tools/raise; /opt/agents/tools/raise id -u")

    assert "rws" in ended.stdout.read_text()
    assert ended.stdout.read_text().splitlines()[-1] == str(INNER_UID), ended.stderr.read_text()


async def test_a_fork_loop_is_held_by_the_pids_limit(walled: Engine, tmp_path: Path) -> None:
    script = """
import os, time
n = 0
try:
    while True:
        if os.fork() == 0: time.sleep(30); os._exit(0)
        n += 1
except OSError: print(n)
"""
    async with walled.box(tmp_path, limits=LIMITS) as box:
        ended = await box.run(Command(("python3", "-c", script), GIVEN, PATIENCE_S))

    assert 80 <= int(ended.stdout.read_text()) <= 100


async def test_home_and_tmp_count_against_memory_and_size(walled: Engine, tmp_path: Path) -> None:
    script = "head -c 20000000 /dev/zero >$D/big; stat -c %s $D/big"
    async with walled.box(tmp_path, limits=LIMITS) as box:
        for folder in (box.layout.home, box.layout.tmp):
            ended = await sh(box, script, D=folder)
            assert "No space left" in ended.stderr.read_text()
            assert int(ended.stdout.read_text()) <= 8 * MIB


async def test_processor_time_is_bounded(walled: Engine, tmp_path: Path) -> None:
    """Two busy processes on half a processor get about half a second of it in a second, however long that takes."""
    if "cpu" in walled.lacks:
        assert any("processors not at all" in line for line in (await walled.sandbox.facts()).lacks)
        return
    burn = """
import os, time
child = os.fork()
began, before = time.monotonic(), time.process_time()
while time.monotonic() < began + 1.5: pass
print(time.process_time() - before, time.monotonic() - began, flush=True)
if child: os.wait()
"""
    async with walled.box(tmp_path, limits=Limits(cpus=0.5)) as box:
        ended = await box.run(Command(("python3", "-c", burn), GIVEN, PATIENCE_S))

    used, took = zip(*(map(float, line.split()) for line in ended.stdout.read_text().splitlines()), strict=True)
    assert len(used) == 2
    assert sum(used) < 0.5 * max(took) + 0.4, "half of it, with room for the scheduler's periods"


async def test_nothing_of_the_hosts_files_is_shown(walled: Engine, tmp_path: Path) -> None:
    """The state folder's own neighbours are not there, whatever place it lies in."""
    secret = tmp_path / "journal"
    secret.write_text("gold answers")
    secret.chmod(0o644)
    attempt = tmp_path / "a-1"
    async with walled.box(tmp_path) as box:
        ended = await sh(box, f"ls -d {tmp_path} {attempt} {Path(__file__).parents[3]} /root/.ssh /var/lib/docker")

    assert ended.stdout.read_text() == ""


async def test_no_host_path_is_named(walled: Engine, tmp_path: Path, gateway_socket: Path) -> None:
    script = "cat /proc/*/cmdline /proc/*/environ /etc/hosts /proc/self/cgroup"
    async with walled.box(tmp_path, gateway_socket=gateway_socket) as box:
        ended = await sh(box, script, forward=True)

    assert "/run/gateway" in ended.stdout.read_text()
    assert str(tmp_path) not in ended.stdout.read_text()


@pytest.mark.docker
async def test_the_gateway_folder_is_read_only(owner: str, tmp_path: Path, gateway_socket: Path) -> None:
    async with docker_engine(owner).box(tmp_path, gateway_socket=gateway_socket) as box:
        ended = await sh(
            box, "rm -f /run/gateway/model.sock; echo x >/run/gateway/new; test -S /run/gateway/model.sock"
        )

    assert ended.exit_code == 0
    assert ended.stderr.read_text().count("Read-only file system") == 2
    assert [path.name for path in gateway_socket.parent.iterdir()] == ["model.sock"]


@pytest.mark.docker
async def test_the_engine_really_got_the_profile(owner: str, tmp_path: Path) -> None:
    """What the engine itself says about a running container: labels, logging, restart and removal."""
    import asyncio

    engine = docker_engine(owner)
    async with engine.box(tmp_path, attempt_id="look") as box:
        task = asyncio.create_task(sh(box, "echo x >ready; sleep 60"))
        while "ready" not in (await box.collect()).files:
            await asyncio.sleep(0.02)
        with docker_client() as client:
            found = client.api.inspect_container(box.container_name(1))
        task.cancel()
        await asyncio.wait({task})

    host = found["HostConfig"]
    assert host["LogConfig"]["Type"] == "none"
    assert not host["Privileged"]
    assert not host["AutoRemove"]
    assert host["RestartPolicy"]["Name"] in {"", "no"}
    assert host["Memory"] == host["MemorySwap"] == 4096 * MIB
    assert host["IpcMode"] == "private"
    assert host["OomScoreAdj"] == 500
    assert not host["Devices"]
    labels = found["Config"]["Labels"]
    assert labels["app"] == "honed"
    assert labels["honed.owner"] == owner
    assert labels["honed.attempt"] == "look"
    assert labels["honed.role"] == "agent"
    assert len(labels["honed.boot"]) == 32
    assert float(labels["honed.deadline"]) > 0
