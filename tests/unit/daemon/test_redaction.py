"""Secrets do not get through, and ordinary text does."""

from __future__ import annotations

import json
import logging

import pytest
import structlog
from pydantic import SecretStr

from daemon import logs, redaction
from daemon.redaction import REDACTED, holds_secret, redact, redact_value, register_secret


@pytest.fixture(autouse=True)
def _fresh_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_secrets", set())


SHAPED = [
    "sk-ant-api03-" + "a" * 40,
    "sk-proj-" + "Zz09_-" * 8,
    "ghp_" + "A" * 36,
    "glpat-" + "x" * 22,
    "AKIA" + "Q" * 16,
    "AIza" + "b" * 35,
    "xoxb-1234567890-abc",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abcDEF",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----",
]


@pytest.mark.parametrize("secret", SHAPED)
def test_shapes_of_credentials_are_redacted(secret: str) -> None:
    assert redact(f"before {secret} after") == f"before {REDACTED} after"


@pytest.mark.parametrize("secret", SHAPED)
def test_a_text_that_holds_one_is_known(secret: str) -> None:
    assert holds_secret(f"before {secret} after")
    assert not holds_secret("Send the header Authorization: Bearer $TOKEN, never the key itself")
    register_secret(SecretStr("a-key-of-no-known-shape"))
    assert holds_secret("use a-key-of-no-known-shape here")


@pytest.mark.parametrize("header", ["Authorization: Bearer abc.def", "x-api-key=12345", "API-KEY: zzz"])
def test_credential_headers_lose_their_value(header: str) -> None:
    assert "abc.def" not in redact(header)
    assert "12345" not in redact(header)
    assert redact(header).endswith(REDACTED)


@pytest.mark.parametrize("text", ["skill-writer", "sk-short", "the key is in OPENAI_API_KEY", "task-0012", ""])
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert redact(text) == text


def test_a_registered_value_is_redacted_wherever_it_stands() -> None:
    register_secret(SecretStr("correct-horse"))
    assert redact_value({"a": ["x correct-horse y", 3], "b": None}) == {"a": [f"x {REDACTED} y", 3], "b": None}


def test_a_longer_secret_is_not_left_half_redacted() -> None:
    register_secret(SecretStr("abcdefgh"))
    register_secret(SecretStr("abcdefgh-long"))
    assert redact("abcdefgh-long") == REDACTED


def test_a_value_too_short_to_be_a_key_is_not_registered() -> None:
    register_secret(SecretStr("a"))
    assert redact("a cat") == "a cat"


def test_log_lines_are_json_and_redacted(capsys: pytest.CaptureFixture[str]) -> None:
    register_secret(SecretStr("correct-horse"))
    logs.configure(json_lines=True)
    try:
        structlog.get_logger("daemon.tests").info("attempt", key="correct-horse", nested={"k": SHAPED[0]})
        logging.getLogger("other").warning("plain %s", "correct-horse")
    finally:
        structlog.reset_defaults()
        logging.getLogger().handlers.clear()
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["event"] for line in lines] == ["attempt", f"plain {REDACTED}"]
    assert lines[0]["key"] == REDACTED
    assert lines[0]["nested"] == {"k": REDACTED}
    assert lines[0]["level"] == "info"
