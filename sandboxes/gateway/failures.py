"""What a provider's answer means: one pure function, used by the proxy and by the model clients alike.

Codes come before wording: a message is read only where a status alone is ambiguous, because it may quote the request.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from sandboxes.gateway.policy import ProviderError, ProviderFailure, Upstream

if TYPE_CHECKING:
    from collections.abc import Mapping

_QUOTA = {
    "insufficient_quota",
    "billing_hard_limit_reached",
    "billing_not_active",
    "billing_error",
    "usage_limit_reached",
    "usage_not_included",
}
_CODES = {
    **dict.fromkeys(_QUOTA, ProviderFailure.QUOTA),
    "invalid_api_key": ProviderFailure.AUTH,
    "authentication_error": ProviderFailure.AUTH,
    "permission_error": ProviderFailure.AUTH,
    "context_length_exceeded": ProviderFailure.CONTEXT_LENGTH,
    "request_too_large": ProviderFailure.CONTEXT_LENGTH,
    "model_not_found": ProviderFailure.MODEL_NOT_FOUND,
    "rate_limit_exceeded": ProviderFailure.RATE_LIMIT,
    "rate_limit_error": ProviderFailure.RATE_LIMIT,
    "overloaded_error": ProviderFailure.OVERLOADED,
    "server_is_overloaded": ProviderFailure.OVERLOADED,
    "slow_down": ProviderFailure.OVERLOADED,
    "server_error": ProviderFailure.SERVER_ERROR,
    "internal_server_error": ProviderFailure.SERVER_ERROR,
    "api_error": ProviderFailure.SERVER_ERROR,
    "timeout_error": ProviderFailure.TIMEOUT,
}
_STATUS = {
    401: ProviderFailure.AUTH,
    402: ProviderFailure.QUOTA,
    403: ProviderFailure.AUTH,
    408: ProviderFailure.TIMEOUT,
    409: ProviderFailure.SERVER_ERROR,
    413: ProviderFailure.BAD_REQUEST,  # of a proxy on the way: the providers' own say `request_too_large`
    425: ProviderFailure.OVERLOADED,
    429: ProviderFailure.RATE_LIMIT,
    503: ProviderFailure.OVERLOADED,
    529: ProviderFailure.OVERLOADED,
}
_WORDING = (
    (ProviderFailure.QUOTA, re.compile(r"credit balance is too low|exceeded your current quota", re.IGNORECASE)),
    (
        ProviderFailure.CONTEXT_LENGTH,
        re.compile(
            r"prompt is too long|exceeds? (the )?(model'?s )?context|context (length|window|size)",
            re.IGNORECASE,
        ),
    ),
    (ProviderFailure.AUTH, re.compile(r"api key not valid|invalid api key|incorrect api key", re.IGNORECASE)),
    (
        ProviderFailure.MODEL_NOT_FOUND,
        re.compile(
            r"not a valid model|model\b.{0,200}\b(not exist|not found|not supported)", re.IGNORECASE | re.DOTALL
        ),
    ),
)
_WINDOW = re.compile(r"maximum context length is (\d{1,9})\b")
_OUTPUT = re.compile(r"\b(\d{1,9}) in the completion|tokens'? is too large: (\d{1,9})\b")
_REMEDIES = {
    ProviderFailure.AUTH: "check {key}",
    ProviderFailure.QUOTA: "add credit to the account of {key}",
    ProviderFailure.MODEL_NOT_FOUND: "check the model's name and base_url",
    ProviderFailure.RATE_LIMIT: "lower the number of workers or wait (account of {key})",
    ProviderFailure.UNREACHABLE: "check base_url and the network (key {key})",
    ProviderFailure.TIMEOUT: "raise timeout_s or check base_url (key {key})",
    ProviderFailure.OVERLOADED: "try again later (key {key})",
    ProviderFailure.SERVER_ERROR: "try again later (key {key})",
    ProviderFailure.CUT_STREAM: "try again (key {key})",
    ProviderFailure.BAD_REPLY: "check that base_url speaks this protocol (key {key})",
    ProviderFailure.BAD_REQUEST: "check base_url and the request (key {key})",
    ProviderFailure.CONTEXT_LENGTH: "shorten the input (key {key})",
}


@dataclass(frozen=True)
class ErrorBody:
    """The telling parts of a provider's error object; empty strings where it has none."""

    codes: tuple[str, ...] = ()
    message: str = ""


