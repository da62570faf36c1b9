"""`honed eval`: score a skill as it stands at some commit, or no skill at all."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.table import Table
from rich.text import Text

from daemon.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile
from daemon.cli.output import Output
from daemon.cli.progress import progress
from daemon.cli.run import run
from daemon.config import Config, ConfigError, TargetSection, load_config
from daemon.optimizer.evaluate import EvaluationReport, evaluate
from daemon.optimizer.gates.rule import GateRule
from daemon.plain import plain
from daemon.preflight import check_target
from daemon.tasks.published import split_told
from daemon.wiring import Parts, is_simulated, open_parts

if TYPE_CHECKING:
    from rich.console import Console

    from skills_repo.skill import Skill

HarnessName = Literal["chat", "codex", "claude-code"]


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("eval")(evaluate_verb)


def evaluate_verb(
    *,
    config: ConfigFile = DEFAULT_CONFIG,
    ref: Annotated[
        str | None, typer.Option("--ref", help="Commit, branch or tag (default: honed/<skill>, else HEAD).")
    ] = None,
    no_skill: Annotated[bool, typer.Option("--no-skill", help="Let the agent work without a skill.")] = False,
    report_test: Annotated[
        bool, typer.Option("--report-test", help="Score the sealed test split: to report, never to choose.")
    ] = False,
    harness: Annotated[HarnessName | None, typer.Option(help="Another harness than the configuration's.")] = None,
    model: Annotated[str | None, typer.Option(help="Another model than the configuration's.")] = None,
    trial: Annotated[
        int | None,
        typer.Option(min=0, help="Number of the trial: equal ones are read back, a new number measures afresh."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Score the skill on the selection split (or, to report, on the sealed test split). Changes nothing.

    Example: honed eval --ref honed/pdf-forms~1
    """
    output = Output(as_json=as_json)
    settings = _Settings(ref, no_skill, report_test, harness, model, trial)
    run(output, lambda: _evaluate(output, config, settings))


@dataclass(frozen=True)
class _Settings:
    """What the options ask for."""

    ref: str | None
    no_skill: bool
    report_test: bool
    harness: HarnessName | None
    model: str | None
    trial: int | None

    def trial_of(self, config: Config) -> int:
        """The trial asked for, else one that had no part in accepting the skill (the winner's curse).

        Nothing was ever chosen by the test split, and one strict pass is all that a strict gate knows.
        """
        if self.trial is not None:
            return self.trial
        return config.train.gate_trials if config.train.gate == "paired" and not self.report_test else 0

    def target(self, config: Config) -> TargetSection:
        """`[target]` with what the options replace."""
        return other_target(config.target, self.harness, self.model)


def other_target(target: TargetSection, harness: HarnessName | None, model: str | None) -> TargetSection:
    """`[target]` with another harness or model; raises `ConfigError` if a model must be named and is not."""
    changes: dict[str, Any] = {}
    if harness:
        provider = {"codex": "openai", "claude-code": "anthropic"}.get(harness, target.provider)
        changes |= {"harness": harness, "provider": provider}
        if provider != target.provider and not is_simulated(target):
            if not model:
                msg = f"--harness {harness} asks another provider than [target]'s: give its --model too"
                raise ConfigError(msg)
            # Address, key and price are [target]'s own provider's: no other one may see that key.
            changes |= {"base_url": None, "price": None}
            changes |= {"api_key_env": None, "api_key_file": None, "api_key_command": ()}
    if model:
        changes["model"] = model
        if model != target.model:
            changes["price"] = None
    return target.model_copy(update=changes)


