"""Web addresses and names of variables, as every section of honed.toml takes them."""

from __future__ import annotations

import pytest

from daemon.config_values import VARIABLE, is_address, is_private_address, matching

GOOD = ["https://host", "https://host:8443/path", "http://127.0.0.1:8000/v1", "http://[::1]:9/v1", "http://localhost"]
BAD = [
    "",
    "host",
    "ftp://host",
    "https://",
    "https://user@host",
    "https://user:secret@host",
    "https://host/?key=secret",
    "https://host/#part",
    "https://host:0",
    "https://host:99999",
    "https://ho st/",
    "https://host/\n",
    "https://host/\u202ev1",
    "https://host/\tv1",
]


@pytest.mark.parametrize("text", GOOD)
def test_an_address_that_every_section_takes(text: str) -> None:
    assert (is_address(text), is_private_address(text)) == (True, True)


@pytest.mark.parametrize("text", BAD)
def test_what_is_none_or_could_hold_or_hide_a_secret(text: str) -> None:
    assert (is_address(text), is_private_address(text)) == (False, False)


@pytest.mark.parametrize("text", ["http://host", "http://127.0.0.1.example", "http://10.0.0.1:4318"])
def test_no_secret_goes_over_plain_http_to_another_machine(text: str) -> None:
    assert (is_address(text), is_private_address(text)) == (True, False)


def test_a_value_that_does_not_match_says_what_it_must_be() -> None:
    assert matching(VARIABLE, "OPENAI_API_KEY", "must be a name") == "OPENAI_API_KEY"
    for text in ("sk-secret", "1A", "A B", "A\n", ""):
        with pytest.raises(ValueError, match=r"^must be a name$"):
            matching(VARIABLE, text, "must be a name")
