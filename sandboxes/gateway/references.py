"""Content by reference in a conversation: the provider would fetch it, so it is replaced by a sentence.

Only the places where content stands are looked at, never a tool call's own arguments: they may name any key.
"""

from __future__ import annotations

from typing import Any

from sandboxes.gateway.dialects import POLICY_PREFIX

_INLINE_SOURCES = {"base64", "text", "content"}
_NESTED = ("content", "output", "source")


def without_references(items: list[Any], *, text_type: str) -> tuple[list[Any], list[str]]:
    """The same content with each reference replaced by a text block, and a name for each that was."""
    removed: list[str] = []
    return [_walk(item, text_type, removed) for item in items], removed


def _walk(node: Any, text_type: str, removed: list[str]) -> Any:
    if isinstance(node, list):
        return [_walk(part, text_type, removed) for part in node]
    if not isinstance(node, dict):
        return node
    kind = _reference(node)
    if kind is not None:
        removed.append(f"reference: {kind}")
        note = f"{POLICY_PREFIX} content by reference ({kind}) was removed; pass it inline"
        if node.get("type") == "item_reference" or "role" in node:
            return {"type": "message", "role": "user", "content": [{"type": text_type, "text": note}]}
        return {"type": text_type, "text": note}
    for key in _NESTED:
        if isinstance(node.get(key), (list, dict)):
            node[key] = _walk(node[key], text_type, removed)
    return node


def _reference(node: dict[str, Any]) -> str | None:
    """Which kind of reference this block is, if it is one."""
    if node.get("type") == "item_reference":
        return "item_reference"
    for key in ("file_id", "file_url"):
        if node.get(key):
            return key
    file = node.get("file")
    if isinstance(file, dict) and file.get("file_id"):
        return "file_id"
    image = node.get("image_url")
    address = image.get("url") if isinstance(image, dict) else image
    if image is not None and not (isinstance(address, str) and address.startswith("data:")):
        return "image_url"
    source = node.get("source")
    kind = source.get("type") if isinstance(source, dict) else "text"
    if not isinstance(kind, str) or kind not in _INLINE_SOURCES:
        return f"source {str(kind)[:20]}"
    return None