def parse_error(body: bytes) -> ErrorBody:
    """Read an error answer's body; anything that is not an error object gives an empty one."""
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        return ErrorBody()
    if isinstance(parsed, list) and parsed:
        parsed = parsed[0]
    return error_body(parsed.get("error", parsed) if isinstance(parsed, dict) else None)


def error_body(error: Any) -> ErrorBody:
    """Read an error object (`{"type", "code", "message"}`), as it also occurs inside streams."""
    if isinstance(error, str):
        return ErrorBody(message=error)
    if not isinstance(error, dict):
        return ErrorBody()
    codes = tuple(value for value in (error.get("code"), error.get("type")) if isinstance(value, str))
    message = error.get("message")
    return ErrorBody(codes, message if isinstance(message, str) else "")


def classify(status: int, body: bytes) -> ProviderFailure:
    """Name the failure behind an error answer (`status` is not 2xx) of either provider."""
    return classify_error(parse_error(body), status)


def classify_error(error: ErrorBody, status: int | None = None) -> ProviderFailure:
    """Name the failure from an error object and, outside streams, its status."""
    kind = _named(error, status)
    if kind is ProviderFailure.CONTEXT_LENGTH and _asks_too_much(error.message):
        return ProviderFailure.BAD_REQUEST
    return kind


def _named(error: ErrorBody, status: int | None) -> ProviderFailure:
    for code in error.codes:
        kind = _CODES.get(code)
        if kind is not None and _plausible(kind, status):
            return kind
    if status == 404:
        return ProviderFailure.MODEL_NOT_FOUND if "model" in error.message.lower() else ProviderFailure.BAD_REQUEST
    if status in {None, 400, 422, 429}:
        for kind, pattern in _WORDING:
            if pattern.search(error.message) and (status != 429 or kind is ProviderFailure.QUOTA):
                return kind
    if status is None:
        return ProviderFailure.BAD_REQUEST if "invalid_prompt" in error.codes else ProviderFailure.SERVER_ERROR
    if status in _STATUS:
        return _STATUS[status]
    return ProviderFailure.SERVER_ERROR if status >= 500 else ProviderFailure.BAD_REQUEST


def retryable(kind: ProviderFailure, headers: Mapping[str, str]) -> bool:
    """May the same request be sent again? `x-should-retry: false` from the provider has the last word."""
    return kind.transient and headers.get("x-should-retry", "").lower() != "false"


def host_of(base_url: str) -> str:
    """Host (and port, if given) of an address; never its user part."""
    try:
        return urlsplit(base_url).netloc.rpartition("@")[2] or "no host"
    except ValueError:
        return "no host"


def failure_line(upstream: Upstream, kind: ProviderFailure, status: int | None = None, detail: str = "") -> str:
    """One line for people: `openai at api.example.com: 401 unauthorized: check OPENAI_API_KEY`."""
    key = upstream.key_name or "the API key"
    what = kind.value.replace("_", " ")
    if status is not None:
        what = f"{status} {_phrase(status) or what}"
    note = " ".join(detail.split())[:200]
    remedy = _REMEDIES[kind].format(key=key)
    return f"{upstream.provider} at {host_of(upstream.base_url)}: {what}{f' ({note})' if note else ''}: {remedy}"


def failure_error(
    upstream: Upstream, kind: ProviderFailure, status: int | None = None, detail: str = ""
) -> ProviderError:
    """The same line as an exception."""
    return ProviderError(kind, failure_line(upstream, kind, status, detail), status=status)


def _asks_too_much(message: str) -> bool:
    """No prompt, however short, would leave room for the output asked for: that is the settings' fault."""
    window, output = _WINDOW.search(message), _OUTPUT.search(message)
    if window is None or output is None:
        return False
    return int(output[1] or output[2]) >= int(window[1])


def _plausible(kind: ProviderFailure, status: int | None) -> bool:
    """A transient kind from a code must not turn a client error into one that is tried again."""
    return status is None or not kind.transient or status >= 500 or status in {408, 409, 429}


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase.lower()
    except ValueError:
        return ""
