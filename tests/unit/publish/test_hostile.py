"""Hostile texts of models and traces, one by one, end to end: in a commit, in a body, and on a terminal."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from daemon.cli.app import build
from daemon.cli.show_run import render_run
from daemon.cli.show_step import render_step
from daemon.config import load_config
from daemon.places import open_history
from skills_repo.edits import Edit, Op
from skills_repo.git import Git
from skills_repo.history import EditCommit
from skills_repo.message import EditNote, GateFigures, compose, parse_trailers
from skills_repo.publish.block import read_block
from skills_repo.publish.body import render
from skills_repo.publish.facts import Excerpt, Facts, RejectedEdit
from skills_repo.publish.proposal import Proposal, read_proposal
from tests.support.history import PATH, skill_project
from tests.support.honed_cli import git
from tests.support.optimizer import ScriptedOptimizer, sensible
from tests.support.readback import drawn, step_of, trained, world
from tests.support.skills import a_skill
from tests.unit.publish.test_body import outside_of_fences

TEXTS: dict[str, str] = {
    "forged trailers": "good\n\nHoned-Gate: accepted rule=x n=9x9 before=0.0 after=1.0\nHoned-Run: r-forged",
    "forged sign-off": "good\n\nSigned-off-by: The Boss <boss@example.com>\nCo-authored-by: x <x@example.com>",
    "closing keywords": "Fixes #1, closes org/repo#2; resolves GH-3. Implements #4 and #5. fix PROJ-6",
    "closing by address": "Closes https://gitlab.com/org/repo/-/issues/7 and fixes https://github.com/o/r/issues/8",
    "quick actions": "/close\n/merge\n/approve\n/assign @root\n  /label ~bug",
    "mentions": "@octocat @org/team cc:@all user@example.com",
    "references": "see #12, !34, &5, %6, $7, ~bug, org/repo#8, org/repo!9, org/repo@1234567",
    "options": "--upload-pack=touch /tmp/x\n-n\n--exec=sh",
    "terminal escapes": "\x1b[2J\x1b]0;owned\x07\x1b]8;;http://evil.example\x1b\\click\x9b31m\x08\x08\r\x7f",
    "direction": "safe \u202egnp.exe\u202c \u2066x\u2069 \u200bzero\ufeff\u00ad \U000e0041",
    "html comment": "<!-- hidden --> <!--> <! [CDATA[ x ]]> <? y ?>",
    "block forged": '<!-- honed-publish {"head":"forged","edits":[]} -->',
    "block ended": '"} --> <b>free</b> <!-- "',
    "details ended": "</details></details>\n</summary>\n<details open><summary>mine</summary>",
    "fences": "```\nout\n````\n~~~\nout too\n~~~~~~\n`````````",
    "fences and actions": "```\n/close\nFixes #9\n```\n/merge",
    "pictures": "![x](http://evil.example/t.png) <img src=//evil.example/t.png> [![b](https://e.example/b)](x)",
    "links": "[click](javascript:alert(1)) <http://evil.example> www.evil.example https://evil.example [a]: http://e.example",
    "tables and headings": "| a | b |\n|---|---|\n# Approved\n> quote\n***\n---\n===",
    "markup of rich": "[bold red]x[/] [link=http://evil.example]y[/link] :boom:",
    "mathematics": "$$x$$ \\( y \\) $`z`$",
    "workflow commands": "::set-output name=x::y\n[skip ci] [ci skip] skip-checks: true",
    "scripts": "<script>alert(1)</script><svg onload=x><iframe src=x><a href='x'>y</a>",
    "surrogates": "a\ud800b \ufffe",
    "long": "#1 " * 3_000,
}
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")
"""Nothing that is printed holds one."""
_KEYWORD = r"\b(?:(?:clos|resolv|implement)(?:e|es|ed|ing|s)?|fix(?:es|ed|ing)?)\b"
_TARGET = r"(?:#\d|GH-\d|[\w./-]+#\d|https?://\S+/\d|[A-Z][A-Z0-9_]+-\d)"
CLOSES = re.compile(rf"{_KEYWORD}:?\s+(?:issues?\s+)?{_TARGET}", re.IGNORECASE)
"""What a forge takes for "this closes an issue", wherever it stands: GitLab looks into code blocks too."""


def an_edit(text: str) -> Edit:
    """All of it hostile, as far as an edit may be: hidden characters are refused before."""
    return Edit(Op.APPEND, content=text, rationale=text, evidence=("t-1", text, "@root"))


def a_message(text: str, step: int = 1) -> str:
    """Its commit's message."""
    gate = GateFigures("paired/hard", 12, 3, before=0.5, after=0.75, valid=1.0, standard_error=0.05)
    note = EditNote("r-1", step, 1, 1, "xlsx", "sha256:b", an_edit(text), gate, text, text, (text,))
    return compose(note)


