"""Claude Code's usage, normalised: its `input_tokens` excludes cached ones, ours includes them."""

from __future__ import annotations

from typing import Any

from harnesses.traces.fields import dict_of, int_of, text_of
from sandboxes.gateway.policy import Usage


def total_usage(result: dict[str, Any]) -> Usage:
    """Totals of a `result` event: over all models and sub-agents (`modelUsage`), else the event's own `usage`.

    Money is known only if every model was priced from the CLI's list.
    """
    models = [entry for entry in dict_of(result, "modelUsage").values() if isinstance(entry, dict)]
    if not models:
        return _own(dict_of(result, "usage"))
    given = cached = output = 0
    for entry in models:
        read, written = int_of(entry, "cacheReadInputTokens"), int_of(entry, "cacheCreationInputTokens")
        given += int_of(entry, "inputTokens") + read + written
        cached += read
        output += int_of(entry, "outputTokens")
    cost = result.get("total_cost_usd")
    listed = all(text_of(entry, "costBasis") == "list" for entry in models)
    usd = float(cost) if listed and isinstance(cost, int | float) and 0 <= cost < 1e9 else None
    return Usage(0, given, cached, output, usd)


def _own(usage: dict[str, Any]) -> Usage:
    read, written = int_of(usage, "cache_read_input_tokens"), int_of(usage, "cache_creation_input_tokens")
    given = int_of(usage, "input_tokens") + read + written
    output = int_of(usage, "output_tokens")
    return Usage(0, given, read, output, None if given or output else 0.0)
