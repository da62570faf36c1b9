"""Claude Code's session file (`projects/<folder>/<session>.jsonl`), turn by turn. Known for 2.1.332.

Its `assistant` and `user` entries hold what the stream's events hold, so those go through `ClaudeEvents`; what only
the file has is read here: who spoke, what was listed and handed over, what the person stopped or refused.
"""

from __future__ import annotations

import re
from typing import Any

from harnesses.traces.claude_events import OPEN_CALLS, ClaudeEvents, telling
from harnesses.traces.fields import content_text, dict_of, dicts_of, int_of, text_of, texts_of
from harnesses.traces.session import About, OpenTurn, Turn, prompt_text
from harnesses.traces.skill_sightings import handed_over, invoked, read_by, read_from

TYPES = {"user", "assistant", "attachment", "system", "summary", "queue-operation", "file-history-snapshot"}
"""Entry types that tell such a file from another."""
_STOPPED = "[Request interrupted by user"
_REFUSED = "The user doesn't want to "
_REASON = re.compile(r"the user (?:said|provided the following reason)[^:\n]{0,120}:\s*(.*)", re.DOTALL | re.IGNORECASE)
_NOBODY = re.compile(r"<(?:local-command|bash-|task-notification|system-reminder|user-memory-input|command-stdout)")
"""How texts begin that nobody said to the agent."""
_COMMAND = re.compile(r"<command-name>\s*/?([^<]{1,200})</command-name>")
_GIVEN = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_OWN_COMMANDS = {"clear", "compact", "model", "login", "logout", "exit", "quit", "resume", "help", "config", "cost"}
_CHANGES = ("Write", "Edit", "NotebookEdit", "Bash")


class ClaudeTurns:
    """Reads one file."""

    def __init__(self) -> None:
        self.about = About("claude-code")
        self._turn: OpenTurn | None = None
        self._events = ClaudeEvents()
        self._calls: dict[str, tuple[str, dict[str, Any]]] = {}
        self._changed = False
        self._people = 0
        self._sidechain = 0

    def entry(self, entry: dict[str, Any]) -> Turn | None:
        """One parsed line."""
        if entry.get("isSidechain") is True:
            self._sidechain += 1
            self.about.root = bool(self._people)
            return None
        about = self.about
        about.session_id = about.session_id or text_of(entry, "sessionId")[:200]
        about.folder = about.folder or text_of(entry, "cwd")[:600]
        about.saw_time(text_of(entry, "timestamp"))
        match entry.get("type"):
            case "user":
                return self._user(entry)
            case "assistant":
                self._assistant(entry)
            case "attachment":
                return self._attachment(dict_of(entry, "attachment"))
        return None

    def end(self) -> Turn | None:
        """The turn that was open."""
        return self._close()

    def _attachment(self, attachment: dict[str, Any]) -> Turn | None:
        if attachment.get("type") == "skill_listing":
            self.about.list_skills(texts_of(attachment, "names"))
        if attachment.get("type") == "queued_command":  # the person spoke while the agent worked
            said = text_of(attachment, "prompt") or content_text(attachment.get("prompt"))
            if said.strip() and not _NOBODY.match(said):
                return self._begin(said, steered=True)
        return None

    def _assistant(self, entry: dict[str, Any]) -> None:
        message = dict_of(entry, "message")
        model = text_of(message, "model")
        if self._turn is not None and entry.get("isApiErrorMessage") is True:
            self._turn.broken = True
        elif model and model != "<synthetic>":
            self.about.model = self.about.model or model[:200]
            if self._turn is not None:
                self._turn.broken = False  # it went on after all
        for block in dicts_of(message, "content"):
            if block.get("type") == "tool_use" and len(self._calls) < OPEN_CALLS:
                self._calls[text_of(block, "id")] = (text_of(block, "name"), telling(dict_of(block, "input")))
        self._events.event({"type": "assistant", "message": message})

    def _user(self, entry: dict[str, Any]) -> Turn | None:
        message = dict_of(entry, "message")
        results = [block for block in dicts_of(message, "content") if block.get("type") == "tool_result"]
        if results:
            self._results(results, entry)
            return None
        text = content_text(message.get("content")).strip()
        if entry.get("isMeta") is True:
            self.about.open_skill(handed_over(text))
        elif text.startswith(_STOPPED):
            if self._turn is not None:
                self._turn.interrupted = True
        elif entry.get("isCompactSummary") is not True and (said := _said(text)):
            return self._begin(said)
        return None

    def _results(self, results: list[dict[str, Any]], entry: dict[str, Any]) -> None:
        structured = entry.get("toolUseResult")
        for block in results:
            tool, given = self._calls.pop(text_of(block, "tool_use_id"), ("", {}))
            output, failed = content_text(block.get("content")), block.get("is_error") is True
            if failed and output.startswith(_REFUSED):
                self._refuse(output)
            elif not failed:
                self._saw(tool, given, output, structured)
        self._events.event({"type": "user", "message": entry.get("message"), "tool_use_result": structured})

    def _refuse(self, output: str) -> None:
        reason = _REASON.search(output)
        if self._turn is not None and reason and reason[1].strip():
            self._turn.deny(reason[1].strip())

    def _saw(self, tool: str, given: dict[str, Any], output: str, structured: object) -> None:
        """What a call that went well tells of skills and files."""
        match tool:
            case "Skill":
                self.about.open_skill(invoked(text_of(given, "skill")))
            case "Read":
                whole = _whole(structured)
                self.about.open_skill(read_from(text_of(given, "file_path"), whole or ""))
                if not self._changed:
                    self.about.read_file(text_of(given, "file_path"), whole)
            case "Bash":
                for found in read_by(text_of(given, "command"), output):
                    self.about.open_skill(found)
        self._changed = self._changed or tool in _CHANGES

    def _begin(self, text: str, *, steered: bool = False) -> Turn | None:
        ended = self._close(steered=steered)
        self._people += 1
        self.about.root = True
        self._turn = OpenTurn(prompt_text(text))
        return ended

    def _close(self, *, steered: bool = False) -> Turn | None:
        turn, self._turn = self._turn, None
        trace, self._events = self._events.trace(), ClaudeEvents()
        return None if turn is None else turn.closed(trace, self.about, steered=steered)


def _said(text: str) -> str:
    """What a person asked of the agent; empty where nobody did."""
    if _NOBODY.match(text):
        return ""
    command = _COMMAND.search(text) if text.startswith("<command-") else None
    if command is None:
        return text
    name, given = command[1].strip(), _GIVEN.search(text)
    return "" if name in _OWN_COMMANDS else f"/{name} {given[1].strip() if given else ''}".strip()


def _whole(structured: object) -> str | None:
    """A text file's content, where a `Read` gave all of it."""
    file = dict_of(structured, "file") if isinstance(structured, dict) else {}
    if int_of(file, "startLine") != 1 or int_of(file, "numLines") != int_of(file, "totalLines"):
        return None
    return text_of(file, "content")
