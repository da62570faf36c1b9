"""Edits of other files than SKILL.md, and references that come and go with their links."""

from __future__ import annotations

from pathlib import Path

import pytest

from skills_repo.edits import Applied, Edit, EditLimits, EditStatus, Op, apply
from skills_repo.history import EditCommit
from skills_repo.skill import Skill, from_files
from skills_repo.validate import validate
from tests.support.skills import SKILL_PATH, a_repository, a_skill, git, history_of

REFERENCES = frozenset({Op.CREATE, Op.REMOVE})
NOTES = "references/notes.md"


def limits(
    *, budget: int = 4, references: bool = True, editable: tuple[str, ...] = ("SKILL.md",), **more: int
) -> EditLimits:
    return EditLimits(
        budget, editable=editable, references=references, also=REFERENCES if references else frozenset(), **more
    )


def linked(text: bytes = b"# Notes\n\n- first\n- second\n", **files: bytes) -> Skill:
    """A skill whose SKILL.md names one reference."""
    body = f"\n# Rules\n\n- one\n- For forms read `{NOTES}`.\n- two\n"
    return from_files("xlsx", {**a_skill(body).files, NOTES: text, **files})


def status(applied: Applied) -> EditStatus:
    [row] = applied.report.rows
    return row.status


def detail(applied: Applied) -> str:
    [row] = applied.report.rows
    return row.detail


def changed(before: Skill, after: Skill) -> set[str]:
    return {
        path for path in before.files.keys() | after.files.keys() if before.files.get(path) != after.files.get(path)
    }


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (Edit(Op.APPEND, content="- third", file=NOTES), b"# Notes\n\n- first\n- second\n\n- third\n"),
        (Edit(Op.INSERT_AFTER, "- first", "- middle", file=NOTES), b"# Notes\n\n- first\n- middle\n- second\n"),
        (Edit(Op.REPLACE, "first", "1st", file=NOTES), b"# Notes\n\n- 1st\n- second\n"),
        (Edit(Op.DELETE, "- first\n", file=NOTES), b"# Notes\n\n- second\n"),
    ],
)
def test_patch_operations_work_in_another_file_and_touch_that_alone(edit: Edit, expected: bytes) -> None:
    skill = linked()
    applied = apply(skill, [edit], limits())
    assert applied.result.files[NOTES] == expected
    assert changed(skill, applied.result) == {NOTES}


def test_with_the_defaults_no_other_file_may_be_edited() -> None:
    skill = linked()
    for edit in (
        Edit(Op.APPEND, content="x", file=NOTES),
        Edit(Op.DELETE, "- first\n", file=NOTES),
        Edit(Op.APPEND, content="x", file="scripts/run.sh"),
    ):
        applied = apply(skill, [edit], EditLimits(4))
        assert status(applied) is EditStatus.NOT_EDITABLE
        assert applied.result == skill
    for op in REFERENCES:
        asked = Edit(op, content="x" if op is Op.CREATE else "", file="references/a.md", link="`references/a.md`")
        assert status(apply(skill, [asked], EditLimits(4))) is EditStatus.NOT_ALLOWED


def test_globs_say_what_may_be_edited_and_scripts_only_if_they_are_named() -> None:
    skill = linked(**{"scripts/run.sh": b"#!/bin/sh\n", "assets/a.txt": b"one\n"})
    script = Edit(Op.APPEND, content="echo", file="scripts/run.sh")
    asset = Edit(Op.APPEND, content="two", file="assets/a.txt")
    assert status(apply(skill, [script], limits(editable=("assets/*",)))) is EditStatus.NOT_EDITABLE
    assert status(apply(skill, [asset], limits(editable=("assets/*",)))) is EditStatus.APPLIED
    assert status(apply(skill, [script], limits(editable=("scripts/*.sh",)))) is EditStatus.APPLIED


