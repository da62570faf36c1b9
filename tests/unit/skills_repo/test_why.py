"""Which lines a number or a piece of text means."""

from __future__ import annotations

import pytest

from skills_repo.history import RepositoryError
from skills_repo.why import MOST, find_lines

TEXT = "# Title\n\n- Write values,\n  never formulas.\n- Save the file.\n\n- Say what was done: write it.\n"


@pytest.mark.parametrize(
    ("wanted", "lines"),
    [
        ("1", (1,)),
        (" 5 ", (5,)),
        ("7", (7,)),
        ("never FORMULAS", (4,)),
        ("write", (3, 7)),
        ("values,   never", (3, 4)),
        ("# Title\n\n- Write", (1, 3)),
        ("e", (1, 3, 4, 5, 7)),
        ("it.", (7,)),
    ],
)
def test_numbers_and_pieces(wanted: str, lines: tuple[int, ...]) -> None:
    assert find_lines(TEXT, wanted, file="SKILL.md") == lines


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("0", "SKILL.md has lines 1 to 7, not 0"),
        ("8", "SKILL.md has lines 1 to 7, not 8"),
        ("formula one", "no line with 'formula one'"),
        ("", "no line with ''"),
        ("  \n", "no line with ''"),
        ("x\x1b[31m", r"no line with 'x\x1b[31m'"),
    ],
)
def test_what_is_not_there(wanted: str, message: str) -> None:
    with pytest.raises(RepositoryError) as error:
        find_lines(TEXT, wanted, file="SKILL.md")
    assert message in str(error.value)


def test_a_piece_that_stands_everywhere_asks_for_more() -> None:
    with pytest.raises(RepositoryError, match=rf"'rule' stands in {MOST + 1} lines of a.md: give more of it"):
        find_lines("a rule\n" * (MOST + 1), "rule", file="a.md")
    assert len(find_lines("a rule\n" * MOST, "rule", file="a.md")) == MOST
