"""Commit messages: subject, prose, trailers. `git log` on the trailers is the learning curve.

Invariants: pure; text from models is neutral once it is here (no mention, link, closing keyword, markup comment, CI
command or forged trailer survives), and only the last paragraph, which is ours, is read back.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote

from skills_repo.convention import DEFAULT, Convention
from skills_repo.edits import REFERENCE_OPS, Edit, Op
from skills_repo.hidden import drop_hidden
from skills_repo.skill import SKILL_FILE

WIDTH = 72
MAX_RATIONALE = 1_000
MAX_FAILURES = 6
MAX_EVIDENCE = 20
FAILURES = "Failures that its step set out from:"
"""All of the step's edits name the same: which of them an edit is for, `Honed-Evidence` says."""
_LONG_WORD = 16
_TASK_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_KIND = re.compile(r"[a-z_]{1,24}")
_TRAILER = re.compile(r"(Honed-[A-Za-z]+(?:-[A-Za-z]+)*): *(.*)")
_STEP = re.compile(r"(\d{1,9})\.(\d{1,9})/(\d{1,9})")
KEYWORD = r"\b(?:(?:clos|resolv|implement)(?:e|es|ed|ing|s)?|fix(?:es|ed|ing)?)\b"
"""What forges take, before an issue's name, for "this closes it"."""
_NEUTRAL = (
    (re.compile(r"<!-*"), "< ! "),
    (re.compile(r"--+>"), " >"),
    (re.compile(r"[@#~](?=\w)|[!&%$](?=\d)"), r"\g<0> "),
    (re.compile(r"\bGH-(?=\d)", re.IGNORECASE), "GH "),
    (re.compile(r"://"), ": //"),
    (re.compile(r"\bwww\.", re.IGNORECASE), "www ."),
    (re.compile(r"\[([^\[\]]*\b(?:ci|skip|actions?)\b[^\[\]]*)\]", re.IGNORECASE), r"(\1)"),
    (re.compile(r"\*\*\*+"), "* *"),
    (re.compile(rf"({KEYWORD}:?\s+(?:issues?\s+)?[A-Z][A-Z0-9_]+)-(?=\d)", re.IGNORECASE), r"\1 "),
    (re.compile(r"\bskip-checks\b", re.IGNORECASE), "skip checks"),
)
_OPS = {
    Op.APPEND: "add",
    Op.INSERT_AFTER: "add",
    Op.REPLACE: "replace",
    Op.DELETE: "delete",
    Op.REWRITE: "rewrite",
    Op.SLOW_UPDATE: "update guidance",
    Op.CREATE: "create",
    Op.REMOVE: "remove",
}


PHASES = ("step", "slow_update", "initial")
"""What a commit belongs to: a step's edits, an epoch's slow update, or the skill that a run was told to start from."""


@dataclass(frozen=True)
class GateFigures:
    """Why the step was accepted; scores are means in 0..1."""

    rule: str
    tasks: int = 0
    trials: int = 1
    """Of the candidate, per task at most."""
    before: float | None = None
    """None: accepted without measuring, as the configuration says."""
    after: float | None = None
    valid: float = 0.0
    """Share of attempts (pairs) that could be measured, 0..1."""
    split: str = "selection"
    standard_error: float | None = None
    """Of the difference."""
    share: float | None = None
    """What this edit alone carries of the difference, where it was measured by leaving it out."""


@dataclass(frozen=True)
class Cost:
    """What a step cost, whoever paid for it."""

    attempts: int
    tokens: int
    """Of target and optimizer, input and output."""
    usd: float | None
    """None: a price is not known."""