@pytest.mark.parametrize(
    ("file", "data", "expected"),
    [
        ("assets/bin", b"\xff\xfe", EditStatus.NOT_TEXT),
        ("assets/zero", b"text\x00more", EditStatus.NOT_TEXT),
        ("assets/latin", "é".encode("latin-1"), EditStatus.NOT_TEXT),
        ("assets/gone", None, EditStatus.FILE_MISSING),
        ("../outside", None, EditStatus.NOT_EDITABLE),
        ("/etc/passwd", None, EditStatus.NOT_EDITABLE),
    ],
)
def test_what_is_no_text_of_the_skill_is_refused(file: str, data: bytes | None, expected: EditStatus) -> None:
    skill = from_files("xlsx", {**a_skill().files, **({} if data is None else {file: data})})
    applied = apply(skill, [Edit(Op.APPEND, content="x", file=file)], limits(editable=("assets/*",)))
    assert status(applied) is expected


def test_byte_order_mark_line_ends_and_a_missing_last_newline_survive() -> None:
    text = "\ufeff# Notes\r\n\r\n- first\r\n- zwölf\r\n- last".encode()
    skill = linked(text)
    after = apply(skill, [Edit(Op.INSERT_AFTER, "- first", "- new\n- newer", file=NOTES)], limits()).result
    assert after.files[NOTES] == "\ufeff# Notes\r\n\r\n- first\r\n- new\r\n- newer\r\n- zwölf\r\n- last".encode()
    ended = apply(skill, [Edit(Op.APPEND, content="- end", file=NOTES)], limits()).result
    assert ended.files[NOTES] == text + b"\r\n\r\n- end\r\n"


def test_text_goes_into_an_empty_file_without_blank_lines() -> None:
    for empty in (b"", "\ufeff".encode()):
        after = apply(linked(empty), [Edit(Op.APPEND, content="- a", file=NOTES)], limits()).result
        assert after.files[NOTES] == empty + b"- a\n"


def test_frontmatter_is_protected_in_skill_md_alone() -> None:
    skill = linked(b"---\ntitle: Notes\n---\n- first\n")
    applied = apply(skill, [Edit(Op.REPLACE, "title: Notes", "title: Forms", file=NOTES)], limits())
    assert applied.result.files[NOTES] == b"---\ntitle: Forms\n---\n- first\n"


def test_a_file_has_a_size_of_its_own_and_may_shrink_towards_it() -> None:
    small = limits(max_reference_chars=30)
    assert status(apply(linked(), [Edit(Op.APPEND, content="- " + "x" * 30, file=NOTES)], small)) is (
        EditStatus.TOO_LARGE
    )
    skill = linked(b"- a\n" * 20)
    shrunk = apply(linked(b"- keep\n" + b"- a\n" * 20), [Edit(Op.DELETE, "- keep\n", file=NOTES)], small)
    assert status(shrunk) is EditStatus.APPLIED
    assert status(apply(skill, [Edit(Op.APPEND, content="- b", file=NOTES)], small)) is EditStatus.TOO_LARGE


def test_a_file_is_not_emptied_by_edits() -> None:
    whole = b"- only\n"
    assert status(apply(linked(whole), [Edit(Op.DELETE, "- only\n", file=NOTES)], limits())) is (
        EditStatus.DELETES_DOCUMENT
    )
    long = "".join(f"- rule number {n}\n" for n in range(60))
    most = long[: len(long) * 9 // 10]
    assert status(apply(linked(long.encode()), [Edit(Op.DELETE, most, file=NOTES)], limits())) is (
        EditStatus.DELETES_DOCUMENT
    )


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a\u200bb", EditStatus.HIDDEN_CHARACTERS),
        ("---\nname: other\n---\n", EditStatus.TOUCHES_FRONTMATTER),
        ("<think>hm</think>", EditStatus.MALFORMED),
        ("<!-- honed:slow-update:start -->", EditStatus.TOUCHES_GUARDED),
        ("x" * 4_001, EditStatus.TOO_LARGE),
    ],
)
def test_content_and_link_pass_the_same_guards_in_every_file(content: str, expected: EditStatus) -> None:
    skill = linked()
    assert status(apply(skill, [Edit(Op.APPEND, content=content, file=NOTES)], limits())) is expected
    new = "references/new.md"
    link = f"- Read `{new}`. {content}"
    asked = Edit(Op.CREATE, content="- a", file=new, link=link)
    if expected is not EditStatus.TOUCHES_FRONTMATTER:  # there it would have to stand first
        assert status(apply(skill, [asked], limits())) is expected


