"""Have LibreOffice compute a workbook's formulas, in the second box of `verifier_box`: the workbook is hostile.

Libraries that write workbooks store no values beside formulas. Where the box has no LibreOffice, or it fails on the
workbook, the workbook stays as it is, and such formulas count as empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from daemon.tasks.scorers.scorer import Context, Result, VerifierError
from daemon.tasks.scorers.verifier_box import open_verifier_box
from daemon.tasks.task import Task
from sandboxes.sandbox import Collected, Ending

NOT_INSTALLED = "LibreOffice is not installed in the box: formulas were not computed"
FAILED = "LibreOffice could not compute the formulas"
_ABSENT = 3
_SCRIPT = f"""
command -v soffice >/dev/null || exit {_ABSENT}
exec soffice --headless --norestore --nolockcheck "-env:UserInstallation=file://$TMPDIR/libreoffice" \\
  --convert-to 'xlsx:Calc MS Excel 2007 XML' --outdir "$LOGS_DIR" "./$0"
"""


async def recalculated(task: Task, path: str, data: bytes, context: Context) -> tuple[bytes, str]:
    """The workbook with its formulas computed, or as it was and why; raises `VerifierError` if the box fails."""
    # The gold stays out of this box: nothing that a workbook does to LibreOffice can reach it.
    async with open_verifier_box(
        replace(task, tests={}), Result(workspace=Collected({path: data})), context, {}
    ) as box:
        argv = ("bash", "--noprofile", "--norc", "-c", _SCRIPT, path)
        ended = await box.run(*argv, deadline_s=task.verifier_timeout_s)
        out = await box.box.collect(room="out")
    if ended.ending in (Ending.LOST, Ending.KILLED):
        msg = f"task {task.id}: computing the formulas was {ended.ending.value}: {ended.detail}"
        raise VerifierError(msg)
    if ended.ending is Ending.EXITED and ended.exit_code == _ABSENT:
        return data, NOT_INSTALLED
    made = _made(path, out.files)
    return (made, "") if made is not None else (data, FAILED)


def _made(path: str, files: Mapping[str, bytes]) -> bytes | None:
    return files.get(f"{PurePosixPath(path).stem}.xlsx")
