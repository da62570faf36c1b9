"""The verbs themselves, on repositories that people are in the middle of: what is theirs stays byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from daemon.cli.diff import _diff
from daemon.cli.log import _log
from daemon.cli.output import Output
from daemon.cli.publish import _publish
from daemon.cli.rebuild import _rebuild
from daemon.cli.revert import _revert
from daemon.config import load_config
from daemon.places import open_history
from tests.support.history import change, step_message
from tests.support.projects import chat_project
from tests.support.skills import SKILL_PATH, git
from tests.support.states import State, copy_of, dirty, fingerprint, hooks, linked, mark, rebasing, sparse, template


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return template(tmp_path_factory.mktemp("template") / "r")


def a_project(place: Path, repository: Path) -> Path:
    """A honed.toml beside the repository, which publishes by push."""
    place.mkdir()
    chat_project(place, "http://127.0.0.1:9/v1")
    toml = place / "honed.toml"
    text = toml.read_text().replace('path = "skills/greeter"', f'repository = "{repository}"\npath = "{SKILL_PATH}"')
    toml.write_text(text + '\n[publish]\nmode = "push"\nremote = "bare"\n')
    return toml


@pytest.mark.parametrize("state", [dirty, rebasing, hooks, linked, sparse], ids=lambda state: state.__name__)
async def test_revert_publish_and_rebuild_touch_nothing_of_anybodys(
    made: Path, tmp_path: Path, state: State, capsys: pytest.CaptureFixture[str]
) -> None:
    where = state(copy_of(made, tmp_path / "r"))
    remote = tmp_path / "bare.git"
    git(tmp_path, "clone", "-q", "--bare", str(where), str(remote))
    git(where, "remote", "add", "bare", str(remote))
    toml = a_project(tmp_path / "project", where)
    mark(where).unlink(missing_ok=True)
    before = fingerprint(where)
    mark(where).unlink(missing_ok=True)  # a person's own `git status` may run programs
    history = open_history(load_config(toml))
    base = await history.base()
    skill = await history.read(base)
    for step in (1, 2):
        skill = skill.with_text(skill.text + f"- rule {step}\n")
        await history.commit_edits(await history.base(), [change(skill, step_message(step=step))], 1_000 + step)
    output = Output(as_json=True)
    assert await _publish(output, toml, dry_run=False) == 0
    await _revert(output, toml, "2", "It breaks the report")
    assert await _publish(output, toml, dry_run=False) == 0
    await _log(output, toml, 10)
    await _diff(output, toml, base, history.branch)
    await _rebuild(output, toml)
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["outcome"] for row in rows if "outcome" in row] == ["pushed", "pushed"]
    assert git(remote, "rev-parse", history.branch).strip() == await history.base()
    assert (await history.read(history.branch)).text.endswith("- rule 1\n")
    assert not mark(where).exists()
    before.assert_kept(fingerprint(where))
