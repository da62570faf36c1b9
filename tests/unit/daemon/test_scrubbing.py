"""What comes from people's machines keeps no secret and no name, and stays readable otherwise."""

from __future__ import annotations

import time

import pytest
from pydantic import SecretStr

from daemon import redaction
from daemon.redaction import REDACTED, holds_secret, redact, register_secret
from daemon.scrubbing import register_environment, scrub, scrub_value


@pytest.fixture(autouse=True)
def _fresh_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_secrets", set())


SHAPED = [
    "github_pat_" + "A1" * 20,
    "glrt-" + "x" * 22,
    "ASIA" + "Q" * 16,
    "ya29." + "a" * 30,
    "xapp-1-A0123456789",
    "hooks.slack.com/services/T00000000/B00000000/" + "x" * 24,
    "sk_live_" + "4e" * 12,
    "whsec_" + "4e" * 16,
    "npm_" + "a" * 36,
    "pypi-" + "A" * 60,
    "hf_" + "a" * 34,
    "gsk_" + "a" * 50,
    "SG." + "a" * 22 + "." + "b" * 43,
    "dop_v1_" + "0a" * 32,
    "dapi" + "0a" * 16,
    "shpat_" + "0A" * 16,
    "lin_api_" + "a" * 40,
    "ATATT3x" + "a" * 60,
    "hvs." + "a" * 24,
    "AccountKey=" + "a" * 86 + "==",
    "AGE-SECRET-KEY-1" + "Q" * 58,
    "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\nabc",
]


@pytest.mark.parametrize("secret", SHAPED)
def test_shapes_are_known_to_every_net(secret: str) -> None:
    assert redact(f"before {secret}") == f"before {REDACTED}"
    assert scrub(f"before {secret}") == f"before {REDACTED}"
    assert holds_secret(f"before {secret}")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("password = hunter2hunter", f"password = {REDACTED}"),
        ("DB_PASSWORD='s3cr3tvalue'", f"DB_PASSWORD='{REDACTED}'"),
        ('{"api_key": "abcdef123"}', f'{{"api_key": "{REDACTED}"}}'),
        ('{\\"client_secret\\": \\"abcdef123\\"}', f'{{\\"client_secret\\": \\"{REDACTED}\\"}}'),
        ("my password is hunter2x", f"my password is {REDACTED}"),
        ("tool --password hunter22 -v", f"tool --password {REDACTED} -v"),
        ("Authorization: Basic dXNlcjpwYXNz", f"Authorization: {REDACTED}"),
        ("-H 'bearer abcdefghijklmnop'", f"-H 'bearer {REDACTED}'"),
        ("Set-Cookie: sid=abc; Path=/", f"Set-Cookie: {REDACTED}"),
        ("postgres://joe:pw@db/x", f"postgres://{REDACTED}@db/x"),
        ("curl -u joe:pw123 https://x", f"curl -u joe:{REDACTED} https://x"),
        ("see /home/joe/a.py, /Users/ann/b", "see ~/a.py, ~/b"),
        ("C:\\Users\\joe\\x", "~\\x"),
        ("projects/-home-joe-work/x.jsonl", "projects/-home-work/x.jsonl"),
        ("ask joe.doe+x@mail.example.com", "ask [email]"),
    ],
)
def test_what_is_named_a_secret_or_names_a_person_is_taken_out(text: str, left: str) -> None:
    assert scrub(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "export TOKEN=$GITHUB_TOKEN",
        "max_tokens: 4096",
        "token bucket algorithm: see README",
        "key = os.environ['API_KEY']",
        "def login(password: str) -> None:",
        "the homepage of Users and @decorator",
        "python3 -m pytest -k 'basic or cookie'",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert scrub(text) == text


def test_a_key_tells_what_its_value_is() -> None:
    given = {"auth": {"Password": "x", "note": "fine", "n": 3}, "cookie": "a=b", "list": ["/home/joe", None, True]}
    assert scrub_value(given) == {
        "auth": {"Password": REDACTED, "note": "fine", "n": 3},
        "cookie": REDACTED,
        "list": ["~", None, True],
    }


def test_the_values_of_secret_variables_are_known_wherever_they_stand() -> None:
    register_environment({"CI_DEPLOY_TOKEN": "plain-looking-value", "PATH": "/usr/bin:/bin", "A_SECRET": "short"})
    register_secret(SecretStr("other-value-1"))
    assert scrub("got plain-looking-value, other-value-1, short and /usr/bin:/bin") == (
        f"got {REDACTED}, {REDACTED}, short and /usr/bin:/bin"
    )


@pytest.mark.parametrize(
    "unit", ["password", "a@", "://", "x:", "token ", "eyJaaaaaaaaaaa.", "cookie:", "-home", "sk-"]
)
def test_hostile_text_takes_no_more_than_linear_time(unit: str) -> None:
    def took(size: int) -> float:
        text = unit * (size // len(unit)) + "@"
        started = time.process_time()
        scrub(text)
        return time.process_time() - started

    took(1_000)
    assert took(160_000) < 30 * took(20_000) + 0.05, "eight times the text takes about eight times as long"
