"""The Anthropic client: Messages, with structured output asked for natively.

A server that refuses `output_config` is asked through a forced tool, and one that refuses that in words; each step
down is said once in the log. Temperature is left out where the model refuses it.

What requests share (`ChatMessage.stable`) is marked for the prompt cache, which is Anthropic's only when asked for.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import anthropic
import structlog
from anthropic.types import Message

from harnesses.models.client import ChatMessage, Image, ModelReply, ModelRequest
from harnesses.models.retry import Patience, TryFailed, with_retries
from harnesses.models.schema import strict_schema
from harnesses.models.tool_turns import anthropic_calls, anthropic_tools, anthropic_turn, with_cached_end
from harnesses.models.transport import (
    bad_reply,
    connect_s,
    connection_failure,
    http_options,
    key_of,
    reading,
    schema_instruction,
    status_failure,
)
from sandboxes.gateway.failures import host_of
from sandboxes.gateway.meter import settle
from sandboxes.gateway.policy import Price, ProviderFailure, Upstream
from sandboxes.gateway.scrub import scrubbed
from sandboxes.gateway.usage import anthropic_counts

if TYPE_CHECKING:
    from typing import Literal

    Stop = Literal["end", "length", "refusal", "other"]

log = structlog.get_logger(__name__)

_STOPS: dict[str | None, Stop] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "end",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
_WAYS = ("output_config", "tool", "words")
"""How JSON is asked for, the best first."""
_REFUSED = {"output_config": ("output_config", "output_format", "json_schema", "structured"), "tool": ("tool",)}


@dataclass(frozen=True)
class _Ways:
    """What the server is known to take."""

    schema: int = 0
    """Into `_WAYS`."""
    temperature: bool = True
    cache: bool = True


class AnthropicClient:
    """A `ModelClient` over the anthropic SDK."""

    def __init__(
        self, upstream: Upstream, model: str, price: Price | None = None, *, patience: Patience | None = None
    ) -> None:
        self._upstream = upstream
        self._model = model
        self._price = price
        self._patience = patience or Patience()
        self._ways = _Ways()
        self._sdk = anthropic.AsyncAnthropic(
            api_key=key_of(upstream, "anthropic"),
            base_url=upstream.base_url.rstrip("/").removesuffix("/v1"),
            max_retries=0,
            timeout=anthropic.Timeout(upstream.timeout_s, connect=connect_s(upstream)),
            http_client=anthropic.DefaultAsyncHttpxClient(**http_options()),
        )
        self._sdk.auth_token = None

    @property
    def provider(self) -> str:
        """As `ModelClient.provider`."""
        return "anthropic"

    @property
    def model(self) -> str:
        """As `ModelClient.model`."""
        return self._model

    async def complete(self, request: ModelRequest) -> ModelReply:
        """As `ModelClient.complete`."""
        return await with_retries(self._upstream, self._patience, lambda: self._adapting(request))

    async def close(self) -> None:
        """As `ModelClient.close`."""
        await self._sdk.close()

    async def _adapting(self, request: ModelRequest) -> ModelReply:
        while True:
            ways = self._ways
            sent = self._parameters(request, ways)
            try:
                answer = await self._ask(sent)
                with reading("a message"):
                    return self._reply(request, sent, answer)
            except TryFailed as failure:
                if not self._adapt(request, failure, ways):
                    raise

    async def _ask(self, parameters: dict[str, Any]) -> Any:
        self._sdk.api_key = key_of(self._upstream, "anthropic")
        try:
            return await self._sdk.messages.create(**parameters)
        except anthropic.APIStatusError as error:
            raise status_failure(self._upstream, error) from None
        except anthropic.APIConnectionError as error:
            raise connection_failure(error) from None
        except (anthropic.AnthropicError, ValueError, RecursionError) as error:
            raise bad_reply(f"not a message ({type(error).__name__})") from None

    def _parameters(self, request: ModelRequest, ways: _Ways) -> dict[str, Any]:
        system = request.system
        parameters: dict[str, Any] = {
            "model": self._model,
            "max_tokens": request.max_output_tokens,
            "messages": [_turn(turn, cache=ways.cache) for turn in request.messages],
        }
        if request.temperature is not None and ways.temperature:
            # Newer models know no temperature, and neither does the SDK's own list of parameters.
            parameters["extra_body"] = {"temperature": request.temperature}
        if request.schema is not None:
            schema = strict_schema(request.schema)
            if _WAYS[ways.schema] == "output_config":
                parameters["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
            elif _WAYS[ways.schema] == "tool":
                tool = {"name": request.schema_name, "description": "Give the reply.", "input_schema": schema}
                parameters |= {"tools": [tool], "tool_choice": {"type": "tool", "name": request.schema_name}}
            else:
                system = f"{system}\n\n{schema_instruction(schema)}".strip()
        if request.tools:
            parameters["tools"] = anthropic_tools(request.tools)
            if ways.cache:
                parameters["messages"] = with_cached_end(parameters["messages"])
        return {**parameters, "system": system} if system else parameters

    def _adapt(self, request: ModelRequest, failure: TryFailed, ways: _Ways) -> bool:
        """Step down from what the server refused; False if it was nothing of ours.

        `ways` is how the request was sent: one beside it may have stepped down meanwhile.
        """
        if failure.kind is not ProviderFailure.BAD_REQUEST or failure.status not in {400, 422}:
            return False
        text, known = failure.detail.lower(), self._ways
        if ways.cache and "cache_control" in text and (request.tools or any(turn.stable for turn in request.messages)):
            refused, after = "cache_control", replace(known, cache=False)
        elif request.schema is not None and any(word in text for word in _REFUSED.get(_WAYS[ways.schema], ())):
            refused, after = _WAYS[ways.schema], replace(known, schema=max(known.schema, ways.schema + 1))
        elif request.temperature is not None and ways.temperature and "temperature" in text:
            refused, after = "temperature", replace(known, temperature=False)
        else:
            return False
        if after == known:
            return True
        self._ways = after
        log.warning(
            "the server refuses a parameter: going on without it",
            parameter=refused,
            host=host_of(self._upstream.base_url),
            model=self._model,
            said=failure.detail[:200],
        )
        return True

    def _reply(self, request: ModelRequest, sent: dict[str, Any], answer: Any) -> ModelReply:
        if not isinstance(answer, Message) or not isinstance(answer.content, list):
            raise bad_reply("not a message")
        text = "".join(block.text for block in answer.content if block.type == "text")
        uses = anthropic_calls(answer.content, partial(scrubbed, upstream=self._upstream))
        if request.schema is not None and uses:
            text = json.dumps(uses[0].arguments)
        counts = anthropic_counts(answer.usage.model_dump() if answer.usage is not None else None)
        counts = settle(
            counts,
            final=counts is not None,
            sent=len(json.dumps(sent)),
            received=len(text) + sum(len(use.raw) for use in uses),
        )
        stop = _STOPS.get(answer.stop_reason, "other")
        model = scrubbed(answer.model or self._model, self._upstream)
        calls = uses if request.tools else ()
        return ModelReply(scrubbed(text, self._upstream), counts.usage(self._price), stop, model, calls)


def _turn(turn: ChatMessage, *, cache: bool) -> dict[str, Any]:
    """A turn as it is sent: a text in two blocks where the first is to be cached (with all that comes before it)."""
    if turn.calls or turn.answers:
        return anthropic_turn(turn)
    shared, own = turn.content[: turn.stable], turn.content[turn.stable :]
    images = [_image(image) for image in turn.images]
    if not cache or not shared.strip() or not own.strip():  # blocks of nothing are refused
        whole = [*images, {"type": "text", "text": turn.content}]
        return {"role": turn.role, "content": whole if images else turn.content}
    first = {"type": "text", "text": shared, "cache_control": {"type": "ephemeral"}}
    return {"role": turn.role, "content": [*images, first, {"type": "text", "text": own}]}


def _image(image: Image) -> dict[str, Any]:
    source = {"type": "base64", "media_type": image.media_type, "data": image.base64}
    return {"type": "image", "source": source}
