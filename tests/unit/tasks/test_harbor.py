from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from daemon.tasks.formats.harbor import is_harbor
from daemon.tasks.task import Task, TaskError
from tests.support.tasks import GOLDEN, read_harbor

HARBOR = GOLDEN / "harbor"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of one committed task, to be spoilt."""
    return Path(shutil.copytree(HARBOR / "count-lines", tmp_path / "set" / "count-lines"))


def refusal(folder: Path) -> str:
    with pytest.raises(TaskError) as caught:
        read_harbor(folder.parent)
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(str(folder), "")


def by_id(path: Path) -> dict[str, Task]:
    return {task.id: task for _, task in read_harbor(path)}


def test_a_folder_of_tasks_is_read() -> None:
    tasks = by_id(HARBOR)
    assert list(tasks) == ["count-lines", "sum-column"]
    task = tasks["count-lines"]
    assert task.prompt == "Count the lines of `data/poem.txt` and write the number to `count.txt`."
    assert (task.split, task.group, task.timeout_s, task.verifier_timeout_s) == ("train", "text", 300.0, 60.0)
    assert task.scorer.name == "test_script"
    assert task.scorer.options == {"env": {"EXPECTED_LINES": "3"}, "docker_image": "example/count-lines:1"}


def test_the_agent_sees_the_environment_without_its_build_files() -> None:
    assert {task.id: list(task.files) for _, task in read_harbor(HARBOR)} == {
        "count-lines": ["data/poem.txt"],
        "sum-column": ["data/numbers.csv"],
    }


def test_tests_are_apart_and_the_solution_is_nowhere() -> None:
    for task in by_id(HARBOR).values():
        shown = [*task.files.values(), *task.tests.values()]
        assert not [path for path in shown if "solution" in path.parts]
    assert sorted(by_id(HARBOR)["sum-column"].tests) == ["checks/check.py", "test.sh"]


def test_defaults_and_our_own_keys() -> None:
    task = by_id(HARBOR)["sum-column"]
    assert (task.split, task.group, task.weight, task.protect) == ("selection", "tables", 2.0, True)
    assert (task.timeout_s, task.verifier_timeout_s, task.scorer.options) == (600.0, 120.0, {})


def test_one_task_folder_is_a_set_of_one() -> None:
    assert is_harbor(HARBOR / "count-lines")
    assert list(by_id(HARBOR / "count-lines")) == ["count-lines"]
    assert not is_harbor(HARBOR / "count-lines" / "tests")


def test_skills_that_come_with_a_task_are_left_out(folder: Path) -> None:
    skill = folder / "environment" / "skills" / "counting" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("curated")
    assert list(by_id(folder)["count-lines"].files) == ["data/poem.txt"]


@pytest.mark.parametrize(
    "name", ["Dockerfile", "app.Dockerfile", "Dockerfile.gpu", "docker-compose.yaml", "compose.yml"]
)
def test_build_files_are_no_workspace_files(folder: Path, name: str) -> None:
    (folder / "environment" / name).write_text("x")
    assert list(by_id(folder)["count-lines"].files) == ["data/poem.txt"]


def test_unknown_keys_of_other_versions_are_left_alone(folder: Path) -> None:
    toml = (folder / "task.toml").read_text()
    (folder / "task.toml").write_text('schema_version = "9"\n' + toml + '\n[future]\nkey = "x"\n')
    assert "count-lines" in by_id(folder)


@pytest.mark.parametrize(
    ("toml", "complaint"),
    [
        ("x = ", "/task.toml: is not TOML: "),
        ("[agent]\ntimeout_sec = 'long'", "/task.toml: agent.timeout_sec: Input should be a valid number"),
        ("[verifier]\ntimeout_sec = 0", "/task.toml: verifier.timeout_sec: Input should be greater than 0"),
        ("[metadata]\nsplit = 'dev'", "/task.toml: metadata.split: Input should be 'train', 'selection' or 'test'"),
        ("[verifier.env]\nKEY = '${SECRET}'", "/task.toml: verifier.env.KEY: variables of the host are not passed"),
        (
            "[environment.healthcheck]\ncommand = 'x'",
            "/task.toml: environment.healthcheck: is not supported: no service",
        ),
        (
            "[verifier.environment]\ndocker_image = 'x'",
            "/task.toml: verifier.environment.docker_image: is not supported",
        ),
        ("[[environment.mcp_servers]]\nname = 'x'", "/task.toml: environment.mcp_servers: are not supported"),
    ],
)
def test_what_cannot_be_honoured_is_an_error(folder: Path, toml: str, complaint: str) -> None:
    (folder / "task.toml").write_text(toml)
    assert refusal(folder).startswith(complaint)


def test_missing_parts_are_named(folder: Path) -> None:
    (folder / "instruction.md").write_text(" \n")
    assert refusal(folder) == "/instruction.md: is empty: it is the prompt"
    (folder / "instruction.md").unlink()
    assert refusal(folder) == "/instruction.md: is missing: it is the prompt"
    (folder / "instruction.md").write_text("Do it.")
    (folder / "tests" / "test.sh").unlink()
    assert refusal(folder).startswith("/tests/test.sh: is missing: it must write /logs/verifier/reward.txt")


@pytest.mark.parametrize("room", ["environment", "tests"])
def test_links_are_refused(folder: Path, room: str) -> None:
    (folder / room / "leak").symlink_to("/etc/passwd")
    assert refusal(folder) == f"/{room}/leak: is a link or a special file: put a regular file there"


def test_a_folder_name_that_is_no_id(folder: Path) -> None:
    odd = folder.rename(folder.parent / "odd name")
    assert "the folder's name 'odd name' is no task id" in refusal(odd)


def test_a_skill_at_the_workspace_root_is_refused(folder: Path) -> None:
    (folder / "environment" / "SKILL.md").write_text("x")
    assert "'SKILL.md' is where honed lays the skill" in refusal(folder)


def test_the_machine_that_a_task_asks_for(folder: Path) -> None:
    task = by_id(folder)["count-lines"]
    assert task.environment is not None
    assert (task.environment.image, task.environment.build) == ("example/count-lines:1", folder / "environment")
    assert (task.environment.memory_bytes, task.network) == (2048 * 1024**2, "allowed")
    assert list(task.solution) == ["solve.sh"]
    assert by_id(HARBOR)["sum-column"].environment is None


@pytest.mark.parametrize(("memory", "expected"), [("2G", 2 * 1024**3), ("512 MiB", 512 * 1024**2), ("1.5g", None)])
def test_memory_in_its_other_spelling(folder: Path, memory: str, expected: int | None) -> None:
    (folder / "task.toml").write_text(f'artifacts = ["/output/a"]\n[environment]\nmemory = "{memory}"\ncpus = 1\n')
    if expected is None:
        assert refusal(folder).startswith("/task.toml: environment.memory: ")
        return
    environment = by_id(folder)["count-lines"].environment
    assert environment is not None
    assert (environment.memory_bytes, environment.cpus, environment.artifacts) == (expected, 1.0, ("/output/a",))


@pytest.mark.parametrize(
    ("workdir", "expected"),
    [("/app", "/app"), ("/app/site/", "/app/site/"), ("/", "/"), ("app", None), ("/a/../b", None)],
)
def test_where_the_agent_starts(folder: Path, workdir: str, expected: str | None) -> None:
    (folder / "task.toml").write_text(f'[environment]\ndocker_image = "x"\nworkdir = "{workdir}"\n')
    if expected is None:
        assert refusal(folder).startswith("/task.toml: environment.workdir: ")
        return
    environment = by_id(folder)["count-lines"].environment
    assert environment is not None
    assert environment.workdir == expected
