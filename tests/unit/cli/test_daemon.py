"""Signals around `honed daemon`: what comes before it hears them, or after it has ended, changes nothing."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemon.cli import daemon as verb
from daemon.cli.output import Output

_ALL = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@pytest.fixture(autouse=True)
def _put_back() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in _ALL}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_signals_at_both_ends_do_not_change_the_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = []

    async def serve(file: Path) -> None:
        os.kill(os.getpid(), signal.SIGHUP)
        seen.append(file)

    def result(*_: object) -> None:
        for number in _ALL:
            os.kill(os.getpid(), number)
        seen.append(tmp_path)

    monkeypatch.setattr(verb, "serve", serve)
    monkeypatch.setattr(Output, "result", result)
    verb.daemon(tmp_path / "honed.toml")
    assert seen == [tmp_path / "honed.toml", tmp_path]
    assert signal.SIG_IGN not in [signal.getsignal(number) for number in _ALL], "or every child would ignore it"
