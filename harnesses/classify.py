"""From what is known of one run to its `Outcome`: a pure function, whose rules are the rows of `_RULES` in order.

The gateway's tally is the ground truth for a provider's failures: a CLI's prose is never matched, because a model can
imitate it. Only events of the harness itself (`turn.failed`, `result`) say how the agent stopped.

An agent must not be able to take back an attempt that goes badly. Once a model has replied, commands of its run beside
the CLI, and what only they can have done (a signal to the CLI, a full disk, memory, output) is a scored end.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from dataclasses import dataclass

from harnesses.harness import Activation
from harnesses.outcome import POLICIES, Outcome
from harnesses.traces.text import one_line
from harnesses.traces.trace import Failure, ToolCall, Trace
from sandboxes.gateway.policy import ProviderFailure, Tally
from sandboxes.sandbox import Ended, Ending

PROVIDER_OUTCOMES = {
    ProviderFailure.AUTH: Outcome.AUTH,
    ProviderFailure.QUOTA: Outcome.QUOTA,
    ProviderFailure.RATE_LIMIT: Outcome.RATE_LIMIT,
    ProviderFailure.OVERLOADED: Outcome.OVERLOADED,
    ProviderFailure.SERVER_ERROR: Outcome.SERVER_ERROR,
    ProviderFailure.MODEL_NOT_FOUND: Outcome.MODEL_NOT_FOUND,
    ProviderFailure.BAD_REQUEST: Outcome.BAD_REQUEST,
    ProviderFailure.CONTEXT_LENGTH: Outcome.AGENT_CONTEXT,
    ProviderFailure.UNREACHABLE: Outcome.UNREACHABLE,
    ProviderFailure.TIMEOUT: Outcome.UNREACHABLE,
    ProviderFailure.CUT_STREAM: Outcome.CUT_STREAM,
    ProviderFailure.BAD_REPLY: Outcome.CUT_STREAM,
}
_STOPS = {
    "refusal": Outcome.AGENT_REFUSED,
    "max_turns": Outcome.AGENT_TURNS,
    "max_budget_usd": Outcome.AGENT_BUDGET,
    "budget": Outcome.AGENT_BUDGET,
    "max_output_tokens": Outcome.AGENT_OUTPUT_LIMIT,
    "prompt_too_long": Outcome.AGENT_CONTEXT,
    "context": Outcome.AGENT_CONTEXT,
}

Verdict = tuple[Outcome, str]


@dataclass(frozen=True)
class Evidence:
    """All that is known of a run that was started."""

    ended: Ended
    trace: Trace
    tally: Tally
    activation: Activation | None
    """None: the assignment had no skill."""
    turns_capped: bool = False
    """The door's request cap stands for the assignment's turn limit (Codex has none of its own)."""
    stderr: str = ""
    """The end of the CLI's stderr: for the detail line, never for the verdict."""


def classify(evidence: Evidence) -> Verdict:
    """The outcome and one line for people (empty if completed)."""
    outcome, detail = next(verdict for rule in _RULES if (verdict := rule(evidence)) is not None)
    if POLICIES[outcome].scored and (hidden := _skill_hidden(evidence)):
        return Outcome.SKILL_NOT_VISIBLE, hidden
    return outcome, one_line(detail, 500)


def provider_outcome(kind: ProviderFailure) -> Outcome:
    """The outcome that a provider's failure is."""
    return PROVIDER_OUTCOMES[kind]


def _box(evidence: Evidence) -> Verdict | None:
    ended, worked = evidence.ended, _worked(evidence)
    match ended.ending:
        case Ending.LOST:
            found = Outcome.SANDBOX_LOST, "the engine can no longer say what became of the command"
        case Ending.KILLED:
            found = Outcome.SANDBOX_KILLED, "the command was killed from outside"
        case Ending.OVER_DISK if worked:
            found = Outcome.AGENT_LIMITS, "the attempt wrote more than its folders may hold"
        case Ending.OVER_DISK:
            return Outcome.SANDBOX_KILLED, f"before the model replied: {ended.detail}"
        case Ending.OUT_OF_MEMORY if worked and ended.host_roomy:
            return Outcome.AGENT_LIMITS, _MEMORY
        case Ending.OUT_OF_MEMORY:
            found = Outcome.OUT_OF_MEMORY, "the CLI was killed for memory"
        case _:
            return None
    return found[0], ended.detail or found[1]


