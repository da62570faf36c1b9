"""A person changed the skill on HEAD while honed has steps of its own: they are made again on the person's version.

Invariants: what was published, or committed by a person, is never rewritten: then nothing is done, and a sentence says
what to do. Objects first, then one compare-and-swap of the branch together with a ref that keeps the old commits; the
same two versions come to the same commits, so doing it again after a crash changes nothing. Blocking.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, field

from skills_repo import log as logs
from skills_repo import objects
from skills_repo.committing import check_writable, swap
from skills_repo.curve import taken_back
from skills_repo.followed import Again, Followed, kept_ref, told
from skills_repo.git import GitFailedError
from skills_repo.history import Author, EditCommit, NotCommittedError, SkillCommit
from skills_repo.merging import merge
from skills_repo.reading import changed_beside, read
from skills_repo.refs import Refs
from skills_repo.rejected_refs import keep_turned_down
from skills_repo.replaying import DroppedError, again, replay
from skills_repo.skill import Skill, SkillError

TAKEN_BACK = "a person took it back"


@dataclass(frozen=True)
class Behind:
    """The branch lacks a change of the skill that HEAD has."""

    head: str
    theirs: str
    commits: tuple[SkillCommit, ...]
    """Of the branch alone, oldest first."""
    waits: str = ""


def look(refs: Refs, skill_path: str, author: Author) -> Behind | None:
    """Whether there is anything to follow; None: no. Nothing is written."""
    head = refs.head()
    if head is None:
        return None
    try:
        theirs = refs.resolve("HEAD")
        common = refs.git.line("merge-base", head, theirs)
    except NotCommittedError:
        return None  # a bare repository may have the skill's branch alone
    except GitFailedError as error:
        if error.code != 1:
            raise
        return None  # nothing in common: there is no change to speak of
    if _tree(refs, theirs, skill_path) in (_tree(refs, common, skill_path), _tree(refs, head, skill_path)):
        return None
    ids = refs.git.line("rev-list", "--reverse", "--topo-order", head, f"^{theirs}").split()
    known = logs.read_commits(refs.git, ids)
    commits = tuple(known[sha] for sha in ids)
    why = _broken(refs, skill_path, theirs) or _why_not(refs, skill_path, theirs, commits, author)
    return Behind(head, theirs, commits, _sentence(refs, skill_path, theirs, why) if why else "")


def follow(
    refs: Refs, skill_path: str, behind: Behind, *, author: Author, max_chars: int, unwanted: Set[str] = frozenset()
) -> Followed:
    """Make the edits again and move the branch; `unwanted` are commits that a person took back on HEAD.

    Raises `RefMovedError` where somebody moved the branch meanwhile; then nothing has happened.
    """
    if behind.waits:
        return Followed(behind.head, behind.theirs, behind.head, waits=behind.waits)
    check_writable(refs, skill_path)
    made = _Replay(refs, skill_path, author, max_chars, unwanted, behind.theirs)
    while (unfit := made.run(behind.commits)) is not None:
        unwanted |= {unfit}
        made = _Replay(refs, skill_path, author, max_chars, unwanted, behind.theirs)
    edits = {commit.sha for commit in behind.commits if commit.kind == "edit"}
    for sha, revert in taken_back(behind.commits[::-1]).items():
        if sha in edits and revert in made.moot:  # before the branch moves: what a person said of an edit outlives it
            keep_turned_down(refs, skill_path, author, revert)
    done = Followed(behind.head, behind.theirs, made.tip, tuple(made.rows))
    _move(refs, done, author)
    return done


@dataclass
class _Replay:
    """The commits made again, one on top of the other."""

    refs: Refs
    path: str
    author: Author
    max_chars: int
    unwanted: Set[str]
    tip: str
    """What the next one goes on top of: a person's commit at first."""
    rows: list[Again] = field(default_factory=list)
    moot: list[SkillCommit] = field(default_factory=list)
    """Reverts of edits that are dropped: there is nothing left to take back."""
    _made: dict[str, tuple[str, Skill, Skill]] = field(default_factory=dict)
    """By old commit: the new one, and the skill before and after it."""

    def __post_init__(self) -> None:
        self._skill = read(self.refs, self.path, self.tip)

    def run(self, commits: tuple[SkillCommit, ...]) -> str | None:
        """All of them; or the edit that must be left out from the start, for its revert does not fit behind it."""
        for commit in commits:
            try:
                skill, message = self._revert(commit) if commit.kind == "revert" else self._edit(commit)
            except DroppedError as error:
                if commit.kind == "revert":
                    if commit.reverts in self._made:
                        return commit.reverts
                    self.moot.append(commit)
                self.rows.append(Again(commit.sha, commit.subject, why=str(error)))
                continue
            change = EditCommit(skill, message)
            before, onto = self._skill, self.tip
            self.tip = objects.write_commit(
                self.refs.git, onto, self.path, before=before, change=change, author=self.author, when=commit.when
            )
            self._skill = skill
            self._made[commit.sha] = (self.tip, before, skill)
            self.rows.append(Again(commit.sha, commit.subject, self.tip))
        return None

    def _edit(self, commit: SkillCommit) -> tuple[Skill, str]:
        if commit.sha in self.unwanted:
            raise DroppedError(TAKEN_BACK)
        before, after = (read(self.refs, self.path, sha) for sha in (commit.parents[0], commit.sha))
        skill = replay(commit, before, after, self._skill, max_chars=self.max_chars)
        return skill, again(_message(self.refs, commit.sha), base=self._skill.digest, commit=commit.sha)

    def _revert(self, commit: SkillCommit) -> tuple[Skill, str]:
        """One of `honed revert`: it takes back what its commit has become."""
        found = self._made.get(commit.reverts or "")
        if found is None:
            raise DroppedError("what it took back is not made again; its reason is kept")
        sha, before, after = found
        merged = merge(after.files, self._skill.files, before.files)
        skill = self._skill
        for path in sorted(skill.files.keys() | merged.files.keys()):
            if skill.files.get(path) != merged.files.get(path):
                skill = skill.with_file(path, merged.files.get(path))
        if merged.conflicts or skill.digest == self._skill.digest:
            raise DroppedError("it does not fit any more")
        return skill, _message(self.refs, commit.sha).replace(commit.reverts or sha, sha) + "\n"


