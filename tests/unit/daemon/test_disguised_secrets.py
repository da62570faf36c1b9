"""Secrets in disguise, and those that a text gives without a shape; code that handles them stays readable."""

from __future__ import annotations

import base64
import time

import pytest

from daemon.redaction import REDACTED, holds_secret, redact

KEY = "sk-ant-api03-" + "a1" * 20


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "text",
    [
        KEY.replace("ant", "\x1b[31mant\x1b[0m"),
        KEY.replace("ant", "\x1b]8;;x\x07ant"),
        KEY.replace("-", "\\u002d"),
        KEY.replace("-", "\\\\u002D"),
        KEY.replace("-", "\\x2d"),
        KEY.replace("-", "%2D"),
        "\u200b".join(KEY),
        "\U000e0041".join(KEY),
        encoded(f"the key is {KEY}"),
        encoded(KEY).rstrip("="),
        encoded(encoded(f"the key is {KEY}")),
        base64.encodebytes(f"{'x' * 100} {KEY}".encode()).decode(),
        base64.urlsafe_b64encode(f"~~~???{KEY}".encode()).decode(),
        encoded("password=hunter2xx for everything"),
    ],
)
def test_a_disguise_does_not_help(text: str) -> None:
    told = redact(f"before {text} after")
    assert REDACTED in told
    assert "a1a1a1" not in told.replace("\u200b", "").replace("\U000e0041", "")
    assert text not in told
    assert holds_secret(f"before {text} after")


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("password=hunter2xx", "hunter2xx"),
        ("PASSWORD=correcthorse", "correcthorse"),
        ("DB_PASSWORD='correct horse'", "correct horse"),
        ("export API_KEY=abc123def456", "abc123def456"),
        ("https://bob:s3cret@host/x", "s3cret"),
        ("https:\\/\\/bob:s3cret@host\\/x", "s3cret"),
        ("postgres://u:p4ss@db/x", "p4ss"),
        ("machine h login me password abc", "abc"),
        ("Cookie: session=abcdef123456", "abcdef123456"),
        ("set-cookie: sid=abcdef123456; HttpOnly", "abcdef123456"),
        ("Authorization: Bearer abc.def-1234567890", "abc.def"),
        ("Server=x;Password=Abc123$%;", "Abc123"),
        ('{"client_secret": "abcDEF12345678"}', "abcDEF12345678"),
        ('{\\"password\\": \\"abc12345\\"}', "abc12345"),
        ("secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYq8", "wJalrXUtnFEMI"),
        ("AccountKey=" + "Ab1/" * 20 + "==;EndpointSuffix=core", "Ab1/Ab1/"),
        ("abc8Q~" + "x" * 34, "xxxx"),
    ],
)
def test_what_is_given_as_a_secret_goes(text: str, gone: str) -> None:
    told = redact(f"before\n{text}\nafter")
    assert gone not in told
    assert told.startswith("before\n")
    assert told.endswith("\nafter")
    assert redact(told) == told, "once is enough"


@pytest.mark.parametrize(
    "text",
    [
        "password = getpass()",
        "password=password",
        "password: required",
        "password=os.environ['X']",
        "token: str",
        "token = tokens[0]",
        "next token = parser.next_token()",
        "def f(token=None)",
        "max_tokens=2000000",
        "tokens: 123k4567",
        "Authorization: Bearer <token>",
        "Authorization: Bearer $TOKEN",
        'api_key_env = "ANTHROPIC_API_KEY"',
        "sha256:" + "a" * 64,
        "secret = load_secret('x1')",
        "PWD=/workspace/data1",
        "http://a:8080/x@y",
        "a: b@c",
        encoded("nothing but ordinary words in here"),
        "\x1b[31mred\x1b[0m and \\u00e9 and 100%25",
    ],
)
def test_what_handles_secrets_and_what_wears_a_disguise_for_nothing_stay(text: str) -> None:
    assert redact(text) == text
    assert not holds_secret(text)


@pytest.mark.parametrize(
    "piece", ["password=", "\x1b[", "\\u00", "https://a:", "Zm9v", "Cookie: a", '="', "%41", "-u002d"]
)
def test_a_long_text_takes_no_quadratic_time(piece: str) -> None:
    began = time.process_time()
    redact(piece * (300_000 // len(piece)))
    assert time.process_time() - began < 20  # hours, were it quadratic
