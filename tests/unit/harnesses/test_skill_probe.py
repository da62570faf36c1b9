from __future__ import annotations

import pytest

from harnesses.traces.skill_probe import SkillProbe

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
