"""What each edit of a would-be accepted candidate carries: those that carry nothing are dropped before the commit.

Leave-one-edit-out on the selection split (`gates.attribution`); what is left must hold as a whole.
"""

from __future__ import annotations

from typing import Any

from daemon.optimizer.gates.verdict import Verdict
from daemon.optimizer.state import Standing
from daemon.optimizer.tools import Tools
from skills_repo.edits import Applied, EditLimits


async def attributed(
    tools: Tools, base: Standing, candidate: Applied, verdict: Verdict, limits: EditLimits
) -> dict[str, Any]:
    """Fields of the decision that change: shares, and for a smaller candidate its edits, report, digest and verdict."""
    raise NotImplementedError
