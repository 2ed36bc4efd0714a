"""Tables as people have them: compressed text, JSON lines, workbooks; and damaged ones, in one sentence."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from aegis.counts.answer import ask
from aegis.data.engine import open_dataset
from aegis.data.kind import Kind
from aegis.errors import DataError, MissingExtraError

ROWS = [(age, f"0{age}39", "yes" if age % 2 else "no") for age in range(20, 60)]
TEXT = ("age,zip,smoker\n" + "".join(f"{age},{zone},{smoker}\n" for age, zone, smoker in ROWS)).encode()


def zstandard(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


def zipped(data: bytes, *names: str) -> bytes:
    import io

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names or ("stays.csv",):
            archive.writestr(name, data)
    return buffer.getvalue()


KINDS: dict[str, Callable[[bytes], bytes]] = {
    "csv.gz": gzip.compress,
    "csv.bz2": bz2.compress,
    "csv.xz": lzma.compress,
    "csv.zst": zstandard,
    "csv.zip": zipped,
    "zip": zipped,
}


def workbook(path: Path, sheets: dict[str, list[list[object]]]) -> Path:
    """A workbook with the cells of each sheet, written by hand: numbers, truth values and texts."""

    def cell(value: object) -> str:
        if isinstance(value, bool):
            return f'<c t="b"><v>{int(value)}</v></c>'
        if isinstance(value, int | float):
            return f"<c><v>{value}</v></c>"
        return "<c/>" if value is None else f'<c t="inlineStr"><is><t>{value}</t></is></c>'

    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    of = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    numbers = range(1, len(sheets) + 1)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{package}/content-types"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>'
            + "".join(
                f'<Override PartName="/xl/worksheets/sheet{n}.xml" ContentType="{kind}.worksheet+xml"/>'
                for n in numbers
            )
            + "</Types>",
        )
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{package}/relationships">'
            f'<Relationship Id="r" Type="{of}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        )
        listed = "".join(
            f'<sheet name="{name}" sheetId="{n}" r:id="s{n}"/>' for n, name in zip(numbers, sheets, strict=True)
        )
        archive.writestr(
            "xl/workbook.xml", f'<workbook xmlns="{main}" xmlns:r="{of}"><sheets>{listed}</sheets></workbook>'
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{package}/relationships">'
            + "".join(
                f'<Relationship Id="s{n}" Type="{of}/worksheet" Target="worksheets/sheet{n}.xml"/>' for n in numbers
            )
            + "</Relationships>",
        )
        for n, rows in zip(numbers, sheets.values(), strict=True):
            lines = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
            archive.writestr(
                f"xl/worksheets/sheet{n}.xml", f'<worksheet xmlns="{main}"><sheetData>{lines}</sheetData></worksheet>'
            )
    return path


@pytest.mark.parametrize("ending", KINDS)
def test_compressed_text_is_read_as_the_text_itself(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"stays.{ending}"
    path.write_bytes(KINDS[ending](TEXT))
    dataset = open_dataset(path)
    assert dataset.name == "stays"
    assert [column.kind for column in dataset.schema] == [Kind.INTEGER, Kind.TEXT, Kind.TEXT]
    rows = ask(dataset.table).to_pylist()
    assert [(row["age"], row["zip"], row["smoker"]) for row in rows] == ROWS


@pytest.mark.parametrize("ending", KINDS)
def test_a_cut_or_fake_compressed_file_is_an_error(tmp_path: Path, ending: str) -> None:
    noise = "".join(f"{i},{value},x\n" for i, value in enumerate(np.random.default_rng(0).integers(0, 10**12, 4000)))
    whole = KINDS[ending](b"age,zip,smoker\n" + noise.encode())
    path = tmp_path / f"cut.{ending}"
    for damaged in (whole[: len(whole) // 2], b"age,zip\n1,2\n", whole[:30] + bytes(200) + whole[230:]):
        path.write_bytes(damaged)
        with pytest.raises(DataError) as error:
            open_dataset(path)
        assert "\n" not in str(error.value)
        assert "damaged" in str(error.value)


def test_an_archive_of_several_files_is_no_table(tmp_path: Path) -> None:
    path = tmp_path / "several.zip"
    path.write_bytes(zipped(TEXT, "a.csv", "b.csv"))
    with pytest.raises(DataError, match="holds 2 files"):
        open_dataset(path)


@pytest.mark.parametrize("ending", ["jsonl", "ndjson", "jsonl.gz", "json"])
def test_json_is_a_record_on_every_line_or_a_list_of_them(tmp_path: Path, ending: str) -> None:
    records = [{"age": age, "zip": zone, "smoker": smoker == "yes"} for age, zone, smoker in ROWS]
    records[3]["zip"] = None
    del records[4]["smoker"]
    text = json.dumps(records) if ending == "json" else "\n".join(map(json.dumps, records)) + "\n"
    path = tmp_path / f"stays.{ending}"
    path.write_bytes(gzip.compress(text.encode()) if ending.endswith("gz") else text.encode())
    dataset = open_dataset(path)
    assert dataset.name == "stays"
    assert [column.kind for column in dataset.schema] == [Kind.INTEGER, Kind.TEXT, Kind.BOOLEAN]
    rows = ask(dataset.table).to_pylist()
    assert rows[0] == {"age": 20, "zip": "02039", "smoker": False}
    assert rows[3]["zip"] is None
    assert rows[4]["smoker"] is None


@pytest.mark.parametrize("ending", ["jsonl", "json"])
@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (("2024-12-31", None, "1955-01-29"), Kind.DATE),
        (("2024-12-31T00:00:00.000", "1955-01-29T00:00:00.000"), Kind.DATE),
        (("2024-12-31T08:30:00.250", "1955-01-29T09:00:00"), Kind.TIMESTAMP),
        (("2024-12-31T08:30:00Z", "1955-01-29T09:00:00+02:00"), Kind.TIMESTAMP),
        (("2024-12-31", "2024-02-31"), Kind.TEXT),
        (("2024-12-31", "soon"), Kind.TEXT),
    ],
)
def test_days_and_times_in_json_are_no_texts(
    tmp_path: Path, ending: str, texts: tuple[str | None, ...], kind: Kind
) -> None:
    """A birthday as data frames write it was a text with a value for every person, masked like a category."""
    records = [{"born": text, "row": row} for row, text in enumerate(texts)]
    path = tmp_path / f"people.{ending}"
    path.write_text(json.dumps(records) if ending == "json" else "\n".join(map(json.dumps, records)) + "\n")
    assert [column.kind for column in open_dataset(path).schema] == [kind, Kind.INTEGER]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1}\n{"a": 2', "line 2 of .* is cut short"),
        ('{"a": 1}\n{"a": "x"}\n', "column 'a' of .* several kinds; line 2"),
        ('{"a": 1}\n[2]\n', "line 2 of .* is no record"),
        ('{"a": {"b": 1}}\n', "column 'a' of .* objects or lists"),
        ('[{"a": 1}, {"a": [2', "cut short"),
        ("[1, 2]", "no list of records"),
        ("[]", "is empty"),
        ("", "is empty"),
    ],
)
def test_what_is_wrong_with_json_is_said_without_its_values(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(text)
    with pytest.raises(DataError, match=said):
        open_dataset(path)


def test_a_sheet_is_a_table_with_a_kind_for_every_column(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine", reason="the extra excel is not installed")
    cells: list[list[object]] = [["age", "zip", "weight", "smoker", "mixed", "empty"]]
    cells += [
        [20, "02139", 61.5, True, 5, None],
        [30, "10115", 70, False, "five", None],
        [None, None, None, None, None],
    ]
    path = workbook(tmp_path / "stays.xlsx", {"visits": cells})
    dataset = open_dataset(path)
    assert dataset.name == "stays"
    kinds = [Kind.INTEGER, Kind.TEXT, Kind.REAL, Kind.BOOLEAN, Kind.TEXT, Kind.TEXT]
    assert [column.kind for column in dataset.schema] == kinds
    rows = ask(dataset.table).to_pylist()
    assert len(rows) == 2
    assert rows[0] == {"age": 20, "zip": "02139", "weight": 61.5, "smoker": True, "mixed": "5", "empty": None}


def test_a_workbook_of_several_sheets_asks_which(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine", reason="the extra excel is not installed")
    path = workbook(tmp_path / "both.xlsx", {"people": [["a"], [1]], "visits": [["b"], [2]]})
    with pytest.raises(DataError, match=r"2 sheets; name one with --table \(people, visits\)"):
        open_dataset(path)
    dataset = open_dataset(path, table="visits")
    assert (dataset.name, dataset.schema.names) == ("visits", ("b",))
    with pytest.raises(DataError, match="no sheet 'other'"):
        open_dataset(path, table="other")
    with pytest.raises(DataError, match="no delimited text"):
        open_dataset(path, table="visits", delimiter=";")


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([], "is empty"),
        ([["a", "a"], [1, 2]], "occurs twice"),
        ([["a", None], [1, 2]], "a column has no name"),
    ],
)
def test_a_sheet_that_is_no_table_says_why(tmp_path: Path, cells: list[list[object]], said: str) -> None:
    pytest.importorskip("python_calamine", reason="the extra excel is not installed")
    with pytest.raises(DataError, match=said):
        open_dataset(workbook(tmp_path / "bad.xlsx", {"sheet": cells}))


def test_a_damaged_workbook_is_an_error_in_one_sentence(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine", reason="the extra excel is not installed")
    path = workbook(tmp_path / "cut.xlsx", {"visits": [["a"], [1]]})
    path.write_bytes(path.read_bytes()[:400])
    with pytest.raises(DataError, match="cannot be read as a workbook"):
        open_dataset(path)


def test_without_the_reader_the_install_line_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "python_calamine", None)
    path = workbook(tmp_path / "stays.xlsx", {"visits": [["a"], [1]]})
    with pytest.raises(MissingExtraError, match=r"aegis-share\[excel\]"):
        open_dataset(path)


@pytest.mark.parametrize(("encoding", "text"), [("cp1252", "Zoë zahlt 5 €"), ("cp932", "年齢"), ("cp1250", "Łukasz")])
def test_a_file_is_read_in_the_encoding_of_any_spreadsheet(tmp_path: Path, encoding: str, text: str) -> None:
    path = tmp_path / "stays.csv.gz"
    path.write_bytes(gzip.compress(f'note;age\n{text};41\n"a\r\nb";42\n'.encode(encoding)))
    rows = ask(open_dataset(path, encoding=encoding).table).to_pylist()
    assert rows == [{"note": text, "age": 41}, {"note": "a\r\nb", "age": 42}]


def test_what_is_no_text_of_an_encoding_is_said_without_it(tmp_path: Path) -> None:
    path = tmp_path / "stays.csv"
    path.write_bytes(b"note,age\ncanary \x81,41\n")
    with pytest.raises(DataError, match="is not text in cp1252") as refused:
        open_dataset(path, encoding="cp1252")
    assert "canary" not in str(refused.value)


def test_what_a_ledger_keeps_for_itself_is_no_part_of_a_folder(tmp_path: Path) -> None:
    """The folder of somebody's tables was read as the private rows of a ledger in it, and would have been released."""
    private = tmp_path / "clinic.csv.ledger.private"
    private.mkdir()
    pa.parquet.write_table(pa.table({"digest": [1, 2]}), private / "rows.parquet")
    with pytest.raises(DataError, match="without Parquet files"):
        open_dataset(tmp_path)
    pa.parquet.write_table(pa.table({"a": [1, 2, 3]}), tmp_path / "part.parquet")
    assert open_dataset(tmp_path).schema.names == ("a",)


def test_a_folder_of_parquet_files_is_one_table_and_a_damaged_one_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    (folder / "2024").mkdir(parents=True)
    for number in (1, 2):
        pa.parquet.write_table(pa.table({"a": [number, number]}), folder / "2024" / f"{number}.parquet")
    assert ask(open_dataset(folder).table).num_rows == 4
    broken = folder / "2024" / "2.parquet"
    broken.write_bytes(broken.read_bytes()[:-20])
    with pytest.raises(DataError, match="damaged"):
        open_dataset(folder)


def test_what_is_compressed_inside_is_not_compressed_again(tmp_path: Path) -> None:
    path = tmp_path / "stays.parquet.gz"
    path.write_bytes(gzip.compress(b"PAR1"))
    with pytest.raises(DataError, match="compressed inside"):
        open_dataset(path)
