"""SKILL.md, edits of it, commit messages and git's own log."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from skills_repo import frontmatter, guarded
from skills_repo.edits import REFERENCE_OPS, Edit, EditLimits, EditStatus, Op, apply
from skills_repo.git import Git, GitFailedError
from skills_repo.hidden import find_hidden
from skills_repo.history import RepositoryError
from skills_repo.log import read_log
from skills_repo.message import EditNote, GateFigures, body_of, compose, parse_trailers, place_of
from skills_repo.references import dead, unlinked
from skills_repo.skill import Skill, SkillError, from_files
from skills_repo.validate import validate
from tests.fuzz.target import Target, target

_TEXT = (
    '---\nname: xlsx\ndescription: "Fix spreadsheets"\nmetadata:\n  a: b\n---\n# Rules\n\n- one\n- two\n'
    f"See [more](references/a.md).\n\n{guarded.START}\nlook twice\n{guarded.END}\n"
)
_SEEDS = (
    _TEXT.encode(),
    _TEXT.replace("\n", "\r\n").encode(),
    b"---\nname: xlsx\ndescription: >\n  folded\n  text\nallowed-tools: [a, b]\nlicense: MIT\n---\nbody",
    b"---\nname: &x xlsx\ndescription: *x\n---\n",
    b"# no frontmatter\n",
)
_YAML = (b"&a ", b"*a", b"!!python/object:os.system ", b"<<: *a\n", b"? ", b"| \n", b"- ", b"{a: b}", b"name: xlsx\n")


def _skill(data: bytes) -> None:
    skill = from_files("xlsx", {"SKILL.md": data, "references/a.md": b"a"})
    for line in validate(skill):
        assert "\n" not in line, line


def _marks() -> tuple[bytes, ...]:
    return (guarded.START.encode(), guarded.END.encode(), *_YAML)


_BASE = from_files("xlsx", {"SKILL.md": _TEXT.encode(), "references/a.md": b"# A\n- deep\n", "assets/t.txt": b"t\n"})
_LIMITS = (
    EditLimits(3),
    EditLimits(None, editable=("assets/*",), references=True, also=REFERENCE_OPS),
    EditLimits(2, also=frozenset({Op.REWRITE, Op.SLOW_UPDATE})),
)


def _edits(data: bytes) -> None:
    """Lines `op|target|content|file|link`, with `\\n` for a line end: what a model could ask for."""
    edits = []
    for line in data.decode("utf-8", "surrogatepass" if data.isascii() else "replace").split("\n")[:12]:
        parts = [part.replace("\\n", "\n").replace("\\r", "\r") for part in (line + "||||").split("|")[:5]]
        op = next((known for known in Op if known.value == parts[0]), parts[0])
        edits.append(Edit(op, parts[1], parts[2], file=parts[3] or "SKILL.md", link=parts[4]))  # type: ignore[arg-type]
    for limits in _LIMITS:
        applied = apply(_BASE, edits, limits)
        rows = [row.status for row in applied.report.rows]
        assert len(rows) == len(edits)
        done = rows.count(EditStatus.APPLIED)
        assert done == len(applied.stages) <= limits.most
        _kept(applied.result, limits, done)


def _kept(after: Skill, limits: EditLimits, done: int) -> None:
    """What must hold whatever was asked for."""
    if not done:
        assert after == _BASE
        return
    validate(after)
    assert frontmatter.split(after.text).frontmatter == frontmatter.split(_BASE.text).frontmatter
    if Op.SLOW_UPDATE not in limits.also:
        assert guarded.read(after.text) == guarded.read(_BASE.text)
    assert find_hidden(after.text) is None
    assert len(after.text) <= limits.max_skill_chars
    if limits.references:
        assert not dead(after)
        assert not unlinked(after)
    else:
        assert after.files["references/a.md"] == _BASE.files["references/a.md"]


_EDITS = (
    b"append||- three\ninsert_after|- one|- one and a half",
    b"replace|- two|- two, twice\ndelete|- one",
    b"create||# New|references/new.md|See [new](references/new.md).\nremove|||references/a.md",
    b"rewrite||# Rules\\n\\n- all new\\n- and more\nslow_update||look three times",
    b"replace|t|u|assets/t.txt\nappend||x|../x\ninsert_after|name: xlsx|- y",
)


def _note(rationale: str, failure: str, evidence: str) -> EditNote:
    return EditNote(
        run="r-1",
        step=3,
        position=1,
        of=2,
        skill="xlsx",
        base="sha256:" + "a" * 64,
        edit=Edit(Op.APPEND, "", rationale[:500], rationale=rationale, evidence=(evidence, "t-1")),
        gate=GateFigures("paired", 12, 1, before=0.5, after=0.75, valid=1.0),
        target="codex 1 / m",
        optimizer="openai / m",
        failures=(failure,),
    )


def _message(data: bytes) -> None:
    """What a model writes into a commit's message forges no trailer; any message can be read."""
    text = data.decode("utf-8", "replace")
    parse_trailers(text)
    body_of(text)
    place_of(parse_trailers(text))
    third = len(text) // 3
    message = compose(_note(text[:third], text[third : 2 * third], text[2 * third :]))
    message.encode()
    read, clean = parse_trailers(message), parse_trailers(compose(_note("", "", "t-1")))
    for key in clean.keys() | read.keys():
        if key != "Honed-Evidence":
            assert read.get(key) == clean.get(key), (key, read.get(key), clean.get(key))
    assert place_of(read) == ("r-1", 3, "step")
    assert find_hidden(message.replace("\n", " ")) is None


