"""The disk is full, really (a small tmpfs), wherever honed writes: the run stops in one line, and goes on afterwards.

Each row trains a project through the real command while a file fills the disk, then makes room and gives the same
command again: the commits must be those of a run that always had room. They take seconds, so they are left out of the
everyday tests as those with an engine are.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.faults.dice import Dice
from tests.faults.project import KEY, Plan, make
from tests.faults.provider import KINDS, FaultyProvider
from tests.hostile.attack import Area, Attack, Attempted, Stage, UntriedError, add, holds
from tests.support.honed_cli import HONED, Ran, edits, environment, git, honed

PLAN = Plan(seed=2, kind="chat", epochs=1, gate="strict", tries=2, attempt_tries=1, workers=2)
BRANCH = "honed/text"


@dataclass
class Disk:
    """A file system of its own, which can be filled to its last byte."""

    place: Path
    mib: int
    full: bool = False

    def mount(self) -> None:
        """Raises `UntriedError` where this user may not. What lay in the place goes along."""
        kept = self.place.with_name(f".{self.place.name}.kept")
        if self.place.exists():
            self.place.rename(kept)
        self.place.mkdir(parents=True)
        made = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={self.mib}m", "tmpfs", str(self.place)],
            capture_output=True,
            check=False,
        )
        if made.returncode != 0:
            raise UntriedError(f"no tmpfs can be mounted here: {made.stderr.decode(errors='replace').strip()}")
        if kept.exists():
            shutil.copytree(kept, self.place, dirs_exist_ok=True)
            shutil.rmtree(kept)

    def fill(self) -> None:
        """To the last byte."""
        self.full = True
        with (self.place / "filler").open("wb", buffering=0) as filler:
            for size in (1 << 20, 1 << 12, 1):
                try:
                    while True:
                        filler.write(bytes(size))
                except OSError:
                    continue

    def empty(self) -> None:
        """There is room again."""
        self.full = False
        (self.place / "filler").unlink()

    def unmount(self) -> None:
        """Whatever still looks at it."""
        subprocess.run(["umount", "--lazy", str(self.place)], capture_output=True, check=False)


@dataclass(frozen=True)
class Row:
    """Where the disk is full, and from when on."""

    name: str
    what: str
    places: Sequence[str]
    """Below the project: each a disk of its own, of which the first fills."""
    after: int | None = None
    """Requests to the model until then; None: from the start."""
    words: Sequence[str] = ("full", "free some space")
    harmless: bool = False
    """Nothing that is written there decides anything: the run may go on."""


ROWS = (
    Row("state-folder", "the state folder's disk is full when a run begins", (".honed",)),
    Row("state-folder-later", "the state folder's disk fills while attempts run", (".honed",), 6),
    Row("journal", "the journal's disk fills, while attempts have room", (".honed", ".honed/attempts"), 6),
    Row("attempts", "the attempts' disk fills, while the journal has room", (".honed/attempts",), 6,
        harmless=True),
    Row("attempts-at-once", "the attempts' disk is full when a run begins", (".honed/attempts",), harmless=True),
    Row("commits", "the disk of git's objects fills before the first commit", (".git/objects",), 6,
        ("No space left", "free some space")),
)  # fmt: skip


def watched() -> FaultyProvider:
    """A provider without faults that counts its requests."""
    return FaultyProvider(Dice("", 0.0, KINDS))


async def trained(project: Path) -> Ran:
    """The command, once."""
    env = environment(**{KEY: "a-key-that-opens-nothing"})
    return await asyncio.to_thread(honed, "train", "--no-preflight", "--json", cwd=project, env=env)


def filling(row: Row) -> Attempted:
    async def run(stage: Stage) -> str:
        async with watched() as provider:
            true, project = (make(stage.folder / name / "p", PLAN, provider.base_url) for name in ("true", "full"))
            reference = await trained(true)
            provider.dice = Dice("", 0.0, KINDS)
            disks = [Disk(project / place, 48) for place in row.places]
            for disk in disks:
                stage.stack.callback(disk.unmount)
                disk.mount()
            stopped = await _until_stopped(project, provider, disks[0], row.after)
            disks[0].empty()
            again = await trained(project)
        return _judged(row, (reference, stopped, again), edits(true, BRANCH), edits(project, BRANCH))

    return run


async def _until_stopped(project: Path, provider: FaultyProvider, disk: Disk, after: int | None) -> Ran:
    running = asyncio.ensure_future(trained(project)) if after is not None else None
    while running is not None and provider.dice.asked < after and not running.done():  # type: ignore[operator]
        await asyncio.sleep(0.005)
    await asyncio.to_thread(disk.fill)
    return await (running or trained(project))


def _judged(row: Row, ran: tuple[Ran, Ran, Ran], true: object, found: object) -> str:
    reference, stopped, again = ran
    said = [line for line in stopped.stderr.splitlines() if line.startswith("honed: ")]
    told = said[0] if said else "trained" if stopped.code == 0 else stopped.stderr[-200:]
    known = all(word in told for word in row.words) and "Traceback" not in stopped.stderr
    ended = (stopped.code == 3 and len(said) == 1 and known) or (row.harmless and stopped.code == 0)
    held = ended and (reference.code, again.code) == (0, 0) and true == found
    same = "the same commits" if true == found else "OTHER COMMITS"
    return holds(held, f"exit {stopped.code}: {told.removeprefix('honed: ')}; then exit {again.code}, {same}")


for row in ROWS:
    stops = "goes on, or stops" if row.harmless else "stops"
    expected = f"{stops} in one line that says so (exit 3); the same command then makes the same commits"
    add(Attack(Area.FAILURES, f"disk-{row.name}", row.what, expected, filling(row), True))


async def _into_full(stage: Stage, which: str) -> str:
    async with watched() as provider:
        true, project = (make(stage.folder / name / "p", PLAN, provider.base_url) for name in ("true", "full"))
        await trained(true)
        with Path("/dev/full").open("wb") as full:
            process = await asyncio.create_subprocess_exec(
                HONED, "train", "--no-preflight",
                cwd=project,
                env=environment(**{KEY: "a-key-that-opens-nothing"}),
                stdin=subprocess.DEVNULL,
                stdout=full if which == "stdout" else subprocess.PIPE,
                stderr=full if which == "stderr" else subprocess.PIPE,
            )  # fmt: skip
            out, err = await process.communicate()
    same = edits(true, BRANCH) == edits(project, BRANCH)
    told = (out or b"") + (err or b"")
    held = same and b"Traceback" not in told
    return holds(held, f"exit {process.returncode}, {'the same commits' if same else 'OTHER COMMITS'}; {told[-80:]!r}")


async def log_to_a_full_disk(stage: Stage) -> str:
    return await _into_full(stage, "stderr")


async def report_to_a_full_disk(stage: Stage) -> str:
    return await _into_full(stage, "stdout")


for run, what in ((log_to_a_full_disk, "log"), (report_to_a_full_disk, "report")):
    words = f"the disk that honed's {what} goes to is full"
    add(Attack(Area.FAILURES, f"disk-of-the-{what}", words, "the run decides and commits as ever", run, True))


async def scratch_without_room(stage: Stage) -> str:
    disk = Disk(stage.folder / "tmp", 1)
    stage.stack.callback(disk.unmount)
    await asyncio.to_thread(disk.mount)
    await asyncio.to_thread(disk.fill)
    async with watched() as provider:
        project = make(stage.folder / "p" / "p", PLAN, provider.base_url)
        env = environment(**{KEY: "a-key-that-opens-nothing"}, TMPDIR=str(disk.place))
        ran = await asyncio.to_thread(honed, "train", "--no-preflight", "--json", cwd=project, env=env)
    said = [line for line in ran.stderr.splitlines() if line.startswith("honed: ")]
    right = ran.code == 0 or (len(said) == 1 and "Traceback" not in ran.stderr and ran.code in {1, 3})
    commits = len(git(project, "branch", "--list", BRANCH))
    return holds(right, f"exit {ran.code}: {' '.join(said) or 'trained'}{'' if commits else ', no branch'}")


add(
    Attack(
        Area.FAILURES,
        "disk-of-temporary-files",
        "the disk of temporary files (TMPDIR) is full",
        "trains, or says so in one line",
        scratch_without_room,
        True,
    )
)
