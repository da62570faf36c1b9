"""The documents stay true: keys, defaults, scorers, limits, examples and links are those of the code."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_core import PydanticUndefined
from typer.main import get_command

from daemon.cli import run as cli_run
from daemon.cli.app import build
from daemon.config import Config, ModelSection, OptimizerSection, PriceSection, TargetSection, load_config
from daemon.config_train import CapSection
from daemon.optimizer import attempts
from daemon.tasks import feedback
from daemon.tasks.formats.harbor import scan_harbor
from daemon.tasks.formats.jsonl import Row
from daemon.tasks.load import load_tasks, read_set
from daemon.tasks.prove import Verdict, prove
from daemon.tasks.scorers.commands import CommandCheck
from daemon.tasks.scorers.files import FileCheck
from daemon.tasks.scorers.json_checks import JsonCheck
from daemon.tasks.scorers.registry import SCORERS, score_task
from daemon.tasks.scorers.rubric import Criterion
from daemon.tasks.scorers.scorer import Context, Result
from daemon.tasks.task import TaskError, TaskSet
from sandboxes.bubblewrap import _lacks
from sandboxes.bubblewrap_run import Setup
from sandboxes.gateway import cleaning, dialects
from sandboxes.gateway.bounds import Bounds
from sandboxes.hardening import Profile
from sandboxes.namespaces import Way
from sandboxes.process import LACKS, ProcessSandbox
from sandboxes.sandbox import MIB, Collected, Limits
from skills_repo.edits import EditLimits
from tests.support.tasks import GOLDEN, task_for

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
CONFIGURATION, TASKS, SAFETY = (
    DOCS.joinpath(name).read_text("utf-8") for name in ("configuration.md", "tasks.md", "safety.md")
)
_ROW = re.compile(r"^\|(.+)\|$", re.MULTILINE)


def squeezed(text: str) -> str:
    return " ".join(text.split())


def part(text: str, heading: str) -> str:
    """What stands below a heading that starts so, up to the next one of its level or above."""
    level = heading.split(maxsplit=1)[0]
    body = text.split(f"\n{heading}", 1)[1].split("\n", 1)[1]
    return re.split(rf"^#{{1,{len(level)}}} ", body, maxsplit=1, flags=re.MULTILINE)[0]


def rows(text: str) -> dict[str, list[str]]:
    """The table rows whose first cell is one name in backticks, by name."""
    cells = [[cell.strip() for cell in match.split("|")] for match in _ROW.findall(text)]
    return {row[0].strip("`"): row[1:] for row in cells if re.fullmatch(r"`[a-z_]+`", row[0])}


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def default_of(model: type[BaseModel], key: str) -> str:
    """A field's default as the tables write it."""
    field = model.model_fields[key]
    value = field.get_default(call_default_factory=True)
    if value is PydanticUndefined:
        return "required"
    if value is None:
        return "none"
    return f"`{json.dumps(str(value) if isinstance(value, Path) else value)}`"


def documented(text: str, model: type[BaseModel], column: int) -> None:
    """The table's keys are the model's, and so are the defaults in the cell at `column` after the key."""
    table = rows(text)
    assert set(table) == set(model.model_fields)
    assert {key: row[column] for key, row in table.items()} == {key: default_of(model, key) for key in table}


@pytest.mark.parametrize(
    "section", ["skill", "tasks", "train", "sandbox", "git", "publish", "inbox", "retention", "hooks", "telemetry"]
)
def test_every_key_of_a_section_is_documented_with_its_default(section: str) -> None:
    model = Config.model_fields[section].annotation
    assert isinstance(model, type)
    documented(part(CONFIGURATION, f"## [{section}]"), model, 1)


def test_the_keys_of_models_are_documented_with_their_defaults() -> None:
    both, alone = part(CONFIGURATION, "## [target]").split("`[target]` alone")
    documented(both, ModelSection, 1)
    target, optimizer = alone.split("`[optimizer]` alone")
    for text, section in ((target, TargetSection), (optimizer, OptimizerSection)):
        own = {key: default_of(section, key) for key in set(section.model_fields) - set(rows(both))}
        assert {key: row[1] for key, row in rows(text).items()} == own
    assert all(f"`{key}`" in both for key in PriceSection.model_fields)


