"""How a repository words its commits: told from people's subjects, never copied from them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skills_repo.convention import DEFAULT, TYPES, Convention, convention_of
from skills_repo.edits import Edit, Op
from skills_repo.message import EditNote, GateFigures, compose, parse_trailers

CONVENTIONAL = ["feat(api): add a route", "fix(api): mend the route", "docs(readme): say more", "chore: tidy up"]
KERNEL = ["net: fix a leak", "drm/amd/display: Add a mode", "x86, mm: Map it", "mm: Count pages", "net: drop it"]
PLAIN = ["Add a route", "Mend the route", "Say more", "Tidy up", "Fix the build", "Name it"]


def many(*subjects: str, times: int = 3) -> list[str]:
    return [subject for subject in subjects for _ in range(times)]


def test_conventional_commits_are_followed_with_their_scope() -> None:
    found = convention_of(many(*CONVENTIONAL))
    assert found == Convention("conventional", "docs", scoped=True)


@pytest.mark.parametrize(
    ("of_skill", "word"),
    [
        (["feat(xlsx): a rule", "feat(xlsx): another", "docs(xlsx): a word"], "feat"),
        (["fix(xlsx): a rule", "refactor(xlsx): another"], "fix"),
        (["ci: run it", "test(xlsx): a task"], "docs"),  # no word for a change of a skill
        (["Add a rule", "xlsx: another"], "docs"),
        ([], "docs"),
    ],
)
def test_the_type_is_what_people_use_for_the_skill(of_skill: list[str], word: str) -> None:
    assert convention_of(many(*CONVENTIONAL), of_skill).type == word


def test_a_type_that_releases_something_is_used_only_where_people_use_it_for_the_skill() -> None:
    subjects = many("feat: one", times=20) + many("chore: two", times=2)
    assert convention_of(subjects).type == "chore"
    assert convention_of(many("feat: one", times=20)).type == "docs"


def test_a_scope_is_named_where_people_name_one() -> None:
    assert not convention_of(many("docs: one", "feat: two", "fix(x): three")).scoped
    assert convention_of(many("docs: one", "feat: two", "fix: three"), ["docs(xlsx): a", "docs(xlsx): b"]).scoped


@pytest.mark.parametrize(
    ("subjects", "found"),
    [
        (many(*KERNEL), Convention("area", capital=True)),
        (many("net: fix a leak", "mm: count pages"), Convention("area")),
        (many(*PLAIN), Convention("plain", capital=True)),
        (many("add a route", "tidy up"), Convention("plain")),
        (many("WEB-12: Add a route", "[web] Mend it", "#12 Say more"), Convention("plain", capital=True)),
        (many(":art: Tidy up", "\U0001f41b Fix it", "✨ Add it"), Convention("plain", capital=True)),
        (many(":bug: fix: mend it", "WEB-1 docs: say it"), Convention("conventional", "docs")),
        (many("feat: one", "net: two", "mm: three"), Convention("area")),
        (many("docs(x): Say more", "feat(y)!: Add it"), Convention("conventional", "docs", scoped=True, capital=True)),
    ],
)
def test_other_conventions(subjects: list[str], found: Convention) -> None:
    assert convention_of(subjects) == found


@pytest.mark.parametrize(
    "subjects",
    [
        [],
        PLAIN[:4],
        many('Revert "docs: one"', "Merge branch 'x'", "fixup! docs: two", times=9),
        many("docs: one", "Add it", "net: two", "Mend it"),  # half and half
        many("", "…", "-- ", "12", times=9),
    ],
)
def test_where_people_do_not_agree_it_is_honeds_own_form(subjects: list[str]) -> None:
    assert convention_of(subjects) == DEFAULT


NOTE = EditNote(
    "r1", 1, 1, 1, "xlsx", "sha256:b", Edit(Op.APPEND, content="- look twice."), GateFigures("given"), "c", "o"
)


@pytest.mark.parametrize(
    ("convention", "op", "subject"),
    [
        (DEFAULT, Op.APPEND, 'skill(xlsx): add "look twice"'),
        (Convention("conventional", "docs", scoped=True), Op.APPEND, 'docs(xlsx): add "look twice"'),
        (Convention("conventional", "feat", scoped=True, capital=True), Op.REPLACE, 'feat(xlsx): Replace "look twice"'),
        (Convention("conventional", "chore"), Op.APPEND, 'chore: add "look twice" to xlsx'),
        (Convention("area"), Op.INSERT_AFTER, 'xlsx: add "look twice"'),
        (Convention("plain", capital=True), Op.APPEND, 'Add "look twice" to xlsx'),
        (Convention("plain"), Op.REPLACE, 'replace "look twice" in xlsx'),
        (Convention("plain", capital=True), Op.DELETE, 'Delete "…" from xlsx'),
        (Convention("plain", capital=True), Op.SLOW_UPDATE, 'Update guidance "look twice" in xlsx'),
    ],
)
def test_subjects_in_each_convention(convention: Convention, op: Op, subject: str) -> None:
    note = replace(NOTE, edit=replace(NOTE.edit, op=op))
    assert compose(note, convention).split("\n", 1)[0] == subject


@pytest.mark.parametrize(
    "convention",
    [DEFAULT, Convention("area"), Convention("plain"), Convention("conventional", "refactor", scoped=True),
     Convention("conventional", "refactor")],
)  # fmt: skip
def test_a_subject_has_at_most_72_characters_names_the_skill_and_ends_without_a_full_stop(
    convention: Convention,
) -> None:
    edit = Edit(Op.REPLACE, content=f"- word word {'x' * 300}.")
    subject = compose(replace(NOTE, skill="pdf-forms", edit=edit), convention).split("\n", 1)[0]
    assert 70 <= len(subject) <= 72
    assert "pdf-forms" in subject
    assert "word word" in subject
    assert not subject.endswith(".")
    longest = compose(replace(NOTE, skill="x" * 64, edit=edit), convention).split("\n", 1)[0]
    assert len(longest) <= 72


def test_signing_off_is_one_trailer_more_and_no_reader_minds() -> None:
    convention = Convention("plain", sign_off="honed <honed@localhost>")
    message = compose(NOTE, convention)
    assert message.endswith("\nSigned-off-by: honed <honed@localhost>\n")
    assert parse_trailers(message) == parse_trailers(compose(NOTE))


HOSTILE = st.text(max_size=200) | st.sampled_from(TYPES).flatmap(
    lambda word: st.text(max_size=60).map(lambda text: f"{word}({text}): {text}")
)


@settings(max_examples=200, deadline=None)
@given(st.lists(HOSTILE, min_size=5, max_size=12))
def test_nothing_but_a_known_word_is_taken_over(subjects: list[str]) -> None:
    found = convention_of(subjects, subjects)
    assert found.type in ("", *TYPES)
    assert compose(NOTE, found).split("\n\n")[1:] == compose(NOTE).split("\n\n")[1:]


def test_a_subject_without_end_takes_no_time() -> None:
    long = ["a, " * 5_000, "a" * 20_000 + ":", "[" * 10_000, "feat(" + "(" * 10_000, "x/" * 9_999, "\U0001f41b" * 9_999]
    assert convention_of(long * 50, long).style in ("honed", "plain", "area")