@pytest.mark.parametrize("name", TEXTS)
def test_a_commit_message_says_what_honed_says(name: str, tmp_path: Path) -> None:
    message = a_message(TEXTS[name])
    own = "\n".join(line for line in message.splitlines() if not line.startswith(("Honed-Target", "Honed-Optimizer")))
    assert parse_trailers(message)["Honed-Run"] == "r-1"
    assert parse_trailers(message)["Honed-Gate"].startswith("accepted rule=paired/hard split=selection n=12x3")
    assert re.findall(r"^(?!Honed-)[A-Z][\w-]+: ", message.split("\n\n")[-1], re.MULTILINE) == []
    assert not CONTROL.search(message.replace("\n", ""))
    assert not CLOSES.search(own)
    assert re.findall(r"@\w|://|www\.|<!--|-->|\[(?:skip ci|ci skip)\]", own) == []
    assert re.findall(r"^/\w", message, re.MULTILINE) == []
    assert max(len(line) for line in message.split("\n\n")[0].splitlines()) <= 72
    git(tmp_path, "init", "-q")
    told = git(tmp_path, "-c", "trailer.separators=:", "interpret-trailers", "--parse", str(written(tmp_path, message)))
    assert [line for line in told.splitlines() if not line.startswith("Honed-")] == []
    assert [told.count(f"\n{key}: ") for key in ("Honed-Run", "Honed-Gate")] == [0, 1], "run is the first line"


def written(folder: Path, text: str) -> Path:
    """A file with it."""
    file = folder / "message"
    file.write_bytes(text.encode("utf-8", "replace"))
    return file


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose skill has a commit for each text, which stands in the skill as far as edits let it."""
    return skill_project(tmp_path_factory.mktemp("hostile") / "p").parent


@pytest.fixture(scope="module")
def proposal(project: Path) -> Proposal:
    """The branch with all of them."""
    return asyncio.run(committed(project))


async def committed(project: Path) -> Proposal:
    """Make the commits."""
    history = open_history(load_config(project / "honed.toml"))
    base = await history.base()
    changes, lines = [], ""
    for step, text in enumerate(TEXTS.values(), start=1):
        shown = text.encode("utf-8", "replace").decode()[:600]
        lines += "\n".join(["", f"- rule {step}", *shown.splitlines()]) + "\n"
        changes.append(EditCommit(a_skill("\n# Rules\n" + lines), a_message(text, step)))
    made = await history.commit_edits(base, changes, 1_000)
    return read_proposal(Git(project), PATH, "honed/xlsx", base_branch="main", base=base, head=made[-1])


def a_body(proposal: Proposal, text: str) -> str:
    """With the text wherever the journal brings texts in."""
    facts = Facts(
        rejected=(RejectedEdit(1, text, text, text),),
        excerpts=(Excerpt(1, text, text),),
        versions={"x": text},
    )
    return render(proposal, facts, 65_000)


@pytest.mark.parametrize("name", TEXTS)
def test_a_body_says_what_honed_says(name: str, proposal: Proposal) -> None:
    body = a_body(proposal, TEXTS[name])
    shown = outside_of_fences(body)
    own = "\n".join(line for line in shown.split("\n") if not line.startswith("<!-- honed-publish "))
    assert read_block(body)["head"] == proposal.head
    assert (body.count("<!--"), own.count("-->")) == (1, 0)
    assert own.count("<details>") == own.count("</details>") == 3
    assert set(re.findall(r"</?[a-zA-Z!?][^>]*>", own)) <= {"<details>", "</details>", "<summary>", "</summary>"}
    assert re.findall(r"(?<!\\)[@#!&%~](?=\d)|@\w|://|www\.|(?<!\\)\]\(|(?<!\\)!\[", own) == []
    assert not CLOSES.search(body), "GitLab reads code blocks too"
    assert re.findall(r"^\s*/\w", own, re.MULTILINE) == []
    assert re.findall(r"^/\w", body, re.MULTILINE) == []
    assert not CONTROL.search(body.replace("\n", ""))
    fences = re.findall(r"^`{3,}\w*$", body, re.MULTILINE)
    assert len(fences) == 4, "the diff and the excerpt begin and end, and nothing else does"
    body.encode()


@pytest.mark.parametrize(
    "words", [("log",), ("diff",), ("why", "- rule 3"), ("why", "xlsx", "8"), ("diff", "HEAD", "honed/xlsx")]
)
@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_a_terminal_is_told_nothing(
    words: tuple[str, ...], flags: tuple[str, ...], proposal: Proposal, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    done = CliRunner().invoke(build(words[:1]), [*words, *flags], env={"COLUMNS": "80", "FORCE_COLOR": ""})
    assert done.exit_code == 0, done.output
    assert len(done.stdout) > 500
    assert not CONTROL.search(done.stdout.replace("\n", ""))
    if flags:
        json.loads(done.stdout)


def evil(text: str) -> Callable[[Any], Any]:
    """An optimizer whose every word is the text, as far as a reply's shape lets it."""

    def reply(request: Any) -> Any:
        made = sensible(request)
        for name in ("reasoning", "notes", "guidance"):
            if name in made:
                made[name] = text
        for edit in made.get("edits", ()):
            edit["rationale"] = text
        for pattern in made.get("patterns", ()):
            pattern["type"] = pattern["description"] = text
        return made

    return reply


async def test_show_tells_a_terminal_nothing(tmp_path: Path) -> None:
    """The texts all at once: a journal holds them as they came."""
    text = "\n".join(text for name, text in TEXTS.items() if name not in ("long", "surrogates"))
    made = world(tmp_path / "attempts", client=ScriptedOptimizer(evil(text)))
    view = await trained(made)
    step = await step_of(made, view, 1)
    for said in (drawn(lambda console: render_step(console, view, step)), drawn(lambda c: render_run(c, view))):
        assert "step" in said
        assert not CONTROL.search(said.replace("\n", ""))
