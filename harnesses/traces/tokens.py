"""How many tokens a text is about, and how a budget of them is shared. No tokenizer: the same figure everywhere.

An estimate for budgets, never for bills: four ASCII characters a token, and three UTF-8 bytes a token for all others
(about one for a Chinese character, two thirds for a Cyrillic letter). Real tokenizers differ by a quarter either way.
"""

from __future__ import annotations

from collections.abc import Sequence

_ASCII_A_TOKEN = 4
_BYTES_A_TOKEN = 3


def tokens(text: str) -> int:
    """About how many tokens the text is; 0 for the empty one only."""
    ascii_chars = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    other_bytes = 0 if ascii_chars == len(text) else len(text.encode("utf-8", "replace")) - ascii_chars
    return -(-ascii_chars // _ASCII_A_TOKEN) + -(-other_bytes // _BYTES_A_TOKEN)


def shares(needs: Sequence[int], budget: int) -> tuple[int, ...]:
    """What each gets of `budget`, in the order of `needs`; the sum is at most `budget`.

    None gets more than it needs; what small ones leave goes to the large ones in equal parts.
    """
    given = [0] * len(needs)
    left = max(0, budget)
    by_need = sorted(range(len(needs)), key=lambda index: (needs[index], index))
    for place, index in enumerate(by_need):
        given[index] = min(needs[index], left // (len(needs) - place))
        left -= given[index]
    return tuple(given)
