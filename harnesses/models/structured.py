"""A reply as a pydantic model: extracted, validated, asked for once more if it does not fit, else a `BadReply`.

What a model writes is hostile data: it is parsed as JSON and validated, nothing else.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from harnesses.models.client import ChatMessage, ModelClient, ModelReply, ModelRequest

if TYPE_CHECKING:
    from sandboxes.gateway.policy import Usage

M = TypeVar("M", bound=BaseModel)

ECHO_CHARS = 8_000
"""Kept of a bad reply when it is shown to the model again."""
_THOUGHTS = ("think", "thinking", "reasoning")
_OPENED = re.compile(rf"<({'|'.join(_THOUGHTS)})>", re.IGNORECASE)
_CLOSED = {name: re.compile(f"</{name}>", re.IGNORECASE) for name in _THOUGHTS}
_FENCE = re.compile(r"```[a-zA-Z0-9_-]*[ \t]*\n(.*?)```", re.DOTALL)


class BadReply(Exception):  # noqa: N818 - the name says it
    """The model answered twice, and neither reply could be used. `usage` is what both cost."""

    def __init__(self, message: str, usage: Usage) -> None:
        super().__init__(message)
        self.usage = usage


@dataclass(frozen=True)
class Answered(Generic[M]):
    """A parsed reply."""

    value: M
    reply: ModelReply
    """The reply it was parsed from: the second one if it was asked for again."""
    usage: Usage
    """Of all requests it took."""


async def ask(client: ModelClient, request: ModelRequest, schema: type[M]) -> Answered[M]:
    """Ask for a reply that is a `schema`; raises `BadReply` after two that are not, and `ProviderError`."""
    request = replace(request, schema=request.schema or schema.model_json_schema())
    first = await client.complete(request)
    try:
        return Answered(parse(first, schema), first, first.usage)
    except ValueError as error:
        again = replace(request, messages=(*request.messages, *_correction(first, error)))
    second = await client.complete(again)
    usage = first.usage + second.usage
    try:
        return Answered(parse(second, schema), second, usage)
    except ValueError as error:
        msg = f"{client.provider} {client.model} gave no usable {request.schema_name} reply twice: {_brief(error)}"
        raise BadReply(msg, usage) from None


def parse(reply: ModelReply, schema: type[M]) -> M:
    """The one JSON object of a reply, validated; raises `ValueError` that says what is wrong."""
    if reply.stop == "refusal":
        msg = "the model refused to answer"
        raise ValueError(msg)
    try:
        return schema.model_validate_json(json_object(reply.text))
    except ValueError as error:
        # Also where a whole object was found: of a cut reply it is only one of its inner ones.
        if reply.stop == "length":
            msg = "the reply was cut at the output limit: answer more briefly"
            raise ValueError(msg) from error
        raise


def json_object(text: str) -> str:
    """The text of the one JSON object in a reply; raises `ValueError` if there is none, or more than one.

    Thinking blocks and code fences around it are taken off; prose around it is ignored. What is an object as it
    stands is not touched, whatever its texts hold.
    """
    for whole in (text.strip(), _without_thoughts(text).strip()):
        if _is_object(whole):
            return whole
    text = whole
    fenced: list[str] = [block.strip() for block in _FENCE.findall(text)]
    found = list(dict.fromkeys(block for block in fenced if _is_object(block))) or _objects_in(text)
    if not found:
        msg = "the reply holds no complete JSON object"
        raise ValueError(msg)
    if len(found) > 1:
        msg = "the reply holds several JSON objects"
        raise ValueError(msg)
    return found[0]


def _without_thoughts(text: str) -> str:
    """Without thinking blocks; in linear time, for a small model may repeat an opening tag up to its limit."""
    kept: list[str] = []
    endless: set[str] = set()
    at = 0
    for opened in _OPENED.finditer(text):
        name = opened[1].lower()
        if opened.start() < at or name in endless:
            continue
        closed = _CLOSED[name].search(text, opened.end())
        if closed is None:
            endless.add(name)
            continue
        kept.append(text[at : opened.start()])
        at = closed.end()
    return "".join((*kept, text[at:]))


def _objects_in(text: str) -> list[str]:
    """Top-level JSON objects in prose, each once."""
    decoder = json.JSONDecoder()
    found: list[str] = []
    at = text.find("{")
    tries = 0
    while at >= 0 and tries < 1000:
        tries += 1
        try:
            _, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            found.append(text[at:end])
        at = text.find("{", end)
    return list(dict.fromkeys(found))


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _correction(reply: ModelReply, error: ValueError) -> tuple[ChatMessage, ChatMessage]:
    # Half of a surrogate pair, as a broken reply may hold, cannot be sent back.
    said = reply.text[:ECHO_CHARS].encode("utf-8", "replace").decode() or "(empty)"
    wish = (
        f"That reply cannot be used: {_brief(error)}.\n"
        "Give the whole reply again as one JSON object that fits the schema."
    )
    return ChatMessage("assistant", said), ChatMessage("user", wish)


def _brief(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    parts = [
        f"{'.'.join(str(step) for step in problem['loc']) or 'reply'}: {problem['msg']}" for problem in error.errors()
    ]
    return "; ".join(parts[:5])[:600]
