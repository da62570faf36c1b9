"""Token counts as each dialect writes them, normalised: input includes cached tokens, output includes reasoning.

Writing to Anthropic's cache costs more than plain input (1.25 times for five minutes, twice for an hour); what is
written is part of the input, and its surcharge enters the money alone. A count that can be none (negative, a fraction,
beyond all bounds, no input at all) is no count: such an answer is charged by its size.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sandboxes.gateway.policy import Price, Usage, priced

HOURLY = 1.6
"""What writing for an hour costs, in terms of writing for five minutes: twice the input to 1.25 times."""


@dataclass(frozen=True)
class Counts:
    """Token counts of one answer."""

    input: int = 0
    cached: int = 0
    output: int = 0
    written: int = 0
    """Of the input, tokens written to the cache."""
    hourly: int = 0
    """Of those, tokens written for an hour."""

    def usage(self, price: Price | None) -> Usage:
        """As the usage of one request, priced; money is None where the price is unknown."""
        usage = priced(Usage(1, self.input, min(self.cached, self.input), self.output, None), price)
        if price is None or usage.usd is None:
            return usage
        surcharge = self.written * (price.written - price.input) + self.hourly * (HOURLY - 1) * price.written
        return replace(usage, usd=usage.usd + surcharge / 1_000_000)


def openai_counts(usage: Any) -> Counts | None:
    """From a Responses or Chat Completions `usage` object; None if it is none that can be believed."""
    if not isinstance(usage, dict):
        return None
    sent = _count(usage.get("input_tokens", usage.get("prompt_tokens")))
    output = _count(usage.get("output_tokens", usage.get("completion_tokens")))
    if not sent or output is None:
        return None
    details = usage.get("input_tokens_details") or usage.get("prompt_tokens_details")
    cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else 0
    return Counts(sent, min(cached or 0, sent), output)


class AnthropicCounts:
    """Messages usage, which arrives in parts: later parts overrule earlier ones, field by field."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}
        self._hourly = 0
        self._unbelievable = False

    def update(self, usage: Any) -> bool:
        """Take in one `usage` object; whether it told how much the model has written so far."""
        if not isinstance(usage, dict):
            return False
        for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"):
            if usage.get(name) is not None:
                count = _count(usage[name])
                self._unbelievable = self._unbelievable or count is None
                self._seen[name] = count or 0
        written = usage.get("cache_creation")
        if isinstance(written, dict):
            self._hourly = _count(written.get("ephemeral_1h_input_tokens")) or 0
        return usage.get("output_tokens") is not None

    @property
    def believable(self) -> bool:
        """Whether all that was told can be."""
        known = self.counts()
        return not self._unbelievable and known is not None and known.input > 0

    def counts(self) -> Counts | None:
        """What is known so far; None if nothing is."""
        if not self._seen:
            return None
        read = self._seen.get("cache_read_input_tokens", 0)
        written = self._seen.get("cache_creation_input_tokens", 0)
        return Counts(
            self._seen.get("input_tokens", 0) + written + read,
            read,
            self._seen.get("output_tokens", 0),
            written,
            min(self._hourly, written),
        )


def anthropic_counts(usage: Any) -> Counts | None:
    """From a whole Messages `usage` object; None if it is none that can be believed."""
    whole = AnthropicCounts()
    told = whole.update(usage)
    return whole.counts() if told and whole.believable else None


def estimated_tokens(size: int) -> int:
    """Tokens that so many bytes may be, for answers that end without saying: about a quarter, rounded up."""
    return -(-size // 4)


def most_tokens(payload: bytes) -> int:
    """The most input tokens that a request's compact JSON can be: a byte each, and what images and documents hide."""
    images = sum(map(payload.count, (b'"type":"image', b'"type":"input_image', b'"image_url":{')))
    documents = sum(map(payload.count, (b'"type":"document', b'"type":"input_file', b'"type":"file')))
    return len(payload) + _FRAME + images * _IMAGE + documents * _DOCUMENT


_FRAME = 2_000
"""What a provider adds to a request by itself, such as its instructions for tools."""
_IMAGE = 10_000
_DOCUMENT = 600_000
"""As many pages as a provider takes."""
_MOST = 1_000_000_000


def _count(value: Any) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 <= value <= _MOST else None
