"""Strict schemas and the price table."""

from __future__ import annotations

from datetime import date
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from harnesses.models.prices import TABLE, list_price, price_of
from harnesses.models.schema import strict_schema
from sandboxes.gateway.policy import Price


class Inner(BaseModel):
    """A part."""

    title: str = Field(default="", max_length=9, description="what it is")
    kind: Literal["a", "b"] = "a"


class Outer(BaseModel):
    inner: Inner = Field(default_factory=Inner, description="the first")
    many: list[Inner] = Field(default_factory=list, max_length=3)
    maybe: int | None = None
    free: dict[str, Any] = {}


def objects(node: Any) -> list[dict[str, Any]]:
    found = [node] if isinstance(node, dict) and "properties" in node else []
    parts = node.values() if isinstance(node, dict) else node if isinstance(node, list) else []
    return found + [inner for part in parts for inner in objects(part)]


def test_every_object_is_closed_and_complete() -> None:
    strict = strict_schema(Outer.model_json_schema())
    assert strict["required"] == ["inner", "many", "maybe", "free"]
    closed = objects(strict)
    assert len(closed) >= 3
    for each in closed:
        assert each["additionalProperties"] is False
        assert each["required"] == list(each["properties"])


def test_keywords_go_but_properties_of_the_same_name_stay() -> None:
    strict = strict_schema(Inner.model_json_schema())
    assert strict["properties"]["title"] == {"description": "what it is", "type": "string"}
    assert strict["properties"]["kind"] == {"enum": ["a", "b"], "type": "string"}
    assert "title" not in strict


def test_a_reference_with_siblings_is_put_in_place() -> None:
    inner = strict_schema(Outer.model_json_schema())["properties"]["inner"]
    assert "$ref" not in inner
    assert inner["description"] == "the first"
    assert inner["properties"].keys() == {"title", "kind"}


def test_the_given_schema_is_left_alone() -> None:
    schema = Outer.model_json_schema()
    before = Outer.model_json_schema()
    strict_schema(schema)
    assert schema == before


def test_impossible_references_are_told() -> None:
    with pytest.raises(ValueError, match="#/nowhere"):
        strict_schema({"properties": {"a": {"$ref": "#/nowhere", "description": "x"}}})
    loop = {"$defs": {"L": {"$ref": "#/$defs/L", "description": "x"}}, "$ref": "#/$defs/L", "description": "y"}
    with pytest.raises(ValueError, match="too deep"):
        strict_schema(loop)


def test_known_prices() -> None:
    assert price_of("openai", "gpt-5.5") == Price(5.0, 0.5, 30.0)
    assert price_of("anthropic", "claude-opus-4-5-20251101") == price_of("anthropic", "claude-opus-4-5")
    assert price_of("openai", "gpt-5.4-mini-2026-03-05") == Price(0.75, 0.075, 4.5)


@pytest.mark.parametrize("model", ["", "gpt-5.5-pro", "gpt-5.4-mega", "claude-opus-4-5", "xgpt-5.5", "gpt-5.5-2026"])
def test_unknown_prices_stay_unknown(model: str) -> None:
    assert price_of("openai", model) is None


def test_every_row_of_the_price_table_says_when_and_where_it_was_checked() -> None:
    keys = [(row.provider, row.model) for row in TABLE]
    assert len(set(keys)) == len(keys)
    for row in TABLE:
        assert date.fromisoformat(row.checked) >= date(2026, 11, 29)
        assert row.source.startswith("https://")
        assert 0 < row.price.cached_input < row.price.input < row.price.written < row.price.output
    assert list_price("openai", "gpt-5.5-2026-04-01") == list_price("openai", "gpt-5.5")
    assert list_price("openai", "nobody-knows-it") is None


def test_writing_to_the_cache_costs_a_quarter_more_unless_a_price_is_given() -> None:
    assert Price(4.0, 0.4, 20.0).written == 5.0
    assert Price(4.0, 0.4, 20.0, cache_write=4.0).written == 4.0
