"""What a failed tool call is called: a short name that the same failure has in any session.

Heuristics in code, bounded; no model is asked. What a search that finds nothing or a comparison that finds a difference
says by its exit code is no failure.
"""

from __future__ import annotations

import re
from itertools import dropwhile

from daemon.inbox.record import LABEL_CHARS
from harnesses.traces.text import one_line
from harnesses.traces.trace import ToolCall

SHELLS = {"Bash", "exec_command", "shell", "local_shell", "shell_command", "container.exec"}
_NO_FAILURE = {"grep", "rg", "egrep", "fgrep", "diff", "cmp", "test", "[", "pgrep", "which"}
_REFUSED = "The user doesn't want to "
_RAISED = re.compile(r"^(?:E\s+)?(?:\w+\.){0,6}([A-Z]\w{1,40}(?:Error|Exception))\b", re.MULTILINE)
_SIGNS = (
    ("command not found", "command not found"),
    ("No module named", "missing module"),
    ("No such file or directory", "no such file"),
    ("can't open file", "no such file"),
    ("ENOENT", "no such file"),
    ("ermission denied", "permission denied"),
    ("imed out", "timed out"),
    ("syntax error", "syntax error"),
    ("not found in file", "text to replace not found"),
    ("has not been read yet", "file not read first"),
    ("verification failed", "patch does not apply"),
)
_CODES = {124: "timed out", 126: "not executable", 127: "command not found", 137: "killed"}
_WORD = re.compile(r"[A-Za-z][\w.+-]{0,30}")
_SKIPPED = re.compile(r"(?:[A-Za-z_]\w*=\S*|sudo|time|nohup|env|exec|then|do|\(|\{|!)\Z")
_OF_TIMEOUT = re.compile(r"-\S*|[\d.]+[smhd]?")
_SCANNED = 20_000


def name_of(call: ToolCall) -> str:
    """What the failure of a call is called; empty if it did not fail, or was a person's refusal."""
    if call.ok is not False or call.output.startswith(_REFUSED):
        return ""
    tool = call.tool.removeprefix("sub-agent: ")
    output = call.output[-_SCANNED:]
    if tool not in SHELLS:
        return one_line(f"{tool}: {_sign(output) or _folded(output) or 'failed'}", LABEL_CHARS)
    program = program_of(call.input)
    if program in _NO_FAILURE and call.exit_code == 1:
        return ""
    code = call.exit_code
    said = _raised(output) or _CODES.get(code or 0) or _sign(output)
    return one_line(f"{program}: {said or (f'exit code {code}' if code is not None else 'failed')}", LABEL_CHARS)


def program_of(command: str) -> str:
    """The program that a command line is about: the last of `cd …; VAR=x timeout 5 python3 -m pytest` is `pytest`."""
    parts = re.split(r"&&|\|\||[;\n|]", command[:2_000])
    for part in parts:
        words = [word for word in part.split() if not _SKIPPED.match(word)]
        if not words or words[0] in ("cd", "set", "export", "source", "."):
            continue
        if words[0] == "timeout":
            words = list(dropwhile(_OF_TIMEOUT.fullmatch, words[1:])) or words[:1]
        name = words[0].rsplit("/", 1)[-1]
        if name.startswith("python") and "-m" in words[:-1]:
            name = words[words.index("-m") + 1]
        return name if _WORD.fullmatch(name) or name == "[" else "shell"
    return "shell"


def _raised(output: str) -> str:
    found = _RAISED.findall(output)
    return found[-1] if found else ""


def _sign(output: str) -> str:
    return next((name for sign, name in _SIGNS if sign in output), "")


def _folded(output: str) -> str:
    """The first line without what differs from case to case."""
    text = re.sub(r"</?\w+>", "", output[:600]).strip().split("\n", 1)[0]
    text = re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`", "…", text)
    text = re.sub(r"\S*/\S+", "PATH", text)
    return re.sub(r"\b(?:0x)?[0-9a-f]{7,}\b|\d+", "N", text)[:80].strip()
