"""`honed bench`: every benchmark's sample from end to end with the simulated model, the list, and every refusal."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from daemon.cli.app import build
from daemon.tasks.benchmarks import alfworld
from daemon.tasks.benchmarks.catalogue import BENCHMARKS
from daemon.tasks.episodes.engines import MISSING
from daemon.tasks.published import PUBLISHED
from tests.support.benchmarks import put_json

BETTER = {"searchqa": 0.0, "docvqa": 0.9, "officeqa": 0.9, "omni-math": 0.9, "olympiadbench": 0.7, "alfworld": 1.0}
"""What the simulated reader reaches at least with the initial skill."""
TURNS = {"alfworld": (3, 50), "officeqa": (3, 24), "spreadsheetbench": (2, 30)}
"""Requests a task, least and most, where a task is a conversation."""
OWN_PROCESS = """\
[skill]
path = "skills/none"
[tasks]
path = "none.jsonl"
[target]
harness = "chat"
provider = "{provider}"
model = "simulated"
base_url = "simulated:"
[optimizer]
model = "none"
base_url = "simulated:"
[sandbox]
engine = "process"
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HONED_BENCH_DATA", raising=False)


def bench(*words: str) -> Result:
    return CliRunner().invoke(build(("bench", "log")), ["bench", *words])


def cell(*words: str, code: int = 0) -> dict[str, Any]:
    done = bench(*words, "--json")
    assert done.exit_code == code, done.output
    data: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return data


def refused(*words: str) -> str:
    data = cell(*words, code=2)
    return str(data["error"]["message"])


