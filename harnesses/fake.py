"""A harness for tests of what stands above: a function of the test says what came of each assignment."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from inspect import isawaitable

from harnesses.harness import Assignment, Attempt
from harnesses.keep import told_skill, write_summary
from harnesses.outcome import Outcome
from harnesses.traces.summary import summarize
from harnesses.traces.trace import Event, Message, Trace
from sandboxes.gateway.policy import Usage
from sandboxes.sandbox import Collected


@dataclass(frozen=True)
class FakeResult:
    """What the behaviour says: an answer, files that the agent leaves, or a failure."""

    answer: str = "done"
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Laid over the assignment's own files in the collected workspace."""
    outcome: Outcome = Outcome.COMPLETED
    detail: str = ""
    events: tuple[Event, ...] = ()
    usage: Usage = field(default_factory=lambda: Usage(1, 1000, 200, 50, 0.001))
    skill_opened: bool = True


Behaviour = Callable[[Assignment], "FakeResult | str | Awaitable[FakeResult | str]"]


class FakeHarness:
    """A `Harness` without a model. `assignments` keeps every one it was given, in order."""

    def __init__(self, behaviour: Behaviour, *, name: str = "chat", settings: Mapping[str, str] | None = None) -> None:
        self._behaviour = behaviour
        self._name = name
        self._settings = dict(settings or {"harness": name, "model": "fake"})
        self.assignments: list[Assignment] = []

    @property
    def name(self) -> str:
        """As `Harness.name`."""
        return self._name

    def settings(self) -> Mapping[str, str]:
        """As `Harness.settings`."""
        return dict(self._settings)

    async def run(self, assignment: Assignment) -> Attempt:
        """As `Harness.run`, except that a behaviour's own exception is a fault of the test and goes through."""
        self.assignments.append(assignment)
        said = self._behaviour(assignment)
        if isawaitable(said):
            said = await said
        result = FakeResult(said) if isinstance(said, str) else said
        completed = result.outcome is Outcome.COMPLETED
        answer = result.answer if completed else ""
        trace = Trace(
            events=result.events or ((Message(answer),) if answer else ()),
            final_answer=answer,
            usage=result.usage,
            turns=1,
            model="fake",
            skill_listed=None if assignment.skill is None else True,
            skill_opened=assignment.skill is not None and result.skill_opened,
            finished=completed,
            stop_reason="end" if completed else result.outcome.value,
        )
        summary = summarize(trace, outcome=result.outcome.value, harness=self._name, skill=told_skill(assignment.skill))
        write_summary(assignment.folder, self._name, summary)
        return Attempt(
            attempt_id=assignment.attempt_id,
            outcome=result.outcome,
            detail=result.detail,
            trace=trace,
            summary=summary,
            workspace=Collected(dict(sorted({**assignment.files, **result.files}.items()))),
            usage=result.usage,
            wall_s=0.01,
            versions={"fake": "0"},
        )
