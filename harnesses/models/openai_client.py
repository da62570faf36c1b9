"""The OpenAI client: Chat Completions, on any server that speaks them.

Servers differ in what they take. Where one refuses a parameter by name with a 400, the client says so once in the log,
leaves that parameter out (or asks for JSON in words) from then on, and asks again.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import openai
import structlog
from openai.types.chat import ChatCompletion

from harnesses.models.client import ChatMessage, ModelReply, ModelRequest
from harnesses.models.retry import Patience, TryFailed, with_retries
from harnesses.models.schema import strict_schema
from harnesses.models.tool_turns import openai_calls, openai_tools, openai_turn
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
from sandboxes.gateway.usage import openai_counts

if TYPE_CHECKING:
    from typing import Literal

    Stop = Literal["end", "length", "refusal", "other"]

log = structlog.get_logger(__name__)

_STOPS: dict[str, Stop] = {"stop": "end", "tool_calls": "end", "length": "length", "content_filter": "refusal"}
_BROKEN = {"abort", "error", "insufficient_system_resource"}
"""What servers give as the finish of an answer that they broke off themselves: no reply of the model's."""
_LIMITS = ("max_tokens", "max_completion_tokens")
_NAMES = {
    "response_format": ("response_format", "json_schema", "structured output"),
    "max_tokens": _LIMITS,
    "temperature": ("temperature",),
    "seed": ("seed",),
    "prompt_cache_key": ("prompt_cache_key",),
}
"""Parameters a server may refuse, and how its message names them."""


