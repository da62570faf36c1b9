"""A handful of the crash matrix: `kill -9` where it costs most, and the same history as undisturbed.

All edges, hundreds of times, and agents in real boxes: `python -m tests.soak.crashes`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import tests
from tests.soak.edges import CHAT

ROOT = Path(tests.__file__).parent.parent
EDGES = ("attempt collected", "ref about to move")
# The matrix forks, which a process with threads must not.
MATRIX = """
import json, sys
from pathlib import Path
from tests.soak.crashes import SETTINGS, matrix
rows = matrix(Path(sys.argv[1]), len(sys.argv[2:]), lambda line: None, SETTINGS[""], sys.argv[2:])
print(json.dumps([(row.kills, row.same, row.collected, row.faults) for row in rows]))
"""


def test_killed_after_an_edge_the_next_daemon_comes_to_the_same_history(tmp_path: Path) -> None:
    assert set(EDGES) <= CHAT.keys()
    command = [sys.executable, "-c", MATRIX, str(tmp_path), *EDGES]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = dict(zip(EDGES, json.loads(done.stdout.splitlines()[-1]), strict=True))
    assert rows == {edge: [1, 1, int(edge == "attempt collected"), []] for edge in EDGES}
