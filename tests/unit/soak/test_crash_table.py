"""The table of the crash matrix: each kill whose work came to the same history counts at its edge."""

from __future__ import annotations

import pytest

from tests.soak.crashes import OTHER, Row, note_same


@pytest.mark.parametrize(
    ("faults", "code", "same"),
    [
        ([], 0, [2, 1]),
        (["a container is left"], 0, [2, 1]),
        ([f"{OTHER} commits"], 0, [0, 0]),
        (["a daemon ended with 1"], 1, [0, 0]),
    ],
)
def test_a_chain_s_kills_count_at_their_edges(faults: list[str], code: int, same: list[int]) -> None:
    first, second = Row("job row", 5), Row("verdict", 2)
    note_same([first, second, first], faults, code)
    assert [first.same, second.same] == same
