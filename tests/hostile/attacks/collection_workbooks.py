"""Workbooks and other files that mean harm to whoever opens them: scored 0 or read as data."""

from __future__ import annotations

import io
import json
import resource
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from daemon.tasks.scorers.registry import score_task
from daemon.tasks.scorers.scorer import Context, Result
from daemon.tasks.task import Score, Task
from sandboxes.sandbox import Collected
from tests.hostile.attack import Area, Attack, Attempted, BrokenError, Stage, add, attack, holds
from tests.support.tasks import book, task_for

_SHEET = "xl/worksheets/sheet1.xml"
_NAMESPACE = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
MEMORY_MB = 400.0
"""By which this process may grow: what reads the workbook is another one, with a bound of its own."""


def _changed(edit: Callable[[str, bytes], bytes | None], **more: bytes) -> bytes:
    """A good workbook with its parts edited (None leaves one out), and others added (`a__b` is `a/b.xml`)."""
    made = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(book(A1=1, A2="two"))) as good,
        zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as out,
    ):
        for name in good.namelist():
            data = edit(name, good.read(name))
            if data is not None:
                out.writestr(name, data)
        for name, data in more.items():
            out.writestr(name.replace("__", "/") + ".xml", data)
    return made.getvalue()


def _sheet(xml: str) -> bytes:
    return _changed(lambda name, data: xml.encode() if name == _SHEET else data)


def _cells(inner: str, before: str = "") -> bytes:
    return _sheet(f'<?xml version="1.0"?>{before}<worksheet {_NAMESPACE}><sheetData>{inner}</sheetData></worksheet>')


def _laughs() -> bytes:
    names = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    entities = f'<!DOCTYPE x [<!ENTITY l0 "{"ha" * 50}">{names}]>'
    return _cells('<row r="1"><c r="A1" t="inlineStr"><is><t>&l9;</t></is></c></row>', entities)


def _quadratic() -> bytes:
    entity = f'<!DOCTYPE x [<!ENTITY a "{"x" * 100_000}">]>'
    return _cells(f'<row r="1"><c r="A1" t="inlineStr"><is><t>{"&a;" * 30_000}</t></is></c></row>', entity)


def _external(target: Path) -> bytes:
    entity = f'<!DOCTYPE x [<!ENTITY a SYSTEM "{target.as_uri()}">]>'
    return _cells('<row r="1"><c r="A1" t="inlineStr"><is><t>&a;</t></is></c></row>', entity)


def _zip_bomb() -> bytes:
    return _sheet(f"<worksheet {_NAMESPACE}><sheetData>" + "<row/>" * 9_000_000)


def _lying_bomb() -> bytes:
    """The package claims a small size for what unpacks to fifty megabytes."""
    data = bytearray(_sheet("<row/>" * 9_000_000))
    with zipfile.ZipFile(io.BytesIO(bytes(data))) as package:
        size = package.getinfo(_SHEET).file_size
    return bytes(data).replace(size.to_bytes(4, "little"), (1_000).to_bytes(4, "little"))


def _strings() -> bytes:
    shared = f"<sst {_NAMESPACE}>" + "<si><t>x</t></si>" * 3_000_000 + "</sst>"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    named = f'<Override PartName="/xl/many.xml" ContentType="{kind}"/></Types>'.encode()
    cell = f'<worksheet {_NAMESPACE}><sheetData><row r="1"><c r="A1" t="s"><v>9</v></c></row></sheetData></worksheet>'

    def edit(name: str, data: bytes) -> bytes:
        data = data.replace(b"sharedStrings", b"other")
        return cell.encode() if name == _SHEET else data.replace(b"</Types>", named)

    return _changed(edit, xl__many=shared.encode())


def _sheets() -> bytes:
    rows = "".join(f'<sheet name="s{n}" sheetId="{n + 2}" r:id="rId1"/>' for n in range(100_000))
    return _changed(
        lambda name, data: (
            data.replace(b"</sheets>", rows.encode() + b"</sheets>") if name == "xl/workbook.xml" else data
        )
    )


