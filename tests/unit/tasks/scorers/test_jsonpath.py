from __future__ import annotations

import pytest

from daemon.tasks.scorers import jsonpath
from daemon.tasks.scorers.jsonpath import find, parse_path

DOCUMENT = {
    "rows": [{"name": "a", "net": 1}, {"name": "b", "net": 2}, {"name": "c"}],
    "a name": {"it's": True},
    "deep": {"rows": [{"name": "d"}]},
    "0": None,
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$", [DOCUMENT]),
        ("$.rows[0].name", ["a"]),
        ("$.rows[-1].name", ["c"]),
        ("$.rows[*].net", [1, 2]),
        ("$.rows[1:3].name", ["b", "c"]),
        ("$.rows[:1].name", ["a"]),
        ("$.rows[:-1].net", [1, 2]),
        ("$['a name']['it\\'s']", [True]),
        ('$["a name"]["it\'s"]', [True]),
        ("$..name", ["a", "b", "c", "d"]),
        ("$.deep..[0].name", ["d"]),
        ("$.deep.*", [[{"name": "d"}]]),
        ("$['0']", [None]),
        ("$[0]", []),
        ("$.rows.name", []),
        ("$.rows[9]", []),
        ("$.nothing.at.all", []),
        ("$.rows[0][*]", ["a", 1]),
    ],
)
def test_values_are_found(path: str, found: list[object]) -> None:
    assert find(parse_path(path), DOCUMENT) == found


@pytest.mark.parametrize("path", ["", "rows", "$rows", "$.", "$..", "$[", "$[a]", "$[?(@.x)]", "$.rows[0", "$[1:2:3]"])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="JSON path"):
        parse_path(path)


def test_a_path_that_leads_everywhere_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonpath, "MAX_FOUND", 10)
    with pytest.raises(ValueError, match="more than 10 values"):
        find(parse_path("$[*]"), list(range(11)))


def test_a_deep_document_takes_no_recursion() -> None:
    deep: list[object] = []
    for _ in range(50_000):
        deep = [deep]
    assert len(find(parse_path("$..[0]"), deep)) == 50_000
