"""Find the answer in an agent's last message.

The rule, in order: the `extract` pattern's last match, else the last `<answer>…</answer>`, else the fallback (whole
text or last line). The message is hostile: it is cut to its end, and a task's own pattern runs in a bounded process,
because `re` cannot be interrupted.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from daemon.tasks.scorers.patterns import check_pattern, last_match
from daemon.tasks.scorers.scorer import Options

MAX_CHARS = 20_000
"""Of the message, counted from its end."""


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
        return None if pattern is None else check_pattern(pattern, groups=1)


async def extract_answer(message: str, options: ExtractOptions) -> str:
    """The answer in a message, stripped; empty if there is none. Raises `VerifierError` if the pattern hangs."""
    text = message[-MAX_CHARS:]
    if options.extract is not None:
        return (await last_match(options.extract, text, "extract") or "").strip()
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