@dataclass(frozen=True)
class EditNote:
    """What one commit says. All text may come from models, apart from the ids that honed makes itself."""

    run: str
    step: int
    position: int
    """Of this edit among the step's applied edits, from 1."""
    of: int
    skill: str
    base: str
    """Digest of the skill before the edit."""
    edit: Edit
    gate: GateFigures
    target: str
    """`<harness> <version> / <model>`."""
    optimizer: str
    failures: tuple[str, ...] = ()
    """The failure types that asked for it, as the optimizer worded them."""
    phase: str = "step"
    """One of `PHASES`."""
    cost: Cost | None = None
    """Of the whole step."""
    ruling: Literal["accepted", "rejected"] = "accepted"
    """What the gate said; a rejected edit's commit is kept beside the history."""
    review: tuple[str, ...] = ()
    """Kinds of what a person should look at before an agent does (`risky.RiskKind`)."""


def compose(note: EditNote, convention: Convention = DEFAULT) -> str:
    """The whole message, ending in a newline; the subject follows the repository's convention."""
    blocks = [_subject(note, convention)]
    if note.edit.file != SKILL_FILE:
        blocks.append(f"Of the skill's file {neutral(str(note.edit.file), 200)}.")
    rationale = neutral(str(note.edit.rationale or ""), MAX_RATIONALE)
    if rationale:
        blocks += ["Why, in the optimizer's words:", _quoted(rationale)]
    failures = [line for line in (neutral(str(failure), 200) for failure in note.failures[:MAX_FAILURES]) if line]
    if failures:
        blocks += [FAILURES, "\n".join(_quoted(f"- {line}", hang="  ") for line in failures)]
    if note.edit.support > 1:
        blocks.append(f"{note.edit.support} reflections asked for it.")
    trailers = [*_trailers(note), ("Signed-off-by", _value(convention.sign_off))]
    blocks.append("\n".join(f"{key}: {value}" for key, value in trailers if value))
    return "\n\n".join(blocks) + "\n"


def parse_trailers(message: str) -> dict[str, str]:
    """The `Honed-…` trailers of a message's last paragraph; empty if there are none. The first of a key counts."""
    paragraph = re.split(r"\n[ \t]*\n", message.replace("\r\n", "\n").strip())[-1]
    found: dict[str, str] = {}
    for line in paragraph.split("\n"):
        match = _TRAILER.fullmatch(line.rstrip())
        if match:
            found.setdefault(match.group(1), match.group(2))
    return found


def body_of(message: str) -> str:
    """What a message says below its subject, without the last paragraph where that is honed's trailers."""
    _, *blocks = re.split(r"\n[ \t]*\n", message.replace("\r\n", "\n").strip())
    return "\n\n".join(blocks[:-1] if parse_trailers(message) else blocks)


def step_of(trailers: Mapping[str, str]) -> int | None:
    """The step that a commit belongs to."""
    match = _STEP.fullmatch(trailers.get("Honed-Step", ""))
    return int(match.group(1)) if match else None


def place_of(trailers: Mapping[str, str]) -> tuple[str, int, str] | None:
    """The run, step and phase that a commit belongs to; None for one that is not honed's, or that was rejected.

    What a gate turned down stays no step of its run, though a person should pick it onto a branch.
    """
    step = step_of(trailers)
    if step is None or "Honed-Run" not in trailers or trailers.get("Honed-Gate", "").startswith("rejected"):
        return None
    return trailers["Honed-Run"], step, trailers.get("Honed-Phase", "step")


def neutral(text: str, longest: int) -> str:
    """Untrusted text as one line of harmless prose of at most `longest` characters."""
    text = " ".join(drop_hidden(text.replace("\r", "\n")[: longest * 4]).split())
    for pattern, new in _NEUTRAL:
        text = pattern.sub(new, text)
    return _cut(" ".join(text.split()), longest)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def _cut_at_word(text: str, longest: int) -> str:
    """Not inside a word, unless it is a long one."""
    head = text[: longest - 1]
    if len(text) <= longest or text[longest - 1] == " ":
        return _cut(text, longest)
    blank = head.rfind(" ")
    return (head[:blank] if blank >= longest - _LONG_WORD else head).rstrip() + "…"


def _quoted(text: str, hang: str = "") -> str:
    """Wrapped and set in by two blanks: no line of it can be taken for a trailer, a diff or a comment."""
    return textwrap.fill(text, WIDTH, initial_indent="  ", subsequent_indent="  " + hang, break_on_hyphens=False)


