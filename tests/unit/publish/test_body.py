"""The body: what it says, and that nobody else can say anything in it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from skills_repo.edits import Edit, Op
from skills_repo.history import Author, SkillCommit
from skills_repo.log import describe
from skills_repo.publish.block import read_block, without_block, write_block
from skills_repo.publish.body import diff, render
from skills_repo.publish.facts import Facts, Figures, RejectedEdit, StepFacts
from skills_repo.publish.figures import figures_of, rule_of
from skills_repo.publish.markdown import code, fence, prose
from skills_repo.publish.proposal import Proposal
from skills_repo.risky import Risk, RiskKind, skill_risks
from skills_repo.skill import Skill
from tests.support.publishing import edit_commit
from tests.support.skills import a_skill, skill_text

HOSTILE = (
    "@octocat fixes #12, closes GH-3, resolves PROJ-7 ![x](http://evil.example/a.png) <img src=x onerror=y> "
    "<!-- honed-publish {} --> --> </details> [click](//evil.example) www.evil.example `a` | b | $$x$$ \x1b[31m \u202e "
    "<script>/close !12 ~bug %1 &2 user@evil.example &#64;team org/repo#5 ***"
)


def commit(message: str, sha: str = "a" * 40) -> SkillCommit:
    """One commit as git tells it."""
    return describe(sha, "b" * 40, Author("honed", "honed@localhost"), 1.0, message)


def a_proposal(*commits: SkillCommit, before: Skill | None = None, after: Skill | None = None) -> Proposal:
    """Two edits by default."""
    old, new = before or a_skill(), after or a_skill("\n# Rules\n\n- one\n- two\n- three\n")
    made = commits or (
        commit(edit_commit(new).message),
        commit(edit_commit(new, step=2, content="- more").message, "c" * 40),
    )
    return Proposal(
        "team/skills/xlsx", "honed/xlsx", "main", "b" * 40, made[-1].sha, made, old, new, skill_risks(old, new)
    )


FACTS = Facts(
    steps={("r-1", 1, "step"): StepFacts(("t-3",), ("t-9", "t-8"), 12_345, 0.5)},
    sealed=(Figures("test (sealed)", 20, 1, 0.4, 0.6, None, 1.0),),
    rejected=(RejectedEdit(1, "replace", "- never", "scores less"),),
    versions={"honed": "0.1.0", "sandbox image": "sha256:1"},
)


def test_a_reviewer_finds_everything_in_its_place() -> None:
    body = render(a_proposal(), FACTS, 65_000)
    assert "**2 edits of the skill `xlsx`: selection score from 0.500 to 0.750 (+0.250) over 2 steps" in body
    rows = [line for line in body.splitlines() if line.startswith("| ")]
    assert rows[0].startswith("| step | split | tasks x trials | before | after | Δ | standard error | valid | tokens")
    assert rows[2] == "| 1 | selection | 12 x 3 | 0.500 | 0.750 | +0.250 | 0.050 | 100% | 12,345 | \\$0.50 |"
    assert rows[3].endswith("| 100% | unknown | unknown |")
    assert (
        rows[4] == "| all | test \\(sealed\\) | 20 x 1 | 0.400 | 0.600 | +0.200 | unknown | 100% | unknown | unknown |"
    )
    for words in (
        "- step 1: fixed `t-3`; broken `t-9`, `t-8`",
        '- `aaaaaaaaaa` skill\\(xlsx\\)\\: add "a rule" (step 1, `append`)\n  - evidence: `t-1`, `t-2`',
        "<summary>The change, as text</summary>",
        "+- three",
        "<summary>Rejected alternatives</summary>",
        "- step 1, `replace`: \\- never\n  - scores less",
        "characters before, ",
        "- agent: `codex 0.171.0 / m`",
        "- gate: `paired/hard`",
        "- sandbox image: `sha256:1`",
        "`honed eval --ref cccccccccccc`",
    ):
        assert words in body, words
    assert "look closely" not in body


def test_a_reference_is_named_with_its_edit_and_weighed_with_the_folder() -> None:
    path = "references/forms.md"
    create = Edit(Op.CREATE, content="# Forms", file=path, link=f"- {path}")
    change = Edit(Op.REPLACE, target="- a", content="- b", file=path)
    before = a_skill()
    after = before.with_text(before.text + f"- {path}\n").with_file(path, b"# Forms\n")
    commits = [
        commit(edit_commit(after, step=step, edit=edit).message, sha * 40)
        for step, edit, sha in ((1, create, "a"), (2, change, "c"), (3, Edit(Op.APPEND, content="- x"), "d"))
    ]
    body = render(a_proposal(*commits, before=before, after=after), FACTS, 65_000)
    assert f"(step 2, `replace` in `{path}`)" in body
    assert "(step 3, `append`)" in body
    assert f"+++ b/{path}" in body
    assert re.search(r"All texts of the folder: [\d,]+ before, [\d,]+ after \(\+30\)\.", body)
    block = read_block(body)
    assert block is not None
    assert [row.get("file") for row in block["edits"]] == [path, path, None]
    assert "All texts of the folder" not in render(a_proposal(), FACTS, 65_000)


def test_one_step_tells_its_error_and_one_trial_is_called_one() -> None:
    message = edit_commit(a_skill()).message
    assert "(+0.250), standard error 0.050.**" in render(a_proposal(commit(message)), Facts(), 65_000)
    single = message.replace("n=12x3", "n=12x1").replace("se=0.050 ", "")
    assert "(+0.250); one trial a task: a single pass is noisy.**" in render(
        a_proposal(commit(single)), Facts(), 65_000
    )


def test_edits_without_figures_and_people_s_commits_are_said() -> None:
    bare = re.sub(r"Honed-Gate: .*\n", "Honed-Gate: accepted rule=off\n", edit_commit(a_skill()).message)
    body = render(a_proposal(commit(bare), commit("Mine\n", "d" * 40)), Facts(), 65_000)
    assert "1 edit of the skill `xlsx`, accepted without measuring" in body
    assert "No figures: nothing was measured." in body
    assert "- `dddddddddd` human: Mine" in body
    reverted = a_proposal(commit(bare), commit(f'Revert "x"\n\nThis reverts commit {"a" * 40}.\n', "e" * 40))
    assert reverted.edits == ()
    back = commit(f'Reapply "x"\n\nThis reverts commit {"e" * 40}.\n', "f" * 40)
    assert [one.sha for one in a_proposal(*reverted.commits, back).edits] == ["a" * 40], "taken back, and back again"
    assert "only commits of people and reverts are left" in render(reverted, Facts(), 65_000)


def test_figures_older_than_what_people_changed_are_told_as_such() -> None:
    new = a_skill("\n# Rules\n\n- one\n- two\n- three\n")
    first = commit(edit_commit(new).message)
    second = commit(edit_commit(new, content="- more").message, "c" * 40)
    told = "**That was measured before a commit (a revert or a person's) changed the skill again**: `honed eval --ref "
    assert "measured before" not in render(a_proposal(first, second), Facts(), 65_000)
    revert = commit(f'Revert "x"\n\nThis reverts commit {"c" * 40}.\n', "d" * 40)
    assert f"{told}dddddddddddd` scores what stands." in render(a_proposal(first, second, revert), Facts(), 65_000)
    person = commit("Word it better\n", "e" * 40)
    assert f"{told}eeeeeeeeeeee` scores" in render(a_proposal(first, second, person), Facts(), 65_000)
    assert "measured before" not in render(a_proposal(first, person, second), Facts(), 65_000), "it was there already"
    back = commit(f'Reapply "x"\n\nThis reverts commit {"d" * 40}.\n', "e" * 40)
    assert "measured before" not in render(a_proposal(first, second, revert, back), Facts(), 65_000)
    again = commit(f'Revert "x"\n\nThis reverts commit {"e" * 40}.\n', "f" * 40)
    assert f"{told}ffffffffffff`" in render(a_proposal(first, second, revert, back, again), Facts(), 65_000)


def test_figures_come_from_trailers_alone_and_nonsense_is_none() -> None:
    trailers = a_proposal().commits[0].trailers
    found = figures_of(trailers)
    assert found == Figures("selection", 12, 3, 0.5, 0.75, 0.05, 1.0)
    assert found is not None
    assert found.delta == 0.25
    assert rule_of(trailers) == "paired/hard"
    cost = {"Honed-Cost": "attempts=9 tokens=12345 usd=0.2500"}
    assert figures_of({**trailers, **cost}) == replace(found, tokens=12_345, usd=0.25)
    for odd in (
        "tokens=-1 usd=nan",
        "tokens=1e3 usd=inf",
        "usd=unknown",
        "tokens=" + "9" * 40,
        "\u0661=2 tokens=\u0661",
    ):
        assert figures_of({**trailers, "Honed-Cost": odd}) == found, odd
    for gate in ("", "accepted", "n=axb before=1 after=1", "n=1x1 before=nan after=1", "n=1x1 before=inf after=1"):
        assert figures_of({"Honed-Gate": gate}) is None, gate


def hostile_proposal() -> Proposal:
    """Every text that a model can write, hostile."""
    fences = '\n```\n<!-- honed-publish {"head":"forged"} -->\n````\n</details>\n@octocat fixes #1\n/close\n'
    after = Skill("xlsx", {"SKILL.md": (skill_text("\n# R\n") + HOSTILE + fences).encode()})
    edit = Edit(Op.APPEND, content=HOSTILE, rationale=HOSTILE, evidence=("t-1", "@octocat"))
    made = commit(edit_commit(after, edit=edit, failures=(HOSTILE,)).message)
    mine = commit(f"{HOSTILE}\n", "d" * 40)
    return a_proposal(made, mine, after=after)


def outside_of_fences(body: str) -> str:
    """What a forge renders as markdown."""
    kept, fenced = [], ""
    for line in body.split("\n"):
        ticks = re.match(r"`{3,}", line)
        if fenced:
            fenced = "" if line == fenced else fenced
        elif ticks:
            fenced = ticks[0]
        else:
            kept.append(line)
    assert not fenced, "every fence is closed"
    return re.sub(r"`[^`\n]*`", "", "\n".join(kept))


def test_nothing_that_a_model_wrote_means_anything() -> None:
    rejected = (RejectedEdit(1, HOSTILE, HOSTILE, HOSTILE),)
    facts = Facts(
        steps={("r-1", 1, "step"): StepFacts((HOSTILE,), (HOSTILE,))}, rejected=rejected, versions={"x": HOSTILE}
    )
    proposal = hostile_proposal()
    body = render(proposal, facts, 65_000)
    shown = outside_of_fences(body)
    own = "\n".join(line for line in shown.split("\n") if not line.startswith("<!-- honed-publish "))
    assert re.findall(r"@\w", own) == []
    assert re.findall(r"#\d|GH-\d|PROJ-\d|!\d", own) == []
    assert re.findall(r"://|www\.", own) == []
    assert re.findall(r"(?<!\\)\]\(|!\[", own) == []
    assert set(re.findall(r"<[^>]*>", own)) <= {"<details>", "</details>", "<summary>", "</summary>"} | set(
        re.findall(r"<summary>[^<]*", own)
    )
    assert own.count("</details>") == own.count("<details>") == 2
    assert re.findall(r"^/\w", body, re.MULTILINE) == [], "no quick action, not even in code"
    assert re.findall("[\x1b\u202e]", body) == []
    assert body.count("<!--") == 1, "one comment, honed's own"


def test_the_block_cannot_be_forged() -> None:
    proposal = hostile_proposal()
    found = read_block(render(proposal, Facts(), 65_000))
    assert (found["head"], found["base"], found["skill"]) == (proposal.head, proposal.base, "team/skills/xlsx")
    assert found["edits"] == [{"commit": "a" * 40, "step": 1, "op": "append"}]
    odd = {"x": "--> <!-- @a #1 `", "n": 1}
    text = write_block(odd)
    assert read_block(text) == odd
    assert text.count("-->") == 1
    assert not re.search("[@#`]", text)
    for body in (
        "",
        "no block",
        "> " + text,
        text + " tail",
        "<!-- honed-publish [1] -->",
        "<!-- honed-publish {x} -->",
    ):
        assert read_block(body) == {}, body
    assert read_block(f"A person's words.\r\n\r\n{text}\r\nmore") == odd
    assert without_block(f"{text}\n\nrest") == "rest"


@pytest.mark.parametrize("limit", [8_000, 20_000, 65_000])
def test_a_body_fits_its_forge_whatever_it_has_to_say(limit: int) -> None:
    lines = "".join(f"- rule {number} é {'x' * 90}\n" for number in range(900))
    after = a_skill(f"\n{lines}")
    edit = Edit(Op.APPEND, content="*_" * 300, rationale="r" * 900, evidence=tuple(f"t-{n}" for n in range(40)))
    commits = [commit(edit_commit(after, step=n, edit=edit).message, f"{n:040x}") for n in range(1, 200)]
    many = tuple(RejectedEdit(n, "append", "[]" * 300, "()" * 300) for n in range(400))
    proposal = replace(
        a_proposal(*commits, after=after), risks=tuple(Risk(RiskKind.URL, "f", "<>" * 80 + str(n)) for n in range(99))
    )
    body = render(proposal, replace(FACTS, rejected=many), limit)
    assert len(body.encode()) <= limit
    assert read_block(body)["head"] == proposal.head
    assert "How to check it" in body
    outside_of_fences(body)


def test_a_diff_that_does_not_fit_is_cut_with_a_word() -> None:
    after = a_skill("".join(f"- rule {number}\n" for number in range(9_000)))
    body = render(a_proposal(commit(edit_commit(after).message), after=after), Facts(), 20_000)
    assert "[the rest is cut: see the branch]" in body
    assert "+- rule 10\n" in body
    assert len(body.encode()) <= 20_000


def test_the_diff_tells_files_that_are_no_text_by_name() -> None:
    old, new = a_skill(logo_png=b"\xff\x00"), a_skill(logo_png=b"\xff\x00\x01", notes_md=b"new\n")
    assert diff(old, new).split("\n") == [
        "logo_png: 2 bytes before, 3 bytes after",
        "--- a/notes_md",
        "+++ b/notes_md",
        "@@ -0,0 +1 @@",
        "+new",
    ]


def test_pieces_of_markdown() -> None:
    assert fence("a```b").startswith("````\n")
    assert fence("<!-- x -->\n</details>\n1 < 2") == "```\n< !-- x -->\n< /details>\n1 < 2\n```"
    assert code("a`b\n| <x>@y") == "`a?b?? ?x??y`"
    assert code("") == "`?`"
    assert prose("# a *b* <c> & 1. d", 50) == "\\# a \\*b\\* &lt;c&gt; &amp; 1. d"
    assert prose("/close\n/merge", 50) == "\\/close /merge"
    assert prose("fixes ABC-12 and UTF-8, closed: issue AB-1", 90) == "fixes ABC 12 and UTF-8, closed\\: issue AB 1"
    assert len(prose("x" * 500, 40)) == 40
