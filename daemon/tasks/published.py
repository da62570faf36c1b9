"""The splits that the method's authors published, by digest of their id lists (`task.split_digest`).

A benchmark's loader makes task ids of the published ones by `task_id`; a set whose split has one of these digests is
measured on exactly the published tasks. `val` is this project's `selection`.
"""

from __future__ import annotations

import re

PUBLISHED = {
    "ALFWorld": "sha256:b0857458b7ab678d19d92f53d677b36c1a30a932ae88cdf5d5808cf226dc0e23",
    "DocVQA": "sha256:e6fbfbb16c40a42689d19b58d9dd2e7fd0a5797dc779a6641dcdc2b0d40a3585",
    "LiveMathematicianBench": "sha256:d69c2287a39efd7ff81e7f9063641abe0ed83d622cc509f164374630da430930",
    "OfficeQA": "sha256:62c667c1c2106ca213fa8145f3ab8282623903e9cbc915d67fedbc1cd683bc6a",
    "SearchQA": "sha256:23707e6048e9667f6196771390f46f23bb8728fea499c8e1567909ef240e1202",
    "SpreadsheetBench": "sha256:55f2f0d6132b9021f3604a5059bbeed85610c8f01d2554204300c50c78e64270",
}
"""Name of the benchmark to the digest of its split."""
_STRANGE = re.compile(r"[^A-Za-z0-9._-]+")


def task_id(published: str) -> str:
    """A published id as a task's: every run of other characters is one `-`."""
    return _STRANGE.sub("-", str(published)).strip("-")


def published_name(digest: str) -> str:
    """The benchmark whose published split has this digest; empty if there is none."""
    return next((name for name, known in PUBLISHED.items() if known == digest), "")


def split_told(digest: str) -> str:
    """One line for people that names a split: its digest, and whose published one it is."""
    name = published_name(digest)
    return f"split {digest}{f', the published one of {name}' if name else ''}"
