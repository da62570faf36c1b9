from __future__ import annotations

import pytest
import yaml

from harnesses.traces.skill_probe import SkillMarks, SkillProbe

TEXT = "---\nname: totals\ndescription: Sums things up nicely.\n---\n\n# Totals\nAdd the column with care.\nok\n"
PROBE = SkillProbe("totals", TEXT)


@pytest.mark.parametrize(
    ("command", "output", "opened"),
    [
        ("cat SKILL.md", TEXT, True),
        ("sed -n 1,200p .agents/skills/totals/SKILL.md", "Add the column with care.", True),
        ("cat .agents/skills/totals/*", "x\nAdd the column with care.\n", True),
        ("ls -la SKILL.md", "-rw-r--r-- 1 u u 80 SKILL.md", False),
        ("head -3 SKILL.md", "---\nname: totals\ndescription: Sums things up nicely.\n", False),
        ("cat SKILL.md", "cat: SKILL.md: No such file or directory", False),
        ("cat notes.txt", "Add the column with care.", False),
        ("cat .agents/skills/totals-old/README", "nothing", False),
    ],
)
def test_a_command_opens_the_skill_only_if_its_body_was_shown(command: str, output: str, opened: bool) -> None:
    assert PROBE.read_by(command, output) is opened


def test_without_the_text_naming_the_file_is_enough() -> None:
    assert SkillProbe("totals").read_by("cat SKILL.md", "")
    assert not SkillProbe("totals").read_by("ls", "SKILL.md")


@pytest.mark.parametrize(
    ("path", "its"),
    [
        ("SKILL.md", True),
        ("/workspace/SKILL.md", True),
        ("./SKILL.md", True),
        ("/out/claude/skills/totals/SKILL.md", True),
        ("/out/claude/skills/other/SKILL.md", False),
        ("/workspace/sub/dir/SKILL.md", False),
        ("/workspace/SKILL.md.bak", False),
        ("", False),
    ],
)
def test_paths_of_the_skill(path: str, its: bool) -> None:
    assert PROBE.is_file(path) is its


@pytest.mark.parametrize(
    ("message", "injected"),
    [
        ("Base directory for this skill: /out/claude/skills/totals\n\n# Totals", True),
        ("Base directory for this skill: /out/claude/skills/totals/", True),
        ("Base directory for this skill: /out/claude/skills/sub-totals\n\n# Totals", False),
        ("I saw: Base directory for this skill: /x/totals", False),
        ("<skill>\n<name>totals</name>\n<path>/w/SKILL.md</path>\n---", True),
        ("<skill>\n<name>totals2</name>\n", False),
        ("text <skill>\n<name>totals</name>", False),
        ("", False),
    ],
)
def test_what_a_cli_hands_over(message: str, injected: bool) -> None:
    assert PROBE.injected_by(message) is injected


def test_listing_is_by_the_whole_name() -> None:
    listing = "### Available skills\n- totals-extra: x\n- a.totals: y\n"
    assert not PROBE.listed_in(listing)
    assert PROBE.listed_in(listing + "- totals: Sums things up (file: r0/totals/SKILL.md)\n")
    assert not SkillProbe("t.tals").listed_in("- totals: x")


def test_marks_are_the_line_of_a_list_and_the_longest_plain_line_of_the_body() -> None:
    assert PROBE.marks("Add.") == SkillMarks("- totals: Sums things up nicely.", "Add the column with care.")
    quoted = SkillProbe("totals", TEXT + 'Print "$total" with echo, and nothing else whatsoever.\n')
    assert quoted.marks("Add.").body == "Add the column with care.", "a CLI may fill in or quote the longer one"
    long = SkillProbe("totals", TEXT.replace("nicely.", "nicely. " * 40))
    assert long.marks("").listed.startswith("- totals: Sums things up nicely. nicely.")
    assert len(long.marks("").listed) < 80, "CLIs cut long descriptions"


def test_what_the_task_says_itself_marks_nothing() -> None:
    assert PROBE.marks("Add the column with care. Thanks!").body == "# Totals"
    assert PROBE.marks("", [b"\xff", b"* Add the column with care.\n"]).body == "# Totals"
    assert PROBE.marks("- totals: Sums things up nicely.").listed == ""


@pytest.mark.parametrize(
    ("description", "begins"),
    [
        ("description: Sums things up  # for now\n", "Sums things up"),
        ('description: "Sums: up and down"\n', "Sums: up and down"),
        ("description: 'Sums what''s there'\n", "Sums what"),
        ('description: "Sums \\u00e4"\n', "Sums"),
        ("description: >-\n  Sums up\n  and down.\n", "Sums up"),
        ("description: |\n  Sums up\n", "Sums up"),
        ("description: Sums up\n  and down.\n", "Sums up"),
    ],
)
def test_a_description_is_known_by_its_beginning(description: str, begins: str) -> None:
    text = f"---\nname: totals\n{description}license: MIT\n---\n\nok\n"
    head = yaml.safe_load(text.split("---")[1])["description"]
    assert " ".join(head.split()).startswith(begins), "what a CLI lists"
    assert SkillProbe("totals", text).marks("").listed == f"- totals: {begins}"


@pytest.mark.parametrize("description", ["", "description:\n", "description: !x Sums\n", "description: *sums\n"])
def test_a_description_that_takes_yaml_to_read_marks_nothing(description: str) -> None:
    assert SkillProbe("totals", f"---\nname: totals\n{description}---\n\nok\n").marks("") == SkillMarks()


def test_a_skill_without_a_text_has_no_marks() -> None:
    assert SkillProbe("totals").marks("").texts == frozenset()