def _completed(evidence: Evidence) -> Verdict | None:
    ended, trace = evidence.ended, evidence.trace
    if not trace.finished:
        return None
    if ended.ending is Ending.DEADLINE:
        if trace.final_answer.strip():
            return Outcome.COMPLETED, "the CLI did not exit after its result, and was stopped"
        return None
    if ended.exit_code != 0 and ended.ending is not Ending.HUNG:
        return None
    if trace.final_answer.strip():
        return Outcome.COMPLETED, f"{ended.detail}, and was stopped" if ended.ending is Ending.HUNG else ""
    # Nothing to score: where the last thing known is that the provider failed, it is to blame.
    return _provider(evidence) or (Outcome.AGENT_EMPTY, "the agent ended without an answer")


def _caps(evidence: Evidence) -> Verdict | None:
    caps = [refusal for refusal in evidence.tally.refusals if refusal.startswith("cap:")]
    if not caps:
        return None
    if evidence.tally.usage.requests == 0 and evidence.tally.failures:
        return None  # the cap was used up by requests that the provider failed
    if evidence.tally.usage.requests == 0:
        return Outcome.BAD_REQUEST, f"the gateway let no request through at all ({caps[0]}): check [target] max_*"
    if caps[-1] == "cap: requests" and evidence.turns_capped:
        return Outcome.AGENT_TURNS, "the attempt's turn limit was reached"
    return Outcome.AGENT_BUDGET, f"the attempt's cap was reached ({caps[-1]})"


def _ended_from_inside(evidence: Evidence) -> Verdict | None:
    """Nobody but the agent's commands can have done it: the engine tells signals from outside, and out of memory."""
    ended, trace = evidence.ended, evidence.trace
    if ended.ending is not Ending.EXITED or not _worked(evidence):
        return None
    if trace.stop_reason.startswith("aborted"):  # Claude Code exits with 0 when it is interrupted
        return Outcome.AGENT_ENDED_CLI, "the CLI was interrupted from inside the sandbox"
    if ended.exit_code == 1 and trace.session_id and not trace.finished and not _said_why(evidence):
        return Outcome.AGENT_ENDED_CLI, "the CLI stopped without a word, as Codex does when it is interrupted"
    number = (ended.exit_code or 0) - 128
    if number in _SIGNALS and (number != signal.SIGKILL or ended.host_roomy):
        return Outcome.AGENT_ENDED_CLI, f"the CLI was ended from inside the sandbox ({signal.Signals(number).name})"
    if ended.stdout_cut and not trace.finished:
        return Outcome.AGENT_LIMITS, "more was written to the CLI's stdout than is kept of it"
    return None


def _provider(evidence: Evidence) -> Verdict | None:
    tally = evidence.tally
    if not (tally.last_request_failed and tally.failures):
        return None
    outcome = provider_outcome(tally.failures[-1])
    if outcome is Outcome.BAD_REQUEST and tally.usage.requests:
        # What worked a moment ago is no bad setting: one image, or a request of the agent's own making.
        outcome = Outcome.REQUEST_REFUSED
        if evidence.ended.ending is Ending.DEADLINE:  # a CLI ends at once then: the request was a command's own
            return None
    return outcome, tally.last_failure or tally.failures[-1].value


def _stopped(evidence: Evidence) -> Verdict | None:
    outcome = _STOPS.get(evidence.trace.stop_reason)
    return None if outcome is None else (outcome, _fatal(evidence) or evidence.trace.stop_reason)


def _cut_off(evidence: Evidence) -> Verdict | None:
    """The door failed nothing and was open: what leads to it runs in the box, beside the agent's commands."""
    if evidence.trace.stop_reason != "disconnected" or not _ran(evidence):
        return None
    cause = "the CLI no longer reached the gateway, which failed nothing, after commands of the agent had run"
    return Outcome.AGENT_ENDED_CLI, f"{cause}: {_fatal(evidence)}"


def _hung(evidence: Evidence) -> Verdict | None:
    ended = evidence.ended
    if ended.ending is not Ending.HUNG:
        return None
    if _ran(evidence) and ended.frozen is not False:
        # A signal halts a CLI for good, and whoever is halted between two requests looks like one that hangs.
        seen = "a process of the sandbox is halted" if ended.frozen else "this engine cannot tell whether it was halted"
        return Outcome.AGENT_ENDED_CLI, f"{ended.detail} after commands of the agent had run: {seen}"
    return Outcome.CLI_HUNG, f"{ended.detail}; {_stderr(evidence)}"


