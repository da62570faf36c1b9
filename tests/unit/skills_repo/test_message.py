"""Commit messages: readable, parseable by git, and harmless whatever a model wrote."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skills_repo.edits import Edit, Op
from skills_repo.hidden import find_hidden
from skills_repo.history import Author
from skills_repo.log import describe
from skills_repo.message import EditNote, GateFigures, compose, neutral, parse_trailers, step_of
from skills_repo.recover import recovered_edit

EDIT = Edit(
    Op.APPEND,
    content="## Write evaluated values\n\n- never formulas",
    rationale="Two of six failures wrote formulas, which the checker reads as empty cells because nothing"
    " evaluates them.",
    support=3,
    evidence=("t-017", "t-022"),
)
NOTE = EditNote(
    run="r-20261129-01",
    step=3,
    position=1,
    of=2,
    skill="xlsx",
    base="sha256:3f",
    edit=EDIT,
    gate=GateFigures("strict", 12, 1, before=0.5833, after=0.68, valid=0.975),
    target="codex 0.171.0 / m",
    optimizer="openai / o",
    failures=("formulas left unevaluated", "range half filled"),
)


def test_the_whole_message() -> None:
    assert (
        compose(NOTE)
        == """\
skill(xlsx): add "Write evaluated values"

Why, in the optimizer's words:

  Two of six failures wrote formulas, which the checker reads as empty
  cells because nothing evaluates them.

Failures that its step set out from:

  - formulas left unevaluated
  - range half filled

3 reflections asked for it.

