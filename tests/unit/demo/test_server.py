"""The server over real HTTP, read by the providers' own SDKs."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import anthropic
import openai
import pytest
from pydantic import SecretStr

from daemon.demo.server import SimulatedModel
from daemon.optimizer.prompts.render import render, render_prompt
from daemon.optimizer.replies import ReflectReply
from harnesses.models.client import ChatMessage, ModelRequest
from harnesses.models.factory import make_client
from sandboxes.gateway.policy import Upstream
from tests.support.demo import CLAUDE_LISTED, PROMPT, VALUES, codex_body

TOOL: dict[str, Any] = {"name": "Bash", "description": "d", "input_schema": {"type": "object", "properties": {}}}
QUESTION = 'Write the date "3 April 2025" in the form YYYY-MM-DD.'
REFLECT = render("reflect.user.j2", skill="# S", budget=2, earlier=(), attempts=(), wish="Propose at most 2 edits.")


@pytest.fixture
async def model() -> AsyncIterator[SimulatedModel]:
    async with SimulatedModel() as server:
        yield server


@pytest.fixture
async def openai_sdk(model: SimulatedModel) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=model.openai_base_url, api_key="sk-none", max_retries=0) as client:
        yield client


@pytest.fixture
async def anthropic_sdk(model: SimulatedModel) -> AsyncIterator[anthropic.AsyncAnthropic]:
    async with anthropic.AsyncAnthropic(base_url=model.anthropic_base_url, api_key="sk-none", max_retries=0) as client:
        yield client


async def test_an_optimizer_prompt_in_two_blocks_is_read_as_one(model: SimulatedModel) -> None:
    """As our own client sends it: the shared beginning is a block of its own, for the prompt cache."""
    prompt = render_prompt(
        "reflect.user.j2", skill="# S", budget=2, earlier=(), attempts=(), wish="Propose at most 2 edits."
    )
    target = Upstream("anthropic", model.anthropic_base_url, SecretStr("sk-none"))
    client = make_client(target, "m")
    request = ModelRequest("s", (ChatMessage("user", prompt.text, prompt.stable),), schema_name="reflect_failures")
    try:
        reply = await client.complete(request)
    finally:
        await client.close()
    assert 0 < prompt.stable < len(prompt.text)
    assert ReflectReply.model_validate_json(reply.text).edits == []


async def test_responses_streamed_and_whole_say_the_same(openai_sdk: openai.AsyncOpenAI) -> None:
    body = {**codex_body(PROMPT, VALUES), "stream": False}
    whole = await openai_sdk.responses.create(**body)
    async with openai_sdk.responses.stream(**{key: body[key] for key in ("model", "input", "tools")}) as stream:
        events = [event.type async for event in stream]
        final = await stream.get_final_response()
    assert [item.type for item in whole.output] == ["message", "function_call"] == [item.type for item in final.output]
    assert "openpyxl" in whole.output[1].arguments
    assert events[0] == "response.created"
    assert events[-1] == "response.completed"
    assert whole.usage is not None
    assert whole.usage.total_tokens == whole.usage.input_tokens + whole.usage.output_tokens


async def test_chat_streamed_and_whole_say_the_same(openai_sdk: openai.AsyncOpenAI) -> None:
    messages: Any = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]
    whole = await openai_sdk.chat.completions.create(model="m", messages=messages)
    assert whole.choices[0].message.content == "2025-04-03"
    assert whole.choices[0].finish_reason == "stop"
    stream = await openai_sdk.chat.completions.create(
        model="m", messages=messages, stream=True, stream_options={"include_usage": True}
    )
    chunks = [chunk async for chunk in stream]
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "2025-04-03"
    assert chunks[-1].usage is not None
    assert whole.usage is not None
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens == 2
    assert whole.usage.prompt_tokens > 10


async def test_messages_streamed_and_whole_say_the_same(anthropic_sdk: anthropic.AsyncAnthropic) -> None:
    messages: Any = [{"role": "user", "content": PROMPT}]
    whole = await anthropic_sdk.messages.create(model="m", max_tokens=100, messages=messages, tools=[TOOL])  # type: ignore[list-item]
    async with anthropic_sdk.messages.stream(model="m", max_tokens=100, messages=messages, tools=[TOOL]) as stream:  # type: ignore[list-item]
        final = await stream.get_final_message()
    assert whole.stop_reason == final.stop_reason == "tool_use"
    assert [block.type for block in whole.content] == ["text", "tool_use"]
    assert final.content[1].input == whole.content[1].input  # type: ignore[union-attr]


async def test_the_cli_form_of_messages_is_taken(model: SimulatedModel) -> None:
    """`?beta=true`, system messages among the turns, output_config without a schema."""
    messages = [{"role": "user", "content": PROMPT}, {"role": "system", "content": CLAUDE_LISTED}]
    body = {"model": "m", "messages": messages, "tools": [{"name": "Bash"}, {"name": "Skill"}], "stream": False}
    body |= {"output_config": {"effort": "medium"}, "thinking": {"type": "adaptive"}}
    url = f"{model.anthropic_base_url}/v1/messages?beta=true"
    async with aiohttp.ClientSession() as session, session.post(url, json=body) as reply:
        said = await reply.json()
    assert said["content"][1]["name"] == "Skill"


async def test_the_optimizer_answers_by_schema_on_both_providers(
    openai_sdk: openai.AsyncOpenAI, anthropic_sdk: anthropic.AsyncAnthropic
) -> None:
    schema = ReflectReply.model_json_schema()
    form: Any = {"type": "json_schema", "json_schema": {"name": "reflect_failures", "schema": schema}}
    messages: Any = [{"role": "system", "content": "You improve a skill."}, {"role": "user", "content": REFLECT}]
    chat = await openai_sdk.chat.completions.create(model="m", messages=messages, response_format=form)
    ReflectReply.model_validate_json(chat.choices[0].message.content or "")
    config: Any = {"format": {"type": "json_schema", "schema": schema}}
    said = await anthropic_sdk.messages.create(
        model="m", max_tokens=100, system="s", messages=messages[1:], output_config=config
    )
    ReflectReply.model_validate_json(said.content[0].text)  # type: ignore[union-attr]


async def test_the_same_request_gets_the_same_bytes(model: SimulatedModel) -> None:
    body = codex_body(PROMPT, VALUES)
    async with aiohttp.ClientSession() as session:
        replies = set()
        for _ in range(3):
            async with session.post(f"{model.openai_base_url}/responses", json=body) as reply:
                replies.add(await reply.read())
        other = codex_body(PROMPT + " Please.", VALUES)
        async with session.post(f"{model.openai_base_url}/responses", json=other) as reply:
            assert await reply.read() not in replies
    assert len(replies) == 1


async def test_what_was_sent_before_counts_as_cached(openai_sdk: openai.AsyncOpenAI) -> None:
    body = {**codex_body(PROMPT, VALUES), "stream": False}
    first = await openai_sdk.responses.create(**body)
    assert first.usage is not None
    assert first.usage.input_tokens_details.cached_tokens == 0
    call = first.output[1]
    history = [
        {"type": "function_call", "call_id": "c", "name": "exec_command", "arguments": call.arguments},
        {"type": "function_call_output", "call_id": "c", "output": "Process exited with code 0\nOutput:\nwrote 8"},
    ]
    second = await openai_sdk.responses.create(**{**body, "input": [*body["input"], *history]})
    assert second.usage is not None
    assert 0 < second.usage.input_tokens_details.cached_tokens < second.usage.input_tokens
    assert second.output_text.startswith("Done: wrote 8")


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/chat/completions", "/v1/messages"])
@pytest.mark.parametrize("data", [b"", b"{", b"[1]", b'{"input": [3], "messages": [3]}', b"\xff"])
async def test_nonsense_is_a_400_that_both_sdks_can_read(model: SimulatedModel, path: str, data: bytes) -> None:
    async with aiohttp.ClientSession() as session, session.post(model.anthropic_base_url + path, data=data) as reply:
        assert reply.status == 400
        assert (await reply.json())["error"]["type"] == "invalid_request_error"


async def test_it_listens_on_loopback_alone_and_stops(model: SimulatedModel) -> None:
    assert model.anthropic_base_url == f"http://127.0.0.1:{model.port}"
    taken = SimulatedModel(model.port)
    with pytest.raises(OSError, match="in use"):
        await taken.start()
    url = f"{model.openai_base_url}/models"
    await model.stop()
    await model.stop()
    with pytest.raises(RuntimeError, match="not started"):
        _ = model.port
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ClientConnectionError):
            await session.get(url)


async def test_standalone_it_says_where_it_listens_and_ends_on_a_signal() -> None:
    import asyncio

    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "daemon.demo.server", "--port", "0"), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    line = (await process.stdout.readline()).decode()
    url = line.split("OpenAI: ")[1].rstrip(")\n")
    async with aiohttp.ClientSession() as session, session.get(f"{url}/models") as reply:
        assert json.loads(await reply.text()) == {"object": "list", "data": []}
    process.terminate()
    assert await process.wait() == 0