def _slips() -> bytes:
    made = io.BytesIO(book(A1=2, A2="two"))
    with zipfile.ZipFile(made, "a") as out:
        for name in ("../../../../tmp/hostile-slip", "/tmp/hostile-slip", "..\\..\\hostile-slip"):
            out.writestr(name, b"slipped")
    return made.getvalue()


def _nested(depth: int) -> bytes:
    data = b"0" * 10_000_000
    for _ in range(depth):
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as out:
            out.writestr("inner.zip", data)
        data = made.getvalue()
    return data


def _pickle() -> bytes:
    return b"cposix\nsystem\n(S'touch /tmp/hostile-pickle'\ntR."


_FORMULAS = {
    "a-webservice-formula": '=WEBSERVICE("http://127.0.0.1:9/x")',
    "a-dde-formula": "=cmd|'/c calc'!A1",
    "a-hyperlink-formula": '=HYPERLINK("http://127.0.0.1:9/"&A2,"x")',
    "a-link-into-another-workbook": "='file:///etc/[passwd]Sheet1'!A1",
}


def _cell(text: str) -> bytes:
    return book(A1=text, A2="two")


_BOMBS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "billion-laughs": ("nested XML entities (a billion laughs)", _laughs),
    "quadratic-entities": ("one large XML entity named thirty thousand times", _quadratic),
    "zip-bomb": ("a sheet that unpacks to fifty times its size and more", _zip_bomb),
    "zip-bomb-that-lies": ("a package that claims other sizes than it has", _lying_bomb),
    "shared-strings-bomb": ("three million shared strings", _strings),
    "huge-dimensions": (
        "dimensions of the whole grid",
        lambda: _sheet(
            f'<worksheet {_NAMESPACE}><dimension ref="A1:XFD1048576"/><sheetData><row r="1048576">'
            '<c r="XFD1048576"><v>1</v></c></row></sheetData></worksheet>'
        ),
    ),
    "many-sheets": ("a hundred thousand sheets", _sheets),
    "deep-xml": ("XML nested a million deep", lambda: _sheet("<a>" * 1_000_000)),
    "macros": (
        "a workbook with macros",
        lambda: _changed(lambda _, data: data, xl__vbaProject=b"\xd0\xcf\x11\xe0" * 99),
    ),
    "zip-slip": ("entries named ../../ and / (zip slip)", _slips),
    "a-workbook-in-a-workbook": (
        "archives in archives, ten deep",
        lambda: _changed(lambda _, data: data, nested=_nested(10)),
    ),
    "a-pickle-called-xlsx": ("a pickle that runs a command, called .xlsx", _pickle),
    **{name: (f"a cell with {text[:24]}…", partial(_cell, text)) for name, text in _FORMULAS.items()},
}


def _task(folder: Path) -> Task:
    gold = folder / "gold.xlsx"
    gold.write_bytes(book(A1=1, A2="two"))
    options = {"output": "out.xlsx", "gold": "gold.xlsx", "range": "A1:A2", "cpu_s": 5}
    return task_for("spreadsheet_cells", options=options, tests={"gold.xlsx": gold})


