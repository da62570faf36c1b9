"""What this machine's processes are doing: whether one runs still, and what this one holds."""

from __future__ import annotations

import gc
from pathlib import Path


def runs(pid: int) -> bool:
    """Whether a process runs still. One that was killed does for a moment: wait until it does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):  # the second: it ended while it was read
        return False
    return state not in "ZX"


def children(pid: int | None = None) -> int:
    """How many children a process has (by default this one), those that ended and were not collected among them."""
    return len(child_ids(pid))


def child_ids(pid: int | None = None) -> list[int]:
    """Their ids."""
    found: list[int] = []
    for task in Path(f"/proc/{pid or 'self'}/task").iterdir():
        try:
            found += map(int, (task / "children").read_text().split())
        except (FileNotFoundError, ProcessLookupError):
            continue  # the thread has ended: its children are another one's, or none
    return found


def descriptors() -> int:
    """How many descriptors this process has open, but for those that nobody refers to any more."""
    gc.collect()  # what an earlier test left in a cycle would else be closed at some other moment
    return len(list(Path("/proc/self/fd").iterdir()))
