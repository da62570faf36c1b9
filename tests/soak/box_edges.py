"""The edges of attempts that run in boxes of a real engine, from the journal's row to the record of the score.

One table an engine. Between them lie an agent's whole life in its box, and the commits that come of it.
"""

from __future__ import annotations

from daemon.journal.sqlite import SqliteJournal
from daemon.rollouts import attempt as attempts
from daemon.rollouts.scoring import Judge
from harnesses.cli_harness import CliHarness
from harnesses.codex import CodexHarness
from sandboxes import bubblewrap_run, docker
from sandboxes.bubblewrap_run import BubblewrapRun
from sandboxes.container import ContainerRun
from sandboxes.gateway.door import ModelDoor
from sandboxes.gateway.proxy import ModelGateway
from sandboxes.gateway.upstream import UpstreamClient
from sandboxes.rooms import Rooms
from tests.soak.edges import CHAT, Edge

_BEFORE = {
    "attempt row": Edge(SqliteJournal, "plan_attempt"),
    "door opened": Edge(ModelGateway, "open"),
}
_RUNNING = {
    "command asks": Edge(UpstreamClient, "_try", before=True),
    "model answered": Edge(UpstreamClient, "_try"),
}
_AFTER = {
    "door closed": Edge(ModelDoor, "close"),
    "workspace read": Edge(Rooms, "collect"),
    "trace read": Edge(CodexHarness, "read"),
    "attempt ended": Edge(CliHarness, "run"),
    "attempt collected": Edge(attempts, "write_receipt"),
    "verdict": Edge(Judge, "judge"),
    "attempt finished": Edge(SqliteJournal, "finish_attempt"),
    **{
        name: CHAT[name]
        for name in ("decision", "commit object", "ref about to move", "ref moved", "commits row", "run ended")
    },
}
DOCKER: dict[str, Edge] = {
    **_BEFORE,
    "folders made": Edge(docker, "make_rooms"),
    "files laid": Edge(Rooms, "write"),
    "container created": Edge(ContainerRun, "_create_once"),
    "container started": Edge(ContainerRun, "_attach_and_start"),
    **_RUNNING,
    "container exited": Edge(ContainerRun, "_diagnose", before=True),
    "end understood": Edge(ContainerRun, "_diagnose"),
    "container removed": Edge(ContainerRun, "_remove"),
    **_AFTER,
}
BUBBLEWRAP: dict[str, Edge] = {
    **_BEFORE,
    "files laid": Edge(Rooms, "write"),
    "group made": Edge(bubblewrap_run, "make_cgroup"),
    "command started": Edge(BubblewrapRun, "_start"),
    **_RUNNING,
    "command ended": Edge(BubblewrapRun, "_give_back", before=True),
    "group removed": Edge(BubblewrapRun, "_give_back"),
    **_AFTER,
}