async def _scored(stage: Stage, data: bytes) -> tuple[Score, float]:
    """The score, and by how many MB this process grew."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    left = Result(workspace=Collected({"out.xlsx": data}))
    score = await score_task(_task(stage.folder), left, Context(folder=stage.folder))
    return score, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


_TRACES = (Path("/tmp/hostile-slip"), Path("/tmp/hostile-pickle"))


def _workbook(make: Callable[[], bytes]) -> Attempted:
    async def opened(stage: Stage) -> str:
        data = make()
        score, grown = await _scored(stage, data)
        told = f"{len(data):,} bytes: {score.value:g}, {score.feedback[:60] or 'read as data'}; {grown:.0f} MB"
        if any(trace.exists() for trace in _TRACES):
            raise BrokenError(f"something was run or unpacked: {told}")
        return holds(not score.hard and grown < MEMORY_MB, told) if "two" not in score.feedback else told

    return opened


for _name, (_what, _make) in _BOMBS.items():
    if _name in ("macros", "a-workbook-in-a-workbook"):
        continue
    add(
        Attack(
            Area.COLLECTION,
            f"workbook-{_name}",
            f"a workbook: {_what}",
            "score 0 within bounds",
            _workbook(_make),
            True,
        )
    )


@attack(
    Area.COLLECTION,
    "a workbook with right cells, and archives in archives in it, ten deep",
    expected="read as data, nothing unpacked",
    needs_engine=True,
)
async def workbook_with_nested_archives(stage: Stage) -> str:
    score, grown = await _scored(stage, _BOMBS["a-workbook-in-a-workbook"][1]())
    return holds(score.hard and grown < MEMORY_MB, f"the cells count, the archives are bytes; {grown:.0f} MB")


@attack(
    Area.COLLECTION,
    "a workbook with macros beside right cells",
    expected="read as data, no macro run",
    needs_engine=True,
)
async def workbook_macros(stage: Stage) -> str:
    score, _ = await _scored(stage, _BOMBS["macros"][1]())
    return holds(score.hard, "the cells count, the macros are bytes")


@attack(
    Area.COLLECTION,
    "a workbook whose XML names a file of the host's as an entity",
    expected="the file's text never read",
    needs_engine=True,
)
async def workbook_external_entity(stage: Stage) -> str:
    secret = stage.folder / "secret"
    secret.write_text("1")
    score, _ = await _scored(stage, _external(secret))
    return holds(score.value < 1 and "secret" not in score.feedback, f"{score.value:g}: {score.feedback[:80]}")


@attack(
    Area.COLLECTION,
    "JSON results: a hundred thousand deep, a number of a million digits, doubled keys",
    expected="score 0, in a process of its own",
    needs_engine=True,
)
async def json_bombs(stage: Stage) -> str:
    task = task_for("json_checks", options={"file": "out.json", "checks": [{"path": "$.a", "equals": 1}]})
    bombs = [b"[" * 100_000, b'{"a":' + b"9" * 1_000_000 + b"}", b'{"a": 1, "a": 2}', b'{"a": ' * 50_000, b"\x00" * 99]
    scores = [await score_task(task, Result(workspace=Collected({"out.json": one})), Context()) for one in bombs]
    return holds(not any(score.hard for score in scores), "; ".join(score.feedback[:30] for score in scores))


@attack(
    Area.COLLECTION,
    "pickles (.pkl, .npy, .joblib, .pt) that run a command when loaded",
    expected="collected as bytes, shown to nobody, loaded nowhere",
)
async def pickles(stage: Stage) -> str:
    from sandboxes.collect import collect
    from sandboxes.sandbox import Limits

    flag = stage.folder / "ran"
    data = f"cposix\nsystem\n(S'touch {flag}'\ntR.".encode()
    room = stage.folder / "workspace"
    room.mkdir()
    for name in ("a.pkl", "a.npy", "a.joblib", "a.pt", "conftest.py"):
        (room / name).write_bytes(data)
    found = collect(room, Limits())
    checks = [{"path": name, "max_bytes": 9_999} for name in found.files]
    score = await score_task(task_for("file_checks", options={"checks": checks}), Result(workspace=found), Context())
    return holds(score.hard and not flag.exists(), f"{len(found.files)} files of bytes; no command ran")


@attack(
    Area.COLLECTION,
    "texts: CSV with NULs, a line of 50 MB, a picture that claims 2^31 pixels",
    expected="read as bytes, within the caps",
)
async def odd_texts_and_pictures(stage: Stage) -> str:
    png = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x7f\xff\xff\xff\x7f\xff\xff\xff\x08\x06\x00\x00\x00"
    files = {
        "a.csv": b"a,b\x00\n" * 1000,
        "line.txt": b"x" * 50_000_000,
        "p.png": png,
        "j.json": json.dumps("x" * 99).encode(),
    }
    checks = [{"path": "a.csv", "contains": ["a,b"]}, {"path": "line.txt", "lacks": ["y"]}, {"path": "p.png"}]
    left = Result(workspace=Collected(files))
    score = await score_task(task_for("file_checks", options={"checks": checks}), left, Context())
    return holds(score.hard, "each is its bytes; no picture is decoded")
