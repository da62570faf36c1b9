"""What kind of error it is, in one word: for exit codes, `--json` and the daemon's events.

By name, so that whoever needs none of their modules need not wait for them.
"""

from __future__ import annotations

_KINDS = {
    "daemon.config.ConfigError": "config",
    "daemon.tasks.task.TaskError": "tasks",
    "skills_repo.skill.SkillError": "skill",
    "skills_repo.history.RepositoryError": "repository",
    "daemon.journal.journal.JournalError": "journal",
    "daemon.setup.errors.SetupError": "setup",
    "harnesses.clis.CliError": "setup",
    "skills_repo.publish.errors.PublishError": "publish",
    "sandboxes.gateway.policy.ProviderError": "provider",
    "sandboxes.sandbox.SandboxError": "sandbox",
    "daemon.rollouts.stop.RunStopped": "stopped",
    "daemon.budget.reached.BudgetReached": "budget",
    "daemon.control.errors.NoDaemonError": "no-daemon",
    "daemon.control.errors.RefusedError": "refused",
    "daemon.control.errors.ControlError": "daemon",
}
"""A class of an error counts before what it is derived from."""


def kind_of(error: BaseException) -> str:
    """The kind of a known error; empty: it is a fault of honed, or of the system."""
    names = (f"{cls.__module__}.{cls.__qualname__}" for cls in type(error).__mro__)
    return next((_KINDS[name] for name in names if name in _KINDS), "")
