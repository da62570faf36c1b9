"""A box's disk is bounded while it runs: by its rooms' size, its nameless files, and a single file's greatest size.

The attackers say on stdout, as they go, how many MiB they have written: the last number is what the host's disk bore.
"""

from __future__ import annotations

from sandboxes.sandbox import MIB, Ended, Ending, Limits
from tests.hostile.attack import Area, Attack, Stage, add, holds
from tests.support.captives import box, python

BOUND_MIB = 64
MORE_MIB = 700
"""What may be written between two looks and until the engine has killed: generous, for a fast disk."""

WRITE = """
import os, sys
chunk, done = bytes(1 << 20), 0
def tell():
    os.write(1, b"%d\\n" % done)
"""
FILES = {
    "one-file": (
        "writes one file without end",
        "file = os.open('/workspace/big', os.O_CREAT | os.O_WRONLY)\nwhile True:\n"
        "    done += os.write(file, chunk) / (1 << 20); tell()",
    ),
    "many-files": (
        "writes file after file, 8 MiB each, into workspace and /out by turns",
        "for n in range(1 << 30):\n    with open(('/workspace/%d', '/out/%d')[n % 2] % n, 'wb', 0) as file:\n"
        "        for _ in range(8): file.write(chunk); done += 1; tell()",
    ),
    "processes": (
        "writes from eight processes at once",
        "me = [os.fork() or n for n in range(8)]\nme = os.getpid()\nfor n in range(1 << 30):\n"
        "    with open('/workspace/%d-%d' % (me, n), 'wb', 0) as file:\n"
        "        for _ in range(8): file.write(chunk)\n    done += 8; tell()",
    ),
    "deleted": (
        "writes into files that it deleted and keeps open",
        "kept = []\nfor n in range(1 << 30):\n    kept.append(open('/workspace/gone', 'wb', 0)); "
        "os.unlink('/workspace/gone')\n    for _ in range(8): kept[-1].write(chunk); done += 1; tell()",
    ),
    "allocated": (
        "reserves blocks without writing them",
        "for n in range(1 << 30):\n    with open('/workspace/%d' % n, 'wb', 0) as file:\n"
        "        os.posix_fallocate(file.fileno(), 0, 8 << 20)\n    done += 8; tell()",
    ),
    "links": (
        "hides files behind a folder that is closed to others, and goes on",
        "os.mkdir('/workspace/shut'); os.chdir('/workspace/shut'); os.chmod('/workspace/shut', 0o300)\n"
        "for n in range(1 << 30):\n    with open('%d' % n, 'wb', 0) as file:\n"
        "        for _ in range(8): file.write(chunk); done += 1; tell()",
    ),
}


async def _flood(stage: Stage, code: str) -> Ended:
    async with box(stage.folder, stage.owner, limits=Limits(workspace_bytes=BOUND_MIB * MIB)) as inside:
        return await python(inside, WRITE + code)


def _row(name: str, what: str, code: str) -> None:
    async def run(stage: Stage) -> str:
        ended = await _flood(stage, code)
        written = [float(line) for line in ended.stdout.read_text().split()]
        most = max(written, default=0) if name != "processes" else len(written) * 8
        observed = f"{ended.ending}: {ended.detail or ended.exit_code}; {most:.0f} MiB written"
        stopped = ended.ending is Ending.OVER_DISK or ended.exit_code not in {0, None}
        return holds(stopped and most <= BOUND_MIB + MORE_MIB, observed)

    expected = f"stopped; not more than {MORE_MIB} MiB beyond the bound of {BOUND_MIB}"
    add(Attack(Area.SANDBOX, f"disk-{name}", what, expected, run, needs_engine=True))


for _name, (_what, _code) in FILES.items():
    _row(_name, _what, _code)


async def _sparse(stage: Stage) -> str:
    code = "with open('/workspace/huge', 'wb') as file: os.ftruncate(file.fileno(), 1 << 40)\nprint('made')"
    ended = await _flood(stage, code)
    size = (stage.folder / "captive" / "workspace" / "huge").stat().st_size
    observed = f"{size} bytes long; exit {ended.exit_code}, {ended.ending}"
    return holds(size == 0 and "made" not in ended.stdout.read_text(), observed)


add(
    Attack(Area.SANDBOX, "disk-sparse", "makes a sparse file of a terabyte", "refused: too large", _sparse, True)
)  # fmt: skip


async def _inodes(stage: Stage) -> str:
    code = (
        "for n in range(1 << 30):\n    os.close(os.open('/workspace/%d' % n, os.O_CREAT))\n    if n % 500 == 0: tell()"
    )
    async with box(stage.folder, stage.owner, limits=Limits(workspace_bytes=16 * MIB)) as inside:
        ended = await python(inside, WRITE + code)
    made = sum(1 for _ in (stage.folder / "captive" / "workspace").iterdir())
    return holds(
        ended.ending is Ending.OVER_DISK and made < 150_000, f"{ended.ending}: {ended.detail}; {made} files made"
    )


add(
    Attack(
        Area.SANDBOX,
        "disk-inodes",
        "makes empty files without end",
        "stopped: each counts 4 KiB of the bound of 16 MiB",
        _inodes,
        needs_engine=True,
    )
)