def test_the_judge_s_section_takes_the_keys_of_models() -> None:
    assert Config.model_fields["judge"].annotation == ModelSection | None
    assert "the keys that both sections above take" in squeezed(part(CONFIGURATION, "## [judge]"))


def test_the_keys_of_caps_are_documented() -> None:
    documented(part(CONFIGURATION, "## [budget]"), CapSection, 1)


def test_every_section_has_a_part() -> None:
    named = set(re.findall(r"\[(\w+)\]", "\n".join(re.findall(r"^## .*$", CONFIGURATION, re.MULTILINE))))
    assert named == set(Config.model_fields) - {"file"}


def test_a_key_without_a_default_is_in_the_example_and_the_example_loads(tmp_path: Path) -> None:
    [text] = blocks(CONFIGURATION, "toml")
    file = tmp_path / "honed.toml"
    file.write_text(text)
    config = load_config(file)
    assert config.target.price == PriceSection(input=5.0, cached_input=0.5, output=30.0)
    for name in ("skill", "tasks", "target", "optimizer", "sandbox", "git", "train", "publish", "hooks", "telemetry"):
        section = getattr(config, name)
        bare = {key for key in type(section).model_fields if default_of(type(section), key) in ("required", "none")}
        # A key comes from one place, so each section shows another one.
        shared = {"base_url", "api_key_env", "price"} if name == "optimizer" else {"temperature", "api_key_file"}
        assert bare - shared <= section.model_fields_set, name


def test_the_exit_codes_are_those_of_the_code() -> None:
    codes = {int(code) for code in re.findall(r"^\| (\d+) \|", part(CONFIGURATION, "## Exit codes"), re.MULTILINE)}
    known = set(cli_run._EXIT_CODES.values())
    assert codes == {0, cli_run.INTERRUPTED, *known}


def test_every_column_of_a_task_line_is_documented() -> None:
    table = rows(part(TASKS, "## tasks.jsonl"))
    assert set(table) == set(Row.model_fields)
    empty = {"`{}`": "none", "none": "none"}
    for key, row in table.items():
        assert row[1] == empty.get(default_of(Row, key), default_of(Row, key)), key


def scorer_part(name: str) -> tuple[str, str]:
    """A scorer's own text, and that of what its options hold."""
    text, _, nested = part(TASKS, f"### `{name}`").partition("\n#### ")
    return text, nested


def test_every_scorer_and_option_is_documented() -> None:
    assert set(re.findall(r"^### `(\w+)`", TASKS, re.MULTILINE)) == set(SCORERS)
    shared = rows(part(TASKS, "### `exact_match`"))
    for name, kind in SCORERS.items():
        text, _ = scorer_part(name)
        own = rows(text)
        referred = {key for key in shared if key not in own and "as above" in text and f"`{key}`" in text}
        table = own | {key: shared[key] for key in referred}
        assert set(table) == set(kind.options.model_fields), name
        assert {key: row[0] for key, row in table.items()} == {key: default_of(kind.options, key) for key in table}


@pytest.mark.parametrize("check", [JsonCheck, FileCheck, CommandCheck, Criterion])
def test_every_key_of_a_check_is_documented(check: type[BaseModel]) -> None:
    [name] = [name for name, kind in SCORERS.items() if f"[{check.__name__}," in repr(kind.options.model_fields)]
    documented(scorer_part(name)[1], check, 0)


def test_every_scorer_stands_in_the_table_with_a_link() -> None:
    table = TASKS.split("\n## Scorers\n", 1)[1].split("\n### ", 1)[0]
    assert re.findall(r"\[`(\w+)`\]\(#(\w+)\)", table) == [
        (name, name) for name in re.findall(r"^### `(\w+)`", TASKS, re.MULTILINE)
    ]


def scorer_examples() -> list[str]:
    return [line for name in SCORERS for line in blocks(scorer_part(name)[0], "json")]


