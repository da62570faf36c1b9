"""Images reach both providers in their own dialect, before the text, byte for byte."""

from __future__ import annotations

import base64

from harnesses.models.client import ChatMessage, Image, ModelRequest
from tests.support.upstream import Upstream
from tests.unit.models.test_clients import client_for

DATA = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
ENCODED = base64.b64encode(DATA).decode()
TURN = ChatMessage("user", "Shared beginning. What is on the page?", images=(Image("image/png", DATA),))


async def test_openai_is_given_a_data_address() -> None:
    async with Upstream() as server, client_for("openai", server.base_url("openai")) as client:
        await client.complete(ModelRequest("", (TURN,)))
    [message] = server.requests[0].body["messages"]
    assert message["content"] == [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{ENCODED}"}},
        {"type": "text", "text": TURN.content},
    ]


async def test_anthropic_is_given_a_block() -> None:
    async with Upstream() as server, client_for("anthropic", server.base_url("anthropic")) as client:
        await client.complete(ModelRequest("", (TURN,)))
    [message] = server.requests[0].body["messages"]
    assert message["content"] == [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ENCODED}},
        {"type": "text", "text": TURN.content},
    ]


async def test_an_image_does_not_move_the_mark_of_a_shared_beginning() -> None:
    turn = ChatMessage("user", TURN.content, len("Shared beginning. "), TURN.images)
    async with Upstream() as server, client_for("anthropic", server.base_url("anthropic")) as client:
        await client.complete(ModelRequest("", (turn,)))
    [message] = server.requests[0].body["messages"]
    assert [block["type"] for block in message["content"]] == ["image", "text", "text"]
    assert message["content"][1]["text"] == "Shared beginning. "
    assert "cache_control" in message["content"][1]


async def test_a_turn_without_images_stays_plain_text() -> None:
    async with Upstream() as server, client_for("openai", server.base_url("openai")) as client:
        await client.complete(ModelRequest("", (ChatMessage("user", "Hello"),)))
    assert server.requests[0].body["messages"] == [{"role": "user", "content": "Hello"}]
