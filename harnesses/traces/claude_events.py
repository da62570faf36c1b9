"""Claude Code's stdout (`-p --output-format stream-json`) to a `Trace`. Known for 2.1.332; unknown types are counted.

One assistant event comes per content block, several sharing a message id; the usage in them is that of the message's
start and is never summed. Several `result` events may come (a background task that ends wakes the agent again): the
last one decides how the run ended, and its `modelUsage` holds the totals.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from harnesses.traces.builder import ANSWER_CHARS, TraceBuilder
from harnesses.traces.claude_usage import total_usage
from harnesses.traces.fields import content_text, dict_of, dicts_of, text_of, texts_of
from harnesses.traces.lines import parse_object
from harnesses.traces.skill_probe import SkillProbe
from harnesses.traces.text import compact_json, shorten
from harnesses.traces.trace import Trace
from sandboxes.gateway.policy import Usage

_SYNTHETIC = "<synthetic>"
OPEN_CALLS = 1_000
"""Calls without a result that are remembered."""
_MOST_MESSAGES = 100_000
_TELLING = ("command", "file_path", "notebook_path", "skill")
_QUIET = {"tool_progress", "stream_event", "control_request", "control_response", "keep_alive", "rate_limit_event"}
_QUIET_SYSTEM = {
    "status",
    "compact_boundary",
    "task_started",
    "task_progress",
    "task_updated",
    "task_notification",
    "background_tasks_changed",
    "thinking_tokens",
    "informational",
    "hook_started",
    "hook_progress",
    "hook_response",
    "ui_invalidate",
    "files_persisted",
    "session_state_changed",
}


_INTERRUPTED = "[Request interrupted by user"
"""What the CLI itself says at SIGINT; a result may follow, or none."""


class ClaudeEvents:
    """State of one stream: feed it lines, then ask for the trace."""

    def __init__(self, probe: SkillProbe | None = None) -> None:
        self._probe = probe
        self._build = TraceBuilder()
        self._inputs: dict[str, tuple[str, dict[str, Any]]] = {}
        self._messages: set[str] = set()
        self._session = self._model = self._answer = self._spoken = self._stop = self._error = ""
        self._usage = Usage()
        self._listed: bool | None = None
        self._opened = False
        self._finished = False
        self._unknown = 0
        self._bad = 0

    def line(self, line: bytes) -> None:
        """One line of stdout."""
        if not line.strip():
            return
        event = parse_object(line)
        if event is None:
            self._bad += 1
            return
        self.event(event)

    def event(self, event: dict[str, Any]) -> None:
        """One event, parsed."""
        match event.get("type"):
            case "system":
                self._system(event)
            case "assistant":
                self._assistant(event)
            case "user":
                self._user(event)
            case "result":
                self._result(event)
            case str() as kind if kind in _QUIET:
                pass
            case _:
                self._unknown += 1

    def _system(self, event: dict[str, Any]) -> None:
        match text_of(event, "subtype"):
            case "init":
                self._session = self._session or text_of(event, "session_id")
                self._model = self._model or text_of(event, "model")
                if self._probe and self._listed is not True:
                    self._listed = self._probe.name in texts_of(event, "skills")
            case "api_retry":
                status, error = event.get("error_status"), text_of(event, "error")
                self._build.failure(f"request retried: {error} (status {status})")
            case "permission_denied":
                self._build.failure(f"permission denied: {text_of(event, 'tool_name')}: {text_of(event, 'message')}")
            case "model_refusal_no_fallback":
                self._build.failure("the model refused")
            case subtype if subtype not in _QUIET_SYSTEM:
                self._unknown += 1

    def _assistant(self, event: dict[str, Any]) -> None:
        message = dict_of(event, "message")
        if text_of(message, "model") == _SYNTHETIC:  # prose of the CLI itself, not of the model
            self._error = text_of(event, "api_error") or text_of(event, "error")
            return
        nested = isinstance(event.get("parent_tool_use_id"), str)
        if not nested and len(self._messages) < _MOST_MESSAGES:
            self._messages.add(text_of(message, "id"))
        for block in dicts_of(message, "content"):
            self._block(block, nested=nested)

    def _block(self, block: dict[str, Any], *, nested: bool) -> None:
        match block.get("type"):
            case "text":
                text = text_of(block, "text")
                self._build.message(text)
                if text.strip() and not nested:
                    self._spoken = shorten(text, ANSWER_CHARS)
            case "thinking":
                self._build.message(text_of(block, "thinking"), reasoning=True)
            case "redacted_thinking":
                pass
            case "tool_use" | "server_tool_use":
                key, tool, given = text_of(block, "id"), text_of(block, "name"), dict_of(block, "input")
                if len(self._inputs) < OPEN_CALLS:
                    self._inputs[key] = (tool, telling(given))
                shown = text_of(given, "command") if tool == "Bash" else ""
                self._build.call(key, ("sub-agent: " if nested else "") + tool, shown or compact_json(given))
            case _:
                self._unknown += 1

    def _user(self, event: dict[str, Any]) -> None:
        content = dict_of(event, "message").get("content")
        blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
        for block in blocks:
            if block.get("type") == "tool_result":
                self._tool_result(block, event.get("tool_use_result"))
        texts = [content] if isinstance(content, str) else [text_of(block, "text") for block in blocks]
        if any(text.startswith(_INTERRUPTED) for text in texts):
            self._finished, self._stop = False, "aborted"
        if self._probe and event.get("isSynthetic") and any(self._probe.injected_by(text) for text in texts):
            self._opened = True

    def _tool_result(self, block: dict[str, Any], structured: object) -> None:
        key, output = text_of(block, "tool_use_id"), content_text(block.get("content"))
        ok = block.get("is_error") is not True
        tool, given = self._inputs.pop(key, ("", {}))
        self._build.result(key, output, ok=ok, exit_code=_exit_code(tool, output, ok=ok))
        if not ok:
            return
        if tool in ("Write", "Edit", "NotebookEdit") and isinstance(structured, dict):
            path = text_of(given, "file_path") or text_of(given, "notebook_path")
            self._build.change(path, "add" if structured.get("type") == "create" else "update")
        if self._probe and _opens(self._probe, tool, given, output):
            self._opened = True

    def _result(self, event: dict[str, Any]) -> None:
        failed = event.get("is_error") is not False
        said = text_of(event, "result")
        self._usage = total_usage(event)
        terminal, stop = text_of(event, "terminal_reason"), text_of(event, "stop_reason")
        if not failed:
            self._finished = True
            self._stop = stop or "end_turn"
            self._answer = shorten(said, ANSWER_CHARS) if said.strip() else self._answer
            return
        self._finished = False
        reasons = (self._error if self._error == "max_output_tokens" else "", "refusal" if stop == "refusal" else "")
        self._stop = next(
            (reason for reason in reasons if reason), terminal if terminal not in ("", "completed") else "error"
        )
        if text_of(event, "subtype") in ("error_max_turns", "error_max_budget_usd"):
            self._stop = text_of(event, "subtype").removeprefix("error_")
        self._build.failure(said or "; ".join(texts_of(event, "errors")) or self._stop, fatal=True)

    def trace(self) -> Trace:
        """What was seen so far."""
        return Trace(
            events=self._build.finished(),
            final_answer=self._answer or ("" if self._finished else self._spoken),
            usage=self._usage,
            turns=len(self._messages),
            model=self._model,
            session_id=self._session,
            skill_listed=self._listed,
            skill_opened=self._opened,
            finished=self._finished,
            stop_reason=self._stop,
            unknown_events=self._unknown,
            bad_lines=self._bad,
        )


def telling(given: dict[str, Any]) -> dict[str, Any]:
    """Of what a tool was given, what later tells something; bounded, for a call may never end."""
    return {key: text_of(given, key)[:20_000] for key in _TELLING if key in given}


def _exit_code(tool: str, output: str, *, ok: bool) -> int | None:
    if tool != "Bash":
        return None
    if ok:
        return 0
    words = output.split(maxsplit=3)
    if words[:2] == ["Exit", "code"] and len(words) > 2 and words[2].isdigit() and len(words[2]) < 6:
        return int(words[2])
    return None


def _opens(probe: SkillProbe, tool: str, given: dict[str, Any], output: str) -> bool:
    match tool:
        case "Skill":
            return text_of(given, "skill").removeprefix("/").split(":")[-1] == probe.name
        case "Read":
            return probe.is_file(text_of(given, "file_path"))
        case "Bash":
            return probe.read_by(text_of(given, "command"), output)
    return False


def parse_claude(lines: Iterable[bytes], probe: SkillProbe | None = None) -> Trace:
    """A whole stream at once."""
    state = ClaudeEvents(probe)
    for line in lines:
        state.line(line)
    return state.trace()
