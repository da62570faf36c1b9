"""Claude Code as a harness. Command line and environment are the measured ones for 2.1.332 (see `docs/harnesses.md`).

Hermetic: only user-level settings are read, from a fresh CLAUDE_CONFIG_DIR that holds nothing but the skill; so a
workspace's settings (hooks, a redirected model, denied tools), `.mcp.json`, `CLAUDE.md`, commands, sub-agents and other
skills have no effect, and no skill of a workspace can shadow the one that is measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from harnesses.cli_harness import CliHarness
from harnesses.clis import PATH
from harnesses.harness import Assignment
from harnesses.traces.claude_events import parse_claude
from harnesses.traces.claude_session import session_facts
from harnesses.traces.lines import read_lines
from harnesses.traces.skill_probe import SkillProbe
from harnesses.traces.trace import Trace
from harnesses.workspace import Laid, asked, skill_folder, workspace_files
from sandboxes.sandbox import Collected, Layout

_HOME = "claude"
_TOOLS = ("Bash", "Read", "Write", "Edit")
_QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK": "1",
    "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_MAX_RETRIES": "0",  # the gateway retries upstream
    "DISABLE_AUTOUPDATER": "1",
    "IS_SANDBOX": "1",
}


class ClaudeCodeHarness(CliHarness):
    """`claude -p --output-format stream-json` in a sandbox."""

    @property
    def name(self) -> str:
        """As `Harness.name`."""
        return "claude-code"

    @property
    def forward(self) -> bool:
        """Claude Code speaks to the socket itself."""
        return False

    def lay(self, assignment: Assignment) -> Laid:
        """The workspace, and the skill at the user-level path of the fresh configuration folder."""
        skill = assignment.skill
        out = {} if skill is None else skill_folder(skill, f"{_HOME}/skills/{skill.name}")
        return Laid(workspace_files(assignment), out)

    def prompt(self, assignment: Assignment) -> str:
        """`/name` first, where the skill is to be invoked."""
        return asked(assignment, sigil="/")

    def config_home(self, layout: Layout) -> str:
        """CLAUDE_CONFIG_DIR."""
        return f"{layout.out}/{_HOME}"

    def env(self, layout: Layout, token: str) -> Mapping[str, str]:
        """Nothing of the host's; the key is the door's dummy (tools see it)."""
        env = {
            "PATH": PATH,
            "LANG": "C.UTF-8",
            "HOME": layout.home,
            "TMPDIR": layout.tmp,
            "CLAUDE_CONFIG_DIR": self.config_home(layout),
            "ANTHROPIC_BASE_URL": "http://gateway.invalid",  # must be set; the socket is what is used
            "ANTHROPIC_API_KEY": token,
            **_QUIET,
        }
        if layout.gateway_socket is not None:
            env["ANTHROPIC_UNIX_SOCKET"] = layout.gateway_socket
        return env

    def argv(self, assignment: Assignment, layout: Layout) -> tuple[str, ...]:
        """The CLI's command line; `-p` without an argument reads the prompt from stdin."""
        tools = [*_TOOLS, *(["Skill"] if assignment.skill else [])]
        tools += ["WebSearch"] if "web_search" in assignment.provider_tools else []
        return (
            self._settings.cli.inside(layout.tools),
            "-p",
            *("--output-format", "stream-json"),
            "--verbose",
            "--dangerously-skip-permissions",
            *("--model", self._settings.policy.model),
            *("--tools", ",".join(tools)),
            *("--setting-sources", "user"),
            *("--settings", '{"disableAllHooks":true}'),
            "--strict-mcp-config",
            *("--max-turns", str(assignment.max_turns)),
        )

    def read(self, stdout: Path, out: Collected, probe: SkillProbe | None) -> Trace:
        """Events of stdout, and what only the session file tells about the skill."""
        trace = parse_claude(read_lines(stdout), probe)
        facts = session_facts(out.files, trace.session_id, probe)
        if facts is None or probe is None:
            return trace
        return replace(
            trace,
            skill_listed=facts.skill_listed,
            skill_opened=trace.skill_opened or facts.skill_injected,
        )
