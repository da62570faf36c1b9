"""Write the share of right files as the reward, and a CTRF report beside it."""

import json
import sys
from pathlib import Path

EXPECTED = {"sum.txt": "7", "rows.txt": "3"}


def right(name: str) -> bool:
    """Whether the agent's file holds what is expected."""
    return Path(name).is_file() and Path(name).read_text().strip() == EXPECTED[name]


passed = sum(right(name) for name in EXPECTED)
logs = Path(sys.argv[1])
summary = {"tests": len(EXPECTED), "passed": passed, "failed": len(EXPECTED) - passed}
(logs / "ctrf.json").write_text(json.dumps({"results": {"summary": summary}}))
(logs / "reward.json").write_text(json.dumps({"reward": passed / len(EXPECTED)}))
