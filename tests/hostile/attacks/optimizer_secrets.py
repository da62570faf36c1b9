"""Secrets that an agent comes upon: none of them reaches the optimizer, the journal, a log, an event or git.

A whole run over a journal on the disk, in which every trace, answer and reply of the optimizer carries the secret.
"""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import structlog

from daemon.journal.sqlite import SqliteJournal
from harnesses.harness import Assignment, Attempt
from harnesses.models.client import ModelRequest
from tests.hostile.attack import Area, Attack, Stage, add, holds
from tests.support.optimizer import (
    Heard,
    ScriptedOptimizer,
    World,
    WorldHarness,
    edit,
    reflection,
    sensible,
    task_set,
    user_text,
)

BODY = "Zk3qP9wLx7" * 4
"""The part of each secret that must be nowhere."""
KEY = f"sk-ant-api03-{BODY}"
HEX = "7f3a9c" * 12
SECRETS: dict[str, tuple[str, str, str]] = {
    "model-keys": ("model providers' keys", f"{KEY} sk-proj-{BODY} hf_{BODY} gsk_{BODY}", BODY),
    "forge-tokens": (
        "tokens of GitHub and GitLab",
        f"ghp_{BODY} gho_{BODY} ghu_{BODY} ghs_{BODY} ghr_{BODY} github_pat_{BODY} glpat-{BODY} glrt-{BODY}",
        BODY,
    ),
    "aws": ("keys of AWS", f"AKIAZK3QP9WLX7ABCDEF aws_secret_access_key = {BODY}", BODY),
    "gcp-file": (
        "a Google service account's file",
        json.dumps({"private_key": f"-----BEGIN PRIVATE KEY-----\n{BODY}\n-----END PRIVATE KEY-----\n"}),
        BODY,
    ),
    "azure": ("keys of Azure", f"DefaultEndpointsProtocol=https;AccountKey={BODY}==;", BODY),
    "chat-and-payment": (
        "tokens of Slack and Stripe",
        f"xoxb-{BODY} xapp-1-{BODY} sk_live_{BODY} whsec_{BODY}",
        BODY,
    ),
    "registries": ("tokens of npm and PyPI", f"npm_{BODY} pypi-{BODY}", BODY),
    "jwt": ("a JSON web token", f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTYifQ.{BODY}", BODY),
    "ssh-key": ("a private SSH key", f"-----BEGIN OPENSSH PRIVATE KEY-----\n{BODY}\n{BODY}\n-----END", BODY),
    "login-addresses": ("addresses with a login", f"https://bob:{BODY}@x.example/ postgres://u:{BODY}@db/x", BODY),
    "netrc": ("a .netrc", f"machine x.example login bob password {BODY}", BODY),
    "headers": ("headers", f"Authorization: Bearer {BODY}\nCookie: session={BODY}\nX-Api-Key: {BODY}", BODY),
    "passwords": (
        "passwords in settings",
        f'password={BODY}\nDB_PASSWORD=\'{BODY}\'\n{{"client_secret": "{BODY}"}}\nServer=x;Pwd={BODY};',
        BODY,
    ),
    "with-terminal-codes": ("a key split by terminal codes", KEY.replace("ant", "\x1b[31mant\x1b[0m"), BODY),
    "with-hidden-characters": ("a key split by hidden characters", KEY.replace("ant", "a\u200bn\u2060t"), BODY),
    "with-escapes": ("a key written with JSON's escapes", KEY.replace("-", "\\u002d"), BODY),
    "in-percents": ("a key written with percent signs", KEY.replace("-", "%2D"), BODY),
    "in-base64": ("a key in base64", base64.b64encode(KEY.encode()).decode(), base64.b64encode(KEY.encode()).decode()),
    "in-base64-twice": (
        "a key in base64 of base64",
        (twice := base64.b64encode(base64.b64encode(KEY.encode())).decode()),
        twice,
    ),
    "in-base64-lines": (
        "a key file in lines of base64",
        (lines := base64.encodebytes(f"{HEX} {KEY}".encode()).decode().strip()),
        lines.split("\n")[1],
    ),
}


@dataclass
class Leaky:
    """An agent whose trace and answer carry the secret."""

    inner: WorldHarness
    secret: str
    name: str = "chat"

    def settings(self) -> Any:
        return self.inner.settings()

    async def run(self, assignment: Assignment) -> Attempt:
        made = await self.inner.run(assignment)
        answer = made.trace.final_answer
        told = answer if answer == "ok" else f"{answer} {self.secret}"
        trace = replace(made.trace, final_answer=told)
        return replace(made, trace=trace, summary=f"{made.summary}\n$ env\n{self.secret}\n", detail=self.secret)


def echo(secret: str, request: ModelRequest) -> dict[str, Any]:
    """An optimizer that knows the secret, and says it wherever it may say anything."""
    if request.schema_name != "reflect_failures":
        return sensible(request)
    good = {**edit("- rule-a"), "rationale": f"saw {secret}"}
    pattern = {"type": f"leak {secret}", "count": 1, "description": secret}
    return {**reflection(good, edit(f"- {secret}"), patterns=[pattern]), "reasoning": secret}


async def exits(stage: Stage, secret: str) -> dict[str, str]:
    """All that leaves a run, by where it went."""
    tasks = task_set(1, 2, 0)
    journal, heard = SqliteJournal(stage.folder / "journal.db"), Heard()
    client = ScriptedOptimizer(partial(echo, secret))
    harness: Any = Leaky(WorldHarness({task.id: ["rule-a"] for task in tasks.tasks}), secret)
    world = World(stage.folder, harness, tasks, client, journal=journal, observer=heard)
    with structlog.testing.capture_logs() as logs:
        report = await world.training().run()
    log = await world.history.log()
    skill = await world.history.read(await world.history.base())
    await journal.close()
    if not report.accepted:
        raise AssertionError(f"nothing was accepted: {[step.reason for step in report.steps]}")
    return {
        "optimizer": "\n".join(f"{request.system}\n{user_text(request)}" for request in client.requests),
        "journal": "".join(path.read_bytes().decode("utf-8", "replace") for path in stage.folder.glob("journal.db*")),
        "log": json.dumps(logs, default=str),
        "events": json.dumps([asdict(event) for event in heard.events], default=str),
        "git": "\n".join([*(commit.subject + commit.body + str(commit.trailers) for commit in log), skill.text]),
    }


async def kept(secret: str, core: str, stage: Stage) -> str:
    found = await exits(stage, secret)
    assert "rule-a" in found["optimizer"]
    assert "rule-a" in found["journal"]
    out = [name for name, text in found.items() if core in text or json.dumps(core)[1:-1] in text]
    return holds(not out, f"found in {', '.join(out)}" if out else f"in none of {', '.join(found)}")


for _name, (_what, _secret, _core) in SECRETS.items():
    add(
        Attack(
            Area.OPTIMIZER,
            f"secret-{_name}",
            f"traces, answers, feedback and the optimizer's reply carry {_what}",
            "nothing of it in the optimizer's prompts, the journal's file, logs, events and git",
            partial(kept, _secret, _core),
            False,
        )
    )