@pytest.fixture
def scripts_in_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines are tried elsewhere."""
    monkeypatch.setenv("HONED_HOME", str(tmp_path / "home"))
    (tmp_path / "honed.toml").write_text(OWN_PROCESS.format(provider="openai"))


@pytest.mark.usefixtures("scripts_in_processes")
@pytest.mark.parametrize("name", list(BENCHMARKS))
def test_every_benchmark_runs_from_end_to_end(name: str) -> None:
    data = cell(name, "--harness", "chat", "--skill", "initial", "--sample")
    assert (data["benchmark"], data["split"], data["harness"]) == (name, "test", "chat")
    assert data["valid"] == data["tasks"] == data["manifest"]["tasks"] == len(data["results"]) >= 4
    assert (data["invalid"], data["decisive"], data["left_out"]) == ({}, True, [])
    assert data["score"] == data[data["metric"]]
    assert data["score"] >= BETTER.get(name, 0.0)
    assert data["skill"]["name"] == name
    assert data["skill"]["digest"].startswith("sha256:")
    assert data["split_digest"] == data["manifest"]["digest"]
    assert data["split_digest"].startswith("sha256:")
    assert not data["manifest"]["published"]
    least, most = TURNS.get(name, (1, 1))
    assert least <= data["usage"]["requests"] / data["tasks"] <= most
    assert data["sandbox"] == ("process" if name == "spreadsheetbench" else "none")
    assert data["usage"]["usd"] == 0.0


def test_a_skill_that_helps_shows_and_what_was_paid_is_read_back() -> None:
    words = ("docvqa", "--sample", "--simulated")
    without, taught, again = cell(*words), cell(*words, "--skill", "initial"), cell(*words, "--skill", "initial")
    assert without["score"] < taught["score"] == 1.0
    assert without["skill"] == {"asked": "none", "name": "", "digest": ""}
    assert (again["reused"], again["usage"]["requests"]) == (again["tasks"], 0)
    assert again["score"] == taught["score"]
    assert without["standard_error"] > 0


def test_anthropic_models_are_shown_the_images_too() -> None:
    data = cell("docvqa", "--sample", "--simulated", "--skill", "initial", "--provider", "anthropic", "--limit", "2")
    assert (data["score"], data["tasks"], data["limit"]) == (1.0, 2, 2)


@pytest.mark.usefixtures("scripts_in_processes")
@pytest.mark.parametrize("name", ["officeqa", "spreadsheetbench"])
def test_tools_work_over_the_other_wire_too(name: str, tmp_path: Path) -> None:
    (tmp_path / "honed.toml").write_text(OWN_PROCESS.format(provider="anthropic"))
    words = (name, "--sample", "--limit", "2")
    without, taught = cell(*words), cell(*words, "--skill", "initial")
    assert taught["score"] == 1.0
    assert (without["score"] < 1.0) == (name == "spreadsheetbench"), "formulas are left without their values"
    assert (without["valid"], taught["valid"]) == (2, 2)


def test_a_harness_that_cannot_do_a_benchmark_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    one = BENCHMARKS["docvqa"]
    monkeypatch.setattr("daemon.cli.bench.benchmark", lambda _: replace(one, harnesses=("codex", "claude-code")))
    assert "give --harness codex or claude-code" in refused("docvqa", "--sample", "--simulated")


def test_a_skill_of_ones_own_is_read_from_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: mine\ndescription: Read pages.\n---\n\n- Give the answer alone.\n")
    data = cell("docvqa", "--sample", "--simulated", "--skill", str(folder), "--limit", "1")
    assert (data["skill"]["name"], data["score"]) == ("mine", 1.0)


def test_people_read_the_figure_with_its_error_split_digest_and_cost() -> None:
    done = bench("docvqa", "--sample", "--simulated", "--skill", "initial", "--split", "train")
    assert done.exit_code == 0
    assert "docvqa, train, chat with simulated-target, skill initial: 1.000" in done.stdout
    assert "of 2 tasks valid" in done.stdout
    assert "split 2:1:7, seed 42: 2 of 2 listed tasks here, sha256:" in done.stdout
    assert "cost: 2 requests" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("gsm8k",), "there is no benchmark 'gsm8k'"),
        (("searchqa", "--simulated"), "SearchQA's data is not here"),
        (("searchqa", "--sample"), "--model is missing"),
        (("searchqa", "--sample", "--simulated", "--ratio", "half"), "--ratio 'half' is no ratio"),
        (("searchqa", "--sample", "--simulated", "--ratio", "0:0:0"), "is no ratio"),
        (("searchqa", "--sample", "--simulated", "--ratio", "1:0:0"), "no task of split test is here"),
        (("searchqa", "--sample", "--simulated", "--skill", "nowhere"), "no such folder"),
        (("docvqa", "--sample", "--simulated", "--harness", "codex", "--provider", "anthropic"), "speaks to openai"),
    ],
)
def test_what_cannot_be_run_is_refused_in_one_line(words: tuple[str, ...], said: str) -> None:
    assert said in refused(*words)


def test_the_list_says_what_is_here_where_and_split_how(tmp_path: Path) -> None:
    clue = {"question": "Clue", "context": "Text.", "answers": ["A"]}
    rows = [{**clue, "id": f"k{number}", "question": f"Clue {number}"} for number in range(10)]
    put_json(tmp_path / "bench-data/searchqa/searchqa_split/all/items.json", [*rows, {"id": "bad"}])
    put_json(tmp_path / "bench-data/docvqa/val_v1.0.json", [])
    data = cell("list")
    assert data["data"] == str(tmp_path / "bench-data")
    rows_by_name = {row["benchmark"]: row for row in data["benchmarks"]}
    assert list(rows_by_name) == list(BENCHMARKS)
    searchqa = rows_by_name["searchqa"]
    assert searchqa["splits"]["test"] == {"listed": 7, "tasks": 7}
    assert searchqa["left_out"] == [{"task": "bad", "why": "has no text 'question'"}]
    assert "holds no task" in rows_by_name["docvqa"]["fault"]
    assert not rows_by_name["omni-math"]["present"]


def test_the_list_for_people_names_folder_and_faults(tmp_path: Path) -> None:
    put_json(tmp_path / "elsewhere/docvqa/val_v1.0.json", [])
    done = bench("list", "--data", str(tmp_path / "elsewhere"))
    assert done.exit_code == 0
    assert "Data is looked for in" in done.stdout
    assert "holds no task of DocVQA" in done.stdout
    assert "unusable" in done.stdout
    for name in BENCHMARKS:
        assert name in done.stdout, "whole, for it is what to type"


def test_games_whose_engine_is_not_installed_are_here_but_cannot_be_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alfworld, "missing", lambda engine: MISSING if engine == "alfworld" else "")
    put_json(tmp_path / "d/alfworld/json_2.1.1/look-1/trial_1/game.tw-pddl", {})
    row = next(
        one for one in cell("list", "--data", str(tmp_path / "d"))["benchmarks"] if one["benchmark"] == "alfworld"
    )
    assert row["present"]
    assert "pip install 'honed[alfworld]'" in row["fault"]
    assert "pip install 'honed[alfworld]'" in refused("alfworld", "--data", str(tmp_path / "d"), "--simulated")


def test_an_item_that_cannot_be_scored_is_named_before_anything_is_paid(tmp_path: Path) -> None:
    clue = {"context": "Text.", "answers": ["A"]}
    rows = [{**clue, "id": f"k{number}", "question": f"Clue {number}"} for number in range(10)]
    put_json(tmp_path / "d/searchqa/searchqa_split/all/items.json", [*rows, {"id": "bad"}])
    done = bench("searchqa", "--data", str(tmp_path / "d"), "--simulated", "--limit", "1")
    assert done.exit_code == 0
    assert "left out: bad: has no text 'question'" in done.stderr
    assert "1 left out as unscorable" in done.stdout


def test_a_configuration_gives_model_and_budget_but_no_skill_or_tasks(tmp_path: Path) -> None:
    (tmp_path / "honed.toml").write_text(
        '[skill]\npath = "skills/none"\n[tasks]\npath = "none.jsonl"\n'
        '[target]\nharness = "chat"\nprovider = "openai"\nmodel = "of-the-file"\nbase_url = "simulated:"\n'
        '[optimizer]\nmodel = "x"\nbase_url = "simulated:"\n'
    )
    assert cell("docvqa", "--sample", "--limit", "1")["model"] == "of-the-file"
    assert cell("docvqa", "--sample", "--limit", "1", "--model", "mine")["model"] == "mine"
    (tmp_path / "honed.toml").write_text("[target]\n")
    assert "honed.toml" in refused("docvqa", "--sample")


def test_every_benchmark_with_a_published_split_is_known_by_its_title() -> None:
    titles = {one.title for one in BENCHMARKS.values()}
    assert set(PUBLISHED) <= titles