def test_create_makes_file_and_link_in_one_edit() -> None:
    skill = a_skill()
    edit = Edit(
        Op.CREATE,
        "- one",
        "\n# Forms\r\n\r\n- fill\n\n",
        file="references/forms.md",
        link="- Forms: references/forms.md",
    )
    applied = apply(skill, [edit], limits())
    assert applied.result.files["references/forms.md"] == b"# Forms\n\n- fill\n"
    assert "- one\n- Forms: references/forms.md\n- two\n" in applied.result.text
    assert len(applied.stages) == 1
    validate(applied.result)


def test_a_link_without_a_place_goes_to_the_end_before_the_guarded_region() -> None:
    region = "<!-- honed:slow-update:start -->\nlook\n<!-- honed:slow-update:end -->\n"
    skill = a_skill(f"\n# Rules\n\n- one\n\n{region}")
    edit = Edit(Op.CREATE, content="- x", file="references/a.md", link="See [a](./references/a.md).")
    after = apply(skill, [edit], limits()).result
    assert after.text.endswith(f"- one\n\nSee [a](./references/a.md).\n\n{region}")


@pytest.mark.parametrize("link", ["", "   ", "- See the forms page.", "- See references/other.md", "forms.md"])
def test_a_reference_that_skill_md_does_not_name_is_refused(link: str) -> None:
    skill = a_skill()
    applied = apply(skill, [Edit(Op.CREATE, content="- x", file="references/forms.md", link=link)], limits())
    assert status(applied) is EditStatus.NOT_LINKED
    assert "references/forms.md" in detail(applied)
    assert applied.result == skill


def test_a_link_that_a_person_left_dead_needs_no_other() -> None:
    skill = a_skill("\n# Rules\n\nRead references/forms.md first.\n")
    applied = apply(skill, [Edit(Op.CREATE, content="- x", file="references/forms.md")], limits())
    assert status(applied) is EditStatus.APPLIED
    assert applied.result.text == skill.text


@pytest.mark.parametrize(
    "file",
    [
        "notes.md",
        "scripts/run.md",
        "references/run.sh",
        "references/deep/x.md",
        "references/X.md",
        "references/a b.md",
        "references/.hidden.md",
        "references/../x.md",
        "references/a--b.md",
        "references/con.md",
        "references/lpt1.md",
        "references/skill.md",
        "references/claude.md",
        "references/agents.md",
        "references/" + "x" * 70 + ".md",
        "references/\u043e.md",
        "references/.md",
        "references/",
        "References/x.md",
        "",
    ],
)
def test_only_plain_names_below_references_are_made(file: str) -> None:
    link = f"- see {file}"
    applied = apply(a_skill(), [Edit(Op.CREATE, content="- x", file=file, link=link)], limits())
    assert status(applied) is EditStatus.BAD_FILE_NAME


def test_a_file_that_is_there_is_not_made_again_whatever_its_letter_case() -> None:
    skill = from_files("xlsx", {**a_skill().files, "references/FORMS.md": b"- theirs\n"})
    edit = Edit(Op.CREATE, content="- x", file="references/forms.md", link="references/forms.md")
    assert status(apply(skill, [edit], limits())) is EditStatus.FILE_EXISTS
    assert status(apply(linked(), [Edit(Op.CREATE, content="- x", file=NOTES, link=NOTES)], limits())) is (
        EditStatus.FILE_EXISTS
    )


@pytest.mark.parametrize("taken", ["references", "references/forms.md/deep.md", "References/other.md"])
def test_a_name_that_a_file_system_would_mishandle_is_not_made(taken: str) -> None:
    skill = from_files("xlsx", {**a_skill().files, taken: b"x"})
    edit = Edit(Op.CREATE, content="- x", file="references/forms.md", link="references/forms.md")
    assert status(apply(skill, [edit], limits())) is EditStatus.BAD_FILE_NAME


def test_remove_takes_the_lines_that_name_the_file() -> None:
    skill = linked()
    applied = apply(skill, [Edit(Op.REMOVE, file=NOTES)], limits())
    assert NOTES not in applied.result.files
    assert applied.result.text == skill.text.replace(f"- For forms read `{NOTES}`.\n", "")


