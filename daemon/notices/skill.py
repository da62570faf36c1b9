"""A look at the skill: two git processes as long as no ref moved; then what people did is read out of the history."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace

from daemon.config import Config
from daemon.notices.seen import Act, Line, SkillSeen
from daemon.places import open_history
from daemon.redaction import redact
from skills_repo import glance
from skills_repo.acts import MOST_COMMITS, Acts, is_of_honed
from skills_repo.git import Git, GitFailedError
from skills_repo.glance import Glance, Tip
from skills_repo.history import RepositoryError, SkillCommit
from skills_repo.log import read_commits
from skills_repo.message import neutral
from skills_repo.publish.fetching import fetched_ref
from skills_repo.repository import SkillRepository

_MAX_WORDS = 160


async def look_at_skill(config: Config, at: str, before: SkillSeen) -> SkillSeen:
    """`at`: which skill, as the file has it. What cannot be read keeps what was last seen."""
    known = before if before.at == at else SkillSeen(at)
    try:
        history = open_history(config)
        now = await asyncio.to_thread(
            glance.glance, history.root, history.skill_path, fetched_ref(config.publish.remote)
        )
        if _same(now, known) and not known.wrong:
            return known
        return await _Look(config, history, now, known).seen()
    except RepositoryError as error:
        return replace(known, wrong=str(error))
    except GitFailedError as error:
        return replace(known, wrong=f"{config.skill.repository}: {error} (run `git fsck` there if this persists)")
    except OSError as error:
        return replace(
            known, wrong=f"{config.skill.repository}: {error.strerror or error} (check rights and free space)"
        )


def _same(now: Glance, known: SkillSeen) -> bool:
    closed = tuple(name for name, _ in now.closed) == tuple(act.key for act in known.closed)
    tips = (now.head, now.branch, now.remote)
    return closed and tips == tuple(_tip(line) for line in (known.head, known.branch, known.remote))


def _tip(line: Line) -> Tip:
    return Tip(line.commit, line.tree)


@dataclass
class _Look:
    """One look after something moved."""

    config: Config
    history: SkillRepository
    now: Glance
    before: SkillSeen
    _logs: dict[str, Sequence[str]] = field(default_factory=dict)
    """Honed's commits by tip."""

    async def seen(self) -> SkillSeen:
        now, before = self.now, self.before
        head, branch = await self._fresh(now.head), await self._fresh(now.branch)
        taken = await self._taken(branch)
        takes = {act.by for act in taken}
        return SkillSeen(
            at=before.at,
            head=await self._line(now.head, before.head, head, await self._person(head, takes, merges=False)),
            branch=await self._line(now.branch, before.branch, branch, await self._on_branch(branch, takes)),
            remote=await self._line(now.remote, before.remote, (), None),
            taken=taken,
            closed=tuple(Act(name, what=_words(reason)) for name, reason in now.closed),
            merges=self.config.publish.mode != "direct",
            behind=await self._behind(),
        )

    async def _fresh(self, tip: Tip) -> Sequence[SkillCommit]:
        """Commits that changed the skill since the last look, newest first; the first look knows of no earlier one."""
        known = [line.commit for line in (self.before.head, self.before.branch) if line.commit]
        if not tip.commit or not known or tip.commit in known:
            return ()
        root, path = self.history.root, self.history.skill_path
        ids = await asyncio.to_thread(glance.since, root, path, tip.commit, known)
        found = await asyncio.to_thread(read_commits, Git(root), ids[:MOST_COMMITS])
        return [found[sha] for sha in ids if sha in found]

    async def _line(self, tip: Tip, was: Line, fresh: Sequence[SkillCommit], person: SkillCommit | None) -> Line:
        if _tip(was) == tip:
            return was
        edits = await self._edits(tip)
        line = Line(tip.commit, tip.tree, edit=edits[0] if edits else "", edits=len(edits), fresh=len(fresh))
        if person is not None:
            return replace(line, person=person.sha, says=_words(person.subject))
        return line if line.was_set(was) else replace(line, person=was.person, says=was.says)

    async def _person(
        self, fresh: Sequence[SkillCommit], takes: Set[str], *, merges: bool, anew: Set[str] = frozenset()
    ) -> SkillCommit | None:
        """The newest in which a person changed the skill; to take edits back, or to merge them, is another act."""
        for commit in fresh:
            if is_of_honed(commit):
                theirs = commit.sha in anew
            else:
                theirs = (merges or len(commit.parents) < 2) and not await self._takes_back(commit, takes)
            if theirs:
                return commit
        return None

    async def _on_branch(self, fresh: Sequence[SkillCommit], takes: Set[str]) -> SkillCommit | None:
        """The same for honed's branch, where people also amend honed's commits, or bring theirs by a merge."""
        ids = [commit.sha for commit in fresh if is_of_honed(commit)]
        anew = await asyncio.to_thread(glance.made_anew, self.history.root, ids)
        return await self._person(fresh, takes, merges=True, anew=anew)

    async def _takes_back(self, commit: SkillCommit, takes: Set[str]) -> bool:
        if commit.sha in takes or commit.reverts is None:
            return commit.sha in takes
        try:
            return is_of_honed(await self.history.commit(commit.reverts))
        except RepositoryError:
            return False  # what it took back is not in this repository: it is a change like any other

    async def _edits(self, tip: Tip) -> Sequence[str]:
        """Honed's commits and squashes of them on a line, newest first."""
        if not tip.commit:
            return ()
        if tip.commit not in self._logs:
            log = await self.history.log(MOST_COMMITS, at=tip.commit)
            self._logs[tip.commit] = [commit.sha for commit in log if is_of_honed(commit)]
        return self._logs[tip.commit]

    async def _taken(self, fresh: Sequence[SkillCommit]) -> tuple[Act, ...]:
        """What people took back on HEAD or the branch; read anew only if something came that is not honed's own."""
        now, before = self.now, self.before
        own = _tip(before.branch) == now.branch or (bool(fresh) and all(commit.kind == "edit" for commit in fresh))
        if own and _tip(before.head) == now.head and not before.wrong:
            return before.taken
        lines = dict.fromkeys(tip.commit for tip in (now.branch, now.head) if tip.commit)
        found = await Acts(self.history).taken_back(*lines)
        return tuple(Act(one.key, one.by, _words(_told(one.commit.subject, one.reason))) for one in found)

    async def _behind(self) -> str:
        """Work trees are people's own, so what was fetched waits there until they pull it."""
        head, remote = self.now.head, self.now.remote
        if not remote.tree or not head.commit or remote.tree == head.tree:
            return ""
        if not await self.history.is_ancestor(head.commit, remote.commit):
            return ""
        return (
            f"{self.config.publish.remote} has a newer version of {self.history.skill_path} than HEAD, "
            f"which is the one used (run `git pull` in {self.history.root})"
        )


def _told(subject: str, reason: str) -> str:
    return f"{subject} ({reason})" if reason else subject


def _words(text: str) -> str:
    """People's and models' words, fit for one line."""
    return neutral(redact(text), _MAX_WORDS)
