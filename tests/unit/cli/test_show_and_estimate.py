"""`honed show` and `honed estimate`: what they print, and the one line where there is nothing to print."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from daemon.cli.estimate import _estimate
from daemon.cli.output import Output
from daemon.cli.show import _show
from daemon.config import ConfigError
from daemon.journal.journal import JournalError
from daemon.journal.sqlite import SqliteJournal
from tests.support.projects import chat_project
from tests.support.readback import trained, world


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A project's honed.toml."""
    toml = 'gate = "strict"\n\n[budget.run]\nattempts = 9\n'
    return chat_project(tmp_path / "p", "http://127.0.0.1:9/v1", toml=toml) / "honed.toml"


@pytest.fixture
async def run_id(config: Path, tmp_path: Path) -> str:
    """A training in the project's journal."""
    text = config.read_text().replace('path = "skills/greeter"', 'path = "skills/demo"')
    config.write_text(text)
    made = world(tmp_path / "attempts")
    made.journal = SqliteJournal(config.parent / ".honed" / "journal.sqlite", clock=made.clock)
    view = await trained(made)
    await made.journal.close()
    return view.run.run_id


async def test_a_run_and_a_step_are_printed_for_people_and_as_data(
    config: Path, run_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    await _show(Output(), config, "latest", None)
    said = capsys.readouterr().out
    for words in (run_id, "fingerprint", "baseline", "steps (edits", "sealed test", "optimizer: reflect"):
        assert words in said
    await _show(Output(as_json=True), config, run_id[:5], None)
    assert json.loads(capsys.readouterr().out)["run"] == run_id
    await _show(Output(), config, "latest", 2)
    assert f"step 2 of run {run_id}" in capsys.readouterr().out
    await _show(Output(as_json=True), config, "latest", 2)
    assert json.loads(capsys.readouterr().out)["decision"]["step"] == 2


async def test_what_cannot_be_shown_is_said(config: Path, run_id: str) -> None:
    with pytest.raises(JournalError, match=rf"step 7 of run {run_id} is not decided: steps 1 to 2 are"):
        await _show(Output(), config, "latest", 7)
    with pytest.raises(JournalError, match=f"no run begins with nothing: the newest are {run_id}"):
        await _show(Output(), config, "nothing", None)


async def test_without_a_journal_the_command_that_makes_one_is_named(config: Path) -> None:
    with pytest.raises(JournalError, match="run `honed train` first"):
        await _show(Output(), config, "latest", None)
    assert not (config.parent / ".honed").exists()


async def test_an_estimate_needs_neither_a_key_nor_a_journal(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    await _estimate(Output(as_json=True), config)
    found = json.loads(capsys.readouterr().out)
    assert found["attempts"]["total"]["least"] == 2 + 4 + 2
    assert found["averages"] == {"target": None, "optimizer": None}
    assert found["most"] == {"tokens": None, "usd": None, "wall_s": None}
    assert found["buys"] == [{"scope": "run", "cap": "attempts", "limit": 9, "steps": 0, "of": 1}]
    assert not (config.parent / ".honed").exists()
    await _estimate(Output(), config)
    said = capsys.readouterr().out
    assert "the price of some-model is unknown: what it costs is not counted (set [target] price)" in said
    assert "[budget.run] attempts = 9 buys at least 0 of 1 steps" in said


async def test_an_estimate_goes_by_what_the_journal_has_seen(
    config: Path, run_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = config.read_text().replace('model = "some-model"', 'model = "fake-1"', 1)
    config.write_text(text.replace('model = "some-model"', 'model = "optimizer-1"', 1))
    await _estimate(Output(as_json=True), config)
    found = json.loads(capsys.readouterr().out)
    assert found["averages"]["target"]["tokens"] == 15
    assert found["averages"]["optimizer"]["tokens"] == 120
    assert found["least"]["usd"] == pytest.approx(8 * 0.25)
    await _estimate(Output(), config)
    assert "(by the average of " in capsys.readouterr().out


async def test_a_money_cap_without_a_price_is_refused_by_the_estimate_too(config: Path) -> None:
    config.write_text(config.read_text().replace("attempts = 9", "usd = 5.0"))
    with pytest.raises(ConfigError, match=r"\[budget.run\] usd needs a known price"):
        await _estimate(Output(), config)
