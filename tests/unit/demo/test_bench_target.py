"""The simulated reader of benchmarks: it answers out of what it is shown, and out of nothing else."""

from __future__ import annotations

import base64
import zlib

import pytest

from daemon.demo.bench_sums import value_of
from daemon.demo.bench_target import answer_benchmark, page_asked
from daemon.demo.conversation import Call, from_chat, from_messages, from_responses
from daemon.demo.pictures import images_in
from daemon.demo.png_text import transcript
from daemon.demo.target import act
from daemon.tasks.benchmarks.docvqa import PROMPT as PAGE
from daemon.tasks.benchmarks.searchqa import PROMPT as CLUE

ALONE = "- Give the answer alone."
ASKED = PAGE.format(image="page.png", question="What is the total due?")


def png(text: str, key: bytes = b"Transcript") -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

    parts = chunk(b"IHDR", bytes(13)), chunk(b"tEXt", key + b"\0" + text.encode()), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


IMAGE = png("Date: May 1\nTotal due: $7.50")
ENCODED = base64.b64encode(IMAGE).decode()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Find $(17 + 25) \\cdot 3 - 4$.", "122"),
        ("$2^{10} - 24$", "1000"),
        ("$\\frac{1}{3} + \\frac{1}{6}$", "\\frac{1}{2}"),
        ("$-3 \\cdot -2$", "6"),
        ("$1$ and $2 + 2$", "4"),
        ("$x^2 = 9$", ""),
        ("$1 / 0$", ""),
        ("$2^{9999999}$", ""),
        ("$(((($", ""),
        ("no sum", ""),
    ],
)
def test_sums_are_worked_out_exactly_and_nothing_else_is(text: str, value: str) -> None:
    assert value_of(text) == value


def test_a_page_is_read_out_of_its_bytes() -> None:
    assert transcript(IMAGE) == "Date: May 1\nTotal due: $7.50"
    assert transcript(png("x", b"Comment")) == ""
    assert transcript(b"\xff\xd8\xff") == ""
    assert transcript(IMAGE[:20]) == ""
    assert answer_benchmark(ASKED, (IMAGE,), ALONE) == "<answer>$7.50</answer>"
    assert answer_benchmark(ASKED, (), ALONE) == "<answer>nothing</answer>"
    assert answer_benchmark(ASKED, (png("Total due: $8"),), ALONE) == "<answer>$8</answer>"


def test_pictures_are_found_in_every_protocol() -> None:
    address = f"data:image/png;base64,{ENCODED}"
    chat = {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": address}}]}]}
    responses = {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": address}]}]}
    block = {"type": "image", "source": {"type": "base64", "data": ENCODED}}
    result = {"type": "tool_result", "tool_use_id": "1", "content": [block]}
    messages = {"messages": [{"role": "user", "content": [result]}]}
    assert [from_chat(chat).images, from_responses(responses).images, from_messages(messages).images] == [(IMAGE,)] * 3
    assert list(images_in([{"type": "input_image", "image_url": "https://x/y.png"}, {"a": 1}, None])) == [b""]
    assert list(images_in({"type": "image", "source": {"data": "***"}})) == []


def test_an_agent_that_is_shown_no_image_opens_it_once() -> None:
    body = {
        "messages": [{"role": "user", "content": f"Working directory: /work/space\n{ASKED}"}],
        "tools": [{"name": "Bash"}, {"name": "Read"}],
    }
    assert act(from_messages(body)).calls == (Call("Read", {"file_path": "/work/space/page.png"}),)
    use = {"type": "tool_use", "id": "1", "name": "Read", "input": {"file_path": "/work/space/page.png"}}
    refused = {"type": "tool_result", "tool_use_id": "1", "content": "no such file"}
    turns = [*body["messages"], {"role": "assistant", "content": [use]}, {"role": "user", "content": [refused]}]
    again = act(from_messages({**body, "messages": turns}))
    assert again.calls == ()
    assert "nothing" in again.text


def test_a_rule_to_answer_alone_is_what_helps() -> None:
    text = "[DOC] [TLE] Mills [PAR] The paper mill is turned by the river Tarrow."
    prompt = CLUE.format(question="This river turns the paper mill", context=text)
    assert answer_benchmark(prompt, (), ALONE) == "<answer>Tarrow</answer>"
    assert answer_benchmark(prompt, (), "") == "<answer>The answer is Tarrow.</answer>"


def test_other_prompts_are_none_of_its_business() -> None:
    assert answer_benchmark("Write a poem.", (IMAGE,), ALONE) is None
    assert page_asked("Write a poem about page.png.") is None
