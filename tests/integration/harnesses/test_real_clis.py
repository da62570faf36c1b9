"""The real Codex and Claude Code in the real sandbox, through the real gateway, against a scripted provider."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harnesses.harness import Activation, RenderedSkill
from harnesses.outcome import Outcome
from sandboxes.gateway.policy import Caps
from tests.integration.harnesses.conftest import Bench
from tests.support.agents import MODELS, REAL_KEY, SKILL, VERSIONS
from tests.support.upstream import Upstream
from tests.support.wire import Step

pytestmark = [pytest.mark.docker, pytest.mark.clis]

COUNT = "wc -l < in.csv > answer.txt && cat answer.txt"
SLEEP = "python3 -c 'import time; time.sleep(90)'"
DEADLINES_S = (5.0, 20.0, 60.0)
"""Tried in turn: on a busy machine a CLI may need longer than the first to begin."""


def sent(provider: Upstream, index: int) -> str:
    """One request's body as text."""
    return json.dumps(provider.requests[index].body, ensure_ascii=False)


async def test_explicit_success(bench: Bench) -> None:
    async with Upstream([bench.kind.run(COUNT), Step(text="It has 3 lines.")]) as provider:
        assignment = bench.assignment()
        attempt = await bench.harness(provider).run(assignment)

    assert (attempt.outcome, attempt.detail) == (Outcome.COMPLETED, "")
    assert attempt.trace.final_answer == "It has 3 lines."
    assert attempt.workspace.files["answer.txt"] == b"3\n"
    assert attempt.workspace.files["SKILL.md"] == SKILL.files["SKILL.md"]
    assert (attempt.trace.skill_listed, attempt.trace.skill_opened) == (True, True)
    assert attempt.trace.turns == attempt.usage.requests == len(provider.requests) == 2
    assert attempt.usage.input_tokens == 2000
    assert attempt.usage.input_tokens == attempt.trace.usage.input_tokens
    assert attempt.usage.output_tokens == attempt.trace.usage.output_tokens == 100
    assert attempt.trace.model == MODELS[bench.kind.provider]
    assert (attempt.trace.unknown_events, attempt.trace.bad_lines) == (0, 0)
    assert attempt.versions == {bench.kind.cli: VERSIONS[bench.kind.cli]}
    assert attempt.engine is not None
    assert attempt.engine.image_digest.startswith("sha256:")
    assert "BODY_MARK_4471" in sent(provider, 0)
    assert "Write the number to answer.txt." in sent(provider, 0)
    name = "codex" if bench.kind.cli == "codex" else "claude"
    assert (assignment.folder / f"{name}_trace_summary.txt").read_text() == attempt.summary
    assert COUNT in attempt.summary


async def test_discovered_lists_the_skill_and_opening_is_seen(bench: Bench) -> None:
    folder = ".agents" if bench.kind.cli == "codex" else "/out/claude"
    read = bench.kind.run(f"cat {folder}/skills/line-counter/SKILL.md")
    async with Upstream([read, Step(text="3")]) as provider:
        opened = await bench.harness(provider).run(bench.assignment(activation="discovered"))
    assert "LISTED_MARK" in sent(provider, 0)
    assert "BODY_MARK_4471" not in sent(provider, 0)
    assert "BODY_MARK_4471" in sent(provider, 1)
    assert (opened.outcome, opened.trace.skill_listed, opened.trace.skill_opened) == (Outcome.COMPLETED, True, True)


async def test_session_files_that_the_agent_deletes_take_nothing_back(bench: Bench) -> None:
    """The door saw the skill go by; `test_hostile_agents.py` does it to a skill that is named."""
    async with Upstream(
        [bench.kind.run("rm -rf /out/codex/sessions /out/claude/projects"), Step(text="3")]
    ) as provider:
        attempt = await bench.harness(provider).run(bench.assignment(activation="discovered"))
    assert (attempt.outcome, attempt.trace.skill_listed) == (Outcome.COMPLETED, True), attempt.detail
    assert attempt.trace.skill_opened is False


