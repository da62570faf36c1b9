"""Codex's stdout (`codex exec --json`) to a `Trace`. Known for 0.171.0; event types not known are counted.

The stream has no model name, count of replies, list of skills or failed patches: `codex_rollout.py` adds those.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Any

from harnesses.traces.builder import ANSWER_CHARS, TraceBuilder
from harnesses.traces.fields import dict_of, dicts_of, int_of, text_of
from harnesses.traces.lines import parse_object
from harnesses.traces.skill_probe import SkillProbe
from harnesses.traces.text import compact_json, shorten
from harnesses.traces.trace import Trace
from sandboxes.gateway.policy import Usage

_GENERIC = {"collab_tool_call", "mcp_tool_call", "web_search", "todo_list"}
_PLAIN = {"id", "type", "status", "tool", "agents_states", "result", "error"}
_SET_UP = ("Model metadata for ",)
"""What Codex says about its own set-up: it would be taken for the cause of a failure."""
_STOPS = (
    ("reason: max_output_tokens", "max_output_tokens"),
    ("reason: content_filter", "refusal"),
    ("ran out of room in the model's context window", "context"),
    ("budget reached", "budget"),
    ("Connection failed: ", "disconnected"),
    ("stream disconnected before completion: ", "disconnected"),
)


def unwrapped(command: str) -> str:
    """The command the agent gave, without the `/bin/bash -lc '…'` that Codex puts around it."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    if len(words) == 3 and words[0].endswith("sh") and words[1] in ("-c", "-lc"):
        return words[2]
    return command


class CodexEvents:
    """State of one stream: feed it lines, then ask for the trace."""

    def __init__(self, probe: SkillProbe | None = None) -> None:
        self._probe = probe
        self._build = TraceBuilder()
        self._session = ""
        self._answer = ""
        self._usage = Usage()
        self._finished = False
        self._stop = ""
        self._opened = False
        self._unknown = 0
        self._bad = 0

    def line(self, line: bytes) -> None:
        """One line of stdout."""
        if not line.strip():
            return
        event = parse_object(line)
        if event is None:
            self._bad += 1
        else:
            self._event(event)

    def _event(self, event: dict[str, Any]) -> None:
        match event.get("type"):
            case "thread.started":
                self._session = self._session or text_of(event, "thread_id")
            case "turn.started":
                self._finished = False
            case "turn.completed":
                self._complete(dict_of(event, "usage"))
            case "turn.failed":
                self._fail(text_of(dict_of(event, "error"), "message"))
            case "error":
                self._build.failure(text_of(event, "message"))
            case "item.started" | "item.updated":
                self._item(dict_of(event, "item"), done=False)
            case "item.completed":
                self._item(dict_of(event, "item"), done=True)
            case _:
                self._unknown += 1

    def _complete(self, usage: dict[str, Any]) -> None:
        self._finished = True
        self._stop = "completed"
        given = int_of(usage, "input_tokens")  # includes the cached ones
        cached = min(given, int_of(usage, "cached_input_tokens"))
        output = int_of(usage, "output_tokens")  # includes reasoning
        self._usage += Usage(0, given, cached, output, None if given or output else 0.0)

    def _fail(self, text: str) -> None:
        self._finished = False
        self._stop = next((stop for sign, stop in _STOPS if sign in text), "failed")
        self._build.failure(text or "turn failed", fatal=True)

    def _item(self, item: dict[str, Any], *, done: bool) -> None:
        kind = text_of(item, "type")
        if kind == "command_execution":
            self._command(item, done=done)
        elif kind in _GENERIC:
            self._generic(kind, item, done=done)
        elif not done:
            return
        elif kind == "agent_message":
            self._message(text_of(item, "text"))
        elif kind == "reasoning":
            self._build.message(text_of(item, "text"), reasoning=True)
        elif kind == "file_change":
            self._changes(item)
        elif kind == "error":
            if not (text := text_of(item, "message")).startswith(_SET_UP):
                self._build.failure(text)
        else:
            self._unknown += 1

    def _message(self, text: str) -> None:
        self._build.message(text)
        if text.strip():
            self._answer = shorten(text, ANSWER_CHARS)

    def _command(self, item: dict[str, Any], *, done: bool) -> None:
        key, command = text_of(item, "id"), unwrapped(text_of(item, "command"))
        self._build.call(key, "exec_command", command)
        if not done:
            return
        code = item.get("exit_code")
        code = code if isinstance(code, int) and not isinstance(code, bool) else None
        ok = text_of(item, "status") == "completed" and code in (0, None)
        output = text_of(item, "aggregated_output")
        self._build.result(key, output, ok=ok, exit_code=code)
        if self._probe and self._probe.read_by(command, output):
            self._opened = True

    def _generic(self, kind: str, item: dict[str, Any], *, done: bool) -> None:
        key = text_of(item, "id")
        given = {name: value for name, value in item.items() if name not in _PLAIN}
        self._build.call(key, text_of(item, "tool") or kind, compact_json(given))
        if done:
            output = item.get("result") or item.get("error")
            text = "" if output is None else compact_json(output)
            self._build.result(key, text, ok=text_of(item, "status") in ("completed", "") and not item.get("error"))

    def _changes(self, item: dict[str, Any]) -> None:
        if text_of(item, "status") != "completed":
            self._build.failure("a patch was not applied: " + compact_json(item.get("changes")))
            return
        for change in dicts_of(item, "changes"):
            self._build.change(text_of(change, "path"), text_of(change, "kind"))

    def trace(self) -> Trace:
        """What was seen so far."""
        return Trace(
            events=self._build.finished(),
            final_answer=self._answer,
            usage=self._usage,
            session_id=self._session,
            skill_opened=self._opened,
            finished=self._finished,
            stop_reason=self._stop,
            unknown_events=self._unknown,
            bad_lines=self._bad,
        )


def parse_codex(lines: Iterable[bytes], probe: SkillProbe | None = None) -> Trace:
    """A whole stream at once."""
    state = CodexEvents(probe)
    for line in lines:
        state.line(line)
    return state.trace()