def test_every_scorer_has_an_example_that_loads(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in scorer_examples()]
    shown = [json.loads(line) for line in blocks(TASKS, "jsonl")[0].splitlines()]
    named = [row["scorer"] if isinstance(row["scorer"], str) else row["scorer"]["name"] for row in lines + shown]
    assert set(named) == set(SCORERS)
    for path in (path for row in lines for path in row.get("tests", {}).values()):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("{}")
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps({**row, "split": "train"}) + "\n" for row in lines))
    with pytest.raises(TaskError, match="selection"):  # every line is right; only the splits are not
        load_tasks(tmp_path)


@pytest.mark.parametrize(
    ("task_id", "result", "value"),
    [
        ("sub-1", Result("It is made in Port Alder."), 1.0),
        ("office-1", Result("It is <FINAL_ANSWER>4,120</FINAL_ANSWER>"), 1.0),
        ("page-1", Result("j. reyes"), 1.0),
        ("page-1", Result("Juan Rey"), 0.8),
        ("choice-1", Result("Food, so\nB) 7 %"), 1.0),
        ("choice-1", Result("A or B"), 0.0),
        ("math-1", Result(r"So x is \boxed{2^{1/2}}."), 1.0),
        ("greet-1", Result("Dear Mrs. Okoye, it is CASE-004711."), 1.0),
        ("greet-1", Result("Dear Mr. Okoye, sorry."), 1 / 3),
        ("json-1", Result(workspace=Collected({"invoice.json": b'{"number": 7, "lines": [], "total": 142.8}'})), 2 / 3),
        ("files-1", Result(workspace=Collected({"notes/mon.md": b"# 2026-01-05\n", "index.md": b"Monday"})), 2 / 3),
        (
            "cmd-1",
            Result(workspace=Collected({"sort.py": b"import sys\nprint(*sorted(sys.stdin), sep='', end='')"})),
            1.0,
        ),
    ],
)
async def test_the_examples_of_scorers_score(tmp_path: Path, task_id: str, result: Result, value: float) -> None:
    row = next(row for row in map(json.loads, scorer_examples()) if row["id"] == task_id)
    options = {key: value for key, value in row["scorer"].items() if key != "name"}
    task = task_for(row["scorer"]["name"], row.get("answer"), options=options)
    score = await score_task(task, result, Context(ProcessSandbox(owner="docs"), tmp_path))
    assert score.value == pytest.approx(value)


def lay(folder: Path) -> TaskSet:
    """The example of tasks.md with every file that it names."""
    [text] = blocks(TASKS, "jsonl")
    for row in map(json.loads, text.splitlines()):
        for named in (row.get("files", {}), row.get("tests", {})):
            for path in named if isinstance(named, list) else named.values():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(f"content of {path}\n")
    (folder / "tasks.jsonl").write_text(text)
    return load_tasks(folder)


def test_the_task_lines_load_as_they_stand(tmp_path: Path) -> None:
    tasks = lay(tmp_path)
    assert tasks.sizes() == {"train": 2, "selection": 4, "test": 1}


async def test_the_solutions_that_are_shown_prove_their_tasks(tmp_path: Path) -> None:
    [text] = blocks(part(TASKS, "### Solutions"), "json")
    for folder in ("gold", "checks", "solutions"):
        (tmp_path / folder).mkdir()
    (tmp_path / "gold" / "1.csv").write_text("142.8\n")
    (tmp_path / "checks" / "sort.sh").write_text('cat sort.py; echo $((1 - $?)) >"$LOGS_DIR/reward.txt"\n')
    (tmp_path / "solutions" / "sort.sh").write_text("echo 'import sys' >sort.py\n")
    (tmp_path / "tasks.jsonl").write_text(text)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    found = read_set(tmp_path)
    proofs = [await prove(task, Context(ProcessSandbox(owner="docs"), scratch)) for task in found.held]
    assert [(one.task, one.verdict) for one in proofs] == [
        (task_id, Verdict.PROVED) for task_id in ("case-1", "gross-1", "sort-1")
    ], proofs