async def test_without_a_skill(bench: Bench) -> None:
    async with Upstream([bench.kind.run("ls -A"), Step(text="none")]) as provider:
        attempt = await bench.harness(provider).run(bench.assignment(skill=None))
    assert attempt.outcome is Outcome.COMPLETED
    assert sorted(attempt.workspace.files) == ["in.csv"]
    assert "line-counter" not in sent(provider, 0)


def hostile_files() -> dict[str, bytes]:
    """Task files that would configure an agent, each with a visible effect."""
    touch = {"type": "command", "command": "touch /workspace/HOOKED"}
    settings: dict[str, Any] = {
        "env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "ANTHROPIC_UNIX_SOCKET": "/nowhere"},
        "hooks": {"SessionStart": [{"hooks": [touch]}], "PreToolUse": [{"matcher": "*", "hooks": [touch]}]},
        "permissions": {"deny": ["Bash"]},
        "model": "evil-model",
    }
    server = {"command": "sh", "args": ["-c", "touch /workspace/MCP"]}
    codex = (
        'model = "evil-model"\nmodel_provider = "evil"\n[mcp_servers.x]\ncommand = "sh"\n'
        'args = ["-c", "touch /workspace/MCP"]\n'
    )
    other = b"---\nname: other\ndescription: OTHER_MARK\n---\nOTHER_BODY\n"
    return {
        "in.csv": b"a\nb\nc\n",
        ".claude/settings.json": json.dumps(settings).encode(),
        ".claude/settings.local.json": json.dumps(settings).encode(),
        ".claude/skills/other/SKILL.md": other,
        ".claude/skills/line-counter/SKILL.md": other.replace(b"other", b"line-counter"),
        ".claude/commands/cmd.md": b"COMMAND_MARK",
        ".claude/agents/evil.md": b"---\nname: evil\ndescription: AGENT_MARK\n---\nx",
        ".mcp.json": json.dumps({"mcpServers": {"x": server}}).encode(),
        "CLAUDE.md": b"INSTRUCTIONS_MARK",
        "CLAUDE.local.md": b"INSTRUCTIONS_MARK",
        "AGENTS.md": b"INSTRUCTIONS_MARK",
        "AGENTS.override.md": b"INSTRUCTIONS_MARK",
        ".codex/config.toml": codex.encode(),
        ".codex/hooks.json": json.dumps({"hooks": {"SessionStart": [{"hooks": [touch]}]}}).encode(),
        ".codex/skills/other/SKILL.md": other,
        ".agents/skills/third/SKILL.md": other.replace(b"other", b"third"),
    }


async def test_configuration_in_the_workspace_has_no_effect(bench: Bench) -> None:
    async with Upstream([bench.kind.run(COUNT), Step(text="3")]) as provider:
        attempt = await bench.harness(provider).run(bench.assignment(files=hostile_files(), activation="discovered"))
    assert (attempt.outcome, attempt.detail) == (Outcome.COMPLETED, "")
    assert attempt.workspace.files["answer.txt"] == b"3\n"
    assert not {"HOOKED", "MCP"} & set(attempt.workspace.files)
    for mark in ("OTHER_MARK", "OTHER_BODY", "INSTRUCTIONS_MARK", "COMMAND_MARK", "AGENT_MARK", "evil-model"):
        assert mark not in sent(provider, 0), mark
    assert "LISTED_MARK" in sent(provider, 0)
    assert set(hostile_files()) <= set(attempt.workspace.files), "the files are still there as data"