async def _evaluate(output: Output, file: Path, settings: _Settings) -> int:
    config = load_config(file)
    async with open_parts(config, progress(output), optimizer=False, harness=settings.target(config)) as parts:
        for line in parts.loud:
            output.warn(line)
        skill, commit = await _skill(parts, settings)
        for line in await _not_measured(parts, settings):
            output.warn(line)
        await check_target(parts.canary, parts.state / "attempts")
        report = await evaluate_with(
            parts, skill, test=settings.report_test, commit=commit, trial=settings.trial_of(config)
        )
    output.result(evaluation_data(report, parts, commit), lambda console: _render(console, report, parts, commit))
    return 0 if report.decisive else 1


async def _skill(parts: Parts, settings: _Settings) -> tuple[Skill | None, str]:
    if settings.no_skill:
        return None, ""
    commit = await parts.history.resolve(settings.ref) if settings.ref else await parts.history.base()
    return await parts.history.read(commit), commit


async def _not_measured(parts: Parts, settings: _Settings) -> list[str]:
    """What a person may take to be measured and is not."""
    if settings.no_skill or settings.ref:
        return []
    dirty = await parts.history.dirty()
    changed = f"uncommitted changes are not measured ({', '.join(dirty[:5])}): commit them first" if dirty else ""
    return [line for line in (changed, await parts.history.overlooked()) if line]


async def evaluate_with(
    parts: Parts, skill: Skill | None, *, test: bool, commit: str = "", trial: int = 0
) -> EvaluationReport:
    """Score one skill with the parts' harness."""
    train = parts.config.train
    return await evaluate(
        parts.rollouts,
        parts.journal,
        skill,
        parts.tasks,
        split="test" if test else "selection",
        reporting=test,
        rule=GateRule(train.gate_metric, train.mixed_weight, train.min_valid),
        path=parts.config.skill.path,
        commit=commit,
        trial=trial,
        purse=parts.purse,
    )


def evaluation_data(report: EvaluationReport, parts: Parts, commit: str) -> dict[str, Any]:
    """The machine-readable result."""
    return {
        "skill": report.skill,
        "commit": commit,
        "digest": report.digest,
        "split": report.split,
        "tasks_digest": parts.tasks.digest,
        "split_digest": parts.tasks.split_digest,
        "harness": parts.harness.name,
        "sandbox": parts.engine.engine if parts.engine else "none",
        "metric": report.metric,
        "score": report.measured.score,
        "tasks": report.measured.of,
        "valid": report.measured.n,
        "decisive": report.decisive,
        "reused": report.reused,
        **measured_data(report),
    }


def measured_data(report: EvaluationReport) -> dict[str, Any]:
    """What every result of scoring one skill ends with: cost, the tasks' rows, time."""
    return {
        "usage": {"requests": report.usage.requests, "tokens": report.usage.tokens, "usd": report.usage.usd},
        "results": [
            {
                "task": result.task.id,
                "attempt": result.record.attempt_id,
                "group": result.task.group,
                "outcome": result.record.outcome,
                "score": result.record.score,
                "solved": result.record.hard,
                "feedback": result.record.feedback,
            }
            for result in report.results
        ],
        "wall_s": round(report.wall_s, 2),
    }


def _render(console: Console, report: EvaluationReport, parts: Parts, commit: str) -> None:
    table = Table("task", "outcome", "score", "feedback", box=None, pad_edge=False)
    for result in report.results:
        record = result.record
        score = "invalid" if record.score is None else f"{record.score:.2f}"
        table.add_row(record.task_id, record.outcome, score, Text(plain(record.feedback or record.detail)))
    console.print(table)
    at = f" at {commit[:10]}" if commit else ""
    value = report.measured.score
    figure = "no valid result" if value is None else f"{value:.3f}"
    name = report.skill or "no skill"
    console.print(
        f"[bold]{name}{at}, {report.split}, {parts.harness.name}: {figure}[/] "
        f"({report.metric}, {report.measured.n} of {report.measured.of} tasks valid, {report.reused} read back)"
    )
    console.print(Text(split_told(parts.tasks.split_digest)))
    if not report.decisive:
        console.print("too few valid results to mean anything: run it again, or see the outcomes above")
