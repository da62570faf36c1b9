"""Replies become models: extracted from what models write around JSON, checked, asked for once again."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from harnesses.models.client import ChatMessage, ModelReply, ModelRequest
from harnesses.models.fake import ScriptedModel
from harnesses.models.structured import BadReply, ask, json_object
from sandboxes.gateway.policy import Price, ProviderError, ProviderFailure, Usage


class Count(BaseModel):
    model_config = ConfigDict(extra="forbid")
    n: int = Field(ge=1)
    note: str = ""


ASK = ModelRequest("system", (ChatMessage("user", "count"),), schema_name="count")
GOOD = '{"n": 3, "note": "a } brace and ``` fence"}'


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"Sure!\n```\n{GOOD}\n```\nAnything else?",
        f'<think>maybe {{}} or {{"n": 9}}</think>\n{GOOD}',
        f"The answer is {GOOD} as asked.",
        f"{GOOD} {GOOD}",
        "\n\n" + json.dumps(json.loads(GOOD), indent=2),
    ],
)
def test_finds_the_one_object(text: str) -> None:
    assert json.loads(json_object(text)) == json.loads(GOOD)


@pytest.mark.parametrize("text", ["", "no", "[1, 2]", '{"n": 3', '{"n": 1} or {"n": 2}', "{" * 5000, '"{}"x'])
def test_takes_nothing_else(text: str) -> None:
    if text == '"{}"x':
        assert json_object(text) == "{}"
        return
    with pytest.raises(ValueError, match="JSON object"):
        json_object(text)


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.text())), st.booleans())
def test_any_object_survives_fences(value: dict[str, object], indent: bool) -> None:
    text = json.dumps(value, indent=2 if indent else None)
    assert json.loads(json_object(f"Here:\n```json\n{text}\n```")) == value


@pytest.mark.parametrize("piece", ["<think>", "```\n", " ", "{", "<think></THINK>", '{"a":'])
def test_a_model_that_repeats_itself_is_read_in_linear_time(piece: str) -> None:
    """Ends at once; squared, it would hold up every other attempt for a minute."""
    for start in ("", "```\n"):
        with pytest.raises(ValueError, match="no complete JSON object"):
            json_object(start + piece * 30_000)


async def test_a_good_reply_costs_one_request() -> None:
    model = ScriptedModel(lambda request: GOOD, price=Price(1, 1, 1))
    answered = await ask(model, ASK, Count)
    assert answered.value == Count(n=3, note="a } brace and ``` fence")
    assert answered.reply.text == GOOD
    assert answered.usage.requests == 1
    assert model.requests[0].schema == Count.model_json_schema()


async def test_is_asked_once_again_with_what_was_wrong() -> None:
    def script(request: ModelRequest) -> str:
        return '{"n": 0}' if len(request.messages) == 1 else '{"n": 4}'

    model = ScriptedModel(script)
    answered = await ask(model, ASK, Count)
    assert answered.value.n == 4
    assert answered.usage.requests == 2
    wrong, wish = model.requests[1].messages[1:]
    assert (wrong.role, wrong.content) == ("assistant", '{"n": 0}')
    assert "n: Input should be greater than or equal to 1" in wish.content


async def test_gives_up_after_two_and_says_what_both_cost() -> None:
    model = ScriptedModel(lambda request: "no idea")
    with pytest.raises(BadReply, match=r"fake scripted gave no usable count reply twice: the reply holds no") as caught:
        await ask(model, ASK, Count)
    assert caught.value.usage.requests == 2
    assert len(model.requests) == 2


async def test_unknown_keys_are_refused() -> None:
    with pytest.raises(BadReply, match="extra"):
        await ask(ScriptedModel(lambda request: '{"n": 1, "extra": 2}'), ASK, Count)


@pytest.mark.parametrize(("stop", "says"), [("length", "cut at the output limit"), ("refusal", "refused")])
async def test_cut_and_refused_replies_are_named(stop: str, says: str) -> None:
    reply = ModelReply('{"n": 1', Usage(1, 1, 0, 1), stop, "m")  # type: ignore[arg-type]
    with pytest.raises(BadReply, match=says):
        await ask(ScriptedModel(lambda request: reply), ASK, Count)


async def test_an_inner_object_of_a_cut_reply_is_not_taken_for_the_reply() -> None:
    """Seen with a small model: the model was told that fields are missing, and not that it had said too much."""
    cut = ModelReply('{"patterns": [{"type": "x", "count": 1}, {"type": "y"', Usage(1, 1, 0, 1), "length", "m")
    model = ScriptedModel(lambda request: cut)
    with pytest.raises(BadReply, match="cut at the output limit"):
        await ask(model, ASK, Count)
    assert "answer more briefly" in model.requests[1].messages[-1].content


async def test_a_reply_that_is_whole_counts_though_the_model_went_on_to_the_limit() -> None:
    whole = ModelReply('{"n": 1}\n\n\n', Usage(1, 1, 0, 1), "length", "m")
    assert (await ask(ScriptedModel(lambda request: whole), ASK, Count)).value == Count(n=1)


async def test_provider_errors_pass_through() -> None:
    model = ScriptedModel(lambda request: ProviderError(ProviderFailure.AUTH, "no"))
    with pytest.raises(ProviderError, match="no"):
        await ask(model, ASK, Count)
    assert len(model.requests) == 1


async def test_a_huge_bad_reply_is_echoed_in_part() -> None:
    model = ScriptedModel(lambda request: "x" * 100_000)
    with pytest.raises(BadReply):
        await ask(model, ASK, Count)
    assert len(model.requests[1].messages[1].content) < 10_000


async def test_a_broken_character_of_a_bad_reply_does_not_stop_the_second_question() -> None:
    model = ScriptedModel(lambda request: "half a pair: \ud800!")
    with pytest.raises(BadReply):
        await ask(model, ASK, Count)
    echo = model.requests[1].messages[1].content
    assert echo.encode("utf-8") == b"half a pair: ?!"


def test_a_thought_inside_a_whole_objects_text_is_left_there() -> None:
    text = '{"n": 3, "note": "write <think>so</think> here"}'
    assert json_object(f" {text}\n") == text
