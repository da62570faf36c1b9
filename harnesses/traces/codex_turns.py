"""Codex's session file (`sessions/…/rollout-*.jsonl`), turn by turn. Known for 0.171.0.

Its `response_item`s are what the model said and got, in every version; what a command really was and how it ended is in
`CommandExecution` events, where there are any (with the call's own id, or beside it when the model writes scripts).
"""

from __future__ import annotations

import re
from typing import Any

from harnesses.traces.builder import ANSWER_CHARS, TraceBuilder
from harnesses.traces.codex_events import unwrapped
from harnesses.traces.codex_rollout import call_failed, call_output, hunks
from harnesses.traces.fields import content_text, dict_of, text_of, texts_of
from harnesses.traces.lines import parse_object
from harnesses.traces.session import About, OpenTurn, Turn, prompt_text
from harnesses.traces.skill_sightings import handed_over, listed_in, read_by
from harnesses.traces.text import shorten
from harnesses.traces.trace import Trace

TYPES = {"session_meta", "response_item", "event_msg", "turn_context"}
"""Entry types that tell such a file from another."""
OPEN_CALLS = 1_000
"""Calls without a result that are remembered."""
_GIVEN_CHARS = 20_000
_SHELLS = {"exec_command", "shell", "local_shell", "container.exec", "shell_command"}
_NOBODY = re.compile(r"<[a-z_]+[ >]|# AGENTS\.md instructions")
_CODE = re.compile(r"(?:Process exited with code|Exit code:) (-?\d{1,5})\b")
_ABORTED = "aborted by user"
_OUTPUT = re.compile(r"\A(?:[A-Z][\w ]+: .*\n|Process exited .*\n|Wall time.*\n)+Output:\n")


class CodexTurns:
    """Reads one file."""

    def __init__(self) -> None:
        self.about = About("codex")
        self._turn: OpenTurn | None = None
        self._build = TraceBuilder()
        self._calls: dict[str, tuple[str, str]] = {}
        self._answer = ""
        self._met = False

    def entry(self, entry: dict[str, Any]) -> Turn | None:
        """One parsed line."""
        self.about.saw_time(text_of(entry, "timestamp"))
        payload = dict_of(entry, "payload")
        match entry.get("type"):
            case "session_meta" if not self._met:
                self._meta(payload)
            case "turn_context":
                self.about.model = self.about.model or text_of(payload, "model")[:200]
            case "response_item":
                return self._item(payload)
            case "event_msg":
                self._event(payload)
        return None

    def end(self) -> Turn | None:
        """The turn that was open."""
        return self._close()

    def _meta(self, payload: dict[str, Any]) -> None:
        self._met = True
        self.about.session_id = text_of(payload, "id")[:200]
        self.about.folder = text_of(payload, "cwd")[:600]
        source = payload.get("source")
        self.about.root = not (isinstance(source, dict) and "subagent" in source)

    def _item(self, item: dict[str, Any]) -> Turn | None:
        key = text_of(item, "call_id")
        match item.get("type"):
            case "message":
                return self._message(item)
            case "function_call" | "custom_tool_call" | "local_shell_call":
                tool = text_of(item, "name") or "local_shell"
                given = _command(tool, item)
                if len(self._calls) < OPEN_CALLS:
                    self._calls[key] = (tool, shorten(given, _GIVEN_CHARS))
                self._build.call(key, tool, given)
            case "function_call_output" | "custom_tool_call_output":
                self._ended(key, call_output(item))
        return None

    def _message(self, item: dict[str, Any]) -> Turn | None:
        text = content_text(item.get("content"))
        match item.get("role"):
            case "assistant" if text.strip():
                self._build.message(text)
                self._answer = shorten(text, ANSWER_CHARS)
            case "developer":
                self.about.list_skills(listed_in(text))
            case "user":
                return self._said(item, text)
        return None

    def _said(self, item: dict[str, Any], text: str) -> Turn | None:
        found = handed_over(text)
        if found is not None:
            self.about.open_skill(found)
            return None
        if text.startswith("<turn_aborted>"):
            self._interrupt()
            return None
        kinds = texts_of(dict_of(item, "internal_chat_message_metadata_passthrough"), "content_item_kinds")
        by_person = any(kind.startswith("user.") for kind in kinds) if kinds else not _NOBODY.match(text)
        if not text.strip() or not by_person:
            return None
        ended = self._close()
        self._turn = OpenTurn(prompt_text(text))
        return ended

    def _event(self, event: dict[str, Any]) -> None:
        match event.get("type"):
            case "turn_aborted" if text_of(event, "reason") in ("interrupted", ""):
                self._interrupt()
            case "task_complete" if self._turn is not None:
                self._turn.broken = bool(dict_of(event, "error"))
            case "item_completed" if text_of(item := dict_of(event, "item"), "type") == "CommandExecution":
                self._ran(item)

    def _interrupt(self) -> None:
        if self._turn is not None:
            self._turn.interrupted = True

    def _ran(self, item: dict[str, Any]) -> None:
        """A command as it was run: with the id of its call, or of a script that ran it."""
        key, words = text_of(item, "id"), texts_of(item, "command")
        command = words[2] if len(words) == 3 and words[1] in ("-c", "-lc") else unwrapped(" ".join(words))
        code = item.get("exit_code")
        if not isinstance(code, int) or isinstance(code, bool) or code < 0:  # stopped
            return
        output = text_of(item, "aggregated_output")
        self._build.call(key, "exec_command", command)
        self._build.result(key, output, ok=code == 0, exit_code=code)
        self._sight(command, output)

    def _ended(self, key: str, output: str) -> None:
        tool, given = self._calls.pop(key, ("", ""))
        if output.rstrip().endswith(_ABORTED):
            return
        text, code = _result(output)
        ok = not call_failed(output) and code in (0, None)
        done = self._build.result(key, text, ok=ok, exit_code=code)
        if not ok or done is None:
            return
        if tool == "apply_patch":
            for patch in hunks(given):
                self._build.change(patch.path, "update")
        self._sight(given, text)

    def _sight(self, command: str, output: str) -> None:
        for found in read_by(command, output):
            self.about.open_skill(found)

    def _close(self) -> Turn | None:
        turn, self._turn = self._turn, None
        trace = Trace(self._build.finished(), self._answer, model=self.about.model)
        self._build, self._answer = TraceBuilder(), ""
        return None if turn is None else turn.closed(trace, self.about)


def _command(tool: str, item: dict[str, Any]) -> str:
    """A shell's command line, else what the tool was given."""
    given = text_of(item, "arguments") or text_of(item, "input")
    if tool not in _SHELLS:
        return given
    parsed = dict_of(item, "action") or parse_object(given.encode()) or {}
    words = texts_of(parsed, "command")
    if len(words) == 3 and words[1] in ("-c", "-lc"):
        return words[2]
    return " ".join(words) or text_of(parsed, "cmd") or text_of(parsed, "command") or given


def _result(output: str) -> tuple[str, int | None]:
    """A call's output without Codex's header, and the exit code if it tells one."""
    if output.startswith("{"):
        parsed = parse_object(output.encode())
        code = dict_of(parsed, "metadata").get("exit_code") if parsed else None
        if parsed and isinstance(code, int) and not isinstance(code, bool):
            return text_of(parsed, "output"), code
    head = _OUTPUT.match(output)
    code_at = _CODE.search(output[: head.end() if head else 200])
    return output[head.end() :] if head else output, int(code_at[1]) if code_at else None
