"""What people and machines do to a daemon in a soak: one seeded random act after the other.

Acts of people are done with git and an editor, beside the daemon, as a team does them. An act that cannot be done now
(nothing to revert, a merge with a conflict) is none, and another one is drawn.
"""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from daemon.control.errors import ControlError
from tests.soak.engine import OwnEngine
from tests.soak.house import House, Soaked, save_tasks
from tests.soak.keeper import Keeper
from tests.soak.provider import FaultyModel
from tests.support.honed_cli import git, honed

_WORDS = ("Be brief.", "Answer in one line.", "Think first.", "Do not explain.", "Keep to the form that is asked for.")
_PEOPLE = {"edit": 6, "git revert": 3, "honed revert": 1, "merge": 3, "task": 4, "seed": 2, "break": 1}
_MACHINE = {"pause": 1, "hangup": 1, "refuse": 1}
_ENDS = {"kill": 3, "stop": 1}


@dataclass
class Acts:
    """Draws and does them; `ends`: the daemon's process may be ended, too."""

    house: House
    keeper: Keeper
    provider: FaultyModel
    rng: random.Random
    engine: OwnEngine | None = None
    ends: bool = True
    counts: Counter[str] = field(default_factory=Counter)
    away: bool = False
    paused: bool = False

    def act(self) -> str:
        """Do one; its name."""
        weights = _PEOPLE | _MACHINE | (_ENDS if self.ends else {}) | ({"engine": 1} if self.engine else {})
        for _ in range(20):
            name = self.rng.choices(list(weights), list(weights.values()))[0]
            if self._do(name):
                self.counts[name] += 1
                return name
        return "none"

    def undo(self) -> None:
        """What is broken, paused or away for a while only, is so no more."""
        if self.away:
            self.provider.come_back()
            self.away = False
        if self.paused:
            try:
                self.keeper.one.client.post("/resume", project="")
            except ControlError:
                return  # it does not answer now: the next time
            self.paused = False
        for one in self.house.projects:
            if one.good:
                one.toml.write_text(one.good)
                one.good = ""

    def _do(self, name: str) -> bool:
        people: dict[str, Callable[[Soaked], bool]] = {
            "edit": self._edit,
            "git revert": self._git_revert,
            "honed revert": self._honed_revert,
            "merge": merge,
            "task": self._task,
            "seed": self._seed,
            "break": self._break,
        }
        if name in people:
            return people[name](self.rng.choice([one for one in self.house.projects if not one.good]))
        return self._machine(name)

    def _machine(self, name: str) -> bool:
        if name == "pause":
            if self.paused:
                return False
            self.keeper.one.client.post("/pause", project="", reason="a soak")
            self.paused = True
        elif name == "hangup":
            self.keeper.one.process.send_signal(signal.SIGHUP)
        elif name == "refuse":
            if self.away:
                return False
            self.provider.go_away()
            self.away = True
        elif name == "engine" and self.engine is not None:
            self.engine.restart()
        else:
            (self.keeper.kill if name == "kill" else self.keeper.term)()
            self.keeper.start()
        return True

    def _edit(self, one: Soaked) -> bool:
        """Another sentence at the end of the skill, committed on main; now and then one of ours goes."""
        file = one.folder / one.skill / "SKILL.md"
        lines = file.read_text().splitlines()
        mine = [number for number, line in enumerate(lines) if re.match(r"- Person \d+", line)]
        if len(mine) > 3:
            del lines[self.rng.choice(mine)]
        one.edits += 1
        lines.append(f"- Person {one.edits}: {self.rng.choice(_WORDS)}")
        file.write_text("\n".join(lines) + "\n")
        git(one.folder, "commit", "--quiet", "--all", "--message", f"Say it again, {one.edits}")
        return True

    def _git_revert(self, one: Soaked) -> bool:
        """One of honed's newest commits, by a person, in a work tree of the branch that is removed again."""
        found = honeds(one, f"main..{one.branch}")
        if not found:
            return False
        place = self.house.root / "worktree"
        try:
            git(one.folder, "worktree", "add", "--quiet", str(place), one.branch)
            git(place, "revert", "--no-edit", self.rng.choice(found[:3]))
        except subprocess.CalledProcessError:
            return False  # a conflict, or honed has moved the branch meanwhile
        finally:
            subprocess.run(
                ["git", "worktree", "remove", "--force", str(place)], cwd=one.folder, capture_output=True, check=False
            )
        return True

    def _honed_revert(self, one: Soaked) -> bool:
        found = honeds(one, f"main..{one.branch}")
        return bool(found) and honed("revert", self.rng.choice(found[:3]), "--reason", "no", cwd=one.folder).code == 0

    def _task(self, one: Soaked) -> bool:
        if not one.spare:
            return False
        save_tasks(one, [*_rows(one.tasks), one.spare.pop()])
        git(one.folder, "commit", "--quiet", "--all", "--message", "Ask for more")
        return True

    def _seed(self, one: Soaked) -> bool:
        text = one.toml.read_text()
        one.toml.write_text(re.sub(r"(?m)^seed = \d+$", f"seed = {self.rng.randrange(1000)}", text))
        git(one.folder, "commit", "--quiet", "--all", "--allow-empty", "--message", "Another seed")
        return True

    def _break(self, one: Soaked) -> bool:
        one.good = one.toml.read_text()
        one.toml.write_text(self.rng.choice(("[skill\n", one.good.replace("[train]", "[trian]"))))
        return True


def honeds(one: Soaked, spread: str) -> list[str]:
    """honed's own edits among these commits, newest first; none where there is no such branch."""
    try:
        return git(one.folder, "log", "--format=%H", "--grep=^Honed-Run: ", spread).split()
    except subprocess.CalledProcessError:
        return []


def merge(one: Soaked) -> bool:
    """Take honed's branch over into main, as a person does who accepts it; false where there is nothing to merge."""
    if not git(one.folder, "branch", "--list", one.branch):
        return False
    if not git(one.folder, "rev-list", f"main..{one.branch}"):
        return False
    return _merged(one)


def mend(one: Soaked) -> bool:
    """What a person does whom honed asks for it: take the branch over, with their own words where both changed."""
    return merge(one) or _merged(one, "--strategy-option=ours")


def _merged(one: Soaked, *options: str) -> bool:
    try:
        git(one.folder, "merge", "--no-edit", "--quiet", *options, one.branch)
    except subprocess.CalledProcessError:
        subprocess.run(["git", "merge", "--abort"], cwd=one.folder, capture_output=True, check=False)
        return False
    return True


def _rows(tasks: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in tasks.read_text().splitlines()]