@pytest.mark.parametrize(
    ("status", "error", "outcome"),
    [
        (401, "authentication_error", Outcome.AUTH),
        pytest.param(500, "api_error", Outcome.SERVER_ERROR, marks=pytest.mark.long),
        pytest.param(429, "rate_limit_error", Outcome.RATE_LIMIT, marks=pytest.mark.long),
    ],
)
async def test_a_failing_provider_is_told_in_seconds(bench: Bench, status: int, error: str, outcome: Outcome) -> None:
    """Each status with both CLIs, outside of a box: `tests/integration/gateway/test_clis_give_up.py`."""
    body = {"type": "error", "error": {"type": error, "message": "scripted", "code": error}}
    async with Upstream([Step(status=status, body=body)]) as provider:
        attempt = await bench.harness(provider, tries=3).run(bench.assignment(deadline_s=1_000.0))
    assert attempt.outcome is outcome, "and not its deadline"
    assert "TEST_KEY" in attempt.detail
    assert REAL_KEY not in attempt.detail + attempt.summary


async def test_provider_that_recovers_is_no_failure(bench: Bench) -> None:
    async with Upstream([Step(status=500, body={}), Step(text="fine")]) as provider:
        attempt = await bench.harness(provider, tries=3).run(bench.assignment())
    assert (attempt.outcome, attempt.trace.final_answer) == (Outcome.COMPLETED, "fine")
    assert len(provider.requests) == 2


async def test_token_cap_is_the_agents_budget(bench: Bench) -> None:
    async with Upstream([bench.kind.run("echo again")]) as provider:
        attempt = await bench.harness(provider, caps=Caps(tokens=2_500)).run(bench.assignment())
    assert attempt.outcome is Outcome.AGENT_BUDGET
    assert "cap: tokens" in attempt.detail
    assert attempt.usage.tokens >= 2_500
    assert len(provider.requests) <= 3


async def test_turn_limit(bench: Bench) -> None:
    async with Upstream([bench.kind.run("echo again")]) as provider:
        attempt = await bench.harness(provider).run(bench.assignment(max_turns=2))
    assert attempt.outcome is Outcome.AGENT_TURNS
    assert len(provider.requests) == 2


async def test_deadline_of_a_busy_agent_is_its_own(bench: Bench) -> None:
    for deadline_s in DEADLINES_S:
        async with Upstream([bench.kind.run(SLEEP), Step(text="late")]) as provider:
            attempt = await bench.harness(provider).run(bench.assignment(deadline_s=deadline_s))
        if attempt.outcome is Outcome.AGENT_DEADLINE:
            break
    assert attempt.outcome is Outcome.AGENT_DEADLINE
    assert len(provider.requests) == 1, "its command was not waited for"


async def test_deadline_behind_a_silent_provider_is_not_the_agents(bench: Bench) -> None:
    for deadline_s in DEADLINES_S:
        async with Upstream([Step(text="late", hang_s=1_000)]) as provider:
            attempt = await bench.harness(provider).run(bench.assignment(deadline_s=deadline_s))
        if attempt.outcome is Outcome.UNREACHABLE:
            break
    assert attempt.outcome is Outcome.UNREACHABLE
    assert "silent" in attempt.detail


async def test_broken_off_stream(bench: Bench) -> None:
    async with Upstream([Step(text="partial answer", drop_after=4)]) as provider:
        attempt = await bench.harness(provider).run(bench.assignment())
    assert attempt.outcome is Outcome.CUT_STREAM


async def test_empty_answer(bench: Bench) -> None:
    async with Upstream([Step(text="")]) as provider:
        attempt = await bench.harness(provider).run(bench.assignment())
    assert attempt.outcome is Outcome.AGENT_EMPTY


@pytest.mark.parametrize("activation", ["explicit", "discovered"])
async def test_prompt_that_looks_like_options_and_is_very_long(bench: Bench, activation: Activation) -> None:
    prompt = "--help\n-c x=y\n" + "x" * 150_000 + "\nEND_MARK é € 𝄞 'quote' \"double\" $(touch /workspace/SHELL) `id`"
    async with Upstream([Step(text="read")]) as provider:
        attempt = await bench.harness(provider).run(bench.assignment(prompt=prompt, activation=activation))
    assert attempt.outcome is Outcome.COMPLETED
    assert "END_MARK é € 𝄞 'quote'" in sent(provider, 0)
    assert "SHELL" not in attempt.workspace.files


