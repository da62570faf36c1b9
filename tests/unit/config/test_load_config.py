"""`load_config`: what it resolves, and the one line for each way to get honed.toml wrong."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from daemon.config import Config, ConfigError, load_config
from daemon.config_template import render_default

GOOD = """\
[skill]
path = "skills/xlsx"

[tasks]
path = "evals/tasks.jsonl"

[target]
harness = "codex"
model = "m"

[optimizer]
provider = "anthropic"
model = "o"

[train]
epochs = 2
"""


def _load(folder: Path, text: str) -> Config:
    file = folder / "honed.toml"
    file.write_text(text, encoding="utf-8")
    return load_config(file)


def _message(folder: Path, text: str) -> str:
    with pytest.raises(ConfigError) as raised:
        _load(folder, text)
    message = str(raised.value)
    assert "\n" not in message
    assert message.startswith(str(folder / "honed.toml"))
    return message.removeprefix(str(folder / "honed.toml"))


def test_paths_count_from_the_files_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    text = GOOD.replace("[tasks]", 'repository = "../repo/"\n\n[tasks]')
    (tmp_path / "sub" / "honed.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    config = load_config(Path("sub/honed.toml"))
    assert config.file == tmp_path / "sub" / "honed.toml"
    assert config.tasks.path == tmp_path / "sub" / "evals" / "tasks.jsonl"
    assert config.skill.repository == tmp_path / "repo"
    assert config.skill.path == "skills/xlsx"


def test_absolute_paths_stay_and_defaults_fill_the_rest(tmp_path: Path) -> None:
    config = _load(
        tmp_path, GOOD.replace('"evals/tasks.jsonl"', '"/data/tasks"').replace("skills/xlsx", "skills/xlsx/")
    )
    assert config.tasks.path == Path("/data/tasks")
    assert config.skill.path == "skills/xlsx"
    assert (config.train.epochs, config.train.edit_budget, config.tasks.split) == (2, 4, (4, 1, 5))
    assert config.target.provider == "openai"


def test_a_missing_file_names_the_command_that_makes_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"honed\.toml: no such file \(run `honed init`"):
        load_config(tmp_path / "honed.toml")


def test_a_folder_and_bad_bytes_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Is a directory"):
        load_config(tmp_path)
    (tmp_path / "honed.toml").write_bytes(b'[skill]\npath = "\xff"\n')
    with pytest.raises(ConfigError, match="is not UTF-8"):
        load_config(tmp_path / "honed.toml")


@pytest.mark.parametrize("value", ['""', '" "', '"..."', '"a\\nb"', '"a\\u0000"', '"a <b"', '"a>"', '"a\\u202e"'])
@pytest.mark.parametrize("key", ["author_name", "author_email"])
def test_an_author_that_git_would_refuse_or_change_is_named_at_once(tmp_path: Path, key: str, value: str) -> None:
    assert _message(tmp_path, f"{GOOD}\n[git]\n{key} = {value}\n").startswith(f":19: [git] {key} must have a letter")


def test_an_author_with_another_script_is_taken(tmp_path: Path) -> None:
    config = _load(tmp_path, GOOD + '\n[git]\nauthor_name = "Zoë 山田, O\'Neil"\nauthor_email = "a.b+c@x.example"\n')
    assert config.git.author_name == "Zoë 山田, O'Neil"


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "honed.toml")
    with pytest.raises(ConfigError, match="is no regular file"):
        load_config(tmp_path / "honed.toml")


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("[skill]\n", '[skill]\nrepository = "a\\u0000b"\n', "[skill] repository"),
        ("[skill]\n", '[skill]\ninitial = "a\\u0000b"\n', "[skill] initial"),
        ("[tasks]\npath = ", '[tasks]\npath = "a\\u0000b" # ', "[tasks] path"),
    ],
)
def test_a_path_that_no_system_has_is_named(tmp_path: Path, old: str, new: str, key: str) -> None:
    assert old in GOOD
    assert f"{key} must not hold a NUL character" in _message(tmp_path, GOOD.replace(old, new))


def test_links_in_a_circle_are_left_to_whoever_opens_them(tmp_path: Path) -> None:
    (tmp_path / "round").symlink_to("round")
    config = _load(tmp_path, GOOD.replace("[skill]\n", '[skill]\nrepository = "round"\n'))
    assert config.skill.repository == tmp_path / "round"


def test_a_byte_order_mark_is_tolerated(tmp_path: Path) -> None:
    assert _load(tmp_path, "\ufeff" + GOOD).train.epochs == 2


@pytest.mark.parametrize("text", ["x = " + "[" * 5000, f"[a{'.a' * 5000}]\n"])
def test_what_is_nested_too_deeply_is_one_line(tmp_path: Path, text: str) -> None:
    assert "nested too deeply" in _message(tmp_path, text)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("epochs = 2", "epochs = ", ":16: is not valid TOML: Invalid value"),
        ("epochs = 2", "epochs = 2\n[skill]", ":17: is not valid TOML: Cannot declare ('skill',) twice"),
        ("epochs = 2", "epoch = 2", ":16: [train] epoch is no known key: did you mean `epochs`?"),
        ("epochs = 2", "zzz = 2", ":16: [train] zzz is no known key: remove it (known: accumulation, attempt_tries"),
        ("[train]", "[trian]", ":15: [trian] is no section: did you mean `train`?"),
        ("epochs = 2", "epochs = 0", ":16: [train] epochs must be at least 1, not 0"),
        ("epochs = 2", 'epochs = "2"', ":16: [train] epochs must be a whole number, not '2'"),
        ("epochs = 2", "epochs = 2.5", ":16: [train] epochs must be a whole number, not 2.5"),
        ("epochs = 2", "epochs = true", ":16: [train] epochs must be a whole number, not True"),
        ("epochs = 2", "mixed_weight = 1.5", ":16: [train] mixed_weight must be at most 1, not 1.5"),
        ("epochs = 2", "min_valid = nan", ":16: [train] min_valid must be a finite number, not nan"),
        ("epochs = 2", 'min_valid = "all"', ":16: [train] min_valid must be a number, not 'all'"),
        ("epochs = 2", "edit_budget = 1", ":15: [train] min_edit_budget must be at most edit_budget (1), not 2"),
        (
            "epochs = 2",
            'schedule = "cos"',
            "must be one of 'constant', 'linear', 'cosine', ",
        ),
        ("[train]", "[sandbox]\nallow_unsandboxed = 1\n[train]", "allow_unsandboxed must be true or false, not 1"),
        ('model = "m"\n', "", ":7: [target] model is missing: add it"),
        ('model = "m"', "model = 3", ":9: [target] model must be text, not 3"),
        ('model = "m"', "model = 2024-01-01", ":9: [target] model must be text, not ['2024-01-01']"),
        ('model = "m"', 'model = " "', ":9: [target] model must name a model"),
        ('"codex"', '"cursor"', ":8: [target] harness must be one of 'chat', 'codex' or 'claude-code', not 'cursor'"),
        ('model = "m"', 'model = "m"\nprovider = "anthropic"', ':10: [target] provider must be "openai" for harness'),
        ('"codex"', '"claude-code"', ':7: [target] provider must be "anthropic" for harness "claude-code"'),
        ("[train]", "[tasks.x]", ":15: [tasks] x is no known key"),
        ("[target]", "split = [4, 0, 5]\n[target]", ":7: [tasks] split must have three shares of at least 1"),
        ("[target]", "split = [4, 5]\n[target]", ":7: [tasks] split[2] is missing: the list is too short"),
        ("[target]", "split = [4, 'a', 5]\n[target]", ":7: [tasks] split[1] must be a whole number, not 'a'"),
        ("[target]", "split = 4\n[target]", ":7: [tasks] split must be a list, not 4"),
        ('"skills/xlsx"', '"../xlsx"', ":2: [skill] path must be a folder inside the repository"),
        ('"skills/xlsx"', '"/xlsx"', ":2: [skill] path must be a folder inside the repository"),
        ('"skills/xlsx"', '"."', ":2: [skill] path must be a folder inside the repository"),
        ('model = "o"', 'model = "o"\nbase_url = "host:80"', ":14: [optimizer] base_url must be http(s)://"),
        ('model = "o"', 'model = "o"\nprice = {input = -1, output = 1}', "[optimizer.price] input must be at least 0"),
        ('model = "o"', 'model = "o"\nprice = {input = 1, output = inf}', "output must be a finite number"),
        ("[skill]", 'file = "x"\n[skill]', ":1: [file] is no section: remove it"),
        ("[skill]", "skill = 1\n[skil]", ":1: [skill] must be a section (and 1 more)"),
    ],
)
def test_each_mistake_is_one_line_with_its_key_and_place(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in GOOD
    assert said in _message(tmp_path, GOOD.replace(old, new, 1))


def test_an_empty_file_lists_what_is_missing(tmp_path: Path) -> None:
    assert _message(tmp_path, "") == ": [skill] is missing: add the section (and 3 more)"


def test_the_first_mistake_in_the_file_is_told_first(tmp_path: Path) -> None:
    text = GOOD.replace("epochs = 2", "epochs = 0").replace('path = "evals/tasks.jsonl"', "path = 1")
    assert _message(tmp_path, text) == ":5: [tasks] path must be text, not 1 (and 1 more)"


@pytest.mark.parametrize(
    "line",
    [
        'api_key_env = "sk-ant-REALKEY-0123"',
        'api_key_file = ["REALKEY"]',
        'api_key_command = "REALKEY"',
        'api_key_command = ["echo", {a = "REALKEY"}]',
        'api_key_command = ["", "REALKEY"]',
        'base_url = "https://me:REALKEY@host/v1"',
        'base_url = ["REALKEY"]',
    ],
)
def test_a_secret_in_the_file_is_never_repeated(tmp_path: Path, line: str) -> None:
    message = _message(tmp_path, GOOD.replace('model = "o"', f'model = "o"\n{line}'))
    assert message.startswith(f":14: [optimizer] {line.split(maxsplit=1)[0]}")
    assert "REALKEY" not in message


@pytest.mark.parametrize(
    "lines",
    [
        'api_key_env = "K"\napi_key_file = "k"',
        'api_key_file = "k"\napi_key_command = ["pass"]',
        'api_key_env = "K"\napi_key_command = ["pass"]',
    ],
)
def test_a_key_comes_from_one_place(tmp_path: Path, lines: str) -> None:
    message = _message(tmp_path, GOOD.replace('model = "o"', f'model = "o"\n{lines}'))
    assert "cannot be given beside api_key_" in message


def test_files_and_programs_of_keys_count_from_the_file_s_folder(tmp_path: Path) -> None:
    config = _load(tmp_path, GOOD.replace('model = "o"', 'model = "o"\napi_key_command = ["bin/key", "a/b"]'))
    assert config.optimizer.api_key_command == (str(tmp_path / "bin/key"), "a/b")
    config = _load(tmp_path, GOOD.replace('model = "o"', 'model = "o"\napi_key_command = ["pass", "a/b"]'))
    assert config.optimizer.api_key_command == ("pass", "a/b")
    config = _load(tmp_path, GOOD.replace('model = "o"', 'model = "o"\napi_key_file = "secrets/key"'))
    assert config.optimizer.api_key_file == tmp_path / "secrets/key"
    config = _load(tmp_path, GOOD.replace('model = "o"', 'model = "o"\napi_key_file = "~/key"'))
    assert config.optimizer.api_key_file == Path.home() / "key"


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8080/v1", "https://models.example.com", "http://[::1]:80", "simulated:"]
)
def test_good_addresses_pass(tmp_path: Path, url: str) -> None:
    config = _load(tmp_path, GOOD.replace('model = "o"', f'model = "o"\nbase_url = "{url}"'))
    assert config.optimizer.base_url == url


@pytest.mark.parametrize("harness", ["chat", "codex", "claude-code"])
def test_the_rendered_file_loads_and_means_what_was_asked(tmp_path: Path, harness: str) -> None:
    provider = "anthropic" if harness == "claude-code" else "openai"
    text = render_default(
        skill_path='skills/quoted-"x"',
        tasks_path="C:\\tasks\u00e9.jsonl",
        harness=harness,  # type: ignore[arg-type]
        target_provider=provider,  # type: ignore[arg-type]
        target_model="m\t\x7f1",
        optimizer_provider="anthropic",
        optimizer_model="o",
    )
    config = _load(tmp_path, text)
    assert config.skill.path == 'skills/quoted-"x"'
    assert config.skill.repository == tmp_path
    assert config.tasks.path == tmp_path / "C:\\tasks\u00e9.jsonl"
    assert (config.target.harness, config.target.provider, config.target.model) == (harness, provider, "m\t\x7f1")
    assert (config.optimizer.provider, config.optimizer.model) == ("anthropic", "o")


def test_the_defaults_in_the_rendered_comments_are_the_real_ones(tmp_path: Path) -> None:
    text = render_default(skill_path="s/x", tasks_path="t", target_model="m", optimizer_model="o")
    shown = [line for line in text.splitlines() if line.startswith("# ") and " = " in line]
    optional = (
        "base_url",
        "api_key_env",
        "api_key_file",
        "api_key_command",
        "max_usd",
        "attempts",
        "tokens",
        "usd",
        "minutes",
    )
    uncommented = "\n".join(
        line.removeprefix("# ")
        if line in shown and not line.startswith(tuple(f"# {key}" for key in optional))
        else line
        for line in text.splitlines()
    )
    assert len(shown) > 15
    assert _load(tmp_path, uncommented) == _load(tmp_path, text)
    assert {
        key for key in ("mode", "gate", "update_mode", "slow_update", "attribution") if f"\n# {key} = " not in text
    } == set()


def test_the_rendered_budget_of_a_run_can_be_uncommented(tmp_path: Path) -> None:
    text = render_default(skill_path="s/x", tasks_path="t", target_model="m", optimizer_model="o")
    keys = [f"# {key} = " for key in ("attempts", "tokens", "usd", "minutes")]
    lines = (
        line.removeprefix("# ") if line.startswith(("# [budget.run]", *keys)) else line for line in text.split("\n")
    )
    budget = _load(tmp_path, "\n".join(lines)).budget
    assert None not in (budget.run.attempts, budget.run.tokens, budget.run.usd, budget.run.minutes)
    assert budget.step == budget.day == _load(tmp_path, text).budget.run


def test_the_papers_mode_changes_defaults_alone(tmp_path: Path) -> None:
    file = tmp_path / "honed.toml"
    file.write_text(GOOD.replace("epochs = 2", 'mode = "paper"\nsize_penalty = 0.01'))
    train = load_config(file).train
    assert (train.gate, train.refuse_rejected, train.size_penalty) == ("strict", False, 0.01)
    assert (train.epochs, train.batch, train.minibatch, train.edit_budget, train.schedule) == (4, 40, 8, 4, "cosine")
    assert (train.rejected_buffer, train.slow_update, train.slow_update_samples, train.meta_skill) == (
        True,
        "gated",
        20,
        True,
    )


FILES = '[skill]\nreferences = true\neditable = ["SKILL.md", "assets/**/*.txt"]\nmax_reference_chars = 900'


def test_other_files_are_edited_only_where_that_is_asked_for(tmp_path: Path) -> None:
    skill = _load(tmp_path, GOOD).skill
    assert (skill.editable, skill.references, skill.max_reference_chars) == (("SKILL.md",), False, 20_000)
    asked = _load(tmp_path, GOOD.replace("[skill]", FILES)).skill
    assert (asked.editable, asked.references, asked.max_reference_chars) == (("SKILL.md", "assets/**/*.txt"), True, 900)


def test_risky_edits_are_refused_or_flagged_as_configured(tmp_path: Path) -> None:
    skill = _load(tmp_path, GOOD).skill
    assert (skill.refuse, skill.allowed_hosts) == (("remote_code", "safeguards"), ())
    text = GOOD.replace("[skill]", '[skill]\nrefuse = ["url"]\nallowed_hosts = ["*.example.com", "docs.example.org"]')
    asked = _load(tmp_path, text).skill
    assert (asked.refuse, asked.allowed_hosts) == (("url",), ("*.example.com", "docs.example.org"))


@pytest.mark.parametrize("host", ["https://example.com", "*", "com", "*.com/", "a..b", "EXAMPLE.com", "e.com:80"])
def test_an_allowed_host_is_the_name_of_one(tmp_path: Path, host: str) -> None:
    text = GOOD.replace("[skill]", f'[skill]\nallowed_hosts = ["{host}"]')
    assert _message(tmp_path, text).startswith(":2: [skill] allowed_hosts must be names of hosts")


@pytest.mark.parametrize("pattern", ["", "/etc/*", "../other/*", "a/../b", "a//b", "a\\\\b"])
def test_no_glob_leaves_the_skills_folder(tmp_path: Path, pattern: str) -> None:
    text = GOOD.replace("[skill]", f'[skill]\neditable = ["{pattern}"]')
    assert _message(tmp_path, text).startswith(":2: [skill] editable must be relative paths or globs inside")


@pytest.mark.parametrize("line", ["references = true", 'editable = ["references/*.md"]'])
def test_other_files_need_patches_and_an_agent_that_opens_files(tmp_path: Path, line: str) -> None:
    key = line.split(maxsplit=1)[0]
    text = GOOD.replace("[skill]", f"[skill]\n{line}")
    rewriting = text.replace("epochs = 2", 'update_mode = "rewrite"')
    assert f':2: [skill] {key} needs [train] update_mode = "patch"' in _message(tmp_path, rewriting)
    chat = text.replace('"codex"', '"chat"')
    assert f':2: [skill] {key} needs [target] harness = "codex" or "claude-code"' in _message(tmp_path, chat)
    _load(tmp_path, text)
    _load(tmp_path, GOOD.replace('"codex"', '"chat"').replace("[skill]", '[skill]\neditable = ["SKILL.md"]'))
