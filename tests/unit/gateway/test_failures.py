"""Every answer of a provider has one name, and one line for people."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from sandboxes.gateway.failures import classify, classify_error, error_body, failure_error, failure_line, retryable
from sandboxes.gateway.policy import Provider, ProviderFailure, Upstream

F = ProviderFailure


def openai(message: str = "", code: str | None = None, kind: str = "invalid_request_error") -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "code": code}}


def anthropic(kind: str, message: str = "") -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


WINDOW = (
    "This model's maximum context length is {} tokens. However, you requested {} tokens ({} in the messages, {} in the"
    " completion). Please reduce the length of the messages or completion."
)
TOO_LARGE = (
    "'max_tokens' or 'max_completion_tokens' is too large: {}. This model's maximum context length is {} tokens and"
    " your request has {} input tokens."
)
TABLE: list[tuple[Provider, int, Any, ProviderFailure]] = [
    ("openai", 401, openai("Incorrect API key provided", "invalid_api_key"), F.AUTH),
    ("openai", 403, openai("Country not supported"), F.AUTH),
    ("openai", 400, openai("API key not valid. Please pass a valid API key."), F.AUTH),
    ("openai", 402, {}, F.QUOTA),
    ("openai", 429, openai("You exceeded your current quota", "insufficient_quota", "insufficient_quota"), F.QUOTA),
    ("openai", 429, {"error": {"type": "usage_limit_reached", "message": "x"}}, F.QUOTA),
    ("openai", 429, openai("Rate limit reached for model m", "rate_limit_exceeded", "tokens"), F.RATE_LIMIT),
    ("openai", 429, openai("Too long a context window queue, model not found"), F.RATE_LIMIT),
    ("openai", 429, b"<html>", F.RATE_LIMIT),
    ("openai", 404, openai("The model `nope` does not exist", "model_not_found"), F.MODEL_NOT_FOUND),
    ("openai", 404, {"detail": "Not Found"}, F.BAD_REQUEST),
    ("openai", 400, openai("gpt-x is not a valid model ID"), F.MODEL_NOT_FOUND),
    ("openai", 400, openai("This model's maximum context length is 8192 tokens"), F.CONTEXT_LENGTH),
    ("openai", 400, openai("too much", "context_length_exceeded"), F.CONTEXT_LENGTH),
    ("openai", 400, openai(WINDOW.format(2048, 2100, 1900, 200), "context_length_exceeded"), F.CONTEXT_LENGTH),
    ("openai", 400, openai(WINDOW.format(2048, 8300, 108, 8192), "context_length_exceeded"), F.BAD_REQUEST),
    ("openai", 400, openai(TOO_LARGE.format(1500, 2048, 600)), F.CONTEXT_LENGTH),
    ("openai", 400, openai(TOO_LARGE.format(8192, 2048, 108)), F.BAD_REQUEST),
    ("openai", 400, openai("Unsupported parameter: 'temperature'"), F.BAD_REQUEST),
    ("openai", 400, openai("bad", "server_error"), F.BAD_REQUEST),
    ("openai", 400, {"error": "unexpected string"}, F.BAD_REQUEST),
    ("openai", 400, [{"error": {"message": "API key not valid"}}], F.AUTH),
    ("openai", 422, {}, F.BAD_REQUEST),
    ("openai", 302, b"", F.BAD_REQUEST),
    ("openai", 408, b"", F.TIMEOUT),
    ("openai", 409, b"", F.SERVER_ERROR),
    ("openai", 413, b"<html>413 Request Entity Too Large</html>", F.BAD_REQUEST),
    ("openai", 500, openai("x", None, "server_error"), F.SERVER_ERROR),
    ("openai", 502, b"Bad Gateway", F.SERVER_ERROR),
    ("openai", 503, b"", F.OVERLOADED),
    ("openai", 504, b"", F.SERVER_ERROR),
    ("openai", 520, b"", F.SERVER_ERROR),
    ("anthropic", 401, anthropic("authentication_error", "invalid x-api-key"), F.AUTH),
    ("anthropic", 403, anthropic("permission_error"), F.AUTH),
    ("anthropic", 404, anthropic("not_found_error", "model: nope"), F.MODEL_NOT_FOUND),
    ("anthropic", 400, anthropic("invalid_request_error", "Your credit balance is too low"), F.QUOTA),
    ("anthropic", 400, anthropic("invalid_request_error", "prompt is too long: 3 > 2"), F.CONTEXT_LENGTH),
    ("anthropic", 400, anthropic("invalid_request_error", "tools.0: bad"), F.BAD_REQUEST),
    ("anthropic", 413, anthropic("request_too_large"), F.CONTEXT_LENGTH),
    ("anthropic", 429, anthropic("rate_limit_error"), F.RATE_LIMIT),
    ("anthropic", 500, anthropic("api_error"), F.SERVER_ERROR),
    ("anthropic", 529, anthropic("overloaded_error"), F.OVERLOADED),
]


@pytest.mark.parametrize(("provider", "status", "body", "kind"), TABLE)
def test_names_answers(provider: Provider, status: int, body: Any, kind: ProviderFailure) -> None:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    assert classify(status, raw) is kind


@given(st.integers(300, 599), st.binary(max_size=200))
def test_any_answer_has_a_name(status: int, body: bytes) -> None:
    kind = classify(status, body)
    if 400 <= status < 500 and status not in {408, 409, 425, 429}:
        assert not kind.transient, "a client error must not be tried again"


PARTS = st.none() | st.text(max_size=20) | st.integers() | st.lists(st.text(max_size=5), max_size=2)
ERRORS = PARTS | st.dictionaries(st.sampled_from(["code", "type", "message", "x"]), PARTS)


@given(ERRORS)
def test_any_error_object_has_a_name(error: Any) -> None:
    assert isinstance(classify_error(error_body(error), 400), ProviderFailure)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": "rate_limit_exceeded", "message": "x"}, F.RATE_LIMIT),
        ({"type": "overloaded_error", "message": "Overloaded"}, F.OVERLOADED),
        ({"code": "server_error"}, F.SERVER_ERROR),
        ({"code": "context_length_exceeded"}, F.CONTEXT_LENGTH),
        ({"code": "insufficient_quota"}, F.QUOTA),
        ({"code": "invalid_prompt", "message": "no"}, F.BAD_REQUEST),
        ({}, F.SERVER_ERROR),
    ],
)
def test_names_errors_inside_streams(error: dict[str, str], kind: ProviderFailure) -> None:
    assert classify_error(error_body(error)) is kind


def test_the_providers_word_on_retrying_is_last() -> None:
    assert retryable(F.SERVER_ERROR, {})
    assert not retryable(F.SERVER_ERROR, {"x-should-retry": "false"})
    assert not retryable(F.BAD_REQUEST, {"x-should-retry": "true"})


def test_the_line_names_provider_host_status_and_key() -> None:
    upstream = Upstream("openai", "https://user:pass@api.example.com:8443/v1", SecretStr("sk-1"), "OPENAI_API_KEY")
    line = failure_line(upstream, F.AUTH, 401)
    assert line == "openai at api.example.com:8443: 401 unauthorized: check OPENAI_API_KEY"
    error = failure_error(upstream, F.SERVER_ERROR, 599, "two\nlines  " + "x" * 500)
    assert str(error).startswith("openai at api.example.com:8443: 599 server error (two lines xxx")
    assert len(str(error)) < 400
    assert (error.kind, error.status) == (F.SERVER_ERROR, 599)


@pytest.mark.parametrize("kind", list(ProviderFailure))
def test_every_failure_has_a_line(kind: ProviderFailure) -> None:
    line = failure_line(Upstream("anthropic", "http://h", SecretStr("")), kind)
    assert line.startswith("anthropic at h: ")
    assert "{" not in line
