"""Whether an error says that a disk is full, whoever said so: the system, SQLite, git or a run's own check."""

from __future__ import annotations

import errno
import os

REMEDY = "the disk is full: free some space, then the same command goes on"
_NUMBERS = {errno.ENOSPC, errno.EDQUOT}
_WORDS = tuple(os.strerror(number) for number in sorted(_NUMBERS))


def no_room(error: BaseException) -> bool:
    """By the number of the error or of one that it came of; of another program's, by the system's words for it."""
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        if isinstance(one, OSError) and one.errno in _NUMBERS:
            return True
        if any(word in str(one) for word in (*_WORDS, "disk is full")):
            return True
        one = one.__cause__ or one.__context__
    return False