@pytest.mark.parametrize(
    ("task_id", "answer", "value"),
    [
        ("vat-1", "19 % of 120 is 22.80. <answer>142.80</answer>", 1.0),
        ("vat-1", "19 % of 120 is 22.80, so 142.80", 0.0),
        ("vat-1", "120.00", 0.0),
        ("vat-2", "85.60", 1.0),
        ("who-1", "According to policy.md:\nThe Head of Finance.", 1.0),
        ("who-1", "head of finance\nor somebody else", 0.0),
        ("who-2", "It is <answer>head of operations</answer>, I think.", 1.0),
        ("who-2", "<answer>operations</answer>", 0.5),
    ],
)
async def test_the_examples_score_as_the_text_says(tmp_path: Path, task_id: str, answer: str, value: float) -> None:
    task = next(task for task in lay(tmp_path).tasks if task.id == task_id)
    assert (await score_task(task, Result(answer))).value == value


def harbor(folder: Path, name: str) -> None:
    """The Harbor example as a task of the given name; the name stands in the prompt, so that no two are the same."""
    toml, instruction, script = (blocks(part(TASKS, "## Harbor"), kind)[0] for kind in ("toml", "text", "sh"))
    task = folder / name
    for place in ("environment/data", "tests"):
        (task / place).mkdir(parents=True)
    split = "train" if name == "train" else "selection"
    (task / "task.toml").write_text(toml.replace('split = "selection"', f'split = "{split}"'))
    (task / "instruction.md").write_text(f"{instruction}({name})\n")
    (task / "environment/data/poem.txt").write_text("one\ntwo\n")
    (task / "tests/test.sh").write_text(script)
    (task / "tests/expected.txt").write_text("2\n")


def test_the_harbor_steps_example_loads(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(GOLDEN / "harbor-steps" / "ledger", tmp_path / "ledger"))
    (folder / "task.toml").write_text(blocks(part(TASKS, "## Harbor"), "toml")[1])
    (found,) = scan_harbor(folder)
    assert found.task is not None, found.error
    assert [(step.name, step.timeout_s, dict(step.min_reward)) for step in found.task.steps] == [
        ("totals", 600.0, {"reward": 1.0}),
        ("report", 120.0, {}),
    ]


@pytest.mark.parametrize(("answer", "value"), [(b"2\n", 1.0), (b"3\n", 0.0)])
async def test_the_harbor_example_loads_and_its_script_scores(tmp_path: Path, answer: bytes, value: float) -> None:
    for name in ("train", "one", "two", "three", "four"):
        harbor(tmp_path / "set", name)
    task = next(task for task in load_tasks(tmp_path / "set").tasks if task.id == "one")
    assert (task.group, task.timeout_s, task.verifier_timeout_s) == ("text", 300.0, 60.0)
    assert list(task.files) == ["data/poem.txt"]
    result = Result(workspace=Collected({"answer.txt": answer}))
    score = await score_task(task, result, Context(ProcessSandbox(owner="docs"), tmp_path))
    assert score.value == value


def test_the_bounds_of_what_the_optimizer_sees() -> None:
    assert f"prompt ({attempts._PROMPT_CHARS:,} characters)" in TASKS
    assert feedback.SHORTEST == 4
    assert "four or more letters or digits" in TASKS


def kept(n: int, before: float, after: float) -> float:
    """How often n tasks solved with chance `after` beat n others solved with chance `before`."""

    def share(k: int, p: float) -> float:
        return math.comb(n, k) * p**k * (1 - p) ** (n - k)

    pairs = ((i, j) for i in range(n + 1) for j in range(i + 1, n + 1))
    return math.fsum(share(i, before) * share(j, after) for i, j in pairs)


def test_the_table_of_effects_is_computed() -> None:
    table = re.findall(r"^\| (\d+) \| ([\d. |]+) \|$", part(TASKS, "## How many tasks"), re.MULTILINE)
    assert len(table) == 5
    for n, cells in table:
        step, *chances = map(float, cells.split("|"))
        assert step == pytest.approx(1 / int(n), abs=0.0005)
        assert chances == pytest.approx([kept(int(n), 0.5, rate) for rate in (0.4, 0.5, 0.6, 0.7)], abs=0.005)


