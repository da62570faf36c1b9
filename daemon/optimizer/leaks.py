"""What an edit, or a whole candidate, gives away: credentials and the firewall's findings, in whatever file."""

from __future__ import annotations

from daemon.optimizer.firewall import Firewall
from daemon.redaction import REDACTED, holds_secret
from skills_repo.edits import Edit, Op
from skills_repo.skill import SKILL_FILE, Skill, text_of


def edit_leak(firewall: Firewall, edit: Edit, skill: Skill) -> str:
    """Why an edit may not go on; empty if it may."""
    if any(carries_secret(text, skill) for text in (edit.content, edit.link, edit.file)):
        return "it carries a credential"
    if edit.op in (Op.REWRITE, Op.SLOW_UPDATE):
        return firewall.text(edit.content, skill)
    return firewall.edit(edit, _known(skill, edit.file))


def carries_secret(text: str, skill: Skill) -> bool:
    """Whether a text holds a credential, or the mark where one was taken out of the reply."""
    return holds_secret(text) or (REDACTED in text and REDACTED not in skill.text)


def candidate_leak(firewall: Firewall, skill: Skill, candidate: Skill) -> str:
    """Why the changed files together may not go on: what leaks may be split over two edits."""
    for path in sorted(candidate.files, key=lambda path: (path != SKILL_FILE, path)):
        if candidate.files[path] == skill.files.get(path):
            continue
        text, before = text_of(candidate.files[path]), text_of(skill.files.get(path, b"")) or ""
        if text is None:
            continue
        leak = firewall.text(text, _known(skill, path))
        if not leak and holds_secret(text) and not holds_secret(before):
            leak = "it carries a credential"
        if leak:
            return leak if path == SKILL_FILE else f"{path} {leak}"
    return ""


def _known(skill: Skill, file: str) -> Skill:
    """What is no news in a file: what SKILL.md says, and the file itself."""
    text = None if file == SKILL_FILE else text_of(skill.files.get(file, b""))
    return skill.with_text(f"{skill.text}\n\n{text}") if text else skill
