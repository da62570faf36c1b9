"""The verdict table: one row a way to end, and every `Outcome` that a run can have is in it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from harnesses.classify import PROVIDER_OUTCOMES, SILENT_S, Evidence, classify, provider_outcome
from harnesses.harness import Activation
from harnesses.outcome import POLICIES, Outcome
from harnesses.traces.trace import Failure, Message, ToolCall, Trace
from sandboxes.gateway.policy import ProviderFailure, Tally, Usage
from sandboxes.sandbox import Ended, Ending

GOOD = Trace(
    events=(Message("42"),),
    final_answer="42",
    session_id="s",
    finished=True,
    stop_reason="end_turn",
    skill_listed=True,
    skill_opened=True,
)
STOPPED = replace(GOOD, finished=False, stop_reason="failed", final_answer="partial")
NOTHING = Trace()
RAN = replace(STOPPED, stop_reason="", events=(ToolCall("exec_command", "ls", "a", ok=True),))
USED = Tally(usage=Usage(3, 3000, 0, 90, 0.1))
UNUSED = Tally()


def failed(kind: ProviderFailure, *, last: bool = True) -> Tally:
    return replace(USED, failures=(kind,), last_failure=f"openai at host: {kind.value}", last_request_failed=last)


@dataclass(frozen=True)
class Row:
    name: str
    outcome: Outcome
    trace: Trace = GOOD
    tally: Tally = USED
    code: int | None = 0
    ending: Ending = Ending.EXITED
    activation: Activation | None = "explicit"
    turns_capped: bool = False
    wall_s: float = 600.0
    oom_seen: bool = False
    stdout_cut: bool = False
    host_roomy: bool = False
    frozen: bool | None = None
    detail: str = ""
    """Must be part of the detail line."""
    stderr: str = field(default="some stderr")

    def evidence(self) -> Evidence:
        ended = Ended(
            self.ending,
            self.code,
            self.wall_s,
            Path("o"),
            Path("e"),
            stdout_cut=self.stdout_cut,
            oom_seen=self.oom_seen,
            host_roomy=self.host_roomy,
            frozen=self.frozen,
        )
        return Evidence(ended, self.trace, self.tally, self.activation, self.turns_capped, self.stderr)


KILLED = {"code": None, "ending": Ending.DEADLINE}
ROWS = [
    Row("an answer", Outcome.COMPLETED),
    Row("an answer after a failure that healed", Outcome.COMPLETED,
        tally=failed(ProviderFailure.OVERLOADED, last=False)),
    Row(
        "an answer, though the agent's own last request with the door's token failed",
        Outcome.COMPLETED,
        tally=failed(ProviderFailure.BAD_REQUEST),
    ),
    Row("an answer, though the door refused something", Outcome.COMPLETED, tally=replace(USED, refusals=("path: /x",))),
    Row("an answer, then it hung", Outcome.COMPLETED, code=None, ending=Ending.DEADLINE, detail="did not exit"),
    Row("an answer, though a tool of its was out of memory", Outcome.COMPLETED, oom_seen=True),
    Row("no answer", Outcome.AGENT_EMPTY, trace=replace(GOOD, final_answer=" \n"), detail="without an answer"),
    Row("no answer, and the provider failed last", Outcome.OVERLOADED, trace=replace(GOOD, final_answer=""),
        tally=failed(ProviderFailure.OVERLOADED)),
    Row("no answer, then it hung", Outcome.AGENT_DEADLINE, trace=replace(GOOD, final_answer=""), code=None,
        ending=Ending.DEADLINE),
    Row("still at work", Outcome.AGENT_DEADLINE, trace=STOPPED, code=None, ending=Ending.DEADLINE, detail="deadline"),
    Row("still at work, the provider a little slow", Outcome.AGENT_DEADLINE, trace=STOPPED, code=None,
        ending=Ending.DEADLINE, tally=replace(USED, waiting_s=SILENT_S - 1)),
    Row("the provider was silent", Outcome.UNREACHABLE, trace=STOPPED, code=None, ending=Ending.DEADLINE,
        tally=replace(USED, waiting_s=SILENT_S), detail="silent for 60 s"),
    Row("the provider was silent for half of a short attempt", Outcome.UNREACHABLE, trace=STOPPED, code=None,
        ending=Ending.DEADLINE, wall_s=10.0, tally=replace(USED, waiting_s=6.0)),
    Row("the provider held the agent up for half of its time", Outcome.RATE_LIMIT, trace=STOPPED, code=None,
        ending=Ending.DEADLINE, tally=replace(USED, held_up_s=300.0, held_up_by=ProviderFailure.RATE_LIMIT),
        detail="rate_limit) held the agent up for 300 s"),
    Row("the provider held the agent up a little", Outcome.AGENT_DEADLINE, trace=STOPPED, code=None,
        ending=Ending.DEADLINE, tally=replace(USED, held_up_s=299.0, held_up_by=ProviderFailure.RATE_LIMIT)),
    Row("the provider failed and the CLI waited on", Outcome.OVERLOADED, trace=STOPPED, code=None,
        ending=Ending.DEADLINE, tally=failed(ProviderFailure.OVERLOADED)),
    Row("the CLI never asked", Outcome.CLI_CRASHED, trace=NOTHING, code=None, ending=Ending.DEADLINE, tally=UNUSED,
        detail="no model reply"),
    Row("turns (Claude Code)", Outcome.AGENT_TURNS, trace=replace(STOPPED, stop_reason="max_turns"), code=1),
    Row("turns (Codex: the door's request cap)", Outcome.AGENT_TURNS, trace=STOPPED, code=1, turns_capped=True,
        tally=replace(USED, refusals=("cap: requests",))),
    Row("request cap that is no turn limit", Outcome.AGENT_BUDGET, trace=STOPPED, code=1,
        tally=replace(USED, refusals=("cap: requests",)), detail="cap: requests"),
    Row("token cap", Outcome.AGENT_BUDGET, trace=STOPPED, code=1, turns_capped=True,
        tally=replace(USED, refusals=("path: /x", "cap: tokens")), detail="cap: tokens"),
    Row("token cap beats a provider failure before it", Outcome.AGENT_BUDGET, trace=STOPPED, code=1,
        tally=replace(failed(ProviderFailure.OVERLOADED, last=False), refusals=("cap: tokens",))),
    Row("the CLI's own money cap", Outcome.AGENT_BUDGET, trace=replace(STOPPED, stop_reason="max_budget_usd"), code=1),
    Row("Codex's own budget", Outcome.AGENT_BUDGET, trace=replace(STOPPED, stop_reason="budget"), code=1),
    Row("a cap that let nothing through", Outcome.BAD_REQUEST, trace=NOTHING, code=1,
        tally=replace(UNUSED, refusals=("cap: usd",)), detail="check [target] max_"),
    Row("request cap used up by a failing provider", Outcome.SERVER_ERROR, trace=NOTHING, code=1, turns_capped=True,
        tally=replace(failed(ProviderFailure.SERVER_ERROR), usage=Usage(), refusals=("cap: requests",))),
    Row("the first request is refused", Outcome.BAD_REQUEST, trace=NOTHING, code=1,
        tally=replace(failed(ProviderFailure.BAD_REQUEST), usage=Usage())),
    Row("a request is refused after others went through", Outcome.REQUEST_REFUSED, trace=STOPPED, code=1,
        tally=failed(ProviderFailure.BAD_REQUEST)),
    Row("refusal", Outcome.AGENT_REFUSED, trace=replace(STOPPED, stop_reason="refusal"), code=1),
    Row("output limit", Outcome.AGENT_OUTPUT_LIMIT, trace=replace(STOPPED, stop_reason="max_output_tokens"), code=1),
    Row("context (Claude Code)", Outcome.AGENT_CONTEXT, trace=replace(STOPPED, stop_reason="prompt_too_long"), code=1),
    Row("context (Codex)", Outcome.AGENT_CONTEXT, trace=replace(STOPPED, stop_reason="context"), code=1),
    *(Row(f"provider, at the first request: {kind.value}", outcome, trace=STOPPED, code=1,
          tally=replace(failed(kind), usage=Usage()), detail=kind.value)
      for kind, outcome in PROVIDER_OUTCOMES.items()),
    Row("an answer, then no exit", Outcome.COMPLETED, code=None, ending=Ending.HUNG, detail="was stopped"),
    Row("an end without an answer, then no exit", Outcome.AGENT_EMPTY, trace=replace(GOOD, final_answer=""), code=None,
        ending=Ending.HUNG),
    Row("the turn limit, then no exit", Outcome.AGENT_TURNS, trace=replace(STOPPED, stop_reason="max_turns"), code=None,
        ending=Ending.HUNG),
    Row("the forwarder is gone after commands ran", Outcome.AGENT_ENDED_CLI, code=1,
        trace=replace(RAN, stop_reason="disconnected", events=(*RAN.events, Failure("failed: x", fatal=True))),
        detail="had run: failed: x"),
    Row("the forwarder is gone before any command ran", Outcome.CLI_CRASHED, code=1,
        trace=replace(STOPPED, stop_reason="disconnected")),
    Row("the forwarder never led to the door", Outcome.CLI_CRASHED, code=1, tally=UNUSED,
        trace=replace(RAN, stop_reason="disconnected")),
    Row("the provider cut the stream after commands ran", Outcome.CUT_STREAM, code=1,
        trace=replace(RAN, stop_reason="disconnected"), tally=failed(ProviderFailure.CUT_STREAM)),
    Row("it hung before any command ran", Outcome.CLI_HUNG, trace=STOPPED, code=None, ending=Ending.HUNG),
    Row("it hung before the model replied", Outcome.CLI_HUNG, trace=NOTHING, code=None, ending=Ending.HUNG,
        tally=UNUSED, detail="some stderr"),
    Row("the provider failed, then it hung", Outcome.OVERLOADED, trace=STOPPED, code=None, ending=Ending.HUNG,
        tally=failed(ProviderFailure.OVERLOADED)),
    Row("it hung after commands, and nothing is halted", Outcome.CLI_HUNG, trace=RAN, code=None, ending=Ending.HUNG,
        frozen=False),
    Row("it was halted after commands", Outcome.AGENT_ENDED_CLI, trace=RAN, code=None, ending=Ending.HUNG, frozen=True,
        detail="is halted"),
    Row("it hung after commands, and who knows why", Outcome.AGENT_ENDED_CLI, trace=RAN, code=None,
        ending=Ending.HUNG, detail="cannot tell"),
    Row("lost", Outcome.SANDBOX_LOST, code=None, ending=Ending.LOST),
    Row("killed", Outcome.SANDBOX_KILLED, code=None, ending=Ending.KILLED),
    Row("out of memory", Outcome.OUT_OF_MEMORY, code=None, ending=Ending.OUT_OF_MEMORY),
    Row("out of memory inside", Outcome.OUT_OF_MEMORY, trace=STOPPED, code=137, oom_seen=True),
    Row("the binary is not there", Outcome.CLI_MISSING, trace=NOTHING, code=127, tally=UNUSED),
    Row("the binary may not be run", Outcome.CLI_MISSING, trace=NOTHING, code=126, tally=UNUSED),
    Row("out of memory on a host with memory to spare", Outcome.AGENT_LIMITS, code=None, ending=Ending.OUT_OF_MEMORY,
        host_roomy=True, detail="memory_mb"),
    Row("out of memory before the model replied", Outcome.OUT_OF_MEMORY, trace=NOTHING, code=None, tally=UNUSED,
        ending=Ending.OUT_OF_MEMORY, host_roomy=True),
    Row("out of memory inside on a host with memory to spare", Outcome.AGENT_LIMITS, trace=STOPPED, code=1,
        oom_seen=True, host_roomy=True),
    Row("disk bound", Outcome.AGENT_LIMITS, trace=STOPPED, code=None, ending=Ending.OVER_DISK),
    Row("disk bound before the model replied", Outcome.SANDBOX_KILLED, trace=NOTHING, code=None, tally=UNUSED,
        ending=Ending.OVER_DISK, detail="before the model replied"),
    *(Row(f"the agent sent its CLI signal {number}", Outcome.AGENT_ENDED_CLI, trace=STOPPED, code=128 + number,
          host_roomy=True, detail="from inside") for number in (1, 2, 3, 6, 9, 10, 11, 15)),
    Row("the agent sent its CLI SIGTERM, and the provider had failed", Outcome.AGENT_ENDED_CLI, trace=STOPPED, code=143,
        tally=failed(ProviderFailure.OVERLOADED)),
    Row("SIGKILL on a host that may be short of memory", Outcome.CLI_CRASHED, trace=STOPPED, code=137),
    Row("a signal before the model replied", Outcome.CLI_CRASHED, trace=NOTHING, code=143, tally=UNUSED),
    Row("SIGINT (Claude Code)", Outcome.AGENT_ENDED_CLI, trace=replace(STOPPED, stop_reason="aborted_tools")),
    Row("SIGINT (Codex)", Outcome.AGENT_ENDED_CLI, trace=replace(STOPPED, stop_reason=""), code=1, stderr="\n"),
    Row("SIGINT (Codex), whose parts complain", Outcome.AGENT_ENDED_CLI, trace=replace(STOPPED, stop_reason=""), code=1,
        stderr="2026-11-30T10:10:02.016828Z ERROR codex_core::session: the channel is closed\n"),
    Row("SIGINT (Codex), which said where it reads", Outcome.AGENT_ENDED_CLI, trace=replace(STOPPED, stop_reason=""),
        code=1, stderr="Reading additional input from stdin...\n"),
    Row("exit 1 with a word", Outcome.CLI_CRASHED, trace=replace(STOPPED, stop_reason=""), code=1, stderr="no room"),
    Row("a request of a command's own refused, then the deadline", Outcome.AGENT_DEADLINE, trace=STOPPED, code=None,
        ending=Ending.DEADLINE, tally=failed(ProviderFailure.BAD_REQUEST)),
    Row("crash", Outcome.CLI_CRASHED, trace=replace(STOPPED, events=(Failure("panic", fatal=True),)), code=1,
        detail="panic"),
    Row("crash with 127 after it had begun", Outcome.CLI_CRASHED, trace=STOPPED, code=127),
    Row("bad flag", Outcome.CLI_CRASHED, trace=NOTHING, code=2, tally=UNUSED, stderr="error: unexpected argument",
        detail="unexpected argument"),
    Row("exit 1 after the end marker", Outcome.CLI_CRASHED, code=1),
    Row("exit 0 without an end marker", Outcome.CLI_PROTOCOL, trace=STOPPED, code=0),
    Row("no events but text", Outcome.CLI_PROTOCOL, trace=replace(NOTHING, bad_lines=3), code=1),
    Row("stdout cut", Outcome.AGENT_LIMITS, trace=STOPPED, code=0, stdout_cut=True, detail="stdout"),
    Row("stdout cut before the model replied", Outcome.CLI_PROTOCOL, trace=STOPPED, code=0, stdout_cut=True,
        tally=UNUSED, detail="stdout was cut"),
    Row("explicit, body not sent", Outcome.SKILL_NOT_VISIBLE, trace=replace(GOOD, skill_opened=False), detail="body"),
    Row("discovered, not listed", Outcome.SKILL_NOT_VISIBLE, activation="discovered",
        trace=replace(GOOD, skill_opened=False, skill_listed=False), detail="frontmatter"),
    Row("discovered, cannot be told", Outcome.SKILL_NOT_VISIBLE, activation="discovered",
        trace=replace(GOOD, skill_opened=False, skill_listed=None), detail="session file was not read back"),
    Row("explicit, cannot be told", Outcome.SKILL_NOT_VISIBLE,
        trace=replace(GOOD, skill_opened=False, skill_listed=None), detail="session file was not read back"),
    Row("discovered, listed and not opened", Outcome.COMPLETED, activation="discovered",
        trace=replace(GOOD, skill_opened=False)),
    Row("discovered, not listed but read", Outcome.COMPLETED, activation="discovered",
        trace=replace(GOOD, skill_listed=False)),
    Row("deadline, but the skill was never visible", Outcome.SKILL_NOT_VISIBLE, code=None, ending=Ending.DEADLINE,
        trace=replace(STOPPED, skill_opened=False, skill_listed=False)),
    Row("a failure of ours is told before the skill's", Outcome.AUTH, code=1, tally=failed(ProviderFailure.AUTH),
        trace=replace(STOPPED, skill_opened=False, skill_listed=False)),
    Row("no skill was given", Outcome.COMPLETED, activation=None,
        trace=replace(GOOD, skill_opened=False, skill_listed=None)),
]  # fmt: skip
ELSEWHERE = {
    Outcome.SANDBOX_START: "raised by the engine before there is any evidence: test_cli_harness",
    Outcome.EPISODE_FAILED: "told by the episode itself: test_chat_episode",
    Outcome.SETUP_FAILED: "raised before the agent starts: test_steps",
    Outcome.VERIFIER_FAILED: "given by the scorer, not by a harness",
    Outcome.CANCELLED: "given by whoever cancels",
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_row(row: Row) -> None:
    outcome, detail = classify(row.evidence())
    assert outcome is row.outcome, detail
    assert row.detail in detail
    assert "\n" not in detail
    assert bool(detail) or outcome is Outcome.COMPLETED


def test_every_outcome_has_a_row() -> None:
    assert {row.outcome for row in ROWS} | set(ELSEWHERE) == set(Outcome)


def test_every_provider_failure_is_an_outcome_and_only_context_is_the_agents() -> None:
    assert set(PROVIDER_OUTCOMES) == set(ProviderFailure)
    scored = [kind for kind in ProviderFailure if POLICIES[provider_outcome(kind)].scored]
    assert scored == [ProviderFailure.CONTEXT_LENGTH]


def test_prose_of_the_model_decides_nothing() -> None:
    prose = "401 unauthorized: rate limit exceeded, out of memory, refusal, prompt_too_long"
    trace = replace(GOOD, final_answer=prose, events=(Message(prose),))
    assert classify(Row("", Outcome.COMPLETED, trace=trace, stderr=prose).evidence()) == (Outcome.COMPLETED, "")


def test_details_are_one_neutral_bounded_line() -> None:
    trace = replace(STOPPED, events=(Failure("evil\x1b[2J\nline " * 200, fatal=True),))
    _, detail = classify(Row("", Outcome.CLI_CRASHED, trace=trace, code=1).evidence())
    assert len(detail) <= 500
    assert "\x1b" not in detail
