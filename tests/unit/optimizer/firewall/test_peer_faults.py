"""Faults of other optimizers that a feedback firewall is there to prevent, one test each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from daemon.optimizer.firewall import WITHHELD
from skills_repo.edits import Edit, Op
from tests.unit.optimizer.firewall.world import HELD_TEXT, SKILL, ask, firewall, make_task, task

FAIL_REASON = r"judge: output must match ^KESTREL-[0-9]{4}: (passed|failed)$ but was 'done'"


def test_skillopt_154_the_judges_regex_in_fail_reason_does_not_reach_the_optimizer() -> None:
    for task_id in ("checked", "ship"):  # whether or not the task's own files hold it
        out = firewall().outgoing(FAIL_REASON, task(task_id))
        assert "KESTREL-[0-9]{4}" not in out
        assert "passed|failed" not in out
        assert "but was 'done'" in out


def test_skillopt_154_the_judges_regex_is_not_written_into_the_skill() -> None:
    content = "- End with a line like `^KESTREL-[0-9]{4}: (passed|failed)$`."
    assert firewall().edit(Edit(Op.APPEND, content=content), SKILL) == "repeats the source of a verifier"


def test_gepa_261_verbatim_n_grams_of_tasks_are_not_copied_into_the_skill() -> None:
    held = " ".join(HELD_TEXT.split()[3:14])
    train = " ".join(task("lease").prompt.split()[2:9])
    assert firewall().text(f"- Remember: {held}.", SKILL) == "shares 11 words with a held-out task"
    assert firewall().text(f"- Remember: {train} here.", SKILL).startswith("names the")


def test_skillopt_gold_answers_in_the_evaluation_result_turn_do_not_reach_the_optimizer() -> None:
    """Its trajectories end with a system turn `[EVALUATION RESULT] … Gold answers …`."""
    turn = "[EVALUATION RESULT] wrong. Gold answers: ['Port Alder', 'Alder']\n[END]"
    assert firewall().outgoing(turn, task("ship")) == f"[EVALUATION RESULT] wrong. Gold answers: {WITHHELD}\n[END]"


def test_skillopt_hidden_references_do_not_reach_the_optimizer() -> None:
    said = "Hidden reference: the ship lies at Port Alder, berth 9\nVerdict: 0"
    assert firewall().outgoing(said, task("ship")) == f"Hidden reference: {WITHHELD}\nVerdict: 0"


def test_gold_reachable_through_a_gold_file_does_not_reach_the_optimizer() -> None:
    said = "cell B1: 'Thornbury Works' != '', cell B2: 77,310.50 != 0"
    out = firewall().outgoing(said, task("sheet"))
    assert "Thornbury" not in out
    assert "77" not in out


@pytest.mark.parametrize(
    "content",
    [
        "- When asked where the Halvorsen ship lies, answer Port Alder.",
        "- If the file is kestrel-figures.csv, the total is 88213.75.",
        '- "Marigold Sparrow" paid most.',
    ],
)
def test_instance_specific_advice_is_refused_whatever_the_prompts_ask_for(content: str) -> None:
    assert firewall().edit(Edit(Op.APPEND, content=content), SKILL)


def test_a_leak_split_over_two_edits_is_seen_in_the_whole_candidate() -> None:
    """Each half passes alone; the whole new text is judged against the old one."""
    halves = ("- Keep a register of every vessel", "that passed the northern lock.")
    assert [firewall().edit(Edit(Op.APPEND, content=half), SKILL) for half in halves] == ["", ""]
    assert firewall().text(SKILL.text + " ".join(halves), SKILL) == "shares 10 words with a held-out task"


def test_a_shared_template_is_not_held_out_text() -> None:
    """A guard that fires at the wording every task shares would refuse every edit about it."""
    shared = "save what you find under the name that the task gives"
    assert firewall().text(f"- Always {shared}.", SKILL) == ""
    other = replace(make_task("new", prompt=ask("Is it?")), answer="no")
    assert firewall().outgoing(other.prompt + " I did.", other, "agent") == other.prompt + " I did."
