"""What a change of a skill adds that a person should look at before an agent does: addresses, fetched code, rights.

Pure. It errs on the side of asking: a hit costs one look, a miss may cost a machine. Text that stood there before is
never a hit.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from skills_repo import frontmatter
from skills_repo.hidden import drop_hidden
from skills_repo.risky_shapes import ADDRESSES, REMOTE, RIGHTS, RUN, SAFEGUARDS
from skills_repo.skill import SKILL_FILE, Skill, SkillError

MAX_SHOWN = 160
"""Characters of a hit that are kept."""


class RiskKind(StrEnum):
    """Why a person should look."""

    URL = "url"
    FETCH_AND_RUN = "fetch_and_run"
    PERMISSIONS = "permissions"
    REMOTE_CODE = "remote_code"
    """What is fetched or decoded is run at once: nobody could have read it."""
    SAFEGUARDS = "safeguards"
    """What keeps an agent in bounds is switched off, or its instructions are set aside."""
    UNREADABLE = "unreadable"
    """A file that is no text, so nobody can say what it does."""

    @property
    def words(self) -> str:
        """For people."""
        return _WORDS[self]


_WORDS = {
    RiskKind.URL: "adds an address",
    RiskKind.FETCH_AND_RUN: "adds a command that fetches or runs other code",
    RiskKind.PERMISSIONS: "widens what an agent may do",
    RiskKind.REMOTE_CODE: "fetches or decodes code and runs it unread",
    RiskKind.SAFEGUARDS: "switches off a safeguard of agents",
    RiskKind.UNREADABLE: "adds or changes a file that is no text",
}


@dataclass(frozen=True)
class Risk:
    """One reason to look."""

    kind: RiskKind
    file: str
    """Relative to the skill's folder."""
    text: str
    """What was added, on one line; it comes from a model or a file."""


_TOOLS = "allowed-tools"
_PLAIN_ADDRESS = re.compile(r"(?:https?://)?([a-z0-9.-]+)(?::443)?(?:[/?#][\w./?#=&%+,~-]*)?", re.IGNORECASE)
_PAIRS = (
    (REMOTE, RiskKind.REMOTE_CODE, RUN, RiskKind.FETCH_AND_RUN),
    (SAFEGUARDS, RiskKind.SAFEGUARDS, RIGHTS, RiskKind.PERMISSIONS),
)
"""The stricter one of each pair is named instead of the other where both see something."""


def skill_risks(before: Skill, after: Skill, hosts: Sequence[str] = ()) -> tuple[Risk, ...]:
    """What the change adds, ordered by file; each thing once. Addresses at `hosts` (`*.x` for all below) are none."""
    found: list[Risk] = []
    for path in sorted(after.files):
        old, new = before.files.get(path, b""), after.files[path]
        if old == new:
            continue
        try:
            text = new.decode("utf-8")
        except UnicodeDecodeError:
            found.append(Risk(RiskKind.UNREADABLE, path, f"{len(new)} bytes"))
            continue
        found += text_risks(old.decode("utf-8", "replace"), text, file=path, hosts=hosts)
    return tuple(dict.fromkeys([*found, *_tools(before, after)]))


def text_risks(before: str, after: str, *, file: str = SKILL_FILE, hosts: Sequence[str] = ()) -> tuple[Risk, ...]:
    """The same for one text."""
    old, new = _seen(before), _seen(after)
    gone = Counter(old)
    found: list[Risk] = []
    known = {address for line in old for address in _addresses(line, ())}
    for line in new:
        if gone[line] > 0:
            gone[line] -= 1
            continue
        found += [Risk(RiskKind.URL, file, text[:MAX_SHOWN]) for text in _addresses(line, hosts) if text not in known]
        found += _of_line(line, file)
    return tuple(dict.fromkeys(found))


def _addresses(line: str, hosts: Sequence[str]) -> Iterable[str]:
    for match in ADDRESSES.finditer(line):
        if not (hosts and _allowed(match[0], hosts)):
            yield match[0]


def _allowed(address: str, hosts: Sequence[str]) -> bool:
    """An `http` address of such a host, and nothing in it that a program could read as another one."""
    found = _PLAIN_ADDRESS.fullmatch(address)
    if found is None:
        return False
    host = found[1].lower()
    return any(host == one or (one.startswith("*.") and host.endswith(one[1:])) for one in hosts)


def _of_line(line: str, file: str) -> Iterable[Risk]:
    for strict, kind, loose, other in _PAIRS:
        found = strict.search(line)
        risk = kind if found else other
        found = found or loose.search(line)
        if found:
            start = max(0, found.start() - 40)
            yield Risk(risk, file, line[start : start + MAX_SHOWN].strip())


def _seen(text: str) -> list[str]:
    """The lines as a shell, a browser or a renderer would read them: continued lines joined, entities resolved."""
    text = drop_hidden(html.unescape(text.replace("\r\n", "\n")))
    text = text if text.isascii() else unicodedata.normalize("NFKC", text).replace("\u3002", ".")
    text = re.sub(r"\\\n", " ", text).replace("[.]", ".")
    return [" ".join(line.split()) for line in text.split("\n")]


def _tools(before: Skill, after: Skill) -> Iterable[Risk]:
    """Another list of tools in the frontmatter, however it is written."""
    old, new = (_value(skill) for skill in (before, after))
    if new is not None and new != old:
        yield Risk(RiskKind.PERMISSIONS, SKILL_FILE, f"{_TOOLS}: {new}"[:MAX_SHOWN])


def _value(skill: Skill) -> str | None:
    try:
        front = frontmatter.parse(frontmatter.split(skill.text).frontmatter)
    except SkillError:
        return None
    value = front.values.get(_TOOLS)
    return None if value is None else " ".join(str(value).split())
