"""Every recorded error case of the real CLIs, and what it is to be called.

The outcomes are written down from the measured facts of each case, not from what the code says. The model behind the
recordings was a script, so what it gave is known: what a door would have counted of it is made of the same status and
body, through the reader that the gateway has for them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from harnesses.classify import Evidence, classify
from harnesses.outcome import POLICIES, Outcome
from sandboxes.gateway.failures import ErrorBody, classify_error
from sandboxes.gateway.failures import classify as failure_of
from sandboxes.gateway.policy import ProviderFailure, Tally, Usage
from sandboxes.sandbox import Ended, Ending
from tests.support.recorded import recorded, recorded_errors

WALL_S = 40.0


@dataclass(frozen=True)
class Told:
    """What was recorded of one case besides its streams."""

    outcome: Outcome
    answered: int = 0
    """Requests that the model answered."""
    failure: ProviderFailure | None = None
    """What the last request got instead."""
    ending: Ending = Ending.EXITED
    silent: bool = False
    """The last request had no answer when the command ended."""

    @property
    def tally(self) -> Tally:
        """What the door counts of it."""
        used = Tally(usage=Usage(self.answered, 1000 * self.answered, 0, 50 * self.answered, 0.0))
        used = replace(used, waiting_s=WALL_S - 1 if self.silent else 0.0)
        if self.failure is None:
            return used
        return replace(used, failures=(self.failure,), last_failure=self.failure.value, last_request_failed=True)


def gave(status: int, message: str = "", *, code: str = "", answered: int = 0, outcome: Outcome) -> Told:
    """The model's server answered with an error."""
    body = json.dumps({"error": {"type": code, "message": message}}).encode()
    return Told(outcome, answered, failure_of(status, body))


def in_stream(code: str, message: str, outcome: Outcome) -> Told:
    """The answer began well, and told of an error."""
    return Told(outcome, 0, classify_error(ErrorBody((code,), message)))


def fine(answered: int) -> Told:
    """The run ended well, whatever happened on the way."""
    return Told(Outcome.COMPLETED, answered)


NEVER_ASKED = Told(Outcome.CLI_CRASHED)
SERVER_DOWN = Told(Outcome.UNREACHABLE, failure=ProviderFailure.UNREACHABLE)
SILENT = Told(Outcome.UNREACHABLE, ending=Ending.DEADLINE, silent=True)
BY_A_SIGNAL = Told(Outcome.AGENT_ENDED_CLI, 1)
"""Sent while a command ran: in a sandbox none but the agent's commands can send one, unless the engine says so."""
FROM_OUTSIDE = Told(Outcome.SANDBOX_KILLED, 1, ending=Ending.KILLED)
CUT = Told(Outcome.CUT_STREAM, failure=ProviderFailure.CUT_STREAM)
SPENT = "You exceeded your current quota"

