"""Damaged inputs as hypothesis makes them: a seed, and up to eight changes, which it can take back when it shrinks.

Half of the changes know JSON: one value of one line becomes something odd, or a key is doubled.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

ODD: tuple[bytes, ...] = (
    *(b"null", b"true", b"-1", b"NaN", b"1e999", b'""', b"[]", b"{}", b'"\\ud800"', b'"\\u0000"', b"9" * 400),
    *(b"[" * 2_000, b'{"a":' * 1_500, b'"' + b"x" * 5_000 + b'"', b"0.0000000001", b"-0", b'["a",1,null,{"b":[]}]'),
)
"""In place of a JSON value."""
TOKENS: tuple[bytes, ...] = (
    *(b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"\r", b"\n\n", b"\r\n", b"\x1b[2J", b"\xe2\x80\xae", b"\xef\xbb\xbf"),
    *(
        b'"',
        b"'",
        b"\\",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"#",
        b"---\n",
        b"...",
        b"../",
        b"/",
        b"\t",
        b"=",
        b"<",
        b">",
    ),
    *(b"9" * 30, b"1e400", b"-1", b"nan", b"\xf0\x9f\xa6\x8a" * 20, b"a" * 3_000, b" " * 500),
)
_MOST = 64 * 1024
"""Bytes of an input: what grows with size is measured elsewhere."""

Change = Callable[[bytes, int, int, Sequence[bytes], Sequence[bytes]], bytes]


def inputs(seeds: Sequence[bytes], tokens: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """Damaged copies of the seeds, and now and then bytes out of nowhere."""
    known = (*tokens, *TOKENS)
    step = st.tuples(st.integers(0, len(_CHANGES) - 1), st.integers(0, 1 << 16), st.integers(0, 1 << 16))

    def made(seed: bytes, steps: Sequence[tuple[int, int, int]]) -> bytes:
        for kind, place, number in steps:
            seed = _CHANGES[kind](seed, place, number, known, seeds)[:_MOST]
        return seed

    damaged = st.builds(made, st.sampled_from(list(seeds)), st.lists(step, max_size=8))
    return st.one_of(damaged, damaged, damaged, damaged, damaged, damaged, damaged, st.binary(max_size=200))


def damaged(rng: random.Random, seeds: Sequence[bytes], tokens: Sequence[bytes]) -> bytes:
    """One input like those of `inputs`."""
    known, data = (*tokens, *TOKENS), rng.choice(seeds)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5, 8))):
        data = rng.choice(_CHANGES)(data, rng.randrange(1 << 16), rng.randrange(1 << 16), known, seeds)[:_MOST]
    return data


def smaller(data: bytes, wrong: Callable[[bytes], bool]) -> bytes:
    """A part of the input that is still wrong: pieces are left out, ever smaller ones."""
    size = max(1, len(data) // 2)
    while size:
        at = 0
        while at < len(data):
            part = data[:at] + data[at + size :]
            if wrong(part):
                data = part
            else:
                at += size
        size //= 2
    return data


def _delete(data: bytes, place: int, number: int, *_: Any) -> bytes:
    at = place * (len(data) + 1) >> 16
    return data[:at] + data[at + 1 + number % 64 :]


def _insert(data: bytes, place: int, number: int, tokens: Sequence[bytes], _: Any) -> bytes:
    at = place * (len(data) + 1) >> 16
    return data[:at] + tokens[number % len(tokens)] + data[at:]


def _replace(data: bytes, place: int, number: int, tokens: Sequence[bytes], _: Any) -> bytes:
    at, token = place * (len(data) + 1) >> 16, tokens[number % len(tokens)]
    return data[:at] + token + data[at + len(token) :]


def _flip(data: bytes, place: int, number: int, *_: Any) -> bytes:
    at = place * max(len(data) - 1, 0) >> 16
    return data[:at] + bytes([data[at] ^ (1 << number % 8)]) + data[at + 1 :] if data else data


def _cut(data: bytes, place: int, *_: Any) -> bytes:
    return data[: place * (len(data) + 1) >> 16]


def _splice(data: bytes, place: int, number: int, _: Any, seeds: Sequence[bytes]) -> bytes:
    other = seeds[number % len(seeds)]
    return data[: place * (len(data) + 1) >> 16] + other[number * (len(other) + 1) >> 16 :]


def _repeat_line(data: bytes, place: int, number: int, *_: Any) -> bytes:
    lines = data.split(b"\n")
    at = place * (len(lines) - 1) >> 16
    return b"\n".join([*lines[:at], *lines[at : at + 1] * (1 + number % 20), *lines[at + 1 :]])


def _swap_lines(data: bytes, place: int, number: int, *_: Any) -> bytes:
    lines = data.split(b"\n")
    one, two = place * (len(lines) - 1) >> 16, number * (len(lines) - 1) >> 16
    lines[one], lines[two] = lines[two], lines[one]
    return b"\n".join(lines)


def _json_value(data: bytes, place: int, number: int, *_: Any) -> bytes:
    """One value of one line (or of the whole) in another shape."""
    lines = data.split(b"\n")
    at = place * (len(lines) - 1) >> 16
    whole = False
    try:
        value = json.loads(lines[at])
    except (ValueError, RecursionError):
        try:
            value, whole = json.loads(data), True
        except (ValueError, RecursionError):
            return data
    places = list(_places(value))
    if not places:
        return data
    holder, key = places[number % len(places)]
    holder[key] = "\x01odd\x01"
    odd = ODD[(number // 7) % len(ODD)]
    made = json.dumps(value).encode().replace(b'"\\u0001odd\\u0001"', odd)
    if whole:
        return made
    lines[at] = made
    return b"\n".join(lines)


def _double_key(data: bytes, place: int, number: int, *_: Any) -> bytes:
    at = data.find(b'{"', place * (len(data) + 1) >> 16)
    end = data.find(b'":', at + 1) if at >= 0 else -1
    if end < 0 or end - at > 100:
        return data
    return data[: at + 1] + data[at + 1 : end + 2] + ODD[number % len(ODD)] + b"," + data[at + 1 :]


def _places(value: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    pending = [value]
    while pending and len(found) < 500:
        holder = pending.pop()
        pairs = holder.items() if isinstance(holder, dict) else enumerate(holder) if isinstance(holder, list) else ()
        for key, inner in pairs:
            found.append((holder, key))
            pending.append(inner)
    return found


_CHANGES: tuple[Change, ...] = (
    _delete, _insert, _replace, _flip, _cut, _splice, _repeat_line, _swap_lines, _json_value, _json_value, _json_value,
    _json_value, _double_key,
)  # fmt: skip
