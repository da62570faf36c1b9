"""Two looks and what they come to: a table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from daemon.notices.differences import differences
from daemon.notices.seen import Act, ConfigSeen, Line, Seen, SkillSeen, TasksSeen

HEAD = Line("h1", "t1", edits=1, edit="e1")
BRANCH = Line("b1", "u1", edits=2, edit="e2")
REMOTE = Line("r1", "t1", edits=1, edit="e1")
SKILL = SkillSeen("repo", HEAD, BRANCH, REMOTE, taken=(Act("e1", "x1"),), closed=(Act("request-1"),))
BEFORE = Seen(ConfigSeen("c1"), TasksSeen("tasks", "m1", "d1", 3), SKILL)


def skill(**changes: Any) -> Seen:
    """Another skill."""
    return replace(BEFORE, skill=replace(SKILL, **changes))


def tasks(**changes: Any) -> Seen:
    """Other tasks."""
    return replace(BEFORE, tasks=replace(BEFORE.tasks, **changes))


CASES: dict[str, tuple[Seen | None, Seen, list[tuple[str, str]]]] = {
    "nothing": (BEFORE, BEFORE, []),
    "a new project": (None, BEFORE, [("new", "repo")]),
    "a new project that cannot be used": (None, replace(BEFORE, tasks=TasksSeen("tasks", wrong="no file")), []),
    "a new project without a configuration": (None, replace(BEFORE, config=ConfigSeen(wrong="bad key")), []),
    "a new project without the skill": (None, skill(head=Line("h1"), branch=Line()), []),
    "a new project, once it can be used": (Seen(), BEFORE, [("new", "repo")]),
    "a skill that only the branch has": (Seen(), skill(head=Line()), [("new", "repo")]),
    "other tasks": (BEFORE, tasks(mark="m2", digest="d2", count=4), [("tasks", "d2")]),
    "tasks touched": (BEFORE, tasks(mark="m2"), []),
    "tasks that cannot be loaded": (BEFORE, tasks(mark="m2", wrong="line 3"), []),
    "tasks mended": (tasks(mark="m2", wrong="line 3"), tasks(mark="m3"), []),
    "tasks mended to others": (tasks(mark="m2", wrong="x"), tasks(mark="m3", digest="d3"), [("tasks", "d3")]),
    "another configuration": (BEFORE, replace(BEFORE, config=ConfigSeen("c2")), [("config", "c2")]),
    "a wrong configuration": (BEFORE, replace(BEFORE, config=ConfigSeen("c1", "bad key")), []),
    "a configuration mended": (replace(BEFORE, config=ConfigSeen("c1", "bad key")), BEFORE, []),
    "another task path": (
        BEFORE,
        replace(tasks(at="more", digest="d2"), config=ConfigSeen("c2")),
        [("config", "c2")],
    ),
    "another skill": (
        BEFORE,
        replace(BEFORE, config=ConfigSeen("c2"), skill=SkillSeen("other", Line("h9", "t9", "p9"))),
        [("config", "c2")],
    ),
    "a person's edit on HEAD": (
        BEFORE,
        skill(head=replace(HEAD, commit="h2", tree="t2", person="h2", fresh=1)),
        [("skill", "h2")],
    ),
    "a person's commit beside the skill": (BEFORE, skill(head=replace(HEAD, commit="h2")), []),
    "a person's edit and its undoing": (BEFORE, skill(head=replace(HEAD, commit="h3", person="h3", fresh=2)), []),
    "a person's edit on the branch": (
        BEFORE,
        skill(branch=replace(BRANCH, commit="b2", tree="u2", person="b2", fresh=1)),
        [("skill", "b2")],
    ),
    "a person's edit that honed followed": (
        skill(head=replace(HEAD, person="p1")),
        skill(head=replace(HEAD, person="p1"), branch=replace(BRANCH, commit="b2", tree="u2", person="p1", fresh=2)),
        [],
    ),
    "one edit on both lines": (
        BEFORE,
        skill(
            head=replace(HEAD, commit="p1", tree="t2", person="p1", fresh=1),
            branch=replace(BRANCH, commit="b2", tree="u2", person="p1", fresh=2),
        ),
        [("skill", "p1")],
    ),
    "honed's own edit": (
        BEFORE,
        skill(branch=Line("b2", "u2", edit="b2", edits=3, fresh=1)),
        [],
    ),
    "honed's first edit": (
        skill(branch=Line()),
        skill(branch=Line("b2", "u2", edit="b2", edits=2, fresh=1)),
        [],
    ),
    "the branch deleted": (BEFORE, skill(branch=Line()), []),
    "the branch reset": (BEFORE, skill(branch=Line("b0", "u0", edit="e1", edits=1)), [("skill", "b0")]),
    "the branch put where HEAD is": (BEFORE, skill(branch=Line("h1", "t1", edit="e1", edits=1)), []),
    "HEAD switched": (BEFORE, skill(head=Line("h9", "t9", edit="e1", edits=1)), [("skill", "h9")]),
    "HEAD gone": (BEFORE, skill(head=Line()), []),
    "honed's edits merged": (
        BEFORE,
        skill(head=Line("h2", "u1", edit="e2", edits=2)),
        [("request", "merged e2")],
    ),
    "honed's edits merged by honed itself": (
        BEFORE,
        skill(head=Line("h2", "v1", edit="e2", edits=2), remote=Line("r2", "v1", edit="e2", edits=2), merges=False),
        [],
    ),
    "honed's edits merged with a person's change": (
        BEFORE,
        skill(head=Line("h3", "t3", person="p1", edit="e2", edits=2, fresh=2)),
        [("skill", "p1"), ("request", "merged e2")],
    ),
    "honed's edits merged on the remote": (
        BEFORE,
        skill(remote=Line("r2", "u1", edit="e2", edits=2)),
        [("request", "merged e2")],
    ),
    "merged there and pulled": (
        BEFORE,
        skill(head=Line("r2", "u1", edit="e2", edits=2), remote=Line("r2", "u1", edit="e2", edits=2)),
        [("request", "merged e2")],
    ),
    "merged there before and pulled now": (
        skill(remote=Line("r2", "u1", edit="e2", edits=2)),
        skill(head=Line("r2", "u1", edit="e2", edits=2), remote=Line("r2", "u1", edit="e2", edits=2)),
        [],
    ),
    "the remote is fetched for the first time": (skill(remote=Line()), skill(remote=replace(REMOTE, edits=9)), []),
    "a revert": (
        BEFORE,
        skill(
            head=replace(HEAD, commit="h2", tree="t2", fresh=1),
            taken=(*SKILL.taken, Act("e2", "h2", "Add a rule")),
        ),
        [("taken-back", "h2")],
    ),
    "one commit that takes two edits back": (
        BEFORE,
        skill(taken=(*SKILL.taken, Act("e2", "h2"), Act("e3", "h2"))),
        [("taken-back", "h2")],
    ),
    "two reverts": (
        BEFORE,
        skill(taken=(*SKILL.taken, Act("e2", "h2"), Act("e3", "h3"))),
        [("taken-back", "h2"), ("taken-back", "h3")],
    ),
    "a revert on another line too": (BEFORE, skill(taken=(Act("e1", "x2"),)), []),
    "a revert taken back": (BEFORE, skill(taken=()), []),
    "a request closed": (
        BEFORE,
        skill(closed=(*SKILL.closed, Act("request-2", what="too long"))),
        [("request", "closed request-2")],
    ),
    "a request forgotten": (BEFORE, skill(closed=()), []),
    "a repository that is gone": (BEFORE, skill(wrong="no such folder"), []),
    "a repository that is back": (skill(wrong="no such folder"), BEFORE, []),
    "everything at once": (
        BEFORE,
        replace(
            skill(
                head=replace(HEAD, commit="h2", tree="t2", person="h2", fresh=1),
                taken=(*SKILL.taken, Act("e2", "h2")),
                closed=(*SKILL.closed, Act("request-2")),
            ),
            config=ConfigSeen("c2"),
            tasks=replace(BEFORE.tasks, digest="d2"),
        ),
        [("config", "c2"), ("tasks", "d2"), ("skill", "h2"), ("taken-back", "h2"), ("request", "closed request-2")],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_differs_is_a_cause(name: str) -> None:
    before, after, wanted = CASES[name]
    assert [(cause.kind, cause.key) for cause in differences(before, after)] == wanted


def test_causes_say_what_happened() -> None:
    after = replace(
        skill(
            head=replace(HEAD, commit="h2", tree="t2", person="h2", says="Say it shorter", fresh=1),
            taken=(*SKILL.taken, Act("e2", "h9", "Add a rule (too long)")),
            closed=(*SKILL.closed, Act("request-2", what="not needed")),
        ),
        tasks=replace(BEFORE.tasks, digest="d2", count=5),
    )
    assert [cause.detail for cause in differences(BEFORE, after)] == [
        "the tasks changed: 3 before, 5 now",
        "a person changed the skill on HEAD: Say it shorter",
        "a person took an edit back: Add a rule (too long)",
        "a person closed request 2: not needed",
    ]


@pytest.mark.parametrize("seen", [Seen(), BEFORE, CASES["everything at once"][1]])
def test_what_was_noted_is_read_back(seen: Seen) -> None:
    assert Seen.from_data(seen.to_data()) == seen


def test_what_an_older_version_noted_lacks_only_what_is_newer() -> None:
    data = BEFORE.to_data()
    del data["skill"]["remote"], data["tasks"]["beside"]
    read = Seen.from_data(data)
    assert read is not None
    assert read.skill == replace(SKILL, remote=Line())


@pytest.mark.parametrize("data", [{"tasks": {"count": "many"}}, {"skill": {"taken": 3}}, {"config": None}])
def test_what_cannot_be_read_counts_as_nothing_noted(data: dict[str, object]) -> None:
    assert Seen.from_data(data) is None
    assert Seen.from_data(None) is None


def test_wrongs_are_named_by_area() -> None:
    seen = Seen(ConfigSeen("c", "a"), TasksSeen(wrong="b"), SkillSeen(wrong="c", behind="d"))
    assert seen.wrong == {"config": "a", "tasks": "b", "repository": "c", "remote": "d"}
    assert BEFORE.wrong == {}