Honed-Run: r-20261129-01
Honed-Step: 3.1/2
Honed-Skill: xlsx
Honed-Base: sha256:3f
Honed-Op: append
Honed-Gate: accepted rule=strict split=selection n=12x1 before=0.583 after=0.680 delta=+0.097 valid=98%
Honed-Evidence: t-017 t-022
Honed-Target: codex 0.171.0 / m
Honed-Optimizer: openai / o
"""
    )


@pytest.mark.parametrize(
    ("edit", "subject"),
    [
        (Edit(Op.INSERT_AFTER, "x", "  - check the **range**:"), 'skill(xlsx): add "check the **range**"'),
        (Edit(Op.REPLACE, "old", "new rule"), 'skill(xlsx): replace "new rule"'),
        (Edit(Op.REPLACE, "old rule", ""), 'skill(xlsx): replace "old rule"'),
        (Edit(Op.DELETE, "\n\n- old rule\n"), 'skill(xlsx): delete "old rule"'),
        (Edit(Op.APPEND, content="---"), 'skill(xlsx): add "…"'),
        (Edit(Op.REWRITE, content="# Xlsx\n\n- a\n"), 'skill(xlsx): rewrite "Xlsx"'),
        (Edit(Op.SLOW_UPDATE, content="\nLook twice.\n"), 'skill(xlsx): update guidance "Look twice"'),
        (Edit(Op.SLOW_UPDATE), 'skill(xlsx): update guidance "…"'),
    ],
)
def test_the_subject_says_what_changed(edit: Edit, subject: str) -> None:
    message = compose(replace(NOTE, edit=edit))
    assert message.split("\n", 1)[0] == subject
    assert "Why" not in message


def test_git_reads_the_same_trailers() -> None:
    message = compose(NOTE)
    done = subprocess.run(
        ["git", "interpret-trailers", "--parse"], input=message, capture_output=True, text=True, check=True
    )
    theirs = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert parse_trailers(message) == theirs
    assert len(theirs) == 9
    assert step_of(theirs) == 3


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("s", {}),
        ("s\n\nHoned-Run: a\n", {"Honed-Run": "a"}),
        ("s\n\nHoned-Run: a\n\nSigned-off-by: A <a@b>\n", {}),
        ("s\n\nHoned-Run: a\nSigned-off-by: A <a@b>\n(cherry picked from commit 1)\n", {"Honed-Run": "a"}),
        ("s\r\n\r\nHoned-Run: a\r\n", {"Honed-Run": "a"}),
        ("s\n\n  Honed-Run: forged\n", {}),
        ("s\n\nHoned-Run: a\nHoned-Run: b\n", {"Honed-Run": "a"}),
    ],
)
def test_only_the_last_paragraph_counts(message: str, found: dict[str, str]) -> None:
    assert parse_trailers(message) == found


@pytest.mark.parametrize("value", ["", "3", "3.1", "x.1/2", "3.1/2 "])
def test_an_odd_step_is_no_step(value: str) -> None:
    assert step_of({"Honed-Step": value}) is None
    assert step_of({}) is None


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("ask @alice or @org/team", "ask @ alice or @ org/team"),
        ("mail a@b.c", "mail a@ b.c"),
        ("Fixes #12, closes org/repo#3, GH-7", "Fixes # 12, closes org/repo# 3, GH 7"),
        ("see !12 &3 %4 $5 ~label", "see ! 12 & 3 % 4 $ 5 ~ label"),
        ("https://evil.test/x?y=1 and www.evil.test", "https: //evil.test/x?y=1 and www .evil.test"),
        ("a <!-- hidden --> b", "a < ! hidden > b"),
        ("a <!--- x --->", "a < ! x >"),
        ("[skip ci] [ci skip] [no ci] [skip actions]", "(skip ci) (ci skip) (no ci) (skip actions)"),
        ("***NO_CI***", "* *NO_CI* *"),
        ("skip-checks: true", "skip checks: true"),
        ("two\nlines\r\n\r\nthree\ttabs", "two lines three tabs"),
        ("hid\u202eden\u200b\x1b[31m\x00", "hidden[31m"),
        ("a -> b, x > 3, #, 50 %, R&D", "a -> b, x > 3, #, 50 %, R&D"),
    ],
)
def test_untrusted_text_is_neutral(text: str, plain: str) -> None:
    assert neutral(text, 500) == plain
    assert neutral(plain, 500) == plain


HOSTILE = (
    "ok\n\nHoned-Run: forged\nSigned-off-by: Eve <e@e>\n\nCo-authored-by: Eve <e@e>\n---\ndiff --git a/x b/x\n"
    "# comment\n@alice fixes #1 https://x.test [skip ci] \u202e <!-- x -->\n"
)


def test_a_forged_message_forges_nothing() -> None:
    edit = Edit(Op.APPEND, content=HOSTILE, rationale=HOSTILE, evidence=("t-1", "bad\nHoned-Run: x", "-x", ""))
    note = replace(NOTE, edit=edit, failures=(HOSTILE, ""), target="m\nHoned-Run: forged", skill="xlsx\nHoned-Run: y")
    message = compose(note)
    _check(message, note)
    assert parse_trailers(message)["Honed-Evidence"] == "t-1"
    assert parse_trailers(message)["Honed-Target"] == "m Honed-Run: forged"


def _check(message: str, note: EditNote) -> None:
    *paragraphs, trailers = message.rstrip("\n").split("\n\n")
    assert parse_trailers(message)["Honed-Run"] == note.run
    assert message.count("\nHoned-Run:") == 1
    assert all(re.match(r"Honed-[A-Za-z]+: ", line) for line in trailers.split("\n"))
    assert len(message.split("\n", 1)[0]) <= 72
    ours = {"Why, in the optimizer's words:", "Failures that its step set out from:", "3 reflections asked for it."}
    for line in "\n\n".join(paragraphs[1:]).split("\n"):
        assert not line or line in ours or line.startswith("  ")
        assert len(line) <= 72
    for bad in ("@alice", "#1", "://", "[skip ci]", "<!--", "\u202e"):
        assert bad not in message


TEXT = st.one_of(st.text(max_size=60), st.sampled_from([HOSTILE, "x" * 3000, "a: b\n" * 50, "\n\n\n", "\ud800"]))


@settings(max_examples=120)
@given(st.builds(Edit, st.sampled_from(list(Op)), TEXT, TEXT, TEXT, st.integers(0, 9), st.tuples(TEXT)), TEXT, TEXT)
def test_any_text_gives_a_message_that_reads_back(edit: Edit, failure: str, target: str) -> None:
    note = replace(NOTE, edit=edit, failures=(failure,) * 9, target=target)
    message = compose(note)
    trailers = parse_trailers(message)
    assert trailers["Honed-Run"] == NOTE.run
    assert trailers["Honed-Step"] == "3.1/2"
    assert trailers["Honed-Op"] == edit.op
    assert len(message.split("\n", 1)[0]) <= 72
    assert message.encode()
    assert len(message) < 6_000
    assert find_hidden(message) is None


def test_much_evidence_is_cut_with_a_count() -> None:
    edit = replace(EDIT, evidence=tuple(f"t-{number}" for number in range(25)))
    evidence = parse_trailers(compose(replace(NOTE, edit=edit)))["Honed-Evidence"].split()
    assert len(evidence) == 21
    assert evidence[-1] == "+5"


def test_a_long_name_leaves_room_in_the_subject() -> None:
    subject = compose(replace(NOTE, skill="x" * 64)).split("\n", 1)[0]
    assert len(subject) <= 72
    assert "Write eval" in subject


@pytest.mark.parametrize("op", list(Op))
def test_every_operation_has_a_subject_of_its_own_and_is_named_in_the_trailers(op: Op) -> None:
    message = compose(replace(NOTE, edit=replace(EDIT, op=op, target="- a place")))
    assert not message.startswith("skill(xlsx): edit")
    assert parse_trailers(message)["Honed-Op"] == op.value
    assert max(map(len, message.splitlines()[0:1])) <= 72


def test_another_file_is_named_in_body_and_trailers_and_skill_md_is_not() -> None:
    file = "references/forms.md"
    message = compose(replace(NOTE, edit=replace(EDIT, file=file)))
    assert f"\n\nOf the skill's file {file}.\n\n" in message
    assert parse_trailers(message)["Honed-File"] == file
    assert "Honed-File" not in compose(NOTE)
    assert "file" not in compose(NOTE)
    for op, verb in ((Op.CREATE, "create"), (Op.REMOVE, "remove")):
        subject = compose(replace(NOTE, edit=replace(EDIT, op=op, file=file))).splitlines()[0]
        assert subject == f'skill(xlsx): {verb} "{file}"'


def test_a_hostile_file_name_means_nothing_to_a_forge_and_comes_back() -> None:
    file = "references/fixes #1 @team [skip ci] 100% é.md"
    message = compose(replace(NOTE, edit=replace(EDIT, file=file)))
    assert not re.search(r"#1|@team|\[skip ci\]", message)
    commit = describe("a" * 40, "b" * 40, Author("h", "h"), 1.0, message)
    assert recovered_edit(commit, None, None).file == file


def test_a_rewrites_subject_says_what_it_is_for() -> None:
    edit = Edit(Op.REWRITE, content="# Xlsx\n", rationale="Say it once.")
    assert compose(replace(NOTE, edit=edit)).splitlines()[0] == 'skill(xlsx): rewrite "Say it once"'


def test_a_rewrites_subject_is_cut_and_neutral() -> None:
    edit = Edit(Op.REWRITE, content="x", rationale="Fixes #1 and @team: " + "long " * 40)
    subject = compose(replace(NOTE, edit=edit)).splitlines()[0]
    assert len(subject) <= 72
    assert "#1" not in subject
    assert "@team" not in subject


def test_a_subject_is_not_cut_inside_a_word_unless_it_is_a_long_one() -> None:
    text = "Leave one blank between letters and figures of every code that you write down"
    [short, long] = [
        compose(replace(NOTE, edit=replace(EDIT, content=content))).splitlines()[0] for content in (text, "x" * 200)
    ]
    assert short == 'skill(xlsx): add "Leave one blank between letters and figures of every…"'
    assert (len(long), long[-2:]) == (72, '…"')
