"""The firewall's parts: what is read, what counts as gold, what is a name, how words are compared."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from daemon.optimizer.firewall import material
from daemon.optimizer.firewall.gold import expected_values, gold_of, shapes
from daemon.optimizer.firewall.grams import Grams
from daemon.optimizer.firewall.material import Material
from daemon.optimizer.firewall.names import distinctive, names_of
from daemon.optimizer.firewall.phrases import Phrases
from daemon.optimizer.firewall.vocabulary import is_common
from daemon.optimizer.firewall.words import clean, fold, plain_number, split
from daemon.tasks.task import ScorerSpec
from tests.support.tasks import sheets
from tests.unit.optimizer.firewall.world import make_task


def test_text_and_workbooks_are_read_and_nothing_else(tmp_path: Path) -> None:
    content = {
        "a.txt": "Zürich & Söhne".encode(),
        "b.xlsx": sheets({"One": {"A1": "Fish & Chips", "A2": 12.5, "A3": True, "A4": "=A2*2", "A5": "12"}}),
        "c.bin": b"\x00\x01\x02",
        "d.zip": b"PK\x03\x04 but damaged",
        "e.txt": b"\xff\xfe no utf-8",
    }
    for name, data in content.items():
        (tmp_path / name).write_bytes(data)
    reader = Material()
    texts = reader.texts({name: tmp_path / name for name in [*content, "gone.txt"]})
    assert texts["a.txt"] == ("Zürich & Söhne",)
    assert set(texts["b.xlsx"]) >= {"Fish & Chips", "12.5", "12"}
    assert "=A2*2" not in texts["b.xlsx"]
    assert (texts["c.bin"], texts["d.zip"], texts["gone.txt"]) == ((), (), ())
    assert reader.left_out == 2


def test_reading_is_bounded_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "big.txt").write_text("word " * 100_000)
    (tmp_path / "other.txt").write_text("more")
    reader = Material(share=1_000)
    texts = reader.texts({"a": tmp_path / "big.txt", "b": tmp_path / "other.txt"})
    assert len(texts["a"][0]) == 1_000
    assert "b" not in texts
    assert reader.left_out == 2


def test_a_workbook_that_unpacks_to_much_is_read_to_its_bound(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.xlsx", "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("xl/sharedStrings.xml", "<sst>" + "<si><t>word</t></si>" * 500_000 + "</sst>")
    reader = Material()
    assert reader.texts({"b": tmp_path / "bomb.xlsx"}) == {"b": ("word",)}
    assert reader.left_out == 1


def test_every_task_gets_its_share_of_a_large_set() -> None:
    assert Material.for_tasks(0).share == material.TASK_BYTES
    assert Material.for_tasks(400).share == material.SET_BYTES // 400
    assert Material.for_tasks(1_000_000).share == material.LEAST_BYTES


@pytest.mark.parametrize(
    ("source", "values"),
    [
        ('assert answer == "Port Alder", "the place is wrong"', ["Port Alder"]),
        ("assert 'Alder' in text", ["Alder"]),
        ("if total != 4711.5: fail()", ["4711.5"]),
        ('[ "$n" -eq 4711 ] || exit 1', ["4711"]),
        ('grep -qE "^TOTAL: [0-9]+$" out.txt', ["^TOTAL: [0-9]+$"]),
        ("self.assertEqual(result, 'Alder')", ["Alder"]),
        ('print("the total row is missing")', []),
        ("open('out.txt').read()", []),
    ],
)
def test_what_a_test_script_compares_with(source: str, values: list[str]) -> None:
    assert list(expected_values(source)) == values


def test_gold_of_every_shape() -> None:
    spec = ScorerSpec("exact_match", {"extract": r"code: (\w+)", "answer_tag": "answer", "unit": "kg per metre"})
    found = gold_of(
        make_task("t", answer=["a", 4, {"x": [1.5, None, True]}], scorer=spec),
        {"gold.json": ('{"k": ["deep value"]}',), "rows.csv": ("id,name\n7,Ilse V",), "test.sh": ('x == "Q"',)},
    )
    assert found.answers == ("a", "4", "1.5")
    assert found.secrets == (r"code: (\w+)",)
    assert {"deep value", "Ilse V", "7,Ilse V", "Q"} <= set(found.files)
    assert found.source == ('x == "Q"',)


def test_shapes_of_an_answer() -> None:
    assert list(shapes("The Port Alder")) == [("the", "port", "alder"), ("port", "alder")]
    assert list(shapes("1234.5678")) == [("1234.5678",), ("1235",), ("1234.6",), ("1234.57",), ("1234.568",)]
    assert list(shapes("0.125")) == [("0.125",)]
    assert list(shapes("!?")) == []


@pytest.mark.parametrize(
    "text", ["yes", "A", "4", "1,000", "2024", "25000", "the first sheet", "not enough data", "text"]
)
def test_what_any_rule_may_say_is_not_distinctive(text: str) -> None:
    assert not distinctive(split(text).words)


@pytest.mark.parametrize("text", ["Vandermeer", "12,345.6", "ZX-99", "photosynthesis", "48219", "gone with the wind"])
def test_what_a_rule_would_not_say_by_chance_is(text: str) -> None:
    assert distinctive(split(text).words)


def test_names_of_a_prompt() -> None:
    prompt = (
        'In sales-north.xlsx (see output.xlsx), use sheet "Quillfeather" and column B2:B9 for Ilse Vandermeer of Oslo, '
        "order INV-204417, fields net_wrenchage and total_amount, worth 1,482,377 since 2019."
    )
    found = {
        (name.kind, name.text) for name in names_of(make_task("q7", prompt=prompt, files={"in/rye.csv": Path("x")}))
    }
    assert found >= {
        ("file", "sales-north.xlsx"),
        ("file", "rye.csv"),
        ("quoted text", "Quillfeather"),
        ("identifier", "INV-204417"),
        ("identifier", "net_wrenchage"),
        ("number", "1,482,377"),
    }
    assert any(kind == "name" and "Ilse Vandermeer" in text for kind, text in found)
    assert not {text for _, text in found} & {"output.xlsx", "B2:B9", "total_amount", "2019", "In"}


def test_phrases_stand_from_word_to_word() -> None:
    phrases = Phrases()
    phrases.add(("notable",))
    phrases.add(("port", "alder"))
    phrases.add(("ab",))
    phrases.add(("x" * 65,))
    text = "Not able, notable; reports, Port\tAlder, portalder. ab " + "x" * 65
    assert [hit.phrase for hit in phrases.find(split(text))] == ["notable", "portalder", "portalder"]


def test_a_run_of_stop_words_counts_only_beside_one_that_says_enough() -> None:
    grams = Grams(size=4, content=2)
    grams.add([split("it is one of the old brewery valves that you and I have").words], held=True)
    assert grams.find(split("it is one of the").words, rare=0) == []
    [run] = grams.find(split("so: it is one of the old brewery valves that you and I have").words, rare=0)
    assert (run.first, run.last, run.held) == (1, 13, True)


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("1,234.50", "1234.5"),
        ("1.234,5", "1234.5"),
        ("1'234", "1234"),
        ("12,5", "12.5"),
        ("5.0", "5"),
        ("1.2.3", "1.2.3"),
    ],
)
def test_numbers_however_they_are_written(written: str, plain: str) -> None:
    assert plain_number(written) == plain


def test_words_are_folded_and_hidden_characters_dropped() -> None:
    assert split("Ünïcode Straße ﬁne ２０１").words == ("unicode", "strasse", "fine", "201")  # noqa: RUF001
    assert clean("a\u200bb\u0301\ufe0f") == "ab"
    assert clean("e\u0301") == "\u00e9"
    assert fold("007") == "007"
    assert split("漢字ab").words == ("漢", "字", "ab")


def test_common_words_in_their_forms() -> None:
    assert all(map(is_common, ("rounded", "rounding", "values", "quickly", "copies", "stopped", "x", "yyyy")))
    assert not any(map(is_common, ("vandermeer", "kestrel", "oslo")))
