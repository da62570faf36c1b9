"""Scripts of a task's own, run in a box: one that makes the workspace ready before the agent, one that solves the task.

A setup script that fails is no doing of the agent's that could be scored: honed cannot tell whose fault it is.
"""

from __future__ import annotations

from harnesses.keep import tail
from harnesses.traces.text import one_line
from sandboxes.sandbox import Box, Command, Ending, Layout, Root

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""`PATH` of whatever runs in a box beside an agent."""


class SetupError(Exception):
    """The script did not end well; `str()` says how, in one line."""


async def run_setup(box: Box, script: str, root: Root | None, deadline_s: float) -> None:
    """Run `script`, a path from where commands start; raises `SetupError`, and `SandboxError` as `Box.run` does."""
    ended = await box.run(bash(script, box.layout, root, deadline_s))
    if ended.ending is not Ending.EXITED:
        msg = f"{script} ended by {ended.ending.value} {ended.detail}".strip()
        raise SetupError(msg)
    if ended.exit_code:
        said = one_line(tail(ended.stderr, 400), 160)
        raise SetupError(f"{script} ended with exit code {ended.exit_code}{f': {said}' if said else ''}")


def bash(script: str, layout: Layout, root: Root | None, deadline_s: float) -> Command:
    """A task's own script as a command, with its image's environment and a fresh home."""
    env = {
        "PATH": PATH,
        "LANG": "C.UTF-8",
        **(root.env if root else {}),
        "HOME": layout.home,
        "TMPDIR": layout.tmp,
    }
    return Command(("bash", "--noprofile", "--norc", script), env, deadline_s=deadline_s)
