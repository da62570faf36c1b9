"""The agent's CLI fails: scripts in its place, in real containers, so that streams, signals and exit codes are real."""

from __future__ import annotations

import json
from dataclasses import dataclass

from harnesses.outcome import Outcome
from harnesses.vigil import Patience
from sandboxes.docker import DockerSandbox
from sandboxes.sandbox import MIB, Limits
from tests.hostile.attack import Area, Attack, Attempted, Stage, add
from tests.hostile.failing import assignment, by_cli, expected_of, judged
from tests.support.gateway import target
from tests.support.sandboxes import docker_image
from tests.support.upstream import Upstream
from tests.support.wire import Step

STARTED = "\n".join(json.dumps(row) for row in ({"type": "thread.started", "thread_id": "t"}, {"type": "turn.started"}))
SAID = json.dumps({"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": "42"}})
ENDED = json.dumps({"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}})
SESSION = """
mkdir -p "$CODEX_HOME/sessions/2026/01/02"
cat > "$CODEX_HOME/sessions/2026/01/02/rollout-x.jsonl" <<'EOF'
{"type":"session_meta","payload":{"id":"t","source":"exec"}}
{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"<skill>\\n<name>text</name>\\n<path>/x</path>\\nBe brief.\\n</skill>"}]}}
EOF
"""  # noqa: E501 - one line of JSON
ASK = """
python3 - <<'EOF'
import json, os, urllib.request
body = json.dumps({"model": "m", "input": "hi", "stream": False}).encode()
head = {"Authorization": "Bearer " + os.environ["HONED_GATEWAY_TOKEN"], "Content-Type": "application/json"}
urllib.request.urlopen(urllib.request.Request("http://127.0.0.1:18080/v1/responses", body, head)).read()
EOF
"""
RAN = """
echo '{"type":"item.started","item":{"id":"c","type":"command_execution","command":"ls"}}'
echo '{"type":"item.completed","item":{"id":"c","type":"command_execution","command":"ls","status":"completed"}}'
"""
HOG = "python3 -c 'x = bytearray(600 * 1024 * 1024)'\n"


@dataclass(frozen=True)
class Row:
    """One CLI."""

    name: str
    what: str
    outcome: Outcome
    words: tuple[str, ...]
    script: str
    shell: str = "#!/bin/sh"
    memory_mb: int = 512
    idle_s: float = 3.0
    deadline_s: float = 90.0


def say(*lines: str) -> str:
    """Shell that prints these lines."""
    return "cat <<'EOF'\n" + "\n".join(lines) + "\nEOF\n"


ROWS = (
    Row("hangs-after-its-result", "says its result and never exits", Outcome.COMPLETED, ("did not exit",),
        SESSION + ASK + say(STARTED, SAID, ENDED) + "sleep 600\n"),
    Row("never-says-a-word", "starts and does nothing for ever", Outcome.CLI_HUNG, ("idle_s",), "sleep 600\n"),
    Row("hangs-in-the-middle", "answers a model's reply with silence", Outcome.CLI_HUNG, ("idle_s",),
        SESSION + ASK + say(STARTED) + "sleep 600\n"),
    Row("hangs-after-commands", "hangs after a command of the agent", Outcome.CLI_HUNG, ("idle_s",),
        SESSION + ASK + say(STARTED) + RAN + "sleep 600\n"),
    Row("halted-by-a-command", "is halted by a signal of the agent's", Outcome.AGENT_ENDED_CLI, ("halted",),
        SESSION + ASK + say(STARTED) + RAN + "kill -STOP $$\n"),
    Row("waits-for-a-command", "waits for a command of the agent that hangs", Outcome.AGENT_DEADLINE, ("at work",),
        SESSION + ASK + say(STARTED) + RAN.splitlines()[1] + "\nsleep 600\n", idle_s=1.0, deadline_s=8.0),
    Row("never-sends-a-result", "exits with 0 in the middle of its events", Outcome.CLI_PROTOCOL, ("version", "stderr"),
        say(STARTED) + "echo odd >&2\n"),
    Row("prints-garbage", "prints binary garbage", Outcome.CLI_PROTOCOL, ("version",),
        "head -c 100000 /dev/urandom; exit 1\n"),
    Row("is-another-version", "speaks events of another version", Outcome.CLI_PROTOCOL, ("version", "pinned"),
        say('{"event":"run.begin","v":2}', '{"event":"run.end","v":2,"answer":"42"}')),
    Row("knows-no-such-option", "does not know an option, as another version would", Outcome.CLI_CRASHED,
        ("unexpected argument", "stderr"), "echo \"error: unexpected argument '--json' found\" >&2; exit 2\n"),
    Row("panics", "panics with a result half said", Outcome.CLI_CRASHED, ("code 101", "stderr"),
        say(STARTED) + "echo \"thread 'main' panicked\" >&2; exit 101\n"),
    Row("is-no-program", "cannot be run: its interpreter is missing", Outcome.CLI_MISSING, ("honed setup",), "exit 0\n",
        shell="#!/no/such/interpreter"),
    Row("shows-no-skill", "answers, and was never shown the skill", Outcome.SKILL_NOT_VISIBLE, ("skill",),
        ASK + say(STARTED, SAID, ENDED)),
    Row("answers-with-nothing", "ends its turn without an answer", Outcome.AGENT_EMPTY, ("without an answer",),
        SESSION + ASK + say(STARTED, ENDED)),
    Row("is-out-of-memory", "outgrows the box before the model has replied", Outcome.OUT_OF_MEMORY, ("memory_mb",),
        say(STARTED) + HOG + "exit 1\n", memory_mb=256),
)  # fmt: skip


def running(row: Row) -> Attempted:
    async def run(stage: Stage) -> str:
        sandbox = DockerSandbox(docker_image(), owner=stage.owner)
        provider = await stage.stack.enter_async_context(Upstream([Step(text="go on")]))
        harness = by_cli(
            stage,
            target("openai", provider.base_url("openai"), tries=1),
            sandbox=sandbox,
            program=f"{row.shell}\n{row.script}",
            patience=Patience(idle_s=row.idle_s, exit_s=2.0),
            limits=Limits(memory_bytes=row.memory_mb * MIB),
        )
        return judged(await harness.run(assignment(stage, deadline_s=row.deadline_s)), row.outcome, *row.words)

    return run


for row in ROWS:
    add(Attack(Area.FAILURES, f"cli-{row.name}", f"the CLI {row.what}", expected_of(row.outcome), running(row), True))
