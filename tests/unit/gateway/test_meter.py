"""Usage is read off the wire however its bytes are sliced."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandboxes.gateway.dialects import Dialect
from sandboxes.gateway.meter import StreamMeter, settle, whole_counts
from sandboxes.gateway.policy import Price
from sandboxes.gateway.sse import SseReader
from sandboxes.gateway.usage import AnthropicCounts, Counts, anthropic_counts, openai_counts
from tests.support.gateway import DIALECTS
from tests.support.wire import Step, events

STEP = Step(text='"usage": {"input_tokens": 9} é\n\ndata: x', cache_creation_tokens=300)
EXPECTED = {"responses": (1000, 200, 50), "chat": (1000, 200, 50), "messages": (1000, 200, 50)}


def read(dialect: str, parts: list[bytes]) -> StreamMeter:
    meter = StreamMeter(Dialect(dialect))
    for part in parts:
        meter.feed(part)
    return meter


@pytest.mark.parametrize("crlf", [False, True])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_split_at_every_byte(dialect: str, crlf: bool) -> None:
    stream = b"".join(events(dialect, "m", STEP))
    if crlf:
        stream = stream.replace(b"\n", b"\r\n")
    for cut in range(len(stream) + 1):
        meter = read(dialect, [stream[:cut], stream[cut:]])
        counts, final = meter.counts()
        assert counts is not None
        assert (counts.input, counts.cached, counts.output) == EXPECTED[dialect]
        assert (final, meter.finished, meter.error) == (True, True, None)
    whole = read(dialect, [stream[k : k + 1] for k in range(len(stream))])
    assert whole.counts() == meter.counts()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_cut_anywhere_is_not_finished(dialect: str) -> None:
    parts = list(events(dialect, "m", STEP))
    last = {"responses": 1, "chat": 3, "messages": 1}[dialect]
    for kept in range(len(parts) - last + 1):
        assert not read(dialect, parts[:kept]).finished


def test_a_cut_message_keeps_what_is_known_and_estimates_the_rest() -> None:
    parts = list(events("messages", "m", STEP))
    meter = read("messages", parts[:4])
    counts, final = meter.counts()
    assert counts is not None
    assert (counts.input, counts.output, final) == (1000, 1, False)
    received = sum(len(part) for part in parts[:4])
    charged = settle(counts, final=False, sent=4000, received=received)
    assert (charged.input, charged.cached) == (1000, 200)
    assert charged.output == -(-received // 4)


def test_without_any_usage_size_is_charged() -> None:
    assert settle(None, final=False, sent=401, received=39) == Counts(101, 0, 10)


@pytest.mark.parametrize(
    ("dialect", "step", "code"),
    [
        ("responses", Step(failed={"code": "server_error", "message": "x"}), "server_error"),
        ("messages", Step(failed={"type": "overloaded_error", "message": "x"}), "overloaded_error"),
        ("chat", Step(failed={"code": "server_error", "message": "x"}), "server_error"),
    ],
)
def test_errors_inside_streams_are_seen(dialect: str, step: Step, code: str) -> None:
    meter = read(dialect, list(events(dialect, "m", step)))
    assert meter.error is not None
    assert code in meter.error.codes
    assert meter.substantial


def test_preamble_is_nothing_a_client_acts_on() -> None:
    first, second, *_ = events("responses", "m", STEP)
    assert [read("responses", parts).substantial for parts in ([first], [first, second])] == [False, True]
    unnamed = read("responses", [b'data: {"type": "response.created", "response": {}}\n\n'])
    assert not unnamed.substantial


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize("kind", ["[]", "{}", "1", "null"])
def test_a_type_that_is_no_word_is_passed_over(dialect: Dialect, kind: str) -> None:
    meter = StreamMeter(dialect)
    meter.feed(f'data: {{"type": {kind}, "response": {kind}}}\n\n'.encode())
    assert not meter.finished


def test_usage_on_every_chunk_counts_once() -> None:
    chunks = [
        b'data: {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": %d}}\n\n' % n for n in (1, 2, 7)
    ]
    counts, final = read("chat", chunks).counts()
    assert (counts, final) == (Counts(5, 0, 7), True)


@settings(max_examples=200)
@given(st.lists(st.binary(max_size=60), max_size=20))
def test_no_bytes_break_the_reader(parts: list[bytes]) -> None:
    for dialect in DIALECTS:
        read(dialect, [*parts, b"\n\ndata: {\n\ndata: [[[\n\nevent: error\ndata: 7\n\n"])


def test_an_event_beyond_the_bound_is_dropped_and_the_next_is_read() -> None:
    reader = SseReader(event_bytes=100)
    stream = b"data: " + b"x" * 500 + b"\ndata: y\n\ndata: ok\n\n"
    seen = [event.data for k in range(0, len(stream), 7) for event in reader.feed(stream[k : k + 7])]
    assert seen == [b"ok"]
    assert reader.dropped == 1


def test_comments_and_several_data_lines() -> None:
    events_seen = SseReader().feed(b": hello\n\nid: 3\nevent: e\ndata: a\ndata:b\n\n")
    assert [(event.name, event.data) for event in events_seen] == [("e", b"a\nb")]


@pytest.mark.parametrize("usage", [None, [], {}, {"total_tokens": 3}, "x"])
def test_what_is_no_usage_is_none(usage: Any) -> None:
    assert openai_counts(usage) is None
    assert anthropic_counts(usage) is None
    assert whole_counts(Dialect.CHAT, {"usage": usage}) is None
    assert whole_counts(Dialect.MESSAGES, usage) is None


@pytest.mark.parametrize("bad", [None, 0, -5, True, "9", 2.5, {}, 10**10, float("nan"), float("inf")])
def test_counts_that_cannot_be_are_none(bad: Any) -> None:
    assert openai_counts({"input_tokens": bad, "output_tokens": 4}) is None
    assert anthropic_counts({"input_tokens": bad, "output_tokens": 4}) is None
    if bad != 0:
        assert openai_counts({"input_tokens": 4, "output_tokens": bad}) is None
        assert anthropic_counts({"input_tokens": 4, "output_tokens": bad}) is None
    assert openai_counts({"input_tokens": 4, "output_tokens": 1.0, "input_tokens_details": [bad]}) == Counts(4, 0, 1)


def test_a_message_that_never_tells_what_it_wrote_is_not_settled() -> None:
    start = b'data: {"type":"message_start","message":{"usage":{"input_tokens":9,"output_tokens":1}}}\n\n'
    delta = b'data: {"type":"message_delta","delta":{}}\n\n'
    assert read("messages", [start, delta]).counts() == (Counts(9, 0, 1), False)


def test_signs_of_life_tell_nothing() -> None:
    meter = read("messages", [b"event: ping\ndata: {}\n\n" * 3, b": alive\n\n"])
    assert meter.telling == 0
    meter.feed(b"event: message_start\ndata: {}\n\n")
    assert meter.telling == 1


def test_later_parts_of_a_message_overrule_earlier_ones() -> None:
    counts = AnthropicCounts()
    counts.update({"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 1})
    counts.update({"input_tokens": None, "output_tokens": 8})
    counts.update(json.loads('{"output_tokens": 9, "input_tokens": 12}'))
    assert counts.counts() == Counts(17, 5, 9)


def test_cache_writes_cost_more_than_plain_input() -> None:
    wrote = {"cache_creation_input_tokens": 400, "input_tokens": 0, "output_tokens": 0}
    price = Price(10.0, 1.0, 50.0)
    five_minutes = anthropic_counts(wrote)
    assert five_minutes is not None
    assert five_minutes.usage(price).usd == pytest.approx(400 * 12.5 / 1e6)
    hour = anthropic_counts({**wrote, "cache_creation": {"ephemeral_1h_input_tokens": 400}})
    assert hour is not None
    assert hour.usage(price).usd == pytest.approx(400 * 20 / 1e6)
    assert hour.usage(None).usd is None
    assert five_minutes.usage(replace(price, cache_write=11.0)).usd == pytest.approx(400 * 11 / 1e6)
