"""The key is masked in chunks of any size, and nothing else is changed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sandboxes.gateway.scrub import MASK, KeyScrubber, scrubbed
from tests.support.gateway import KEY, target

UPSTREAM = target("openai", "http://h")
PIECES = st.lists(st.sampled_from([KEY, KEY[:7], KEY[3:], "s", "sk-", "x ", "\n"]), max_size=12)


@given(PIECES, st.integers(1, 40))
def test_any_slicing(pieces: list[str], size: int) -> None:
    text = "".join(pieces).encode()
    scrubber = KeyScrubber(UPSTREAM)
    out = b"".join(scrubber.feed(text[k : k + size]) for k in range(0, len(text), size)) + scrubber.flush()
    assert out == scrubbed(text, UPSTREAM)
    assert KEY.encode() not in out


def test_ordinary_chunks_pass_at_once() -> None:
    scrubber = KeyScrubber(UPSTREAM)
    assert scrubber.feed(b"data: hello\n\n") == b"data: hello\n\n"
    assert scrubber.feed(b"a s") == b"a "
    assert scrubber.feed(b"un") == b"sun"
    assert scrubber.flush() == b""


def test_without_a_key_nothing_is_masked() -> None:
    from dataclasses import replace

    from pydantic import SecretStr

    keyless = replace(UPSTREAM, api_key=SecretStr(""))
    assert KeyScrubber(keyless).feed(b"sk-") == b"sk-"
    assert scrubbed("abc", keyless) == "abc"
    assert scrubbed(f"-{KEY}-", UPSTREAM) == f"-{MASK}-"
