"""Two looks compared: what happened between them, as causes of jobs. Pure.

Only what can change a run is a cause, and only what others did: honed's own commits, and merging them, are none but for
the request that was merged.
"""

from __future__ import annotations

from collections.abc import Iterator

from daemon.jobs.job import Cause
from daemon.notices.seen import Seen, SkillSeen


def differences(before: Seen | None, after: Seen) -> tuple[Cause, ...]:
    """The causes, in a fixed order, each kind and key once.

    A project is new once everything that a run needs was there; until then nothing else is a cause.
    """
    if not after.whole:
        return ()
    if before is None or not before.whole:
        return (Cause("new", after.skill.at, "a skill that was not kept before"),)
    found = [*_config(before, after), *_tasks(before, after)]
    if before.skill.at == after.skill.at:
        found += [*_skill(before.skill, after.skill), *_taken_back(before.skill, after.skill)]
        found += _requests(before.skill, after.skill)
    return tuple({(cause.kind, cause.key): cause for cause in found}.values())


def _config(before: Seen, after: Seen) -> Iterator[Cause]:
    if before.config.digest != after.config.digest:
        yield Cause("config", after.config.digest, "the configuration changed")


def _tasks(before: Seen, after: Seen) -> Iterator[Cause]:
    was, now = before.tasks, after.tasks
    if was.at == now.at and was.digest != now.digest:
        count = f"{was.count} before, {now.count} now" if was.count != now.count else f"{now.count} as before"
        yield Cause("tasks", now.digest, f"the tasks changed: {count}")


def _skill(before: SkillSeen, after: SkillSeen) -> Iterator[Cause]:
    """A person's version on HEAD or on honed's branch; one that came to the other line before is known."""
    known = {before.head.person, before.branch.person}
    heads, branches = (before.head, after.head), (before.branch, after.branch)
    for (was, now), other, where in ((heads, branches, "HEAD"), (branches, heads, "honed's branch")):
        if not now.commit or was.tree == now.tree:
            continue
        if now.person and now.person != was.person:
            if now.person not in known:
                yield Cause("skill", now.person, f"a person changed the skill on {where}: {now.says}")
        elif now.was_set(was) and now.tree not in {line.tree for line in other}:
            yield Cause("skill", now.commit, f"a person led {where} to another version of the skill")


def _taken_back(before: SkillSeen, after: SkillSeen) -> Iterator[Cause]:
    known = {act.key for act in before.taken}
    for act in after.taken:
        if act.key not in known:
            yield Cause("taken-back", act.by, f"a person took an edit back: {act.what}")


def _requests(before: SkillSeen, after: SkillSeen) -> Iterator[Cause]:
    """Edits that came to HEAD or to the remote's base branch, whichever was first; requests that were closed."""
    merged = {before.head.edit, before.remote.edit}
    for was, now, where in ((before.remote, after.remote, "the remote"), (before.head, after.head, "HEAD")):
        came = was.commit and was.tree != now.tree and now.edits > was.edits
        if after.merges and came and now.edit not in merged:
            yield Cause("request", f"merged {now.edit}", f"edits of honed's were merged on {where}")
    known = {act.key for act in before.closed}
    for act in after.closed:
        if act.key not in known:
            said = f": {act.what}" if act.what else ""
            yield Cause("request", f"closed {act.key}", f"a person closed {act.key.replace('-', ' ')}{said}")
