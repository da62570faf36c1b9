"""The crash matrix: `kill -9` after each edge of a daemon's work, and the same history as undisturbed.

    python -m tests.soak.crashes --kills 200

Each kill has a fresh project: a daemon dies at one crossing of one edge, the next one goes on to the end. Then commits
(tree, message), decisions, scores and replies must be those of a daemon that nobody disturbed, each once.
"""

from __future__ import annotations

import argparse
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.benchmarks.results import RESULTS, Result, merge_write
from tests.soak.edges import EDGES, crossings, run_until
from tests.support.honed_cli import edits, git, journal_rows
from tests.support.projects import demo_project

KEEP = {"train": 4, "selection": 4, "test": 2}
BRANCH = "honed/text"
_TOML = "\n[daemon]\ncooldown_h = 0.0\ndebounce_s = 0.0\n"
Say = Callable[[str], None]


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
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class History:
    """What must not depend on kills: no ids of attempts, no times."""

    commits: tuple[tuple[str, str], ...]
    scores: tuple[tuple[object, ...], ...]
    """Key, outcome, score, once for each row."""
    decisions: tuple[tuple[object, ...], ...]
    replies: tuple[tuple[object, ...], ...]

    @classmethod
    def of(cls, project: Path) -> History:
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
            tuple((tree, told(message)) for tree, message in edits(project, BRANCH)),
            rows("SELECT key, outcome, score FROM attempts WHERE state = 'finished'"),
            rows("SELECT run_id, step, kind, json_extract(payload, '$.outcome') FROM decisions"),
            rows("SELECT run_id, place, prompt_digest, reply FROM replies"),
        )


def template(folder: Path) -> Path:
    """A small project that a daemon has not seen."""
    project = demo_project(folder / "template", keep=KEEP, chat=True, workers=1)
    with (project / "honed.toml").open("a") as toml:
        toml.write(_TOML)
    git(project, "commit", "--quiet", "--all", "--message", "Keep a daemon")
    return project


def spread(crossed: int, most: int) -> list[int]:
    """At most so many crossings, evenly, the first and the last among them."""
    if crossed <= most:
        return list(range(1, crossed + 1))
    return sorted({1 + round(place * (crossed - 1) / (most - 1)) for place in range(most)} if most > 1 else {1})


def matrix(folder: Path, kills: int, say: Say, edges: tuple[str, ...] = tuple(EDGES)) -> list[Row]:
    """So many kills, shared out evenly among the edges."""
    made = template(folder)
    calm = _copy(made, folder / "calm" / "p")
    counts = crossings(calm)
    wanted = History.of(calm)
    rows = [Row(edge, counts[edge]) for edge in edges]
    for row, most in zip(rows, _shares([row.crossed for row in rows], kills), strict=True):
        for number in spread(row.crossed, most):
            place = folder / "killed" / "p"
            _one(_copy(made, place), row, number, wanted)
            shutil.rmtree(place.parent)
        say(f"{row.edge}: {row.kills} kills, {row.same} with the same history")
    return rows


def _shares(crossed: list[int], kills: int) -> list[int]:
    """The same for each edge; what an edge cannot take goes to the others."""
    shares = [0] * len(crossed)
    left = kills
    while left and (open_ := [place for place, most in enumerate(crossed) if shares[place] < most]):
        for place in open_[:left]:
            shares[place] += 1
        left -= min(left, len(open_))
    return shares


def _one(project: Path, row: Row, number: int, wanted: History) -> None:
    code = run_until(project, row.edge, number)
    if code != -signal.SIGKILL:
        row.faults.append(f"crossing {number}: it was not killed, but ended with {code}")
        return
    row.kills += 1
    code = run_until(project)
    if code != 0:
        row.faults.append(f"crossing {number}: the next daemon ended with {code}")
        return
    found = History.of(project)
    different = [name for name in vars(wanted) if getattr(found, name) != getattr(wanted, name)]
    row.faults += [f"crossing {number}: other {name}" for name in different]
    left = journal_rows(project, "SELECT state, count(*) FROM attempts WHERE state != 'finished' GROUP BY state")
    states = {str(state): int(count) for state, count in left}
    row.lost += states.get("abandoned", 0)
    if states.get("planned") or states.get("abandoned", 0) > 1:
        row.faults.append(f"crossing {number}: attempts are left: {states}")
    row.same += not different


def _copy(made: Path, folder: Path) -> Path:
    """Always of the same folder name, which nothing may depend on, and without a state folder."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(made, folder, symlinks=True)
    return folder


def main(argv: list[str] | None = None) -> int:
    """Entry point; 1 if a kill led to another history."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak.crashes", description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=210)
    kills = parser.parse_args(argv).kills
    with tempfile.TemporaryDirectory(prefix="crashes-") as name:
        rows = matrix(Path(name), kills, lambda line: print(line, file=sys.stderr, flush=True))
    print(f"{'after the edge':<20} {'crossed':>8} {'kills':>6} {'same history':>13} {'made anew':>10}")
    for row in rows:
        print(f"{row.edge:<20} {row.crossed:>8} {row.kills:>6} {row.same:>13} {row.lost:>10}")
    total, same = sum(row.kills for row in rows), sum(row.same for row in rows)
    print(f"{'all':<20} {'':>8} {total:>6} {same:>13} {sum(row.lost for row in rows):>10}")
    merge_write(
        {"soak.crashes": Result(total, "kills", total), "soak.crashes_same": Result(same, "kills", total)}, RESULTS
    )
    faults = [f"{row.edge}: {fault}" for row in rows for fault in row.faults]
    print(*faults, sep="\n", end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
