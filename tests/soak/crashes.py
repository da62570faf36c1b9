"""The crash matrix: `kill -9` after each edge of a daemon's work, and the same history as undisturbed.

    python -m tests.soak.crashes --kills 210                       # a chat model's attempts, jobs, commits
    python -m tests.soak.crashes --kills 100 --engine docker       # the real Codex in boxes (or bubblewrap)
    python -m tests.soak.crashes --kills 300 --chain               # one daemon after the other in the same project

Each kill has a fresh project (but for `--chain`): a daemon dies at a crossing of an edge, the next one goes on to the
end. Then commits (tree, message), decisions, scores and replies must be those of a daemon that nobody disturbed, each
once; what had ended must not have been paid for again; git and journal must agree; nothing may be left of any daemon.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.benchmarks.results import RESULTS, Result, merge_write
from tests.soak.box_edges import BUBBLEWRAP, DOCKER
from tests.soak.checks import check_project
from tests.soak.edges import CHAT, Edge, crossings, run_until
from tests.soak.left import boxes, left_behind, paid, paid_twice
from tests.support.honed_cli import edits, git, journal_rows
from tests.support.projects import demo_project

_TOML = "\n[daemon]\ncooldown_h = 0.0\ndebounce_s = 0.0\n"
OTHER = "other"
CHAINS = "(whole chains)"
_RARE = 0.15
_OFTEN = 5
Say = Callable[[str], None]


@dataclass(frozen=True)
class Setting:
    """What is killed: a project, and the edges of its work."""

    edges: Mapping[str, Edge]
    keep: Mapping[str, int]
    branch: str
    engine: str = ""
    """Of its boxes; empty: a chat model, which needs none."""


SETTINGS = {
    "": Setting(CHAT, {"train": 4, "selection": 4, "test": 2}, "honed/text"),
    "docker": Setting(DOCKER, {"train": 2, "selection": 2, "test": 1}, "honed/spreadsheets", "docker"),
    "bubblewrap": Setting(BUBBLEWRAP, {"train": 2, "selection": 2, "test": 1}, "honed/spreadsheets", "bubblewrap"),
}


@dataclass
class Row:
    """What came of the kills at one edge."""

    edge: str
    crossed: int
    """By an undisturbed daemon."""
    kills: int = 0
    same: int = 0
    lost: int = 0
    """Attempts that were under way at a kill, and are made anew."""
    collected: int = 0
    """Attempts that had ended at a kill, and are scored without being made anew."""
    boxes: int = 0
    """Boxes that the killed daemons left."""
    faults: list[str] = field(default_factory=list)

    def killed(self, project: Path, setting: Setting) -> set[str]:
        """Note what the kill left; returns the attempts that had ended."""
        self.kills += 1
        had_ended = paid(project)
        self.collected += len(had_ended)
        self.boxes += len(boxes(project, setting.engine))
        return had_ended


@dataclass(frozen=True)
class History:
    """What must not depend on kills: no ids of attempts, no times."""

    commits: tuple[tuple[str, str], ...]
    scores: tuple[tuple[object, ...], ...]
    """Key, outcome, score, once for each row."""
    decisions: tuple[tuple[object, ...], ...]
    replies: tuple[tuple[object, ...], ...]

    @classmethod
    def of(cls, project: Path, branch: str) -> History:
        """As it stands on disk."""
        # A run's id holds when its base was committed: runs are told by their order.
        runs = {
            str(run): f"run {n}"
            for n, (run,) in enumerate(journal_rows(project, "SELECT run_id FROM runs ORDER BY seq"), 1)
        }

        def rows(query: str) -> tuple[tuple[object, ...], ...]:
            found = [tuple(runs.get(str(cell), cell) for cell in row) for row in journal_rows(project, query)]
            return tuple(sorted(found, key=repr))

        def told(text: str) -> str:
            return re.sub(r"(?m)^Honed-Run: (\S+)$", lambda run: f"Honed-Run: {runs[run[1]]}", text)

        return cls(
            tuple((tree, told(message)) for tree, message in edits(project, branch)),
            rows("SELECT key, outcome, score FROM attempts WHERE state = 'finished'"),
            rows("SELECT run_id, step, kind, json_extract(payload, '$.outcome') FROM decisions"),
            rows("SELECT run_id, place, prompt_digest, reply FROM replies"),
        )


def template(folder: Path, setting: Setting) -> Path:
    """A small project that a daemon has not seen."""
    project = demo_project(folder / "template", keep=setting.keep, chat=not setting.engine, workers=1)
    toml = project / "honed.toml"
    text = toml.read_text()
    if setting.engine:
        size = setting.keep["train"]
        text = re.sub(r"(?m)^(batch|minibatch) = .*$", rf"\1 = {size}", text)
        text = text.replace("[tasks]\n", f"[tasks]\nmin_selection = {setting.keep['selection']}\n")
        text = text.replace("[sandbox]\n", f'[sandbox]\nengine = "{setting.engine}"\n')
    toml.write_text(text + _TOML)
    git(project, "commit", "--quiet", "--all", "--message", "Keep a daemon")
    return project


def spread(crossed: int, most: int) -> list[int]:
    """At most so many crossings, evenly, the first and the last among them."""
    if crossed <= most:
        return list(range(1, crossed + 1))
    return sorted({1 + round(place * (crossed - 1) / (most - 1)) for place in range(most)} if most > 1 else {1})


def matrix(folder: Path, kills: int, say: Say, setting: Setting, edges: Iterable[str] = ()) -> list[Row]:
    """So many kills, shared out evenly among the edges (all of the setting's, if none are named)."""
    made = template(folder, setting)
    counts, wanted = _undisturbed(made, folder, setting)
    rows = [Row(edge, counts[edge]) for edge in edges or setting.edges]
    for row, most in zip(rows, _shares([row.crossed for row in rows], kills), strict=True):
        for number in spread(row.crossed, most):
            place = folder / "killed" / "p"
            _one(_copy(made, place), setting, row, number, wanted)
            shutil.rmtree(place.parent)
        say(f"{row.edge}: {row.kills} kills, {row.same} with the same history")
    return rows


def _temp(project: Path) -> Path:
    return project.with_name("temp")


def _shares(crossed: list[int], kills: int) -> list[int]:
    """The same for each edge; what an edge cannot take goes to the others."""
    shares = [0] * len(crossed)
    left = kills
    while left and (open_ := [place for place, most in enumerate(crossed) if shares[place] < most]):
        for place in open_[:left]:
            shares[place] += 1
        left -= min(left, len(open_))
    return shares


def _one(project: Path, setting: Setting, row: Row, number: int, wanted: History) -> None:
    code = run_until(project, _temp(project), setting.edges[row.edge], number)
    if code != -signal.SIGKILL:
        row.faults.append(f"crossing {number}: it was not killed, but ended with {code}")
        return
    had_ended = row.killed(project, setting)
    code = run_until(project, _temp(project))
    faults = [f"the next daemon ended with {code}"] if code else compare(project, setting, wanted, had_ended, lives=1)
    row.faults += [f"crossing {number}: {fault}" for fault in faults]
    row.lost += _abandoned(project)
    note_same([row], faults, code)


def chain(folder: Path, kills: int, say: Say, setting: Setting, rng: random.Random) -> list[Row]:
    """So many kills, as many as possible in one project after the other: each life dies a little later than the last.

    What comes of a project comes of each of its kills; its faults, and what was made anew, are told of the whole chain.
    """
    made = template(folder, setting)
    counts, wanted = _undisturbed(made, folder, setting)
    rows = {edge: Row(edge, counts[edge]) for edge in setting.edges if counts[edge]}
    whole = Row(CHAINS, 0)
    place, done, project = folder / "killed" / "p", 0, 0
    while done < kills:
        project += 1
        where, had_ended, killed, code = _copy(made, place), set[str](), list[Row](), -signal.SIGKILL
        # An edge that work comes to once ends the chain if it lies behind: each of these is tried once a project.
        once = [edge for edge, row in rows.items() if row.crossed < _OFTEN]
        often = [edge for edge in rows if edge not in once]
        while code == -signal.SIGKILL:
            rare = once and rng.random() < _RARE
            edge = once.pop(rng.randrange(len(once))) if rare else rng.choice(often)
            edge, number = edge if done < kills else "", 1 if rare else rng.choice((1, 2, 3))
            code = run_until(where, _temp(where), setting.edges[edge] if edge else None, number)
            if code == -signal.SIGKILL:
                had_ended |= rows[edge].killed(where, setting)
                killed.append(rows[edge])
                done += 1
        lives = len(killed)
        faults = [f"a daemon ended with {code}"] if code else compare(where, setting, wanted, had_ended, lives=lives)
        note_same(killed, faults, code)
        whole.lost += _abandoned(where)
        whole.faults += [f"project {project}, after {lives} kills: {fault}" for fault in faults]
        say(f"project {project}: {lives} kills, {'; '.join(faults) or 'the same history'}")
        shutil.rmtree(place.parent)
    return [*rows.values(), whole]


def note_same(killed: Iterable[Row], faults: list[str], code: int) -> None:
    """Count the kills (a row for each) whose daemon came to the same history in the end, and ended with `code`."""
    if code or any(fault.startswith(OTHER) for fault in faults):
        return
    for row in killed:
        row.same += 1


def _undisturbed(made: Path, folder: Path, setting: Setting) -> tuple[dict[str, int], History]:
    """How often each edge is crossed, and what must come of it."""
    calm = _copy(made, folder / "calm" / "p")
    counts = crossings(calm, _temp(calm), setting.edges)
    if faults := [*check_project(calm)[1], *left_behind(calm, _temp(calm), setting.engine)]:
        raise RuntimeError(f"the undisturbed daemon: {faults}")
    return counts, History.of(calm, setting.branch)


def compare(project: Path, setting: Setting, wanted: History, had_ended: set[str], *, lives: int) -> list[str]:
    """What is not as it must be, after so many kills; those that `had_ended` must not have been made anew."""
    found = History.of(project, setting.branch)
    faults = [f"{OTHER} {name}" for name in vars(wanted) if getattr(found, name) != getattr(wanted, name)]
    planned = journal_rows(project, "SELECT count(*) FROM attempts WHERE state = 'planned'")[0][0]
    if planned or _abandoned(project) > lives:
        faults.append(f"attempts are left: {planned} begun, {_abandoned(project)} given up")
    faults += paid_twice(project, had_ended)
    faults += check_project(project)[1]
    return faults + left_behind(project, _temp(project), setting.engine)


def _abandoned(project: Path) -> int:
    count: int = journal_rows(project, "SELECT count(*) FROM attempts WHERE state = 'abandoned'")[0][0]
    return count


def _copy(made: Path, folder: Path) -> Path:
    """Always of the same folder name, which nothing may depend on, and without a state folder."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(made, folder, symlinks=True)
    return folder


def main(argv: list[str] | None = None) -> int:
    """Entry point; 1 if a kill led to another history."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak.crashes", description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=210)
    parser.add_argument("--engine", choices=sorted(SETTINGS), default="", help="boxes of the real Codex there")
    parser.add_argument("--chain", action="store_true", help="one kill after the other in the same project")
    parser.add_argument("--seed", type=int, default=20261130, help="of a chain")
    given = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="crashes-") as name:
        say = lambda line: print(line, file=sys.stderr, flush=True)  # noqa: E731
        setting = SETTINGS[given.engine]
        if given.chain:
            rows = chain(Path(name), given.kills, say, setting, random.Random(given.seed))
        else:
            rows = matrix(Path(name), given.kills, say, setting)
    _print(rows)
    total = sum(row.kills for row in rows)
    faults = [f"{row.edge}: {fault}" for row in rows for fault in row.faults]
    key = f"soak.crashes{f'_{given.engine}' if given.engine else ''}{'_chain' if given.chain else ''}"
    merge_write({key: Result(total, "kills", total), f"{key}_faults": Result(len(faults), "faults", total)}, RESULTS)
    print(*faults, sep="\n", end="\n" if faults else "")
    return 1 if faults else 0


def _print(rows: list[Row]) -> None:
    head = ("after the edge", "crossed", "kills", "same history", "collected", "made anew", "boxes left")
    print(f"{head[0]:<20} {head[1]:>8} {head[2]:>6} {head[3]:>13} {head[4]:>10} {head[5]:>10} {head[6]:>11}")
    cells = [(one.edge, one.crossed, one.kills, one.same, one.collected, one.lost, one.boxes) for one in rows]
    total = tuple(sum(column) for column in list(zip(*cells, strict=True))[2:])
    for edge, crossed, kills, same, collected, lost, left in [*cells, ("all", "", *total)]:
        print(f"{edge:<20} {crossed:>8} {kills:>6} {same:>13} {collected:>10} {lost:>10} {left:>11}")


if __name__ == "__main__":
    raise SystemExit(main())
