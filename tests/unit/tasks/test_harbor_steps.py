"""Harbor tasks of several steps: what is read, what is shared, what is refused, and what names them."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from daemon.tasks.digest import work_digest, work_key
from daemon.tasks.load import digest_of, load_tasks, read_set
from daemon.tasks.scorers.registry import check_scorer, score_task
from daemon.tasks.scorers.scorer import VerifierError
from daemon.tasks.task import Task, TaskError
from sandboxes.sandbox import Root
from tests.support.tasks import GOLDEN, left, read_harbor

STEPS = GOLDEN / "harbor-steps"
ONE = "[[steps]]\nname = 'totals'\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of one committed task, to be changed."""
    return Path(shutil.copytree(STEPS / "ledger", tmp_path / "set" / "ledger"))


def read(folder: Path) -> Task:
    ((_, task),) = read_harbor(folder)
    return task


def refusal(folder: Path) -> str:
    with pytest.raises(TaskError) as caught:
        read_harbor(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(str(folder), "")


def test_steps_have_their_own_prompt_tests_solution_and_bounds() -> None:
    task = read(STEPS / "ledger")
    first, second = task.steps
    assert (first.name, first.timeout_s, first.min_reward) == ("totals", 300.0, {"reward": 1.0})
    assert (second.name, second.timeout_s, second.min_reward) == ("report", 120.0, {})
    assert (first.verifier_timeout_s, second.verifier_timeout_s) == (60.0, 60.0)
    assert first.prompt.startswith("Sum the amounts")
    assert (first.scorer.options, second.scorer.options) == (
        {"env": {"TOTAL_ANNA": "30"}},
        {"env": {"TOTAL_ANNA": "33"}},
    )
    assert list(first.tests) == list(second.tests) == ["same.sh", "test.sh"]
    assert (list(first.files), first.setup) == ([], "")
    assert (list(second.files), second.setup) == (["late.csv", "setup.sh"], "setup.sh")
    assert list(first.solution) == list(second.solution) == ["solve.sh"]


def test_the_task_as_a_whole_tells_all_prompts_and_holds_all_tests() -> None:
    task = read(STEPS / "ledger")
    assert task.prompt == f"Step 1 of 2:\n{task.steps[0].prompt}\n\nStep 2 of 2:\n{task.steps[1].prompt}"
    assert list(task.tests) == ["totals/same.sh", "totals/test.sh", "report/same.sh", "report/test.sh"]
    assert sorted(task.shown) == ["data/orders.csv", "report/late.csv", "report/setup.sh"]
    assert (task.rewards, read(STEPS / "notes").rewards) == ("mean", "final")
    assert task.solution == {}


def test_a_step_as_a_task_of_its_own() -> None:
    task = replace(read(STEPS / "ledger"), root=Root("sha256:1", "/app", "/app/site"))
    first, second = (task.at(step) for step in task.steps)
    assert (list(first.files), list(second.files)) == (
        ["data/orders.csv"],
        ["site/late.csv", "site/setup.sh"],
    )
    assert (first.steps, second.prompt, second.timeout_s) == ((), task.steps[1].prompt, 120.0)
    assert second.tests == task.steps[1].tests


def test_a_steps_own_test_file_hides_the_shared_one(folder: Path) -> None:
    (folder / "steps" / "report" / "tests" / "same.sh").write_text("# its own\n")
    first, second = read(folder).steps
    assert first.tests["same.sh"] == folder / "tests" / "same.sh"
    assert second.tests["same.sh"] == folder / "steps" / "report" / "tests" / "same.sh"
    shutil.copy(folder / "steps" / "totals" / "tests" / "test.sh", folder / "tests" / "test.sh")
    (folder / "steps" / "totals" / "tests" / "test.sh").unlink()
    assert read(folder).steps[0].tests["test.sh"] == folder / "tests" / "test.sh"


@pytest.mark.parametrize(
    ("toml", "complaint"),
    [
        ("[[steps]]\nname = 'none'", "/steps/none/instruction.md: is missing: it is the prompt"),
        ("[[steps]]\nname = '../totals'", "/task.toml: steps.0.name: String should match pattern"),
        (f"{ONE}[[steps]]\nname = 'Totals'", "/task.toml: steps[1].name: 'Totals' is taken by an earlier step"),
        (f"{ONE}[steps.healthcheck]\ncommand = 'x'", "/task.toml: steps[0].healthcheck: is not supported: no service"),
        (f"{ONE}[steps.verifier.env]\nK = '${{S}}'", "/task.toml: steps[0].verifier.env.K: variables of the host"),
        (
            f"{ONE}[steps.verifier.environment]\ndocker_image = 'x'",
            "/task.toml: steps[0].verifier.environment.docker_image: is not supported",
        ),
        (f"{ONE}min_reward = nan", "/task.toml: steps.0.min_reward.reward: Input should be a finite number"),
        (f"{ONE}min_reward = 'all'", "/task.toml: steps.0.min_reward: Input should be a valid dictionary"),
        (
            f"multi_step_reward_strategy = 'max'\n{ONE}",
            "/task.toml: multi_step_reward_strategy: Input should be 'mean'",
        ),
        (
            f"{ONE}[steps.agent]\nnetwork_mode = 'allowlist'\nallowed_hosts = ['pypi.org']",
            "/task.toml: steps[0].agent.allowed_hosts: names hosts, and no box has a network",
        ),
    ],
)
def test_what_cannot_be_honoured_names_the_key(folder: Path, toml: str, complaint: str) -> None:
    (folder / "task.toml").write_text(toml)
    assert refusal(folder).startswith(complaint)


def test_a_step_that_has_no_test_script_or_hides_the_skill(folder: Path) -> None:
    (folder / "steps" / "report" / "workdir" / "SKILL.md").write_text("x")
    assert "'SKILL.md' is where honed lays the skill" in refusal(folder)
    (folder / "steps" / "totals" / "tests" / "test.sh").unlink()
    assert refusal(folder).startswith("/steps/totals/tests/test.sh: is missing: it must write")


def test_artifacts_of_steps_can_be_written_too(folder: Path) -> None:
    toml = 'artifacts = ["/output/a"]\n[environment]\ndocker_image = "x"\n' + ONE + 'artifacts = ["/report/b"]\n'
    (folder / "task.toml").write_text(toml)
    environment = read(folder).environment
    assert environment is not None
    assert environment.artifacts == ("/output/a", "/report/b")


def test_whatever_decides_a_step_is_in_the_digest_and_its_solution_is_not(folder: Path) -> None:
    task = read(folder)
    first, second = task.steps
    seen = {digest_of(task)}
    for other in (
        replace(second, prompt="other"),
        replace(second, setup=""),
        replace(second, files={}),
        replace(second, tests=task.steps[1].solution),
        replace(second, min_reward={"files": 1.0}),
        replace(second, timeout_s=1.0),
    ):
        seen.add(digest_of(replace(task, steps=(first, other))))
    seen.add(digest_of(replace(task, rewards="final")))
    seen.add(digest_of(replace(task, steps=(second, first))))
    assert len(seen) == 9
    assert digest_of(replace(task, steps=(replace(first, solution={}), second))) == digest_of(task)


def test_the_same_work_with_other_files_in_a_step_is_other_work(folder: Path) -> None:
    task = read(folder)
    (folder / "steps" / "report" / "workdir" / "late.csv").write_text("anna,4\n")
    other = read(folder)
    assert task.steps[1].files == other.steps[1].files
    changed = (work_digest(other), work_key(other))
    (folder / "steps" / "report" / "workdir" / "late.csv").write_text("anna,3\n")
    assert (work_digest(task), work_key(task)) != changed


def test_the_scorer_of_every_step_is_checked() -> None:
    task = read(STEPS / "notes")
    check_scorer(task)
    wrong = replace(task.steps[1], tests={})
    with pytest.raises(TaskError, match=r"step second: tests: has no test\.sh"):
        check_scorer(replace(task, steps=(task.steps[0], wrong)))


async def test_a_task_of_steps_is_never_scored_as_if_it_had_one() -> None:
    with pytest.raises(VerifierError, match="task notes: is done in steps, and each is scored by itself"):
        await score_task(read(STEPS / "notes"), left())


def test_such_a_set_loads() -> None:
    tasks = load_tasks(STEPS, min_selection=1)
    assert (tasks.sizes(), tasks.notices) == ({"train": 1, "selection": 1, "test": 0}, ())
    assert read_set(STEPS).boxed
