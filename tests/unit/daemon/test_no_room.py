"""A full disk is told as one, whoever met it, with the exit code of what goes on afterwards."""

from __future__ import annotations

import errno
import json
import os

import pytest
import typer

from daemon.cli.output import Output
from daemon.cli.run import BAD_INPUT, FAILED, STOPPED, run
from daemon.journal.journal import JournalError
from daemon.no_room import REMEDY, no_room
from skills_repo.history import RepositoryError

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
GIT = "git hash-object failed: unable to write loose object file: No space left on device"


def wrapped() -> RepositoryError:
    try:
        try:
            raise FULL
        except OSError as error:
            raise RepositoryError("the commit was not made") from error
    except RepositoryError as error:
        return error


@pytest.mark.parametrize(
    ("error", "full"),
    [
        (FULL, True),
        (OSError(errno.EDQUOT, os.strerror(errno.EDQUOT), "/x"), True),
        (wrapped(), True),
        (RepositoryError(GIT), True),
        (JournalError("journal x: database or disk is full (the disk is full: free some space and start again)"), True),
        (OSError(errno.EACCES, "Permission denied"), False),
        (RepositoryError("no such branch"), False),
        (ValueError("space"), False),
    ],
)
def test_it_is_known_by_number_or_words(error: Exception, full: bool) -> None:
    assert no_room(error) is full


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (FULL, "system", STOPPED),
        (RepositoryError(GIT), "repository", STOPPED),
        (
            JournalError("database or disk is full (the disk is full: free some space and start again)"),
            "journal",
            STOPPED,
        ),
        (OSError(errno.EACCES, "Permission denied"), "system", FAILED),
        (RepositoryError("no such branch"), "repository", BAD_INPUT),
    ],
)
def test_a_verb_ends_in_one_line_that_says_so(
    error: Exception, kind: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    async def work() -> None:
        raise error

    with pytest.raises(typer.Exit) as end:
        run(Output(as_json=True), work)
    told = json.loads(capsys.readouterr().out.splitlines()[-1])["error"]
    assert (end.value.exit_code, told["kind"]) == (code, kind)
    assert ("free some space" in told["message"]) is (code == STOPPED)
    assert told["message"].count(REMEDY) <= 1
