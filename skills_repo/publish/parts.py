"""The parts of a body, one function each: safe markdown out of a proposal and facts."""

from __future__ import annotations

from collections.abc import Sequence

from skills_repo.history import SkillCommit
from skills_repo.message import place_of
from skills_repo.publish.facts import Facts, Figures, Place
from skills_repo.publish.figures import figures_of, rule_of
from skills_repo.publish.markdown import code, details, fence, prose, table
from skills_repo.publish.proposal import Proposal

MAX_TASKS = 30
"""Names in one list of fixed or broken tasks."""
_HEAD = ("step", "split", "tasks x trials", "before", "after", "Δ", "standard error", "valid", "tokens", "cost")


def verdict(proposal: Proposal) -> str:
    """One sentence: what the edits do to the score, and how sure that is."""
    edits = proposal.edits
    measured = _measured(proposal)
    count = f"{len(edits)} edit{'' if len(edits) == 1 else 's'} of the skill {code(proposal.after.name)}"
    if not edits:
        return f"**{count}: only commits of people and reverts are left on the branch.**"
    if not measured:
        return f"**{count}, accepted without measuring, as the configuration says.**"
    first, last = measured[0][1], measured[-1][1]
    change = f"from {first.before:.3f} to {last.after:.3f} ({last.after - first.before:+.3f})"
    doubt = "" if last.standard_error is None or len(measured) > 1 else f", standard error {last.standard_error:.3f}"
    single = "; one trial a task: a single pass is noisy" if all(row.trials == 1 for _, row in measured) else ""
    steps = f" over {len(measured)} steps, each measured against the one before" if len(measured) > 1 else ""
    return f"**{count}: {_split(last)} score {change}{doubt}{steps}{single}.**{_unmeasured(proposal)}"


def _unmeasured(proposal: Proposal) -> str:
    """Where the skill is no longer what the figures are of: that, and how to measure what stands."""
    number = len(proposal.unmeasured)
    if not number:
        return ""
    what = "a commit" if number == 1 else f"{number} commits"
    how = code(f"honed eval --ref {proposal.head[:12]}")
    since = f"**That was measured before {what} (a revert or a person's) changed the skill again**"
    return f" {since}: {how} scores what stands."


def review(proposal: Proposal) -> list[str]:
    """What a person should look at before an agent does."""
    if not proposal.risks:
        return []
    rows = [f"- {code(risk.file)} {risk.kind.words}: {prose(risk.text, 160)}" for risk in proposal.risks[:MAX_TASKS]]
    more = [f"- and {len(proposal.risks) - MAX_TASKS} more"] if len(proposal.risks) > MAX_TASKS else []
    return ["**Please look closely.** honed never merges a change like this:", "\n".join([*rows, *more])]


def figures_table(proposal: Proposal, facts: Facts) -> str:
    """A row for each step, and the sealed test where it is known for this skill."""
    rows = [_row(str(place[1]), row, facts, place) for place, row in _measured(proposal)]
    rows += [_row("all", row, facts, None) for row in facts.sealed]
    return table(_HEAD, rows) if rows else "No figures: nothing was measured."


def _row(step: str, row: Figures, facts: Facts, place: Place | None) -> list[str]:
    known = facts.steps.get(place) if place else None
    tokens = row.tokens if known is None or known.tokens is None else known.tokens
    usd = row.usd if known is None or known.usd is None else known.usd
    return [
        step,
        _split(row),
        f"{row.tasks} x {row.trials}",
        f"{row.before:.3f}",
        f"{row.after:.3f}",
        f"{row.delta:+.3f}",
        "unknown" if row.standard_error is None else f"{row.standard_error:.3f}",
        "unknown" if row.valid is None else f"{row.valid:.0%}",
        "unknown" if tokens is None else f"{tokens:,}",
        "unknown" if usd is None else f"\\${usd:.2f}",
    ]


def _split(row: Figures) -> str:
    return prose(row.split, 40)


def tasks(proposal: Proposal, facts: Facts) -> list[str]:
    """Fixed and broken tasks by step, where they are known."""
    rows = []
    for place in proposal.places:
        known = facts.steps.get(place)
        if known and (known.fixed or known.broken):
            rows.append(f"- step {place[1]}: fixed {_ids(known.fixed)}; broken {_ids(known.broken)}")
    return ["### Tasks fixed and broken", "\n".join(rows[:MAX_TASKS])] if rows else []


def _ids(ids: tuple[str, ...]) -> str:
    shown = ", ".join(code(task) for task in ids[:MAX_TASKS])
    return (shown + (f" and {len(ids) - MAX_TASKS} more" if len(ids) > MAX_TASKS else "")) or "none"


