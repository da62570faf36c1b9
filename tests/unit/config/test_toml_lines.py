"""Finding a key's line in TOML that people write."""

from __future__ import annotations

import pytest

from daemon.toml_lines import find_line

TEXT = '''\
top = 1
[a]
key = "x = 1"   # [b]
"quoted key" = 2
text = """
key2 = 5
[c]
"""
key2 = 6
  [ a . b ]
deep.er = 3
[[list]]
one = 1
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("top",), 1),
        (("a",), 2),
        (("a", "key"), 3),
        (("a", "quoted key"), 4),
        (("a", "key2"), 9),
        (("a", "b", "deep", "er"), 11),
        (("a", "b", "other"), 10),
        (("a", "key", 2), 3),
        (("list", 0, "one"), 13),
        (("a", "none"), 2),
        (("c",), None),
        ((), None),
    ],
)
def test_the_line_of_a_key(path: tuple[str | int, ...], line: int | None) -> None:
    assert find_line(TEXT, path) == line