class OpenAIClient:
    """A `ModelClient` over the openai SDK."""

    def __init__(
        self, upstream: Upstream, model: str, price: Price | None = None, *, patience: Patience | None = None
    ) -> None:
        self._upstream = upstream
        self._model = model
        self._price = price
        self._patience = patience or Patience()
        self._without: set[str] = set()
        self._official = host_of(upstream.base_url).endswith("openai.com")
        # A second parameter name is needed: OpenAI's newer models refuse `max_tokens`, many servers know only that.
        self._limit = "max_completion_tokens" if self._official else "max_tokens"
        self._sdk = openai.AsyncOpenAI(
            api_key=key_of(upstream, "openai"),
            base_url=upstream.base_url,
            max_retries=0,
            timeout=openai.Timeout(upstream.timeout_s, connect=connect_s(upstream)),
            http_client=openai.DefaultAsyncHttpxClient(**http_options()),
        )
        self._sdk.organization = None
        self._sdk.project = None

    @property
    def provider(self) -> str:
        """As `ModelClient.provider`."""
        return "openai"

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
            sent = self._parameters(request)
            try:
                answer = await self._ask(sent)
                with reading("a chat completion"):
                    return self._reply(request, sent, answer)
            except TryFailed as failure:
                if not self._adapt(sent, failure):
                    raise

    async def _ask(self, parameters: dict[str, Any]) -> Any:
        self._sdk.api_key = key_of(self._upstream, "openai")
        try:
            return await self._sdk.chat.completions.create(**parameters)
        except openai.APIStatusError as error:
            raise status_failure(self._upstream, error) from None
        except openai.APIConnectionError as error:
            raise connection_failure(error) from None
        except (openai.OpenAIError, ValueError, RecursionError) as error:
            raise bad_reply(f"not a chat completion ({type(error).__name__})") from None

    def _parameters(self, request: ModelRequest) -> dict[str, Any]:
        system = request.system
        parameters: dict[str, Any] = {"model": self._model, self._limit: request.max_output_tokens}
        if request.schema is not None:
            schema = strict_schema(request.schema)
            if "response_format" in self._without:
                system = f"{system}\n\n{schema_instruction(schema)}".strip()
            else:
                form = {"name": request.schema_name, "schema": schema, "strict": True}
                parameters["response_format"] = {"type": "json_schema", "json_schema": form}
        if request.tools:
            parameters["tools"] = openai_tools(request.tools)
        chosen = {
            "temperature": request.temperature,
            "seed": request.seed,
            "prompt_cache_key": self._cache_key(request),
        }
        parameters |= {k: v for k, v in chosen.items() if v is not None and k not in self._without}
        messages: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
        for turn in request.messages:
            plain = not turn.calls and not turn.answers
            messages += [{"role": turn.role, "content": _content(turn)}] if plain else openai_turn(turn)
        return {**parameters, "messages": messages}

    def _cache_key(self, request: ModelRequest) -> str | None:
        """Brings requests that share a beginning to the same cache; only OpenAI itself is known to have the parameter.

        The cache needs no other hint: it works on whatever beginning requests share.
        """
        if not self._official or not request.messages or not request.messages[0].stable:
            return None
        first = request.messages[0]
        shared = "\0".join((self._model, request.system, first.content[: first.stable]))
        return "honed-" + hashlib.sha256(shared.encode("utf-8", "replace")).hexdigest()[:24]

    def _adapt(self, sent: dict[str, Any], failure: TryFailed) -> bool:
        """Note which parameter the server refused; False if none of those sent is to be left out."""
        if failure.kind is not ProviderFailure.BAD_REQUEST or failure.status not in {400, 422}:
            return False
        text = failure.detail.lower()
        for name, words in _NAMES.items():
            known = _LIMITS if name == "max_tokens" else (name,)
            used = next((key for key in known if key in sent), None)
            if used is None or not any(word in text for word in words):
                continue
            if name in self._without and used == self._limit:
                continue  # the limit's other name is refused, too
            if name not in self._without:
                self._leave_out(name, failure)
            return True  # or a request beside this one learned it while this one was on its way
        return False

    def _leave_out(self, name: str, failure: TryFailed) -> None:
        self._without.add(name)
        if name == "max_tokens":
            self._limit = next(limit for limit in _LIMITS if limit != self._limit)
        log.warning(
            "the server refuses a parameter: going on without it",
            parameter=name,
            host=host_of(self._upstream.base_url),
            model=self._model,
            said=failure.detail[:200],
        )

    def _reply(self, request: ModelRequest, sent: dict[str, Any], answer: Any) -> ModelReply:
        if not isinstance(answer, ChatCompletion) or not answer.choices:
            raise bad_reply("not a chat completion")
        choice = answer.choices[0]
        if choice.message is None:
            raise bad_reply("a chat completion without a message")
        if choice.finish_reason in _BROKEN:
            raise TryFailed(ProviderFailure.CUT_STREAM, detail=f"the server ended it with {choice.finish_reason!r}")
        refusal = getattr(choice.message, "refusal", None)
        text = choice.message.content or refusal or ""
        if not isinstance(text, str):
            raise bad_reply("a chat completion whose content is no text")
        counts = openai_counts(answer.usage.model_dump() if answer.usage is not None else None)
        calls = openai_calls(choice.message, self._scrub) if request.tools else ()
        received = len(text) + sum(len(use.raw) for use in calls)
        counts = settle(counts, final=counts is not None, sent=len(json.dumps(sent)), received=received)
        stop: Stop = "refusal" if refusal else _STOPS.get(choice.finish_reason, "other")
        model = self._scrub(answer.model or self._model)
        return ModelReply(self._scrub(text), counts.usage(self._price), stop, model, calls)

    def _scrub(self, text: str) -> str:
        return scrubbed(text, self._upstream)


def _content(turn: ChatMessage) -> str | list[dict[str, Any]]:
    """A turn as it is sent: plain text where there is no image, since many servers know nothing else."""
    if not turn.images:
        return turn.content
    urls = (f"data:{image.media_type};base64,{image.base64}" for image in turn.images)
    return [*({"type": "image_url", "image_url": {"url": url}} for url in urls), {"type": "text", "text": turn.content}]