def _broken(refs: Refs, skill_path: str, theirs: str) -> str:
    try:
        read(refs, skill_path, theirs)
    except (SkillError, NotCommittedError) as error:
        return f"that one cannot be used ({error})"
    return ""


def _why_not(refs: Refs, skill_path: str, theirs: str, commits: tuple[SkillCommit, ...], author: Author) -> str:
    """Why the branch's own commits may not be made again; empty if they may."""
    if not commits:
        return ""
    argv = ["rev-list", commits[-1].sha, "--not", theirs, "--remotes", "--glob=refs/honed/published"]
    published = len(commits) - len(refs.git.line(*argv).split())
    if published:
        return f"{published} of its commits {'is' if published == 1 else 'are'} published, and those are not rewritten"
    ours = {commit.sha for commit in commits}
    for sha, author_of, committer in _hands(refs, commits):
        if author_of != committer:
            return f"commit {sha[:10]} there was made anew by a person, and those are not rewritten"
    for commit in commits:
        mine = commit.kind == "edit" or (
            commit.kind == "revert" and commit.reverts in ours and commit.author == f"{author.name} <{author.email}>"
        )
        if not mine or len(commit.parents) != 1 or changed_beside(refs.git, skill_path, commit.sha):
            return f"commit {commit.sha[:10]} there is a person's, and those are not rewritten"
    return ""


def _hands(refs: Refs, commits: tuple[SkillCommit, ...]) -> Iterator[tuple[str, str, str]]:
    """Id, author and committer of each: honed is both, so an amended or rebased commit shows who did it."""
    ids = "".join(f"{commit.sha}\n" for commit in commits).encode()
    argv = ["log", "--no-walk=unsorted", "--no-show-signature", "--no-notes", "--stdin"]
    fields = refs.git.fields([*argv, "--format=tformat:%H%x00%an <%ae>%x00%cn <%ce>%x00"], ids)
    for sha, author, committer in zip(*[iter(fields)] * 3, strict=True):
        yield sha.lstrip("\n"), author, committer


def _sentence(refs: Refs, skill_path: str, theirs: str, why: str) -> str:
    return (
        f"HEAD ({theirs[:10]}) has another version of {skill_path} than {refs.short}, but {why}: merge it yourself "
        f"(`git switch {refs.short} && git merge {theirs[:10]} && git switch -`), or start from HEAD "
        f"(`git branch -D {refs.short}`: forgets its edits, and what was reverted there and why), "
        "or go on without it ([skill] follow = false)"
    )


def _tree(refs: Refs, commit: str, skill_path: str) -> str:
    """The id of the skill's folder; empty where there is none."""
    try:
        return refs.git.line("rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}:{skill_path}")
    except GitFailedError as error:
        if error.code != 1:
            raise
        return ""


def _message(refs: Refs, sha: str) -> str:
    return refs.git.line("log", "--no-walk", "--no-show-signature", "--no-notes", "--format=%B", sha)


def _move(refs: Refs, done: Followed, author: Author) -> None:
    """The old commits stay under a ref; the branch moves from where it was seen. Both or none."""
    rows = []
    when = 0.0
    if done.edits:
        when = logs.read_commits(refs.git, [done.old])[done.old].when
        tag = refs.git.line("mktag", stdin=told(done, when).encode())
        rows.append(f"update {kept_ref(refs.branch, done.old)} {tag}\n")
    rows.append(f"update {refs.branch} {done.new} {done.old}\n")
    env = objects.identity(author, when)
    argv = ("update-ref", "-m", "honed: rebased", "--stdin")
    swap(refs, done.old, lambda: refs.git.run(*argv, stdin="".join(rows).encode(), env=env))