def _deadline(evidence: Evidence) -> Verdict | None:
    if evidence.ended.ending is not Ending.DEADLINE:
        return None
    tally, wall_s = evidence.tally, evidence.ended.wall_s
    if tally.held_up_by is not None and tally.held_up_s >= wall_s / 2:
        cause = f"the provider's failures ({tally.held_up_by}) held the agent up for {tally.held_up_s:.0f} s"
        return provider_outcome(tally.held_up_by), cause
    if tally.waiting_s >= min(SILENT_S, wall_s / 2):
        return Outcome.UNREACHABLE, f"the provider had been silent for {tally.waiting_s:.0f} s at the deadline"
    if tally.usage.requests == 0:
        return Outcome.CLI_CRASHED, "the CLI got no model reply before the deadline; " + _stderr(evidence)
    return Outcome.AGENT_DEADLINE, "the agent was still at work at its deadline"


def _crashed(evidence: Evidence) -> Verdict | None:
    ended, trace = evidence.ended, evidence.trace
    silent = not trace.events and not trace.session_id
    if ended.exit_code in (126, 127) and silent:
        return Outcome.CLI_MISSING, f"the CLI could not be run (exit code {ended.exit_code}); {_stderr(evidence)}"
    if ended.oom_seen and ended.host_roomy and _worked(evidence):
        return Outcome.AGENT_LIMITS, _MEMORY
    if ended.oom_seen:
        return Outcome.OUT_OF_MEMORY, "a process in the sandbox was killed for memory and the CLI gave no result"
    if ended.exit_code == 0 or (silent and trace.bad_lines):
        cut = " (its stdout was cut)" if ended.stdout_cut else ""
        return Outcome.CLI_PROTOCOL, f"no end marker in the CLI's event stream{cut}; {_stderr(evidence)}"
    told = _fatal(evidence) or _stderr(evidence)
    return Outcome.CLI_CRASHED, f"the CLI exited with code {ended.exit_code} and no result: {told}"


def _said_why(evidence: Evidence) -> bool:
    """Beyond the log of Codex's parts, which complain of each other when it is interrupted."""
    said = [line for line in evidence.stderr.splitlines() if line.strip() and not _CODEX_LOG.match(line)]
    return bool(said) or any(isinstance(event, Failure) for event in evidence.trace.events)


def _worked(evidence: Evidence) -> bool:
    """A model has replied, so that commands of the agent may have run: the door knows, whatever the box says."""
    return evidence.tally.usage.requests > 0


def _ran(evidence: Evidence) -> bool:
    """A command of the agent's did run."""
    return _worked(evidence) and any(isinstance(event, ToolCall) for event in evidence.trace.events)


_CODEX_LOG = re.compile(r"\d{4}-\d\d-\d\dT\S+\s+(?:ERROR|WARN) codex_|Reading (?:additional input|prompt) from stdin")
"""Lines of Codex's stderr that give no reason for an end."""
_MEMORY = "the sandbox's memory was used up ([sandbox] memory_mb)"
_SIGNALS = {int(number) for number in signal.Signals}
SILENT_S = 60.0
"""A provider silent for so long at the deadline (or half of a short attempt) is to blame for it, not the agent."""
_RULES: tuple[Callable[[Evidence], Verdict | None], ...] = (
    _box,
    _completed,
    _caps,
    _ended_from_inside,
    _provider,
    _stopped,
    _cut_off,
    _hung,
    _deadline,
    _crashed,
)


def _skill_hidden(evidence: Evidence) -> str:
    """Why the skill was not visible to the agent; empty if it was, or if there is none."""
    trace, remedy = evidence.trace, "check the skill's name and frontmatter"
    if evidence.activation is None or trace.skill_opened:
        return ""
    if trace.skill_listed is None:
        return (
            f"whether the skill was visible is not known: the CLI's session file was not read back; {_stderr(evidence)}"
        )
    if evidence.activation == "explicit":
        return f"the prompt named the skill, but its body did not reach the model: {remedy}; {_stderr(evidence)}"
    if trace.skill_listed:
        return ""
    return f"the skill was not in the list that the agent was given: {remedy}; {_stderr(evidence)}"


def _fatal(evidence: Evidence) -> str:
    fatal = [event.text for event in evidence.trace.events if isinstance(event, Failure) and event.fatal]
    return one_line(fatal[-1]) if fatal else ""


def _stderr(evidence: Evidence) -> str:
    return one_line("stderr: " + (evidence.stderr.strip()[-300:] or "(empty)"))
