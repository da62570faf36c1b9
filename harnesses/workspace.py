"""What is laid into a box for one assignment, and how the agent is asked: pure functions from assignment to files.

The contract: `SKILL.md` where the agent starts (the workspace's root, beside the task's files, unless the task's own
image starts elsewhere), and the whole skill folder at the path where the CLI itself looks for skills. A task file never
replaces the skill and never configures the agent: a task that ships `SKILL.md`, or the same skill's folder, is an
error; what else would act as configuration (`.claude/`, `.mcp.json`, `.codex/`, `CLAUDE.md`, `AGENTS.md`, other skills)
is laid as plain data and switched off by flags.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from harnesses.harness import Assignment, RenderedSkill
from harnesses.traces.trace import FileChange
from sandboxes.sandbox import Collected

SKILL_FILE = "SKILL.md"
PROMPT_FILE = "prompt.txt"
"""In the out room. Prompts reach a CLI by stdin: no length limit, and nothing in them can look like an option."""


class WorkspaceError(Exception):
    """The assignment cannot be laid out as the contract says; `str()` names the task, the file and the remedy."""


@dataclass(frozen=True)
class Laid:
    """What to write before the run: paths relative to each room."""

    workspace: Mapping[str, bytes]
    out: Mapping[str, bytes] = field(default_factory=dict)
    clear: tuple[str, ...] = ()
    """Folders of the workspace that are honed's own: what an earlier run of an agent made of them goes."""


def start_of(assignment: Assignment) -> str:
    """The folder of the workspace that the agent starts in, with a slash at its end; empty: the workspace itself."""
    root = assignment.root
    if root is None or root.workdir == root.workspace:
        return ""
    return f"{PurePosixPath(root.workdir).relative_to(root.workspace)}/"


def workspace_files(assignment: Assignment, *, skills_root: str | None = None) -> dict[str, bytes]:
    """The workspace's files, ordered by path.

    The skill folder goes under `skills_root` too, if one is given, from where the agent starts.
    """
    at = start_of(assignment)
    files = dict(assignment.files)
    skill = assignment.skill
    if skill is None:
        return dict(sorted(files.items()))
    folder = f"{at}{skills_root}/{skill.name}" if skills_root else None
    for path in files:
        plain = plain_path(path)
        if plain == at + SKILL_FILE or (folder and (plain + "/").startswith(folder + "/")):
            message = f"task {assignment.task_id}: its file {path!r} would hide the skill: rename it in the task"
            raise WorkspaceError(message)
    files[at + SKILL_FILE] = with_lf(skill.files[SKILL_FILE])
    if folder:
        files.update(skill_folder(skill, folder))
    return dict(sorted(files.items()))


def skill_folder(skill: RenderedSkill, folder: str) -> dict[str, bytes]:
    """The skill's files under `folder`, SKILL.md with LF line ends (CRLF breaks the CLIs' frontmatter)."""
    return {f"{folder}/{path}": with_lf(data) if path == SKILL_FILE else data for path, data in skill.files.items()}


def foreign_skills(files: Mapping[str, bytes], roots: tuple[str, ...]) -> tuple[str, ...]:
    """Paths of SKILL.md files that a task itself ships under skill roots, ordered."""
    plain = (plain_path(path) for path in sorted(files))
    return tuple(path for path in plain if path.endswith("/" + SKILL_FILE) and path.startswith(roots))


def asked(assignment: Assignment, *, sigil: str) -> str:
    """The prompt: explicit activation puts `<sigil><name>` on a line of its own first.

    Otherwise the task's prompt alone; one that begins with the sigil (a path such as `/data/in.csv`) would be taken
    for a command, which silently costs Claude Code its list of skills, so it gets a line before it.
    """
    prompt = assignment.prompt
    if assignment.skill is not None and assignment.activation == "explicit":
        return f"{sigil}{assignment.skill.name}\n{prompt}"
    return f"Task:\n{prompt}" if prompt.lstrip().startswith(sigil) else prompt


def changes(laid: Mapping[str, bytes], left: Collected) -> tuple[FileChange, ...]:
    """What the agent made, changed and deleted, however it did so, ordered by path.

    Where something could not be collected, what is missing may be that, so nothing is called deleted.
    """
    before = {plain_path(path): data for path, data in laid.items()}
    found: list[FileChange] = []
    for path in sorted(before.keys() | left.files.keys()):
        if path not in before:
            found.append(FileChange(path, "add"))
        elif path in left.files and left.files[path] != before[path]:
            found.append(FileChange(path, "update"))
        elif path not in left.files and not left.skipped:
            found.append(FileChange(path, "delete"))
    return tuple(found)


def with_lf(data: bytes) -> bytes:
    """CRLF and lone CR to LF."""
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def plain_path(path: str) -> str:
    """Without `.` parts and doubled slashes (`..` stays, and is refused where files are written)."""
    return "/".join(part for part in path.split("/") if part not in ("", "."))
