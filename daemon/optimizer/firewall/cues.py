"""Where a scorer's message says what was expected, whether or not the value is known to be gold.

Found: a quoted text, number or list after "expected", "correct answer", "should be", "==" and the like, the rest of a
line after "gold answers:", and anything shaped like a regular expression. Prose ("expected a number") stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_VALUE = (
    r"(?:\"[^\"\n]{1,400}\"|'[^'\n]{1,400}'|`[^`\n]{1,400}`|“[^”\n]{1,400}”|\[[^\]\n]{1,400}\]|\{[^}\n]{1,400}\}"
    r"|[-+$€£]{0,2}\d(?:[\d.,]{0,40}\d)?%?|\b(?:True|False|None)\b)"
)
_NOUNS = r"(?:\s{1,4}(?:answers?|values?|results?|outputs?|texts?|numbers?|labels?|options?|choices?))"
_CUE = (
    rf"\b(?:(?:expect(?:ed|s)?|gold(?:en)?|ground[- ]truth|wanted|want){_NOUNS}{{0,2}}"
    rf"|(?:correct|right|true|desired|target|accepted|acceptable|reference){_NOUNS}|hidden\s{{1,4}}reference)"
)
_IS = r"(?:\s{1,4}(?:is|was|are|were|to\s(?:be|equal|contain|match|read)|exactly|one\sof)){0,3}"
_RULES = (
    re.compile(rf"(?i){_CUE}{_IS}\s{{0,4}}[:=]{{0,2}}\s{{0,4}}(?P<value>{_VALUE})"),
    re.compile(
        rf"(?i){_CUE}{_IS}\s{{0,4}}[:=]{{1,2}}[^\S\n]{{0,8}}(?P<value>[^\n;]{{1,2000}}?)"
        r"(?=,?\s(?:but|got|found|actual|received|saw)\b|[\n;]|\Z|(?<=[^\n;]{2000}))"
    ),
    re.compile(
        rf"(?i)\b(?:should|must|ought\sto)\s(?:be|have\sbeen|equal|read|say|contain|match)\s{{1,4}}(?P<value>{_VALUE})"
    ),
    re.compile(rf"(?:==|!=|=~|≠)\s{{0,4}}(?P<value>{_VALUE}|\S{{1,400}})"),
    re.compile(rf"(?i)\b(?:is\snot|equals?(?:\sto)?)\s{{1,4}}(?P<value>{_VALUE})"),
    re.compile(rf"(?i)(?:\binstead\sof|\brather\sthan|\bdiffers?\sfrom)\s{{1,4}}(?P<value>{_VALUE})"),
    re.compile(rf"(?i)(?P<value>{_VALUE})\s{{1,4}}(?:is|was|were)?\s?\b(?:expected|wanted|required)\b"),
    re.compile(
        r"(?i)\bmatch(?:es|ed|ing)?\s{1,4}(?:the\s)?(?:regex|pattern|regular\sexpression)\b\s{0,4}[:=]?\s{0,4}"
        r"(?P<value>[^\n]{1,2000})"
    ),
)
_PATTERN = re.compile(
    r"\\[dwsbDWSB]|\[\^?[^\]\s]{1,40}\][+*?{]|\(\?[:=!<iP]|\.[*+]|\{\d{1,4},?\d{0,4}\}|^\^\S|[^\w\s]\$$"
)


def told(text: str) -> Iterator[tuple[int, int]]:
    """Places of what a message says to be expected, in no order."""
    for rule in _RULES:
        for found in rule.finditer(text):
            yield found.span("value")
    for found in re.finditer(r"\S+", text):
        if _PATTERN.search(found[0]):
            yield found.span()


CUES = frozenset(
    ("expected", "expect", "gold", "golden", "correct", "answer", "answers", "reference", "truth", "should", "wanted")
)
"""Words after which even an answer of one letter is an answer."""
REACH = 6
"""Within how many words."""
