"""Every way an attempt can end has one name and one policy row. A failure of ours is never a score.

`POLICIES` is the whole table: may it be scored, is it worth another try, does it stop the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class Outcome(StrEnum):
    """How an attempt ended."""

    # The agent's own doing on a healthy sandbox: scored.
    COMPLETED = "completed"
    AGENT_DEADLINE = "agent_deadline"
    AGENT_TURNS = "agent_turns"
    AGENT_BUDGET = "agent_budget"
    AGENT_REFUSED = "agent_refused"
    AGENT_EMPTY = "agent_empty"
    AGENT_CONTEXT = "agent_context"
    AGENT_OUTPUT_LIMIT = "agent_output_limit"
    AGENT_LIMITS = "agent_limits"
    """It filled what its box may hold: disk, memory, output."""
    AGENT_ENDED_CLI = "agent_ended_cli"
    """It, or a command of its, ended the CLI by a signal."""
    # A failure of ours or of a provider: invalid.
    AUTH = "auth"
    QUOTA = "quota"
    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    SERVER_ERROR = "server_error"
    MODEL_NOT_FOUND = "model_not_found"
    BAD_REQUEST = "bad_request"
    REQUEST_REFUSED = "request_refused"
    UNREACHABLE = "unreachable"
    CUT_STREAM = "cut_stream"
    SANDBOX_LOST = "sandbox_lost"
    SANDBOX_KILLED = "sandbox_killed"
    SANDBOX_START = "sandbox_start"
    OUT_OF_MEMORY = "out_of_memory"
    CLI_MISSING = "cli_missing"
    CLI_CRASHED = "cli_crashed"
    CLI_HUNG = "cli_hung"
    CLI_PROTOCOL = "cli_protocol"
    SKILL_NOT_VISIBLE = "skill_not_visible"
    EPISODE_FAILED = "episode_failed"
    SETUP_FAILED = "setup_failed"
    VERIFIER_FAILED = "verifier_failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class Policy:
    """What follows from an outcome."""

    scored: bool
    retry: bool
    stop_run: bool
    remedy: str
    """What a person can do about it; empty where nothing is wrong."""


_SCORED = Policy(scored=True, retry=False, stop_run=False, remedy="")


def _invalid(remedy: str, *, retry: bool = True, stop_run: bool = False) -> Policy:
    return Policy(scored=False, retry=retry, stop_run=stop_run, remedy=remedy)


POLICIES = MappingProxyType(
    {
        Outcome.COMPLETED: _SCORED,
        Outcome.AGENT_DEADLINE: _SCORED,
        Outcome.AGENT_TURNS: _SCORED,
        Outcome.AGENT_BUDGET: _SCORED,
        Outcome.AGENT_REFUSED: _SCORED,
        Outcome.AGENT_EMPTY: _SCORED,
        Outcome.AGENT_CONTEXT: _SCORED,
        Outcome.AGENT_OUTPUT_LIMIT: _SCORED,
        Outcome.AGENT_LIMITS: _SCORED,
        Outcome.AGENT_ENDED_CLI: _SCORED,
        Outcome.AUTH: _invalid("check the API key", retry=False, stop_run=True),
        Outcome.QUOTA: _invalid("the account's quota is used up: add credit or wait", retry=False, stop_run=True),
        Outcome.RATE_LIMIT: _invalid("lower [sandbox] workers or wait for the provider's limit to lift"),
        Outcome.OVERLOADED: _invalid("the provider is overloaded: try again later"),
        Outcome.SERVER_ERROR: _invalid("the provider answers with server errors: try again later"),
        Outcome.MODEL_NOT_FOUND: _invalid("check [target] model", retry=False, stop_run=True),
        Outcome.BAD_REQUEST: _invalid("the provider refused the request: see the message", retry=False, stop_run=True),
        Outcome.REQUEST_REFUSED: _invalid("the provider refused what the agent sent in the middle: see the message"),
        Outcome.UNREACHABLE: _invalid("check [target] base_url and the network"),
        Outcome.CUT_STREAM: _invalid("the provider's answer broke off: try again"),
        Outcome.SANDBOX_LOST: _invalid("the container vanished: is the engine restarting?"),
        Outcome.SANDBOX_KILLED: _invalid("something outside stopped the sandbox: is the host's disk full?"),
        Outcome.SANDBOX_START: _invalid("run `honed doctor`: the sandbox did not start"),
        Outcome.OUT_OF_MEMORY: _invalid("raise [sandbox] memory_mb"),
        Outcome.CLI_MISSING: _invalid("run `honed setup`: the agent's CLI is missing", retry=False, stop_run=True),
        Outcome.CLI_CRASHED: _invalid("the agent's CLI exited without a result: see its stderr"),
        Outcome.CLI_HUNG: _invalid("the agent's CLI hung: see its stderr; raise [target] idle_s if it only takes long"),
        Outcome.CLI_PROTOCOL: _invalid("the agent's CLI did not speak its event protocol: is its version pinned?"),
        Outcome.SKILL_NOT_VISIBLE: _invalid("the agent was not shown the skill: check its name and frontmatter"),
        Outcome.EPISODE_FAILED: _invalid("the task's world failed: see the message"),
        Outcome.SETUP_FAILED: _invalid("the setup script of the task's step failed: see the message", retry=False),
        Outcome.VERIFIER_FAILED: _invalid("the task's verifier failed: see its output"),
        Outcome.CANCELLED: _invalid("honed was stopped: it goes on at the next start"),
    }
)