CLAUDE = {
    "conn_dropped": replace(SERVER_DOWN, ending=Ending.DEADLINE),
    "e_400": gave(400, "bad param", code="invalid_request_error", outcome=Outcome.BAD_REQUEST),
    "e_400_credit": gave(400, "Your credit balance is too low", code="invalid_request_error", outcome=Outcome.QUOTA),
    "e_401": replace(gave(401, code="authentication_error", outcome=Outcome.AUTH), ending=Ending.DEADLINE),
    "e_404_model": gave(404, "model: claude-nope", code="not_found_error", outcome=Outcome.MODEL_NOT_FOUND),
    "e_413": gave(413, "Request too large", code="request_too_large", outcome=Outcome.AGENT_CONTEXT),
    "e_429_r0": gave(429, "slow down", code="rate_limit_error", outcome=Outcome.RATE_LIMIT),
    "e_429_r1": gave(429, "slow down", code="rate_limit_error", outcome=Outcome.RATE_LIMIT),
    "e_500_r0": gave(500, "boom", code="api_error", outcome=Outcome.SERVER_ERROR),
    "e_500_r2": gave(500, "boom", code="api_error", outcome=Outcome.SERVER_ERROR),
    "e_500_then_ok": fine(1),
    "e_529_r0": gave(529, "Overloaded", code="overloaded_error", outcome=Outcome.OVERLOADED),
    "e_authtoken": fine(1),
    "e_bad_edit": fine(2),
    "e_bad_input": fine(2),
    "e_badflag": NEVER_ASKED,
    "e_bash_timeout": fine(2),
    "e_bash_timeout2": fine(3),
    "e_cmd_term": fine(2),
    "e_compact": fine(3),
    "e_default_500": gave(500, "boom", code="api_error", outcome=Outcome.SERVER_ERROR),
    "e_drop": CUT,
    "e_haiku": fine(1),
    "e_hang_int": SILENT,
    "e_hang_kill": SILENT,
    "e_hang_term": SILENT,
    "e_idle": Told(Outcome.UNREACHABLE, failure=ProviderFailure.TIMEOUT),
    "e_invalid_skill": fine(1),
    "e_json_schema_never": fine(2),
    "e_json_schema_ok": fine(1),
    "e_max_tokens": Told(Outcome.AGENT_OUTPUT_LIMIT, 4),
    "e_max_turns": Told(Outcome.AGENT_TURNS, 2),
    "e_nested_env": fine(1),
    "e_out_text": Told(Outcome.CLI_PROTOCOL, 1),
    "e_out_text_500": gave(500, "boom", code="api_error", outcome=Outcome.SERVER_ERROR),
    "e_partial": fine(1),
    "e_perm_acceptEdits": fine(2),
    "e_perm_bypassmode": fine(1),
    "e_perm_bypassmode_root": NEVER_ASKED,
    "e_perm_default": fine(2),
    "e_refusal": Told(Outcome.AGENT_REFUSED, 2),
    "e_refusal_text": Told(Outcome.AGENT_REFUSED, 2),
    "e_refused_conn": SERVER_DOWN,
    "e_setting_hang": fine(2),
    # Asked again without streaming, the script gave an empty answer: the CLI said "error", of no kind that is known.
    "e_sse_error": Told(Outcome.CLI_CRASHED, 2),
    "e_stdin_open": fine(1),
    "e_stdin_prompt": fine(1),
    "e_unknown_tool": fine(2),
    "kill_kill": FROM_OUTSIDE,
    "kill_term": FROM_OUTSIDE,
    "root_refused": NEVER_ASKED,
    "sig_int_cmd": BY_A_SIGNAL,
    "sig_int_hang": Told(Outcome.CLI_PROTOCOL),  # no model had replied: no command of the agent's can have done it
    "sig_term_cmd": BY_A_SIGNAL,
    "sig_term_cmd_group": BY_A_SIGNAL,
}
CODEX = {
    "conn_dropped": SERVER_DOWN,
    "e_400": gave(400, "bad param", code="invalid_request_error", outcome=Outcome.BAD_REQUEST),
    "e_400_ctx": gave(400, "too long", code="context_length_exceeded", outcome=Outcome.AGENT_CONTEXT),
    "e_403": gave(403, "no", outcome=Outcome.AUTH),
    "e_429_quota": gave(429, SPENT, code="insufficient_quota", outcome=Outcome.QUOTA),
    "e_429_rate": gave(429, "slow", code="rate_limit_exceeded", outcome=Outcome.RATE_LIMIT),
    "e_429_rate_noretry": gave(429, "slow", code="rate_limit_exceeded", outcome=Outcome.RATE_LIMIT),
    "e_429_usage_limit": gave(429, "limit", code="usage_limit_reached", outcome=Outcome.QUOTA),
    "e_500_default": gave(500, "boom", code="server_error", outcome=Outcome.SERVER_ERROR),
    "e_500_noretry": gave(500, "boom", code="server_error", outcome=Outcome.SERVER_ERROR),
    "e_500_then_ok": fine(1),
    "e_503_noretry": gave(503, "busy", code="server_is_overloaded", outcome=Outcome.OVERLOADED),
    "e_bad_args": fine(2),
    "e_bad_patch": fine(2),
    "e_baddir": NEVER_ASKED,
    "e_badflag": NEVER_ASKED,
    "e_budget2": Told(Outcome.AGENT_BUDGET, 2),
    "e_drop": CUT,
    "e_empty_text": Told(Outcome.AGENT_EMPTY, 1),
    "e_failed_invalid_prompt": in_stream("invalid_prompt", "flagged by policy", Outcome.BAD_REQUEST),
    "e_failed_quota": in_stream("insufficient_quota", SPENT, Outcome.QUOTA),
    "e_git_noflag": fine(1),
    "e_hang_int": SILENT,
    "e_hang_kill": SILENT,
    "e_incomplete_filter": Told(Outcome.AGENT_REFUSED, 1),
    "e_incomplete_max": Told(Outcome.AGENT_OUTPUT_LIMIT, 1),
    "e_invalid_skill": fine(1),
    "e_leftover_bg": fine(2),
    "e_longcmd": fine(3),
    "e_many": fine(1),
    "e_multi_msg": fine(2),
    "e_no_items": Told(Outcome.AGENT_EMPTY, 1),
    "e_nohome": NEVER_ASKED,
    "e_noprovider": replace(SERVER_DOWN, ending=Ending.DEADLINE),
    "e_parallel_tools": fine(2),
    "e_plain_output": Told(Outcome.CLI_PROTOCOL, 1),
    "e_plan": fine(2),
    "e_readonly_sandbox": fine(3),
    "e_refusal": Told(Outcome.AGENT_EMPTY, 1),  # its stream has nothing of the refusal (the session file has it)
    "e_refused_conn": replace(SERVER_DOWN, ending=Ending.DEADLINE),
    "e_refused_conn_bounded": SERVER_DOWN,
    "e_schema": fine(1),
    "e_spawn_agent": fine(4),
    "e_sse_error": CUT,
    "e_stdin_prompt": fine(1),
    "e_stream_idle": fine(1),
    "e_update_patch": fine(2),
    "e_ww_nogit_noflag": NEVER_ASKED,
    "kill_kill": FROM_OUTSIDE,
    "kill_term": FROM_OUTSIDE,
    "sig_int_cmd": BY_A_SIGNAL,
    "sig_kill_cmd": BY_A_SIGNAL,
    "sig_term_cmd": BY_A_SIGNAL,
    "sig_term_cmd_group": BY_A_SIGNAL,
    "sig_term_hang": Told(Outcome.CLI_CRASHED),  # as with Claude Code's `sig_int_hang`
}
TABLE = {f"claude_{name}": told for name, told in CLAUDE.items()} | {
    f"codex_{name}": told for name, told in CODEX.items()
}