def test_remove_may_say_what_goes_and_what_comes_in_its_place() -> None:
    skill = linked()
    edit = Edit(Op.REMOVE, f"For forms read `{NOTES}`.", file=NOTES, link="For forms ask.")
    assert "- For forms ask.\n- two" in apply(skill, [edit], limits()).result.text
    gone = apply(skill, [Edit(Op.REMOVE, f" read `{NOTES}`", file=NOTES)], limits()).result
    assert "- For forms.\n- two" in gone.text


def test_remove_that_leaves_a_link_is_refused() -> None:
    skill = linked()
    applied = apply(skill, [Edit(Op.REMOVE, "- two\n", file=NOTES)], limits())
    assert status(applied) is EditStatus.DEAD_LINK
    assert applied.result == skill
    other = from_files("xlsx", {**skill.files, "references/b.md": f"see {NOTES}\n".encode()})
    assert "references/b.md would name" in detail(apply(other, [Edit(Op.REMOVE, file=NOTES)], limits()))


def test_remove_does_not_take_a_long_paragraph_with_it() -> None:
    text = linked().text.replace("For forms read", "Long. " * 100 + "For forms read")
    skill = linked().with_text(text)
    applied = apply(skill, [Edit(Op.REMOVE, file=NOTES)], limits())
    assert status(applied) is EditStatus.TOO_LARGE
    assert "target" in detail(applied)


def test_remove_does_not_touch_the_guarded_region() -> None:
    region = f"<!-- honed:slow-update:start -->\nread {NOTES}\n<!-- honed:slow-update:end -->\n"
    skill = from_files("xlsx", {**a_skill(f"\n# Rules\n\n- one\n\n{region}").files, NOTES: b"- x\n"})
    applied = apply(skill, [Edit(Op.REMOVE, file=NOTES)], limits())
    assert status(applied) is EditStatus.DEAD_LINK
    assert region in applied.result.text


def test_remove_is_for_references_that_are_there() -> None:
    skill = linked(**{"scripts/run.sh": b"#!/bin/sh\n"})
    for file, expected in (
        ("references/gone.md", EditStatus.FILE_MISSING),
        ("scripts/run.sh", EditStatus.NOT_EDITABLE),
        ("SKILL.md", EditStatus.MALFORMED),
    ):
        assert status(apply(skill, [Edit(Op.REMOVE, file=file)], limits())) is expected
    named = limits(editable=("scripts/*",))
    assert status(apply(skill, [Edit(Op.REMOVE, file="scripts/run.sh")], named)) is EditStatus.NOT_EDITABLE


def test_no_edit_of_skill_md_takes_the_only_link_away_or_names_what_is_not_there() -> None:
    skill = linked()
    cut = Edit(Op.DELETE, f"- For forms read `{NOTES}`.\n")
    assert status(apply(skill, [cut], limits())) is EditStatus.NOT_LINKED
    assert status(apply(skill, [cut], EditLimits(4))) is EditStatus.APPLIED  # the rule holds where it is asked for
    dead = Edit(Op.APPEND, content="- Read references/none.md")
    assert status(apply(skill, [dead], limits())) is EditStatus.DEAD_LINK
    rewrite = Edit(Op.REWRITE, content="# Rules\n\n- one\n")
    bounds = EditLimits(4, references=True, also=frozenset({Op.REWRITE}))
    assert status(apply(skill, [rewrite], bounds)) is EditStatus.NOT_LINKED


def test_every_stage_of_a_step_stands_by_itself() -> None:
    edits = [
        Edit(Op.CREATE, content="- a", file="references/a.md", link="- see references/a.md"),
        Edit(Op.REPLACE, "- a", "- b", file="references/a.md"),
        Edit(Op.CREATE, content="- c", file="references/c.md", link="- see references/c.md"),
        Edit(Op.REMOVE, file="references/a.md"),
    ]
    applied = apply(a_skill(), edits, limits())
    assert len(applied.stages) == 4
    for stage in applied.stages:
        assert not [warning for warning in validate(stage) if "links to" in warning]
    assert set(applied.result.files) == {"SKILL.md", "references/c.md"}
    assert "references/a.md" not in applied.result.text


def test_what_was_not_made_cannot_be_edited() -> None:
    missing = Edit(Op.CREATE, content="- a", file="references/a.md")
    later = Edit(Op.REPLACE, "- a", "- b", file="references/a.md")
    rows = apply(a_skill(), [missing, later], limits()).report.rows
    assert [row.status for row in rows] == [EditStatus.NOT_LINKED, EditStatus.FILE_MISSING]


