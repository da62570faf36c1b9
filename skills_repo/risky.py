"""What a change of a skill adds that a person should look at before an agent does: addresses, fetched code, rights.

Pure. It errs on the side of asking: a hit costs one look, a miss may cost a machine. Text that stood there before is
never a hit.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from skills_repo import frontmatter
from skills_repo.hidden import drop_hidden
from skills_repo.skill import SKILL_FILE, Skill, SkillError

MAX_SHOWN = 160
"""Characters of a hit that are kept."""


class RiskKind(StrEnum):
    """Why a person should look."""

    URL = "url"
    FETCH_AND_RUN = "fetch_and_run"
    PERMISSIONS = "permissions"
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


_URL = re.compile(
    r"(?:\b[a-z][a-z0-9+.-]{1,20}:/{2}|\bwww\.|\bdata:[a-z]+/|\bjavascript:)[^\s<>\"'`)\]]*", re.IGNORECASE
)
_SHELL = r"(?:(?:ba|z|da|k|c|fi)?sh|python[\d.]*|node|perl|ruby|php|pwsh|powershell|iex|invoke-expression|source|xargs)"
_RUN = re.compile(
    rf"""\b(?:curl|wget|aria2c|iwr|irm|invoke-webrequest|invoke-restmethod|start-bitstransfer)\b
      | \|\s*(?:sudo\s+|env\s+|command\s+){{0,4}}(?:/\S{{0,100}}/)?{_SHELL}(?![\w-])
      | \b(?:eval|exec)\b[\s("'`]{{0,4}}\$\(
      | \b{_SHELL}\s+(?:-\w{{1,30}}\s+){{0,4}}["']?(?:<\(|\$\(|`)
      | \b(?:pip[\d.]*|pipx|uv|npm|pnpm|yarn|gem|cargo|go|brew|apt|apt-get|dnf|yum|apk|conda)\s+
        (?:-\S{{1,60}}\s+){{0,4}}(?:install|add|pip|get|i)\b
      | \b(?:npx|bunx|uvx|pnpx)\s | \b(?:yarn|pnpm)\s+dlx\b | \bpipx\s+run\b
      | \bgit\s+(?:clone|pull|submodule)\b | \b(?:docker|podman)\s+(?:run|pull)\b
      | \b(?:urlopen|urlretrieve|requests\.get|httpx\.get|fetch)\s*\( | \b(?:exec|eval)\s*\(
      | \b(?:scp|sftp|rsync|nc|ncat|socat)\s | /dev/tcp/ | \bbase64\s+(?:-d|-D|--decode)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_RIGHTS = re.compile(
    r"""--?(?:dangerously|allow|yolo|no-sandbox|privileged|insecure|full-auto|trust-all|skip-permissions)\b[\w-]*
      | \b(?:sudo|doas|pkexec|setuid|setcap|runas)\b | \bsu\s+(?:-|root\b)
      | \bchmod\s+(?:-\w{1,30}\s+){0,4}(?:[0-7]{0,3}[2367]\b|[augo]{0,4}\+[rwxst]{0,5}[ws]) | \bchown\s
      | \b(?:danger-full-access|bypasspermissions|bypass-approvals|acceptedits|approval_policy|sandbox_mode)\b
      | \b(?:permission-mode|permissionmode|allowed-?tools|allow_?unsandboxed|dontask)\b
      | \bverify\s*=\s*false\b | \bstricthostkeychecking\b | \bsslverify\b | \bnode_tls_reject_unauthorized\b
      | (?:^|[\s"'`=(~/])\.(?:ssh|aws|netrc|npmrc|pypirc|kube|docker|git-credentials|env)\b
      | /etc/(?:shadow|passwd|sudoers)\b | \b(?:docker\.sock|authorized_keys|crontab|git\s+config\s+--global)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_TOOLS = "allowed-tools"


def skill_risks(before: Skill, after: Skill) -> tuple[Risk, ...]:
    """What the change adds, ordered by file; each thing once."""
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
        found += text_risks(old.decode("utf-8", "replace"), text, file=path)
    return tuple(dict.fromkeys([*found, *_tools(before, after)]))


def text_risks(before: str, after: str, *, file: str = SKILL_FILE) -> tuple[Risk, ...]:
    """The same for one text."""
    old, new = _seen(before), _seen(after)
    gone = Counter(old)
    found: list[Risk] = []
    addresses = {match[0] for line in old for match in _URL.finditer(line)}
    for line in new:
        if gone[line] > 0:
            gone[line] -= 1
            continue
        found += _of_line(line, addresses, file)
    return tuple(dict.fromkeys(found))


def _of_line(line: str, addresses: set[str], file: str) -> Iterable[Risk]:
    for match in _URL.finditer(line):
        if match[0] not in addresses:
            yield Risk(RiskKind.URL, file, match[0][:MAX_SHOWN])
    for kind, pattern in ((RiskKind.FETCH_AND_RUN, _RUN), (RiskKind.PERMISSIONS, _RIGHTS)):
        found = pattern.search(line)
        if found:
            start = max(0, found.start() - 40)
            yield Risk(kind, file, line[start : start + MAX_SHOWN].strip())


def _seen(text: str) -> list[str]:
    """The lines as a shell or a renderer would read them: continued lines joined, entities resolved, one blank each."""
    text = drop_hidden(html.unescape(text.replace("\r\n", "\n")))
    text = re.sub(r"\\\n", " ", text)
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
