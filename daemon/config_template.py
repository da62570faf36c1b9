"""The honed.toml that `honed init` writes: what must be chosen stands there, defaults stand in comments.

Invariant: what is rendered loads with `daemon.config.load_config` and means what was asked for.
"""

from __future__ import annotations

import json
from typing import Literal

from daemon.config import SandboxSection, TargetSection, TasksSection
from daemon.config_train import TrainSection
from sandboxes.gateway.policy import Provider

_TEMPLATE = """\
# What `honed train` works on. Relative paths count from this file's folder.
# Keys are read from environment variables ({keys}); never write one here.

[skill]
# Folder of the skill inside the repository; accepted edits go to the branch honed/<its name>.
path = {skill}
repository = {repository}

[tasks]
# A tasks.jsonl, .csv or evals.json, a folder of Harbor tasks, or python:NAME (docs/tasks.md).
path = {tasks}
# train : selection : test, for tasks without a split of their own.
# split = {split}
# split_seed = {split_seed}

[target]
# The agent that uses the skill: "chat", "codex" (provider openai) or "claude-code" (provider anthropic).
harness = {harness}
provider = {target_provider}
model = {target_model}
# base_url = "http://127.0.0.1:8080/v1"   # another server that speaks the provider's protocol
# api_key_env = "MY_KEY"                  # another variable than the provider's own
# api_key_file = "~/.secrets/key"         # or a file that only you may read
# api_key_command = ["pass", "my/key"]    # or a program that prints the key
# activation = {activation}               # or "discovered": the agent decides whether to open the skill
# max_turns = {d_target.max_turns}
# max_usd = 1.0                           # of one attempt

[optimizer]
# The model that proposes edits.
provider = {optimizer_provider}
model = {optimizer_model}

[train]
# mode = {mode}          # or "paper": the published method's defaults, its strict gate above all
# epochs = {d_train.epochs}
# batch = {d_train.batch}            # tasks of one step
# minibatch = {d_train.minibatch}         # attempts reflected on together
# edit_budget = {d_train.edit_budget}       # most edits of one step, falling to min_edit_budget
# min_edit_budget = {d_train.min_edit_budget}
# schedule = {schedule}   # or "linear", "constant", "autonomous", "unbounded"
# update_mode = {update_mode} # or "suggestions", "rewrite"
# slow_update = {slow_update} # at the end of an epoch; or "forced", "off"
# gate = {gate}       # asks again until a lead is more than chance; or "strict" (one pass), "off"
# gate_metric = {gate_metric}  # or "soft", "mixed"
# attribution = {attribution}   # true: leave each accepted edit out once, and drop what carries nothing
# seed = {d_train.seed}

# What a run may spend; [budget.step] and [budget.day] take the same keys. No key, no bound.
# `honed estimate` says beforehand what a run takes and how many steps such a cap buys.
# [budget.run]
# attempts = 500
# tokens = 20000000
# usd = 20.0
# minutes = 240

[sandbox]
# engine = "auto"       # docker, else bubblewrap
# workers = {d_sandbox.workers}           # attempts at the same time
# memory_mb = {d_sandbox.memory_mb}
# cpus = {d_sandbox.cpus}

[git]
# Whose name commits carry.
# author_name = "honed"
# author_email = "honed@localhost"
# sign = "auto"           # where git's own configuration asks for it; "never", "always"

[publish]
# Whether accepted edits leave this machine: "branch" (nothing does), "push", "pull-request" or "direct".
# mode = "branch"
# remote = "origin"
"""


def render_default(
    *,
    skill_path: str,
    tasks_path: str,
    repository: str = ".",
    harness: Literal["chat", "codex", "claude-code"] = "codex",
    target_provider: Provider = "openai",
    target_model: str,
    optimizer_provider: Provider = "openai",
    optimizer_model: str,
) -> str:
    """A commented honed.toml with these choices and the defaults of everything else."""
    providers = sorted({target_provider, optimizer_provider})
    train, tasks = TrainSection(), TasksSection.model_fields
    return _TEMPLATE.format(
        keys=" and ".join(f"{provider.upper()}_API_KEY" for provider in providers),
        skill=_quote(skill_path),
        repository=_quote(repository),
        tasks=_quote(tasks_path),
        harness=_quote(harness),
        target_provider=_quote(target_provider),
        target_model=_quote(target_model),
        optimizer_provider=_quote(optimizer_provider),
        optimizer_model=_quote(optimizer_model),
        split=list(tasks["split"].default),
        split_seed=tasks["split_seed"].default,
        d_target=TargetSection(harness=harness, provider=target_provider, model=target_model),
        d_train=train,
        d_sandbox=SandboxSection(),
        activation=_quote(TargetSection.model_fields["activation"].default),
        schedule=_quote(train.schedule),
        mode=_quote(train.mode),
        update_mode=_quote(train.update_mode),
        slow_update=_quote(train.slow_update),
        gate=_quote(train.gate),
        gate_metric=_quote(train.gate_metric),
        attribution=str(train.attribution).lower(),
    )


def _quote(text: str) -> str:
    """A TOML basic string (JSON's escapes are TOML's, apart from DEL)."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
