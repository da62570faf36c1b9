"""What a door lets through, what it counted, and the names of a provider's failures.

Pure data. Token counts are normalised: `input_tokens` includes cached ones, `output_tokens` includes reasoning.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from pydantic import SecretStr

from sandboxes.gateway.keys import KeyRenewal

Provider = Literal["openai", "anthropic"]
"""The wire protocols spoken: OpenAI (Responses, Chat Completions) or Anthropic (Messages)."""


class ProviderFailure(StrEnum):
    """What went wrong between honed and a model provider. Each is a failure of ours, never a score."""

    AUTH = "auth"
    QUOTA = "quota"
    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    SERVER_ERROR = "server_error"
    MODEL_NOT_FOUND = "model_not_found"
    BAD_REQUEST = "bad_request"
    CONTEXT_LENGTH = "context_length"
    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    CUT_STREAM = "cut_stream"
    BAD_REPLY = "bad_reply"

    @property
    def transient(self) -> bool:
        """Worth another try."""
        return self in _TRANSIENT


_TRANSIENT = {
    ProviderFailure.RATE_LIMIT,
    ProviderFailure.OVERLOADED,
    ProviderFailure.SERVER_ERROR,
    ProviderFailure.UNREACHABLE,
    ProviderFailure.TIMEOUT,
    ProviderFailure.CUT_STREAM,
    ProviderFailure.BAD_REPLY,
}


class ProviderError(Exception):
    """A provider failed. `str()` is one line that names the provider, the address's host and the key to check."""

    def __init__(self, kind: ProviderFailure, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status


@dataclass(frozen=True)
class Upstream:
    """Where requests really go, with the real key."""

    provider: Provider
    base_url: str
    """Without the dialect's path but with its version for OpenAI: `https://api.openai.com/v1`,
    `https://api.anthropic.com`."""
    api_key: SecretStr
    key_name: str = ""
    """Where the key came from, such as an environment variable: named in errors, never its value."""
    timeout_s: float = 600.0
    retry_s: float = 60.0
    """Total time spent waiting between tries of one request."""
    tries: int = 5
    renewal: KeyRenewal | None = field(default=None, compare=False)
    """Gets another key where the provider refuses this one; None: there is none to get."""

    @property
    def key(self) -> str:
        """The key to send now; empty for servers that need none."""
        newest = self.api_key if self.renewal is None else self.renewal.current(self.api_key)
        return newest.get_secret_value().strip()

    @property
    def keys(self) -> tuple[str, ...]:
        """Every key that may have been sent, to be masked in what comes back."""
        earlier = () if self.renewal is None else self.renewal.seen
        texts = (key.get_secret_value().strip() for key in (self.api_key, *earlier))
        return tuple(dict.fromkeys(filter(None, texts)))


@dataclass(frozen=True)
class Price:
    """US dollars for a million tokens."""

    input: float
    cached_input: float
    output: float
    cache_write: float | None = None
    """Of input that is written to the prompt cache for five minutes; None: 1.25 times `input`, Anthropic's rate."""

    @property
    def written(self) -> float:
        """Of a million tokens written to the prompt cache for five minutes."""
        return 1.25 * self.input if self.cache_write is None else self.cache_write


@dataclass(frozen=True)
class Usage:
    """Tokens and money. `usd` is None where the price is unknown: never a partial sum."""

    requests: int = 0
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0

    @property
    def tokens(self) -> int:
        """Input plus output."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        """Sum; money is unknown as soon as one part is."""
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return Usage(
            self.requests + other.requests,
            self.input_tokens + other.input_tokens,
            self.cached_input_tokens + other.cached_input_tokens,
            self.output_tokens + other.output_tokens,
            usd,
        )


def priced(usage: Usage, price: Price | None) -> Usage:
    """The same tokens with their cost at `price` (unknown price: unknown cost, unless nothing was used)."""
    if price is None:
        usd = 0.0 if usage.tokens == 0 else None
    else:
        fresh = usage.input_tokens - usage.cached_input_tokens
        usd = fresh * price.input + usage.cached_input_tokens * price.cached_input + usage.output_tokens * price.output
        usd /= 1_000_000
    return Usage(usage.requests, usage.input_tokens, usage.cached_input_tokens, usage.output_tokens, usd)


@dataclass(frozen=True)
class Caps:
    """What one attempt may spend; the request that would exceed one is refused with an answer that says *policy*."""

    requests: int = 200
    tokens: int = 2_000_000
    usd: float | None = None
    """Needs a known price: a door with a money cap and no price refuses every request."""


@dataclass(frozen=True)
class DoorPolicy:
    """What one attempt's door lets through."""

    upstream: Upstream
    model: str
    """The only model name that may be asked for."""
    caps: Caps = field(default_factory=Caps)
    price: Price | None = None
    provider_tools: frozenset[str] = frozenset()
    """Provider-side tool types that the task grants (`web_search`, …); a request with another one is refused."""
    marks: frozenset[str] = frozenset()
    """Texts to look for in what the model is sent: `Tally.seen` tells which went by."""


@dataclass(frozen=True)
class Tally:
    """What a door saw so far: the ground truth for usage and for whose fault a failed attempt is."""

    usage: Usage = field(default_factory=Usage)
    """`requests` counts those that were answered; failed and refused ones are told below."""
    refusals: tuple[str, ...] = ()
    """Policy refusals in order: `cap: requests`, `model: gpt-x`, `path: /v1/files`, …"""
    removed_tools: tuple[str, ...] = ()
    """What was taken out of requests, each once: `field: user`, `reference: image_url`."""
    failures: tuple[ProviderFailure, ...] = ()
    """Upstream failures that were passed on to the sandbox (after our retries), in order."""
    last_failure: str = ""
    """One line for people about the last of them."""
    retries: int = 0
    last_request_failed: bool = False
    """True if the newest finished request ended in an upstream failure."""
    held_up_s: float = 0.0
    """Seconds that requests spent in failed tries and in waiting for the next one."""
    held_up_by: ProviderFailure | None = None
    """What the last of those tries failed with."""
    waiting_s: float = 0.0
    """How long the provider had sent nothing for a request that was still running; 0 where none was."""
    seen: frozenset[str] = frozenset()
    """Of `DoorPolicy.marks`: what some request that was answered held."""
