"""`[budget]`, `honed estimate` and `honed show` from the outside."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.support.honed_cli import edits, environment, honed, journal_rows, scored_count
from tests.support.projects import chat_project, demo_project

KEEP = {"train": 8, "selection": 5, "test": 3}
BRANCH = "honed/text"


def project(folder: Path, budget: str = "") -> Path:
    """The demo against the simulated chat model, judged by one pass, with a budget."""
    made = demo_project(folder, chat=True, keep=KEEP)
    file = made / "honed.toml"
    if "gate = " not in file.read_text():
        file.write_text(file.read_text().replace("[train]\n", '[train]\ngate = "strict"\n'))
    set_budget(made, budget)
    return made


def set_budget(folder: Path, budget: str) -> None:
    """Replace the budget in honed.toml."""
    file = folder / "honed.toml"
    file.write_text(file.read_text().split("\n# budget\n")[0] + f"\n# budget\n{budget}\n")


def test_a_run_that_reaches_its_cap_ends_cleanly_and_goes_on_to_the_same_commits(tmp_path: Path) -> None:
    whole = project(tmp_path / "whole")
    assert honed("train", "--json", cwd=whole).code == 0
    capped = project(tmp_path / "capped", "[budget.run]\nattempts = 17")
    ran = honed("train", "--json", cwd=capped)
    assert ran.code == 4
    assert ran.result["error"] == {"kind": "budget", "message": ran.error}
    assert ran.error.startswith("[budget.run] attempts = 17 is used up (17): raise it in honed.toml")
    assert "Traceback" not in ran.stderr
    assert scored_count(capped) == 17, "what was in flight was finished, and nothing began beyond the cap"
    assert journal_rows(capped, "SELECT count(*) FROM attempts WHERE state != 'finished'") == [(0,)]
    assert journal_rows(capped, "SELECT DISTINCT state FROM runs") == [("open",)]
    assert not [task for (task,) in journal_rows(capped, "SELECT task_id FROM attempts") if task.startswith("test")]
    kept = edits(capped, BRANCH)
    set_budget(capped, "[budget.run]\nattempts = 1000")
    again = honed("train", "--json", cwd=capped)
    assert again.code == 0, again.stderr
    assert again.result["resumed"] is True
    assert edits(capped, BRANCH) == edits(whole, BRANCH)
    assert edits(capped, BRANCH)[: len(kept)] == kept
    assert scored_count(capped) == scored_count(whole)


def test_a_day_cap_holds_for_evaluations_and_over_runs_and_a_killed_evaluation_is_closed(tmp_path: Path) -> None:
    made = project(tmp_path / "p", "[budget.day]\nattempts = 5")
    assert honed("eval", "--json", cwd=made).code == 0
    [(skill,)] = journal_rows(made, "SELECT skill FROM runs")
    assert (made / skill / "SKILL.md").is_file(), "it is journaled under the skill's path"
    with closing(sqlite3.connect(made / ".honed" / "journal.sqlite")) as journal, journal:
        journal.execute("UPDATE runs SET state = 'open'")
    ran = honed("eval", "--json", "--trial", "1", cwd=made)
    assert ran.code == 4
    assert "[budget.day] attempts = 5 is used up (5)" in ran.error
    assert "tomorrow (UTC)" in ran.error
    assert honed("eval", "--json", cwd=made).code == 0, "what is read back costs nothing"
    assert journal_rows(made, "SELECT state FROM runs ORDER BY seq") == [("failed",), ("failed",), ("done",)]


def test_a_money_cap_without_a_price_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    made = chat_project(tmp_path / "p", "http://127.0.0.1:9/v1", toml="\n[budget.run]\nusd = 5.0\n")
    ran = honed("train", "--json", cwd=made, env=environment(TEST_API_KEY="k"))
    assert ran.code == 2
    assert "[budget.run] usd needs a known price, and that of some-model is not known" in ran.error
    assert "set [target] price = {" in ran.error


def test_a_run_is_estimated_trained_and_shown(tmp_path: Path) -> None:
    made = project(tmp_path / "p")
    run = honed("--log-text", "train", "--json", cwd=made)
    assert "what they take is not known yet" in run.stderr, "a run begins with its estimate"
    trained = run.result
    ran = honed("show", "latest", "--json", cwd=made)
    assert ran.code == 0, ran.stderr
    assert (ran.result["run"], ran.result["state"]) == (trained["run"], "done")
    assert ran.result["baseline"]["measured"]["score"] == trained["score"]["selection"]["before"]
    assert ran.result["test"]["after"]["score"] == trained["score"]["test"]["after"]
    assert [sha for row in ran.result["steps"] for sha in row["commits"]] == trained["commits"]
    assert ran.result["costs"]["total"]["attempts"] == trained["attempts"]
    spent = trained["usage"]["target"]["tokens"] + trained["usage"]["optimizer"]["tokens"]
    assert ran.result["costs"]["total"]["tokens"] == spent
    assert "test-0" not in ran.stdout
    step = honed("show", trained["run"][:6], str(ran.result["steps"][-1]["step"]), cwd=made)
    assert step.code == 0, step.stderr
    assert f" of run {trained['run']}" in step.stdout
    said = honed("log", cwd=made).stdout
    assert f" of run {trained['run']}" in said, "the log says which step of which run to show"
    ran = honed("estimate", "--json", cwd=made)
    assert ran.result["averages"]["target"]["n"] == scored_count(made)
    assert ran.result["averages"]["optimizer"]["n"] > 0
    assert ran.result["most"]["usd"] == 0.0, "the simulated model is free, which is known"
    assert ran.result["attempts"]["total"]["least"] <= scored_count(made) <= ran.result["attempts"]["total"]["most"]