def test_a_changed_reference_changes_the_digest() -> None:
    skill = linked()
    digests = {
        skill.digest,
        skill.with_file(NOTES, b"- other\n").digest,
        skill.with_file(NOTES, None).digest,
        skill.with_file("references/more.md", b"").digest,
        skill.with_file(NOTES, None).with_file("references/other.md", skill.files[NOTES]).digest,
    }
    assert len(digests) == 5


async def test_links_inside_a_skill_are_never_edited_and_show_what_they_lead_to(tmp_path: Path) -> None:
    skill = linked()
    root = a_repository(tmp_path / "repo", skill)
    (root / SKILL_PATH / "references/alias.md").symlink_to("notes.md")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "Link")
    history = history_of(root)
    read = await history.read("HEAD")
    assert dict(read.links) == {"references/alias.md": NOTES}
    refused = apply(read, [Edit(Op.APPEND, content="x", file="references/alias.md")], limits())
    assert status(refused) is EditStatus.NOT_EDITABLE
    assert status(apply(read, [Edit(Op.REMOVE, file=NOTES)], limits())) is EditStatus.NOT_EDITABLE

    edited = apply(read, [Edit(Op.APPEND, content="- third", file=NOTES)], limits()).result
    assert edited.files["references/alias.md"] == edited.files[NOTES]
    [commit] = await history.commit_edits(await history.base(), [EditCommit(edited, "Edit\n")], 5.0)
    assert (await history.read(commit)).digest == edited.digest
    tree = git(root, "ls-tree", "-r", commit, "--", f"{SKILL_PATH}/references/")
    assert [row.split()[0] for row in tree.splitlines()] == ["120000", "100644"]


async def test_a_script_that_is_edited_keeps_its_mode(tmp_path: Path) -> None:
    skill = linked(**{"scripts/run.sh": b"#!/bin/sh\n"})
    root = a_repository(tmp_path / "repo", skill)
    (root / SKILL_PATH / "scripts/run.sh").chmod(0o755)
    git(root, "commit", "-aqm", "Mode")
    history = history_of(root)
    edit = Edit(Op.APPEND, content="echo", file="scripts/run.sh")
    after = apply(await history.read("HEAD"), [edit], limits(editable=("scripts/*",))).result
    [commit] = await history.commit_edits(await history.base(), [EditCommit(after, "Edit\n")], 5.0)
    assert git(root, "ls-tree", commit, "--", f"{SKILL_PATH}/scripts/run.sh").startswith("100755")


def test_a_new_file_counts_towards_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skills_repo.file_edits.MAX_FILES", 1)
    edit = Edit(Op.CREATE, content="- a", file="references/a.md", link="references/a.md")
    assert status(apply(a_skill(), [edit], limits())) is EditStatus.TOO_LARGE


async def test_the_bytes_that_git_holds_are_those_outside_the_edit(tmp_path: Path) -> None:
    """Whatever the repository's attributes say of line ends."""
    text = "\ufeff# N\u00f6tes\r\n\r\n- first\r\n- e\u0301\r\nlast".encode()
    root = a_repository(tmp_path / "repo", linked(text, **{"assets/raw": b"\xff\x00\r\n"}))
    (root / ".gitattributes").write_text("* text=auto eol=crlf\n")
    git(root, "add", ".gitattributes")
    git(root, "commit", "-q", "-m", "Attributes")
    history = history_of(root)
    before = await history.read("HEAD")
    edits = [
        Edit(Op.REPLACE, "- first", "- 1st\n- 2nd", file=NOTES),
        Edit(Op.CREATE, "- two", "- new", file="references/new.md", link="- See references/new.md."),
    ]
    applied = apply(before, edits, limits())
    changes = [EditCommit(stage, "Edit\n") for stage in applied.stages]
    [_, commit] = await history.commit_edits(await history.base(), changes, 5.0)
    after = await history.read(commit)
    assert after.files == applied.result.files
    assert after.files[NOTES] == before.files[NOTES].replace(b"- first", b"- 1st\r\n- 2nd")
    assert after.files["assets/raw"] == b"\xff\x00\r\n"
    git(root, "fsck", "--strict")