def edits(proposal: Proposal, most: int) -> list[str]:
    """Each edit with the evidence that asked for it, and what people did on the branch."""
    rows = [_edit(commit) for commit in proposal.edits[:most]]
    if len(proposal.edits) > most:
        rows.append(f"- and {len(proposal.edits) - most} more: see the commits")
    others = [commit for commit in proposal.commits if commit.kind != "edit"]
    rows += [f"- {code(commit.sha[:10])} {commit.kind}: {prose(commit.subject, 120)}" for commit in others[:most]]
    return ["### Edits", "\n".join(rows)] if rows else []


def _edit(commit: SkillCommit) -> str:
    trailers = commit.trailers
    place = place_of(trailers)
    where = f" in {code(trailers['Honed-File'], 120)}" if "Honed-File" in trailers else ""
    step = "" if place is None else f" (step {place[1]}, {code(trailers.get('Honed-Op', 'edit'), 30)}{where})"
    evidence = [code(task) for task in trailers.get("Honed-Evidence", "").split()[:MAX_TASKS]]
    asked = f"evidence: {', '.join(evidence)}" if evidence else "no evidence is written down"
    return f"- {code(commit.sha[:10])} {prose(commit.subject, 120)}{step}\n  - {asked}"


def rejected(facts: Facts, most: int) -> list[str]:
    """Alternatives that were tried and not kept, newest last."""
    if not facts.rejected or not most:
        return []
    rows = [
        f"- step {row.step}, {code(row.op, 30)}: {prose(row.text, 200) or 'its text is not shown'}"
        f"\n  - {prose(row.why, 200)}"
        for row in facts.rejected[-most:]
    ]
    left = len(facts.rejected) - most
    return [details("Rejected alternatives", "\n".join([*rows, *([f"- and {left} earlier ones"] if left > 0 else [])]))]


def excerpts(facts: Facts, most: int) -> list[str]:
    """What agents did on the tasks that asked for the edits."""
    if not facts.excerpts or not most:
        return []
    rows = [f"Step {row.step}, task {code(row.task)}:\n\n{fence(row.text)}" for row in facts.excerpts[:most]]
    return [details("Trace excerpts: training attempts that the edits name as evidence", "\n\n".join(rows))]


def left_out(names: Sequence[str]) -> list[str]:
    """The word about parts that a forge's limit left no room for."""
    return [f"Left out, for a body may not be longer: {', '.join(names)}."] if names else []


def sizes(proposal: Proposal) -> str:
    """SKILL.md before and after, and all texts together where others changed, too."""
    before, after = (len(skill.text) for skill in (proposal.before, proposal.after))
    size = f"**Size** of SKILL.md: {before:,} characters before, {after:,} after ({after - before:+,})."
    all_before, all_after = proposal.before.chars, proposal.after.chars
    if all_after - all_before == after - before:
        return size
    return f"{size} All texts of the folder: {all_before:,} before, {all_after:,} after ({all_after - all_before:+,})."


def versions(proposal: Proposal, facts: Facts) -> str:
    """Who attempted, who proposed, and by which rule it was kept."""
    rows: list[str] = []
    for name, key in (("agent", "Honed-Target"), ("optimizer", "Honed-Optimizer"), ("run", "Honed-Run")):
        values = dict.fromkeys(commit.trailers.get(key, "") for commit in proposal.edits)
        rows += [f"- {name}: {code(value, 200)}" for value in values if value]
    rules = dict.fromkeys(rule_of(commit.trailers) for commit in proposal.edits)
    rows += [f"- gate: {code(rule)}" for rule in rules if rule]
    rows += [f"- {name}: {code(value, 200)}" for name, value in facts.versions.items() if value]
    return "**Versions**\n\n" + ("\n".join(rows) or "- unknown")


def reproduce(proposal: Proposal) -> str:
    """How a person measures it again, and takes it back."""
    return (
        "**How to check it**: in a clone with your `honed.toml`, "
        f"`git fetch origin {proposal.branch}` and `honed eval --ref {proposal.head[:12]}`; "
        f"the skill before is `honed eval --ref {proposal.base[:12]}`. "
        "Every edit is a commit of its own: `git revert` takes one back. "
        "Close this request to reject its edits; what you write last is kept as the reason."
    )


def _measured(proposal: Proposal) -> list[tuple[Place, Figures]]:
    """The figures of each step once: its edits are measured together."""
    found: dict[Place, Figures] = {}
    for commit in proposal.edits:
        place, figures = place_of(commit.trailers), figures_of(commit.trailers)
        if place is not None and figures is not None:
            found.setdefault(place, figures)
    return list(found.items())
