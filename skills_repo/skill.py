"""A skill as data: its folder's files, and SKILL.md's parts.

Invariants: bytes are never changed by reading and writing back; the digest depends on nothing but paths and bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from skills_repo.paths import collision, wrong_path

SKILL_FILE = "SKILL.md"
MAX_FILES = 500
MAX_BYTES = 16 * 1024 * 1024
"""Of a whole skill folder."""
_NOT_READ = frozenset({".git", ".honed"})


class SkillError(Exception):
    """A skill cannot be read or is not valid. `str()` is one line: file, line where known, what and the remedy."""

    def __init__(self, what: str, *, remedy: str = "", file: str = SKILL_FILE, line: int | None = None) -> None:
        self.what = what
        self.remedy = remedy
        self.file = file
        self.line = line
        place = file if line is None else f"{file}:{line}"
        message = f"{place}: {what}" + (f" ({remedy})" if remedy else "")
        super().__init__(" ".join(message.split()))

    def below(self, folder: str) -> SkillError:
        """The same error with the file named from further up."""
        file = str(PurePosixPath(folder) / self.file)
        return SkillError(self.what, remedy=self.remedy, file=file, line=self.line)


@dataclass(frozen=True)
class Skill:
    """A whole skill folder. Compare by `digest`."""

    name: str
    """The folder's name, equal to the frontmatter's `name`."""
    files: Mapping[str, bytes]
    """Relative POSIX path to bytes, ordered by path; `SKILL.md` among them."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Of these, the symbolic links: path to the file inside the skill whose bytes it has."""

    @property
    def text(self) -> str:
        """SKILL.md, whole."""
        return self.files[SKILL_FILE].decode("utf-8")

    @property
    def digest(self) -> str:
        """`sha256:` over sorted (path length, path, size, bytes)."""
        h = hashlib.sha256()
        for path in sorted(self.files):
            raw = path.encode()
            h.update(b"%d:%s%d:" % (len(raw), raw, len(self.files[path])))
            h.update(self.files[path])
        return "sha256:" + h.hexdigest()

    @property
    def chars(self) -> int:
        """How much there is to read: the characters of every file that is text."""
        return sum(len(text_of(data) or "") for data in self.files.values())

    def with_text(self, text: str) -> Skill:
        """The same folder with another SKILL.md."""
        return self.with_file(SKILL_FILE, text.encode("utf-8"))

    def with_file(self, path: str, data: bytes | None) -> Skill:
        """The same folder with one file written (None: taken out); links to it show what it then holds."""
        files = {known: held for known, held in self.files.items() if known != path}
        if data is not None:
            files |= dict.fromkeys((path, *(link for link, to in self.links.items() if to == path)), data)
        return Skill(self.name, dict(sorted(files.items())), self.links)


def text_of(data: bytes) -> str | None:
    """A file's text; None for what is no UTF-8 or holds a NUL."""
    try:
        return None if b"\0" in data else data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def from_files(name: str, files: Mapping[str, bytes], links: Mapping[str, str] | None = None) -> Skill:
    """A skill out of relative POSIX paths and bytes, ordered by path; raises `SkillError` for odd paths or sizes.

    Only the folder's shape is checked here; `validate.validate` checks what SKILL.md says.
    """
    if SKILL_FILE not in files:
        raise SkillError("is missing", remedy=f"a skill is a folder with a file {SKILL_FILE}")
    if len(files) > MAX_FILES:
        raise SkillError(f"the folder has more than {MAX_FILES} files", remedy="keep only the skill's own", file=name)
    if sum(map(len, files.values())) > MAX_BYTES:
        raise SkillError(f"the folder is larger than {MAX_BYTES} bytes", remedy="move large files out", file=name)
    for path in files:
        check_path(path)
    if clash := collision(files):
        path, other, how = clash
        raise SkillError(f"differs from {json.dumps(other)} only {how}", remedy="rename one", file=json.dumps(path))
    return Skill(name, {path: bytes(files[path]) for path in sorted(files)}, dict(links or {}))


def check_path(path: str) -> None:
    """Raise `SkillError` unless git, the CLIs and every file system can handle the path (`paths.wrong_path`)."""
    if wrong := wrong_path(path):
        raise SkillError(wrong, remedy="rename or remove it", file=json.dumps(path))


def read_folder(folder: Path) -> Skill:
    """Read a skill from disk. Links are refused; git's folders and honed's state, with its databases, are not read.

    A database that this process has open must not be: closing it would drop its locks.
    Raises `SkillError` with the path of what cannot be read and the remedy.
    """
    folder = folder.absolute()
    if not folder.is_dir():
        raise SkillError("no such folder", remedy="name the folder that holds SKILL.md", file=str(folder))
    files: dict[str, bytes] = {}
    size = 0
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder).as_posix()
        if not _NOT_READ.isdisjoint(relative.split("/")):
            continue
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            raise SkillError("is a link or a device", remedy="put a regular file in its place", file=str(path))
        if path.is_file():
            size += path.stat().st_size
            if size > MAX_BYTES or len(files) > MAX_FILES:
                raise SkillError("the folder is too large", remedy="move large files out", file=str(folder))
            files[relative] = path.read_bytes()
    try:
        return from_files(folder.name, files)
    except SkillError as error:
        raise error.below(str(folder)) from error


def initial_skill(name: str, description: str) -> Skill:
    """A valid, nearly empty skill to start honing from. The description is put on one quoted line."""
    line = json.dumps(" ".join(description.split()), ensure_ascii=False)
    text = f"---\nname: {name}\ndescription: {line}\n---\n\n# {name}\n"
    return Skill(name, {SKILL_FILE: text.encode("utf-8")})
