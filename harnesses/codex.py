"""The Codex CLI as a harness. Command line and environment are the measured ones for 0.171.0 (see `docs/harnesses.md`).

Hermetic: CODEX_HOME is fresh; project configuration is not trusted, AGENTS.md is not read, bundled skills and plugins
are off, and skills that a task ships are switched off one by one, so the agent sees the one skill alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from harnesses.cli_harness import CliHarness
from harnesses.clis import PATH
from harnesses.harness import Assignment, RenderedSkill
from harnesses.images import named_images
from harnesses.traces.codex_events import parse_codex
from harnesses.traces.codex_rollout import RolloutFacts, root_facts
from harnesses.traces.codex_story import with_failed_calls, with_patches
from harnesses.traces.lines import read_lines
from harnesses.traces.skill_probe import SkillProbe
from harnesses.traces.trace import Trace
from harnesses.workspace import Laid, asked, foreign_skills, start_of, workspace_files
from sandboxes.sandbox import Collected, Layout

SKILLS_ROOT = ".agents/skills"
_SKILL_ROOTS = (".agents/skills/", ".codex/skills/")
_KEY = "HONED_GATEWAY_TOKEN"
_FIXED = (
    "model_provider=honed",
    "analytics.enabled=false",
    "skills.bundled.enabled=false",
    "project_doc_max_bytes=0",
    "project_root_markers=[]",  # skills of the folders above the workspace are not looked for
    'shell_environment_policy={inherit="core"}',
    "allow_login_shell=false",
)


class CodexHarness(CliHarness):
    """`codex exec --json` in a sandbox. It has no turn limit of its own: the door's request cap is one."""

    turns_capped = True

    @property
    def name(self) -> str:
        """As `Harness.name`."""
        return "codex"

    @property
    def forward(self) -> bool:
        """Codex speaks TCP alone."""
        return True

    def lay(self, assignment: Assignment) -> Laid:
        """The workspace with the skill at `.agents/skills/<name>` too, where Codex starts."""
        own = () if assignment.skill is None else (_own_folder(assignment, assignment.skill),)
        return Laid(workspace_files(assignment, skills_root=SKILLS_ROOT), clear=own)

    def prompt(self, assignment: Assignment) -> str:
        """`$name` first, where the skill is to be invoked."""
        return asked(assignment, sigil="$")

    def config_home(self, layout: Layout) -> str:
        """CODEX_HOME: must exist before Codex starts."""
        return f"{layout.out}/codex"

    def env(self, layout: Layout, token: str) -> Mapping[str, str]:
        """Nothing of the host's; the key is the door's dummy."""
        return {
            "PATH": PATH,
            "LANG": "C.UTF-8",
            "HOME": layout.home,
            "TMPDIR": layout.tmp,
            "CODEX_HOME": self.config_home(layout),
            _KEY: token,
        }

    def argv(self, assignment: Assignment, layout: Layout) -> tuple[str, ...]:
        """The CLI's command line; `-` reads the prompt from stdin."""
        settings = [*_FIXED, _provider(f"{layout.model_url}/v1"), f'web_search="{_web_search(assignment)}"']
        start = start_of(assignment)
        if foreign := _foreign(assignment, start):
            settings.append(_switched_off(f"{layout.workspace}/{path}" for path in foreign))
        return (
            self._settings.cli.inside(layout.tools),
            "exec",
            "--json",
            "--skip-git-repo-check",
            *(f"--image={layout.workspace}/{path}" for path in named_images(assignment.seen, assignment.prompt)),
            "--dangerously-bypass-approvals-and-sandbox",
            *("-C", f"{layout.workspace}/{start}".rstrip("/")),
            *("-m", self._settings.policy.model),
            *("--disable", "plugins"),
            *("--disable", "unbounded_connection_retries"),
            *(word for setting in settings for word in ("-c", setting)),
            "-",
        )

    def read(self, stdout: Path, out: Collected, probe: SkillProbe | None) -> Trace:
        """Events of stdout, and what only the rollout file tells."""
        trace = parse_codex(read_lines(stdout), probe)
        facts = root_facts(out.files, probe)
        return trace if facts is None else _with_rollout(trace, facts, probe)


def _own_folder(assignment: Assignment, skill: RenderedSkill) -> str:
    return f"{start_of(assignment)}{SKILLS_ROOT}/{skill.name}"


def _foreign(assignment: Assignment, start: str) -> tuple[str, ...]:
    """Skills that the task, or an agent in an earlier step, has put where Codex looks."""
    found = foreign_skills(assignment.seen, tuple(start + root for root in _SKILL_ROOTS))
    own = f"{_own_folder(assignment, assignment.skill)}/" if assignment.skill else None
    return tuple(path for path in found if own is None or not path.startswith(own))


def _with_rollout(trace: Trace, facts: RolloutFacts, probe: SkillProbe | None) -> Trace:
    return replace(
        trace,
        events=with_failed_calls(with_patches(trace.events, facts.patched), facts.failed_calls),
        model=facts.model,
        turns=facts.replies,
        skill_listed=facts.skill_listed if probe else None,
        skill_opened=trace.skill_opened or facts.skill_injected,
    )


def _provider(base_url: str) -> str:
    # The gateway retries upstream, so the CLI must not.
    return (
        f"model_providers.honed={{name={json.dumps('honed')},base_url={json.dumps(base_url)},env_key={json.dumps(_KEY)},"
        'wire_api="responses",request_max_retries=0,stream_max_retries=0}'
    )


def _web_search(assignment: Assignment) -> str:
    return "live" if "web_search" in assignment.provider_tools else "disabled"


def _switched_off(paths: Iterable[str]) -> str:
    entries = [f"{{path={json.dumps(path, ensure_ascii=False)},enabled=false}}" for path in paths]
    return f"skills.config=[{','.join(entries)}]"
