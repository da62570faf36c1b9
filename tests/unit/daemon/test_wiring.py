"""Where keys, addresses and prices come from, and what is opened for whom."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.budget.capped import CappedPurse
from daemon.budget.purse import OpenPurse
from daemon.config import SIMULATED, Config, ConfigError, ModelSection, PriceSection, load_config
from daemon.config_train import BudgetSection
from daemon.demo.server import SimulatedModel
from daemon.journal.records import AttemptKey, RunRecord
from daemon.journal.sqlite import SqliteJournal
from daemon.rollouts.progress import Silent
from daemon.rollouts.receipt import write_receipt
from daemon.setup.doctor import needs_box
from daemon.tasks.scorers.scorer import Result
from daemon.wiring import (
    is_simulated,
    limits_of,
    open_parts,
    open_tasks,
    owner_id,
    price_from,
    upstream_of,
)
from sandboxes.gateway.policy import Price
from sandboxes.sandbox import MIB, SandboxError
from tests.support.journal import a_key, a_record, a_run
from tests.support.projects import chat_project, demo_project, greeting_tasks


def section(**changes: object) -> ModelSection:
    return ModelSection.model_validate({"model": "gpt-5.5", **changes})


def test_the_key_comes_from_the_named_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-mine-0123456789abcdef")
    upstream = upstream_of(section(api_key_env="MY_KEY", tries=7, retry_s=1.5, timeout_s=9.0), None)
    assert upstream.key_name == "MY_KEY"
    assert upstream.api_key.get_secret_value() == "sk-mine-0123456789abcdef"
    assert "sk-mine" not in repr(upstream)
    assert (upstream.tries, upstream.retry_s, upstream.timeout_s) == (7, 1.5, 9.0)


@pytest.mark.parametrize(
    ("provider", "address"), [("openai", "https://api.openai.com/v1"), ("anthropic", "https://api.anthropic.com")]
)
def test_without_an_address_the_provider_s_own_is_used(
    provider: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("K", "sk-0123456789abcdef")
    assert upstream_of(section(provider=provider, api_key_env="K"), None).base_url == address


def test_a_missing_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        upstream_of(section(), None)


async def test_the_simulated_model_needs_no_key_and_costs_nothing() -> None:
    simulated = section(base_url=SIMULATED)
    assert is_simulated(simulated)
    assert not is_simulated(section())
    async with SimulatedModel() as model:
        assert upstream_of(simulated, model).base_url == model.openai_base_url
        claude = section(base_url=SIMULATED, provider="anthropic")
        assert upstream_of(claude, model).base_url == model.anthropic_base_url
    assert price_from(simulated) == Price(0.0, 0.0, 0.0)


def test_a_configured_price_overrules_the_table() -> None:
    assert price_from(section()) is not None
    assert price_from(section(model="nobody-knows-it")) is None
    given = PriceSection(input=1.0, output=2.0)
    assert price_from(section(price=given)) == Price(1.0, 1.0, 2.0)
    assert price_from(section(price=PriceSection(input=1.0, cached_input=0.1, output=2.0))) == Price(1.0, 0.1, 2.0)
    written = PriceSection(input=1.0, cache_write=3.0, output=2.0)
    assert price_from(section(price=written)) == Price(1.0, 1.0, 2.0, 3.0)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return load_config(chat_project(tmp_path / "p", "http://127.0.0.1:9/v1") / "honed.toml")


def test_limits_follow_the_sandbox_section(config: Config) -> None:
    sandbox = config.sandbox.model_copy(update={"memory_mb": 300, "pids": 40, "workspace_mb": 9, "cpus": 1.5})
    limits = limits_of(config.model_copy(update={"sandbox": sandbox}))
    assert (limits.memory_bytes, limits.pids, limits.workspace_bytes, limits.cpus) == (300 * MIB, 40, 9 * MIB, 1.5)


def test_two_state_folders_are_two_owners(config: Config, tmp_path: Path) -> None:
    other = load_config(chat_project(tmp_path / "q", "http://127.0.0.1:9/v1") / "honed.toml")
    assert owner_id(config) != owner_id(other)
    assert owner_id(config) == owner_id(config)


async def test_chat_alone_opens_no_engine_and_state_is_not_committed(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_API_KEY", "sk-0123456789abcdef")
    async with open_parts(config, Silent()) as parts:
        assert parts.sandbox is None
        assert parts.engine is None
        assert parts.loud == ()
        assert parts.optimizer is not None
        assert parts.harness.name == "chat"
        assert (parts.state / ".gitignore").read_text() == "*\n"
        assert await parts.history.dirty() == ()


async def test_a_dead_process_s_scratch_is_gone_and_the_next_one_has_its_own(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_API_KEY", "sk-0123456789abcdef")
    left = config.file.parent / ".honed" / "scratch" / "honed-verify-x" / "tests"
    left.mkdir(parents=True)
    async with open_parts(config, Silent()):
        assert list((config.file.parent / ".honed" / "scratch").iterdir()) == []


async def test_a_budget_without_caps_is_an_open_purse_and_the_verb_that_trains_nothing_heeds_the_day_alone(
    tmp_path: Path,
) -> None:
    project = load_config(demo_project(tmp_path / "p", chat=True) / "honed.toml")
    async with open_parts(project, Silent()) as parts:
        assert isinstance(parts.purse, OpenPurse)
        assert set(parts.models) == {"target", "optimizer"}
    budget = BudgetSection.model_validate({"run": {"attempts": 1}, "day": {"tokens": 2}})
    capped = project.model_copy(update={"budget": budget})
    async with open_parts(capped, Silent()) as parts:
        assert isinstance(parts.purse, CappedPurse)
        assert parts.purse.budget == budget
    async with open_parts(capped, Silent(), optimizer=False) as parts:
        assert isinstance(parts.purse, CappedPurse)
        assert parts.purse.budget == BudgetSection.model_validate({"day": {"tokens": 2}})
        assert set(parts.models) == {"target"}


async def test_what_a_dead_process_left_unfinished_is_free_again(tmp_path: Path) -> None:
    project = load_config(demo_project(tmp_path / "p", chat=True) / "honed.toml")
    journal = SqliteJournal(project.file.parent / ".honed" / "journal.sqlite")
    await journal.open_run(RunRecord("r1", "f", "s", "c", "open", 0.0))
    await journal.plan_attempt("a-1", "r1", "t", AttemptKey("", "d", "chat", {}))
    await journal.close()
    async with open_parts(project, Silent(), optimizer=False) as parts:
        assert await parts.journal.unfinished_attempts() == ()
        assert parts.optimizer is None


async def test_scripts_of_a_chat_model_run_in_the_engine_whose_image_is_part_of_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_API_KEY", "sk-0123456789abcdef")
    monkeypatch.setenv("HONED_HOME", str(tmp_path / "home"))
    toml = '[sandbox]\nengine = "process"\n'
    for number, tools in enumerate(("python", None)):
        rows = [{**row, "tools": tools} for row in greeting_tasks()]
        project = chat_project(tmp_path / str(number), "http://127.0.0.1:9/v1", toml=toml, tasks=rows)
        config = load_config(project / "honed.toml")
        assert needs_box(config, open_tasks(config)) == (tools is not None)
        if tools is not None:
            with pytest.raises(SandboxError, match="protects nothing"):
                async with open_parts(config, Silent()):
                    pass
        unprotected = config.sandbox.model_copy(update={"allow_unsandboxed": True})
        async with open_parts(config.model_copy(update={"sandbox": unprotected}), Silent()) as parts:
            assert (parts.sandbox is not None) == (tools is not None)
            assert parts.rollouts.settings["image"] == ("host" if tools else "")


async def test_what_had_ended_waits_for_its_score_and_what_had_not_is_free(tmp_path: Path) -> None:
    project = load_config(demo_project(tmp_path / "p", chat=True) / "honed.toml")
    state = project.file.parent / ".honed"
    journal = SqliteJournal(state / "journal.sqlite")
    await journal.open_run(a_run("r1"))
    for attempt, trial in (("a-cut", 0), ("a-ended", 1)):
        await journal.plan_attempt(attempt, "r1", "t-1", a_key(trial=trial))
        (state / "attempts" / attempt).mkdir(parents=True)
    await journal.close()
    ended = a_record("a-ended", a_key(trial=1), score=None, hard=None)
    write_receipt(state / "attempts" / "a-ended", ended, Result())
    async with open_parts(project, Silent(), optimizer=False) as parts:
        assert await parts.journal.unfinished_attempts() == ("a-ended",)


RUBRIC = {"name": "rubric", "criteria": [{"name": "polite", "text": "The answer is polite."}]}
JUDGE = '[judge]\nmodel = "judge-model"\nbase_url = "http://127.0.0.1:9/v1"\n'


def rubric_project(folder: Path, toml: str) -> Config:
    rows = [
        {"id": f"r{n}", "prompt": f"Say {n}.", "scorer": RUBRIC, "split": "train" if n < 2 else "selection"}
        for n in range(6)
    ]
    return load_config(chat_project(folder, "http://127.0.0.1:9/v1", toml=toml, tasks=rows) / "honed.toml")


async def test_a_rubric_has_the_judge_of_its_section(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_API_KEY", "sk-0123456789abcdef")
    async with open_parts(rubric_project(tmp_path / "p", JUDGE), Silent()) as parts:
        assert parts.rollouts.settings["judge"] == "openai/judge-model"


async def test_a_rubric_without_a_judge_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_API_KEY", "sk-0123456789abcdef")
    with pytest.raises(ConfigError, match=r"honed\.toml: \[judge\] is missing, and a task has a rubric"):
        async with open_parts(rubric_project(tmp_path / "p", ""), Silent()):
            pass


async def test_without_a_rubric_nobody_judges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_API_KEY", "sk-0123456789abcdef")
    config = load_config(chat_project(tmp_path / "p", "http://127.0.0.1:9/v1", toml=JUDGE) / "honed.toml")
    async with open_parts(config, Silent()) as parts:
        assert "judge" not in parts.rollouts.settings


def test_a_wrong_key_of_the_judge_is_named(tmp_path: Path) -> None:
    toml = '[judge]\nmodel = "m"\nmodle = "x"\n'
    with pytest.raises(ConfigError, match=r"\[judge\] modle is no known key: did you mean `model`"):
        load_config(chat_project(tmp_path / "p", "http://127.0.0.1:9/v1", toml=toml) / "honed.toml")
    with pytest.raises(ConfigError, match=r"\[judge\] model must name a model"):
        load_config(chat_project(tmp_path / "q", "http://127.0.0.1:9/v1", toml='[judge]\nmodel = " "\n') / "honed.toml")


def test_a_key_that_a_program_prints_can_be_got_anew() -> None:
    upstream = upstream_of(section(api_key_command=("echo", "k-wired-12345678")), None)
    assert (upstream.key, upstream.key_name) == ("k-wired-12345678", "api_key_command echo")
    assert upstream.renewal is not None
    assert "k-wired" not in repr(upstream)