def test_every_field_of_the_profile_is_told_with_its_value() -> None:
    table = part(SAFETY, "## A box in Docker")
    assert [field.name for field in fields(Profile) if f"`{field.name}`" not in table] == []
    told = rows(table)
    defaults: dict[str, Any] = {field.name: field.default for field in fields(Profile)}
    for name in ("network_mode", "read_only", "privileged", "init", "log_driver", "oom_score_adj"):
        assert told[name][0] == f"`{str(defaults[name]).lower()}`"
    for name in ("cap_drop", "security_opt"):
        assert f"`{defaults[name][0]}`" == told[name][0]


def test_the_figures_of_a_box_are_its_limits() -> None:
    limits, text = Limits(), squeezed(SAFETY)
    assert f"{limits.tmpfs_bytes // MIB} MiB each, gone with the container" in text
    assert f"files on the host, {limits.stream_bytes // MIB} MiB each" in text
    files, one, all_ = limits.collect_files, limits.collect_file_bytes // MIB, limits.collect_bytes // MIB
    assert f"at most {files:,} files, {one} MiB each and {all_} MiB together" in text
    assert f"longer than {EditLimits(1).max_edit_chars:,} characters" in text


def test_what_engines_lack_is_told_in_their_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    bubblewrap = _lacks(Setup(way=Way(user_namespace=True), root=None, cgroups=False))
    assert len(bubblewrap) == 3
    assert [line for line in (*LACKS, *bubblewrap) if line not in squeezed(SAFETY)] == []


def test_the_door_is_described_as_it_is() -> None:
    text = part(SAFETY, "## The gateway")
    assert [path for path in dialects._ROUTES if f"`{path}`" not in text] == []
    assert f"`{dialects.POLICY_PREFIX}`" in text
    bounds = Bounds()
    assert f"heads {bounds.head_bytes // 1024} KiB within {bounds.head_s:g} s" in text
    assert f"bodies {bounds.body_bytes // MIB} MiB, plain or gzip, within {bounds.body_s:g} s" in text
    assert f"{bounds.door_bytes // MIB} MiB of bodies for a door, {bounds.all_bytes // MIB} MiB of large ones" in text
    assert f"`{bounds.refusals}` refusals".replace("`", "") in text.replace(",", "")
    body: dict[str, Any] = {"model": "m", "background": False, "x": 1, "tools": [], "store": True}
    assert cleaning.clean(dialects.Dialect.RESPONSES, body, frozenset()) == ["field: background", "field: x"]
    assert body == {"model": "m", "tools": [], "store": False}, "fields and storing, as the text says"
    assert [field for field in cleaning._REFUSED if f"`{field}`" not in text] == []


DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *DOCS.glob("*.md")])


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: file.name)
def test_relative_links_lead_somewhere(file: Path) -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", file.read_text("utf-8"))
    relative = [target.split("#")[0] for target in targets if not re.match(r"[a-z]+:|#", target)]
    assert [target for target in relative if not (file.parent / target).exists()] == []


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: file.name)
def test_files_and_tests_that_are_named_exist(file: Path) -> None:
    named = re.findall(r"`((?:daemon|harnesses|sandboxes|skills_repo|tests|docs)/[\w/.-]+)`", file.read_text("utf-8"))
    assert [path for path in named if not (ROOT / path).exists()] == []


def shown_commands(text: str) -> list[str]:
    """Every `honed …` of inline code and of shell blocks, without its comment."""
    lines = "\n".join(blocks(text, "sh")).splitlines()
    spans = [*re.findall(r"`([^`\n]+)`", text), *lines]
    return [span.split(" #", maxsplit=1)[0] for span in spans if re.match(r"honed [a-z]+(\s|$)", span)]


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: file.name)
def test_verbs_and_options_that_are_shown_exist(file: Path) -> None:
    verbs = get_command(build()).commands  # type: ignore[attr-defined]
    for command in shown_commands(file.read_text("utf-8")):
        verb, *words = command.split()[1:]
        assert verb in verbs, command
        asked = verbs[verb]
        if (parts := getattr(asked, "commands", {})) and words:
            assert words[0] in parts, command
            asked = parts[words[0]]
        known = {option for parameter in asked.params for option in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= known, command


def test_commands_are_really_looked_at() -> None:
    assert "honed eval --report-test" in shown_commands(TASKS)
