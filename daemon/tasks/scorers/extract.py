"""Find the answer in an agent's last message.

The rule, in order: the `extract` pattern's last match, else the last `<answer>…</answer>`, else the fallback (whole
text or last line). The message is hostile: it is cut to its end, and a task's own pattern runs in a process of its
own under a deadline, because `re` cannot be interrupted.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from typing import Literal

from pydantic import Field, field_validator

from daemon.tasks.scorers.scorer import Options, VerifierError

MAX_CHARS = 20_000
"""Of the message, counted from its end."""
PATTERN_S = 10.0
"""Deadline of a task's own pattern, start of the process included."""

_SEARCH = """
import json, re, sys
pattern, text = json.load(sys.stdin)
found = None
for found in re.finditer(pattern, text): pass
json.dump(None if found is None else (found[1] if found.re.groups else found[0]) or "", sys.stdout)
"""


class ExtractOptions(Options):
    """Options that every text scorer shares."""

    extract: str | None = None
    """A regular expression; group 1 (or the whole match) of its last match is the answer, no match means none."""
    answer_tag: str | None = Field(default="answer", pattern=r"^[A-Za-z][A-Za-z0-9_-]*$")
    """The last `<tag>…</tag>` is the answer, where there is one; None: tags mean nothing."""
    fallback: Literal["all", "last_line"] = "last_line"
    """What is the answer if nothing above found one."""

    @field_validator("extract")
    @classmethod
    def _compiles(cls, pattern: str | None) -> str | None:
        if pattern is None:
            return None
        try:
            groups = re.compile(pattern).groups
        except re.error as error:
            msg = f"is not a regular expression: {error}"
            raise ValueError(msg) from error
        if groups > 1:
            msg = "has more than one group: make the others (?:…)"
            raise ValueError(msg)
        return pattern


async def extract_answer(message: str, options: ExtractOptions) -> str:
    """The answer in a message, stripped; empty if there is none. Raises `VerifierError` if the pattern hangs."""
    text = message[-MAX_CHARS:]
    if options.extract is not None:
        return (await _search(options.extract, text)).strip()
    if options.answer_tag is not None:
        tagged = _last_tagged(text, options.answer_tag)
        if tagged is not None:
            return tagged.strip()
    if options.fallback == "all":
        return text.strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _last_tagged(text: str, tag: str) -> str | None:
    """Text of the last closed tag, by plain search so that no input makes it slow."""
    lower = text.lower()
    if len(lower) != len(text):
        lower = text
    end = lower.rfind(f"</{tag.lower()}>")
    start = lower.rfind(f"<{tag.lower()}>", 0, end) if end >= 0 else -1
    return None if start < 0 else text[start + len(tag) + 2 : end]


async def _search(pattern: str, text: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", "-c", _SEARCH),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={},
    )
    try:
        async with asyncio.timeout(PATTERN_S):
            out, err = await process.communicate(json.dumps([pattern, text]).encode())
    except TimeoutError as error:
        msg = f"scorer option extract: the pattern ran longer than {PATTERN_S:g} s: make it simpler"
        raise VerifierError(msg) from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        last = err.decode(errors="replace").strip().splitlines()[-1:]
        msg = f"scorer option extract: the search failed ({process.returncode}): {' '.join(last)}"
        raise VerifierError(msg)
    found = json.loads(out)
    return found if isinstance(found, str) else ""