def _subject(note: EditNote, convention: Convention) -> str:
    edit = note.edit
    text = edit.target if edit.op == Op.DELETE else edit.content or edit.target
    if edit.op in REFERENCE_OPS:
        text = edit.file
    if edit.op == Op.REWRITE:  # a body's first line is the skill's title, the same every time
        text = edit.rationale or text
    first = next((line for line in str(text).splitlines() if re.search(r"\w", line)), "")
    words = neutral(re.sub(r"^[\s#>*+-]+|\s+$", "", first), 200).rstrip(".:;") or "…"
    prefix, verb, end = _frame(note, convention)
    return _cut_at_word(f'{prefix}{verb} "{words}', WIDTH - 1 - len(end)) + '"' + end


def _frame(note: EditNote, convention: Convention) -> tuple[str, str, str]:
    """What stands before the edit's own words and after them: prefix, verb and end. The skill is named in one."""
    skill, verb = _cut(_value(note.skill), 32), _OPS.get(note.edit.op, "edit")
    verb = verb[0].upper() + verb[1:] if convention.capital else verb
    if convention.style == "honed":
        return f"skill({skill}): ", verb, ""
    if convention.style == "area":
        return f"{skill}: ", verb, ""
    if convention.style == "conventional" and convention.scoped:
        return f"{convention.type}({skill}): ", verb, ""
    where = {Op.APPEND: "to", Op.INSERT_AFTER: "to", Op.DELETE: "from"}.get(note.edit.op, "in")
    return f"{convention.type}: " if convention.style == "conventional" else "", verb, f" {where} {_cut(skill, 24)}"


def _trailers(note: EditNote) -> list[tuple[str, str]]:
    ids = [task for task in note.edit.evidence or () if isinstance(task, str) and _TASK_ID.fullmatch(task)]
    more = [f"+{len(ids) - MAX_EVIDENCE}"] if len(ids) > MAX_EVIDENCE else []
    return [
        ("Honed-Run", _value(note.run)),
        ("Honed-Step", f"{note.step}.{note.position}/{note.of}"),
        ("Honed-Phase", _value(note.phase) if note.phase != "step" else ""),
        ("Honed-Skill", _value(note.skill)),
        ("Honed-Base", _value(note.base)),
        ("Honed-Op", _value(note.edit.op)),
        ("Honed-File", quote(_value(note.edit.file)) if note.edit.file != SKILL_FILE else ""),
        ("Honed-Gate", f"{note.ruling} {_figures(note.gate)}"),
        ("Honed-Review", " ".join(kind for kind in note.review if _KIND.fullmatch(kind))),
        ("Honed-Evidence", " ".join(ids[:MAX_EVIDENCE] + more)),
        ("Honed-Target", _value(note.target)),
        ("Honed-Optimizer", _value(note.optimizer)),
        ("Honed-Cost", _costs(note.cost) if note.cost else ""),
    ]


def _figures(gate: GateFigures) -> str:
    words = [f"rule={_value(gate.rule)}"]
    if gate.before is not None and gate.after is not None:
        words += [f"split={_value(gate.split)} n={gate.tasks}x{gate.trials} before={gate.before:.3f}"]
        words += [f"after={gate.after:.3f} delta={gate.after - gate.before:+.3f}"]
        words += [f"se={gate.standard_error:.3f}"] if gate.standard_error is not None else []
        words += [f"valid={gate.valid:.0%}"]
    words += [f"share={gate.share:+.3f}"] if gate.share is not None else []
    return " ".join(words)


def _costs(cost: Cost) -> str:
    usd = "unknown" if cost.usd is None else f"{cost.usd:.4f}"
    return f"attempts={cost.attempts} tokens={cost.tokens} usd={usd}"


def _value(text: str) -> str:
    """A trailer's value: one line, no hidden characters."""
    return _cut(" ".join(drop_hidden(str(text).replace("\r", "\n")).split()), 300)
