"""What this machine's processes are doing: whether one runs still, and what this one holds."""

from __future__ import annotations

from pathlib import Path


def runs(pid: int) -> bool:
    """Whether a process runs still. One that was killed does for a moment: wait until it does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):  # the second: it ended while it was read
        return False
    return state not in "ZX"


def children() -> int:
    """How many children this process has, those that ended and were not collected among them."""
    count = 0
    for task in Path("/proc/self/task").iterdir():
        try:
            count += len((task / "children").read_text().split())
        except (FileNotFoundError, ProcessLookupError):
            continue  # the thread has ended: its children are another one's, or none
    return count


def descriptors() -> int:
    """How many descriptors this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))