async def test_prompt_that_begins_with_a_path_still_lists_the_skill_which_is_not_opened_by_that(bench: Bench) -> None:
    prompt = f"{bench.kind.sigil}data/in.csv holds lines: count them."
    async with Upstream([Step(text="3")]) as provider:
        attempt = await bench.harness(provider).run(bench.assignment(prompt=prompt, activation="discovered"))
    assert (attempt.outcome, attempt.trace.skill_listed, attempt.trace.skill_opened) == (Outcome.COMPLETED, True, False)
    assert "LISTED_MARK" in sent(provider, 0)
    assert prompt in sent(provider, 0)


async def test_skill_that_the_cli_does_not_load_is_invalid(bench: Bench) -> None:
    if bench.kind.cli == "claude":
        text = SKILL.files["SKILL.md"].replace(b"name:", b"disable-model-invocation: true\nname:")
    else:
        text = b"# no frontmatter at all, so this is skipped\nBODY_MARK_4471\n"
    broken = RenderedSkill(SKILL.name, "sha256:broken", {"SKILL.md": text})
    async with Upstream([Step(text="3")]) as provider:
        attempt = await bench.harness(provider).run(bench.assignment(skill=broken, activation="discovered"))
    assert attempt.outcome is Outcome.SKILL_NOT_VISIBLE
    assert "frontmatter" in attempt.detail
    assert provider.requests, "it ran all the same"


async def test_a_command_that_the_cli_refuses_is_in_the_trace(bench: Bench) -> None:
    async with Upstream([bench.kind.run("rm -rf /workspace/in.csv"), Step(text="done")]) as provider:
        attempt = await bench.harness(provider).run(bench.assignment())
    assert attempt.outcome is Outcome.COMPLETED
    assert "rm -rf /workspace/in.csv" in attempt.summary
    if bench.kind.cli == "codex":
        assert "rm -f style commands are not permitted" in attempt.summary
        assert "in.csv" in attempt.workspace.files


async def test_crlf_skill_is_laid_with_lf(bench: Bench) -> None:
    crlf = RenderedSkill(SKILL.name, "sha256:crlf", {"SKILL.md": SKILL.files["SKILL.md"].replace(b"\n", b"\r\n")})
    async with Upstream([Step(text="3")]) as provider:
        attempt = await bench.harness(provider).run(bench.assignment(skill=crlf))
    assert (attempt.outcome, attempt.trace.skill_listed) == (Outcome.COMPLETED, True)
    assert attempt.workspace.files["SKILL.md"] == SKILL.files["SKILL.md"]


HUNT = r"""
python3 - <<'EOF'
import os
hits, read = [], 0
needle = b'sk-real-' + b'5f0c1d'
def look(path):
    global read
    try:
        with open(path, 'rb') as file:
            data = file.read(4_000_000)
    except OSError:
        return
    read += 1
    if needle in data:
        hits.append(path)
for pid in filter(str.isdigit, os.listdir('/proc')):
    for name in ('environ', 'cmdline', 'maps', 'mountinfo'):
        look(f'/proc/{pid}/{name}')
if needle in repr(dict(os.environ)).encode():
    hits.append('environment')
for top in ('/workspace', '/out', '/home', '/tmp', '/run', '/etc', '/var', '/dev/shm', '/opt/agents'):
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                look(path)
print('FILES_READ', read > 100, 'HITS', hits)
EOF
"""


async def test_the_real_key_goes_upstream_and_is_nowhere_in_the_box(bench: Bench) -> None:
    async with Upstream([bench.kind.run(HUNT), Step(text="searched")]) as provider:
        attempt = await bench.harness(provider).run(bench.assignment())
        headers = provider.requests[0].headers
    key = headers.get("x-api-key") or headers["authorization"].removeprefix("Bearer ")
    assert key == REAL_KEY
    assert "honed-dummy" not in json.dumps(dict(headers)) + sent(provider, 0)
    assert attempt.outcome is Outcome.COMPLETED
    assert "FILES_READ True HITS []" in attempt.summary, attempt.summary
    assert REAL_KEY not in repr(attempt)
