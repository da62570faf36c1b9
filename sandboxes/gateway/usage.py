"""Token counts as each dialect writes them, normalised: input includes cached tokens, output includes reasoning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sandboxes.gateway.policy import Usage


@dataclass(frozen=True)
class Counts:
    """Token counts of one answer."""

    input: int = 0
    cached: int = 0
    output: int = 0

    def usage(self) -> Usage:
        """As the usage of one request, money unknown yet (see `policy.priced`)."""
        return Usage(1, self.input, min(self.cached, self.input), self.output, None)


def openai_counts(usage: Any) -> Counts | None:
    """From a Responses or Chat Completions `usage` object; None if it is none."""
    if not isinstance(usage, dict):
        return None
    if not {"input_tokens", "prompt_tokens", "output_tokens", "completion_tokens"} & usage.keys():
        return None
    details = usage.get("input_tokens_details") or usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else 0
    return Counts(
        _count(usage.get("input_tokens", usage.get("prompt_tokens"))),
        _count(cached),
        _count(usage.get("output_tokens", usage.get("completion_tokens"))),
    )


class AnthropicCounts:
    """Messages usage, which arrives in parts: later parts overrule earlier ones, field by field."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def update(self, usage: Any) -> None:
        """Take in one `usage` object."""
        for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"):
            if isinstance(usage, dict) and usage.get(name) is not None:
                self._seen[name] = _count(usage[name])

    def counts(self) -> Counts | None:
        """What is known so far; None if nothing is."""
        if not self._seen:
            return None
        read = self._seen.get("cache_read_input_tokens", 0)
        fresh = self._seen.get("input_tokens", 0) + self._seen.get("cache_creation_input_tokens", 0)
        return Counts(fresh + read, read, self._seen.get("output_tokens", 0))


def anthropic_counts(usage: Any) -> Counts | None:
    """From a whole Messages `usage` object; None if it is none."""
    whole = AnthropicCounts()
    whole.update(usage)
    return whole.counts()


def estimated_tokens(size: int) -> int:
    """Tokens that so many bytes may be, for answers that end without saying: about a quarter, rounded up."""
    return -(-size // 4)


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
