"""Python scripts of a chat model, run in its attempt's box: what each came to, and what it did to the files.

Invariants: whatever a script does (raises, hangs, takes too much memory) is told to the model; a box that is lost or
killed from outside is a failure of ours and raises. The box has no way out, and no script is given a key. A script
comes as an argument: nothing has to be written where one before it may have been at work.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harnesses.clis import PATH
from harnesses.episode import Tool, ToolResult
from harnesses.file_tools import BadCall, text_argument
from harnesses.keep import tail
from harnesses.traces.text import encodable, shorten
from harnesses.workspace import changes
from sandboxes.sandbox import Box, Command, Ended, Ending, Layout, SandboxError

SCRIPT_BYTES = 100_000
"""Of a script in UTF-8: one argument may have 131,071."""
SCRIPT_S = 120.0
"""Of one script."""
STDOUT_CHARS, STDERR_CHARS = 8_000, 4_000
_SHOWN_FILES = 20
_PLACE = re.compile(r'File "<string>", line (\d{1,6})')
SCRIPT_TOOL = Tool(
    "run_python",
    f"Run a Python 3 script in the folder of the files, with openpyxl, for at most {SCRIPT_S:.0f} s. There is no "
    "network. You are told what it prints; files that it writes stay.",
    {
        "type": "object",
        "properties": {"code": {"type": "string", "description": "The whole script."}},
        "required": ["code"],
    },
)


class BoxKilledError(SandboxError):
    """Something outside stopped a script, or its disk bound was reached."""


class Scripts:
    """The scripts of one attempt. `files` is what the workspace holds after the last one."""

    def __init__(self, box: Box, files: Mapping[str, bytes]) -> None:
        self._box = box
        self.files = dict(files)

    async def run(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Run one script; raises `SandboxError` where the box is to blame."""
        try:
            code = text_argument(arguments, "code", SCRIPT_BYTES)
            if "\0" in code or len(code.encode()) > SCRIPT_BYTES:
                raise BadCall(f"code must be at most {SCRIPT_BYTES} bytes, without NUL")
        except BadCall as error:
            return ToolResult(str(error), ok=False)
        argv = ("python3", "-u", "-c", code)
        ended = await self._box.run(Command(argv=argv, env=_environment(self._box.layout), deadline_s=SCRIPT_S))
        if ended.ending in (Ending.LOST, Ending.KILLED):
            kind = BoxKilledError if ended.ending is Ending.KILLED else SandboxError
            raise kind(ended.detail or "the sandbox of the model's scripts vanished")
        return await self._told(ended, code)

    async def _told(self, ended: Ended, code: str) -> ToolResult:
        before, left = self.files, await self._box.collect()
        self.files = dict(left.files)
        lines = [_ending(ended), await asyncio.to_thread(_shown, ended, code)]
        if changed := [f"{one.kind} {one.path}" for one in changes(before, left)]:
            more = f" and {len(changed) - _SHOWN_FILES} more" if len(changed) > _SHOWN_FILES else ""
            lines.append(f"files changed: {', '.join(changed[:_SHOWN_FILES])}{more}")
        lines += [f"not kept: {line}" for line in left.skipped[:5]]
        return ToolResult("\n".join(filter(None, lines)), ok=ended.ending is Ending.EXITED and ended.exit_code == 0)


def _environment(layout: Layout) -> Mapping[str, str]:
    """Nothing of the host's."""
    return {
        "PATH": PATH,
        "LANG": "C.UTF-8",
        "HOME": layout.home,
        "TMPDIR": layout.tmp,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONSAFEPATH": "1",  # no file of the task stands in for a module
    }


def _ending(ended: Ended) -> str:
    match ended.ending:
        case Ending.DEADLINE:
            return f"stopped: it ran for more than {SCRIPT_S:.0f} s"
        case Ending.OUT_OF_MEMORY:
            return "stopped: it took more memory than the sandbox has"
    return f"exit code {ended.exit_code}"


def _shown(ended: Ended, code: str) -> str:
    """What it printed, bounded: of stdout both ends, of stderr the last; and the line that failed (blocks)."""
    out = shorten(_ends(ended.stdout, 4 * STDOUT_CHARS), STDOUT_CHARS).strip()
    err = encodable(tail(ended.stderr))[-STDERR_CHARS:].strip()
    places = [int(number) for number in _PLACE.findall(err)]
    line = code.splitlines()[places[-1] - 1 : places[-1]] if places and places[-1] else []
    failed = f"line {places[-1]} of the script: {line[0].strip()[:200]}" if line else ""
    return "\n".join(filter(None, (out, f"stderr:\n{err}" if err else "", failed)))


def _ends(file: Path, size: int) -> str:
    """Both ends of a file as text, `size` bytes each."""
    with file.open("rb") as stream:
        head = stream.read(size)
        rest = stream.seek(0, 2) - len(head)
        stream.seek(max(len(head), len(head) + rest - size))
        end = stream.read(size)
    gap = f"\n[… {rest - len(end)} bytes left out …]\n" if rest > len(end) else ""
    return encodable(head.decode("utf-8", "replace") + gap + end.decode("utf-8", "replace"))