def evidence(name: str, told: Told) -> Evidence:
    code, trace, stderr = recorded(name)
    if code is not None and code < 0:
        code = 128 - code  # as a shell and the engines tell of a signal
    out = Path("o")
    ended = Ended(told.ending, None if told.ending is not Ending.EXITED else code, WALL_S, out, out, host_roomy=True)
    return Evidence(ended, trace, told.tally, None, stderr=stderr)


@pytest.mark.parametrize("name", TABLE)
def test_a_recorded_run_is_called_what_it_was(name: str) -> None:
    assert classify(evidence(name, TABLE[name]))[0] is TABLE[name].outcome


def test_every_recorded_error_case_is_in_the_table() -> None:
    assert recorded_errors() == sorted(TABLE)


@pytest.mark.parametrize("name", [name for name, told in TABLE.items() if told.failure and told.answered == 0])
def test_no_failure_of_a_provider_or_of_ours_is_scored(name: str) -> None:
    outcome = classify(evidence(name, TABLE[name]))[0]
    assert not POLICIES[outcome].scored or TABLE[name].failure is ProviderFailure.CONTEXT_LENGTH


@pytest.mark.parametrize("name", ["claude_e_refused_conn", "codex_e_refused_conn_bounded", "codex_e_refused_conn"])
def test_a_door_that_no_request_reached_is_no_score(name: str) -> None:
    """Before the model ever replied nothing of the agent's ran: the way to the door was broken by us."""
    ending = Ending.DEADLINE if name == "codex_e_refused_conn" else Ending.EXITED
    assert classify(evidence(name, Told(Outcome.CLI_CRASHED, ending=ending)))[0] is Outcome.CLI_CRASHED
