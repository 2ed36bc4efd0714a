"""Parts counted alone and added: the same folder in the end, never half of one, and no row counted twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import aegis
from aegis.command_line import call
from aegis.counts import folder as folders
from aegis.errors import OptionError, OutputError, SummaryError
from aegis.library import merge as merge_module


def _rows(rows: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, rows)
    return pa.table(
        {
            "age": pa.array(age, mask=rng.random(rows) < 0.05),
            "town": rng.choice(["ulm", "bonn", "jena"][: 2 + seed], rows),
            "fine": rng.normal(size=rows),
            "ill": np.where(rng.random(rows) < age / 100, "yes", "no"),
        }
    )


@pytest.fixture
def months(tmp_path: Path) -> list[Path]:
    files = []
    for month in range(3):
        files.append(tmp_path / f"month-{month}.parquet")
        pq.write_table(_rows(6_000 - 1_000 * month, month % 2), files[-1])
    return files


def _single(ranking: Any) -> list[tuple[str, float]]:
    return [(one.configuration, one.utility) for one in ranking.ranking]


def test_appended_months_rank_like_all_rows_at_once(months: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "counts"
    aegis.summarize(months[0], label="ill", generate=4, seed=1, out=folder)
    assert aegis.advise(folder).measure == "accuracy"
    for month in months[1:]:
        whole = aegis.summarize(month, append=folder)
    assert whole.rows == 15_000
    assert whole.parts == ("month-0", "month-1", "month-2")
    assert not whole.scores
    told = aegis.advise(folder)
    assert told.measure == "leave-one-out-information"
    assert any("3 parts" in note for note in told.notes)
    saved = [aegis.read_summary(folder)]
    # All rows at once, under the same configurations; the decimals in the ranges of the first month.
    everything = pa.concat_tables([pq.read_table(month) for month in months]).drop_columns(["fine"])
    configurations = [folders_configuration(saved[0], one.name) for one in saved[0].configurations]
    at_once = aegis.summarize(everything, label="ill", configs=configurations, race=False)
    for name in ("age", "town"):
        one, other = saved[0].attributes[name].joint, at_once.attributes[name].joint
        assert one is not None
        assert other is not None
        assert one.attribute == other.attribute
        assert np.array_equal(one.counts, other.counts)


def folders_configuration(summary: aegis.Summary, name: str) -> aegis.Configuration:
    from aegis.counts.summary import configuration_of

    found = configuration_of(summary, name)
    return aegis.Configuration(name=name, masks={c: m for c, m in found.masks.items() if c != "fine"}, label="ill")


def test_a_part_is_added_once_and_the_folder_decides(months: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "counts"
    aegis.summarize(months[0], label="ill", generate=3, race=False, out=folder)
    for again in (months[0], months[1]):
        if again == months[1]:
            aegis.summarize(again, append=folder)
        with pytest.raises(SummaryError, match="already"):
            aegis.summarize(again, append=folder)
    aegis.summarize(months[1], append=folder, part="once more, on purpose", out=tmp_path / "other")
    assert aegis.read_summary(folder).rows == 11_000
    assert aegis.read_summary(tmp_path / "other").rows == 16_000
    with pytest.raises(OptionError, match="leave out --label, --generate"):
        aegis.summarize(months[2], append=folder, label="ill", generate=3)
    protected = tmp_path / "protected"
    aegis.summarize(months[0], label="ill", generate=3, race=False, min_count=5, out=protected)
    with pytest.raises(SummaryError, match="protected"):
        aegis.summarize(months[1], append=protected)


def test_providers_add_their_counts(months: list[Path], tmp_path: Path) -> None:
    configuration = aegis.Configuration.of("c", {"age": {"bucketize": {"quantiles": 4}}})
    told = []
    for number, month in enumerate(months):
        told.append(tmp_path / f"clinic-{number}")
        table = pq.read_table(month).drop_columns(["fine"])
        aegis.summarize(table, label="ill", configs=configuration, race=False, out=told[-1])
    whole = aegis.merge(told, out=tmp_path / "all", name="clinics")
    assert (whole.name, whole.rows) == ("clinics", 15_000)
    everything = pa.concat_tables([pq.read_table(month) for month in months]).drop_columns(["fine"])
    at_once = aegis.summarize(everything, label="ill", configs=configuration, race=False)
    assert _single(aegis.advise(tmp_path / "all")) == _single(aegis.advise(at_once))
    with pytest.raises(SummaryError, match="named twice"):
        aegis.merge([told[0], told[0]])


def test_a_crash_leaves_the_folder_as_it_was(
    months: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "counts"
    aegis.summarize(months[0], label="ill", generate=3, race=False, out=folder)
    before = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    write = folders._write_json
    for survives in range(4):
        written: list[Path] = []

        def crash(path: Path, content: dict[str, Any], survives: int = survives, written: list[Path] = written) -> None:
            if len(written) == survives:
                raise KeyboardInterrupt
            written.append(path)
            write(path, content)

        monkeypatch.setattr(folders, "_write_json", crash)
        with pytest.raises(KeyboardInterrupt):
            aegis.summarize(months[1], append=folder)
        assert {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    monkeypatch.undo()
    assert aegis.summarize(months[1], append=folder).rows == 11_000
    assert len(list(folder.rglob("*.json"))) == 4, "what the manifest no longer names is gone"
    assert aegis.read_summary(folder).rows == 11_000


def test_two_at_once_do_not_overwrite_each_other(months: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "counts"
    aegis.summarize(months[0], label="ill", generate=3, race=False, out=folder)
    with merge_module._alone(folder), pytest.raises(OutputError, match="somebody else"):
        aegis.summarize(months[1], append=folder)


def test_the_commands_do_the_same(months: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, other, both = (str(tmp_path / name) for name in ("counts", "other", "both"))
    first = ["summarize", str(months[0]), "--label", "ill", "--no-race", "--out", folder, "--configs"]
    config = tmp_path / "c.yaml"
    config.write_text("age: {bucketize: {width: 10}}\nfine: suppress\n", encoding="utf-8")
    assert call([*first, str(config)]) == 0
    assert call(["summarize", str(months[1]), "--append", folder, "--out", other, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["parts"] == ["month-0", "month-1"]
    assert call(["summarize", str(months[2]), "--append", folder]) == 0
    assert "ranked by single attributes" in " ".join(capsys.readouterr().err.split())
    assert call(["merge", folder, other, "--out", both]) == 0, "the ranges are those of the first month in both"
    assert aegis.read_summary(both).rows == 21_000
    assert call(["merge", folder, "--out", str(tmp_path / "x")]) == 2
    assert call(["summarize", str(months[0]), "--label", "ill"]) == 2
    assert call(["summarize", str(months[1]), "--append", other]) == 2
