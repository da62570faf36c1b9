"""JSON schemas as providers' strict modes take them, made from what pydantic gives.

Every property is required, no others are allowed, and keywords that strict modes refuse are left out: replies are
checked against the full model by us anyway. The schema given is not changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_DROPPED = {
    "default",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "multipleOf",
    "pattern",
    "title",
    "uniqueItems",
}
_MAPS = {"properties", "$defs", "definitions"}
"""Keywords whose value maps free names to schemas."""


def strict_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The strict form of a JSON schema; raises `ValueError` for recursion through a `$ref` with siblings."""
    root = dict(schema)
    return _strict(root, root, depth=0)


def _strict(node: Mapping[str, Any], root: Mapping[str, Any], *, depth: int) -> dict[str, Any]:
    if depth > 64:
        msg = "the schema nests too deep for a strict one"
        raise ValueError(msg)
    if "$ref" in node and len(node) > 1:
        # Strict modes take a reference only alone: put the referred schema in its place.
        siblings = {key: value for key, value in node.items() if key != "$ref"}
        return _strict({**_resolved(str(node["$ref"]), root), **siblings}, root, depth=depth + 1)
    out: dict[str, Any] = {}
    for key, value in node.items():
        if key in _DROPPED:
            continue
        if key in _MAPS and isinstance(value, dict):
            out[key] = {name: _inner(part, root, depth) for name, part in value.items()}
        elif key in {"enum", "const", "required"}:
            out[key] = value
        else:
            out[key] = _inner(value, root, depth)
    if "properties" in out:
        out["required"] = list(out["properties"])
        out["additionalProperties"] = False
    elif out.get("type") == "object":
        out.setdefault("additionalProperties", False)
    if "oneOf" in out:
        out["anyOf"] = out.pop("oneOf")
        out.pop("discriminator", None)
    return out


def _inner(value: Any, root: Mapping[str, Any], depth: int) -> Any:
    if isinstance(value, dict):
        return _strict(value, root, depth=depth + 1)
    return [_inner(part, root, depth) for part in value] if isinstance(value, list) else value


def _resolved(ref: str, root: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Any = root
    for name in ref.removeprefix("#/").split("/"):
        if not isinstance(found, dict) or name not in found:
            msg = f"the schema refers to {ref}, which it does not hold"
            raise ValueError(msg)
        found = found[name]
    return dict(found)