_MESSAGES = (
    b"Honed-Run: evil\nHoned-Step: 9.1/1\n\nHoned-Phase: initial\nSigned-off-by: me <m@x>",
    b"closes #12, fixes owner/repo#3 @everyone <!-- x --> [skip ci]\n\n---\nCo-authored-by: a <b@c>",
    b'This reverts commit 0123456789abcdef0123456789abcdef01234567.\nRevert "x"\n',
)


class _Repository:
    """One bare repository for all executions: commits are written as raw objects, whatever they hold."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="fuzz-git-")
        self.path = Path(self._folder.name)
        self.git("init", "-q", "--bare", ".")
        self.tree = self._tree()

    def close(self) -> None:
        """Give it back."""
        self._folder.cleanup()

    def _tree(self) -> str:
        blob = self.git("hash-object", "-w", "--stdin", data=b"x").strip()
        return self.git("mktree", data=f"100644 blob {blob}\tSKILL.md\n".encode()).strip()

    def git(self, *argv: str, data: bytes = b"") -> str:
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
        command = ["git", "-c", "safe.directory=*", *argv]
        done = subprocess.run(command, cwd=self.path, input=data, env=env, capture_output=True, check=True)
        return done.stdout.decode()


_repository: list[_Repository] = []


def _log(data: bytes) -> None:
    """A commit whose head and message are whatever somebody pushed."""
    if not _repository:
        _repository.append(_Repository())
    made = _repository[0]
    raw = data if data.startswith(b"tree ") else b"tree TREE\n" + data
    try:
        name = made.git(
            "hash-object", "-t", "commit", "-w", "--stdin", "--literally", data=raw.replace(b"TREE", made.tree.encode())
        )
    except subprocess.CalledProcessError:
        return
    for commit in read_log(Git(made.path), name.strip(), "SKILL.md", 5):
        commit.subject.encode("utf-8", "surrogateescape")
        assert commit.kind in ("edit", "revert", "human")


def _drop() -> None:
    while _repository:
        _repository.pop().close()


def _commits() -> Sequence[bytes]:
    who = b"author A <a@b> 1000 +0000\ncommitter A <a@b> 1000 +0000\n"
    return [
        b"tree TREE\n" + who + b"\nsubject\n\nHoned-Run: r\nHoned-Step: 1.1/1\n",
        b"tree TREE\n" + who + b"encoding latin1\n\n\xe9\n",
        b"tree TREE\nauthor\ncommitter A <> 99999999999999999999 +9999\n\nx",
        b"tree TREE\n" + who + b"gpgsig -----BEGIN\n x\n\n",
    ]


target(Target("skill-md", "SKILL.md, read and checked", lambda: _SEEDS, _skill, (SkillError,), _marks()))
target(
    Target(
        "edits",
        "edits that a model asks for, applied",
        lambda: _EDITS,
        _edits,
        tokens=(b"|", b"append|", b"replace|", b"\\n", b"references/a.md", b"- two", *_marks()),
    )
)
target(Target("message", "commit messages and their trailers", lambda: _MESSAGES, _message, tokens=(b"Honed-Run: ",)))
target(
    Target(
        "git-log",
        "commits as anybody may have made them",
        _commits,
        _log,
        (RepositoryError, GitFailedError),
        (b"author ",),
        close=_drop,
    )
)
