"""Whether the host itself had memory to spare: tells a box that ran into its own limit from a host that ran short.

A host out of memory kills boxes first (`oom_score_adj`), and from inside both look the same. Told one-sidedly: what a
box held is free again after its end and was no more than its limit, so a host that then has the limit and a tenth of
all its memory to spare had that tenth before. Where it cannot be told, the host is taken for short.
"""

from __future__ import annotations

from pathlib import Path

MEMINFO = Path("/proc/meminfo")
_SPARE = 0.1
"""Of the host's memory: what watches over hosts (systemd-oomd, earlyoom) acts below it."""


def host_roomy(limit_bytes: int, engine_bytes: int | None = None, *, meminfo: Path | None = None) -> bool:
    """Whether the host had memory to spare although a box held up to `limit_bytes` until now (blocks, briefly).

    `engine_bytes`: the whole memory of the engine's machine; where it is not this one's, nothing can be told.
    """
    try:
        rows = dict(line.split(":", 1) for line in (meminfo or MEMINFO).read_text().splitlines() if ":" in line)
        total, free = (int(rows[key].split()[0]) * 1024 for key in ("MemTotal", "MemAvailable"))
    except (OSError, KeyError, ValueError, IndexError):
        return False
    if engine_bytes is not None and engine_bytes != total:
        return False
    return free >= limit_bytes + _SPARE * total
