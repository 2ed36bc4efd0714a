"""Made-up rows from end to end: types, spellings, declarations, the certificate, the ledger, and bad input."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import aegis
from aegis.data.engine import open_dataset
from aegis.errors import AegisError, DataError, InputError, LabelError, LedgerError, OptionError, OutputError, RoleError
from aegis.releases.budget import Budget
from aegis.releases.certificate import Certificate
from aegis.releases.ledger import Opening, append, ledger_path, read_ledger
from aegis.releases.ledger_entry import EntryKind

ROWS = 3000


def _table() -> pa.Table:
    rng = np.random.default_rng(7)
    age = rng.integers(18, 90, ROWS)
    sick = rng.random(ROWS) < age / 120
    sex = rng.choice(["female", "male"], ROWS)
    return pa.table(
        {
            "key": [f"P{i:05d}" for i in range(ROWS)],
            "age": age,
            "weight": pa.array(np.round(rng.normal(70, 12, ROWS), 1), mask=rng.random(ROWS) < 0.1),
            "sex": sex,
            "pregnant": np.where((sex == "female") & (age < 45) & (rng.random(ROWS) < 0.3), "yes", "no"),
            "smoker": rng.random(ROWS) < 0.3,
            "seen": [date(2020, 1, 1) + timedelta(days=int(d)) for d in rng.integers(0, 700, ROWS)],
            "sick": np.where(sick, "yes", "no"),
        }
    )


TABLE = _table()
DOMAIN: dict[str, Any] = {
    "columns": {
        "age": {"min": 18, "max": 89, "missing": False},
        "weight": {"min": 20, "max": 150, "decimals": 1},
        "sex": ["female", "male"],
        "pregnant": {"values": ["yes", "no"], "missing": False},
        "seen": {"min": "2020-01-01", "max": "2021-12-31"},
        "sick": ["yes", "no"],
    },
    "impossible": [{"sex": "male", "pregnant": "yes"}, {"age": {"from": 60}, "pregnant": "yes"}],
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "people.parquet"
    pa.parquet.write_table(TABLE, path)
    return path


def _made(table: Any = TABLE, **options: Any) -> Any:
    return aegis.synthesize(table, **{"epsilon": 5.0, "label": "sick", "seed": 3, "identifying": ["key"], **options})


def test_types_spellings_and_ranges_are_those_of_the_source() -> None:
    made = _made(domain=DOMAIN)
    rows = made.table
    assert rows.column_names == TABLE.column_names[1:]
    assert made.left_out == {"key": "identifying"}
    for name in rows.column_names:
        assert rows[name].type == TABLE[name].type, name
    assert set(rows["sex"].to_pylist()) == {"female", "male"}
    assert set(rows["age"].to_pylist()) <= set(range(18, 90))
    assert 0.03 < rows["weight"].null_count / len(rows) < 0.2
    weights = [weight for weight in rows["weight"].to_pylist() if weight is not None]
    assert all(round(weight, 1) == weight and 20 <= weight <= 150 for weight in weights)
    assert all(date(2020, 1, 1) <= day <= date(2021, 12, 31) for day in rows["seen"].to_pylist())
    assert abs(len(rows) - ROWS) < 300
    assert set(made.origins.values()) == {"declared", "both truth values"}


def test_impossible_combinations_stay_impossible() -> None:
    rows = _made(domain=DOMAIN, rows=4000).table.to_pylist()
    assert len(rows) == 4000
    pregnant = [row for row in rows if row["pregnant"] == "yes"]
    assert pregnant
    assert all(row["sex"] == "female" and row["age"] < 60 for row in pregnant)


def test_a_declaration_that_forbids_everything_is_said() -> None:
    forbidden = [{"sick": ["yes", "no"], "sex": ["female", "male"]}]
    with pytest.raises(AegisError, match="declared impossible"):
        _made(domain={**DOMAIN, "impossible": forbidden})


def test_the_label_stays_predictable() -> None:
    rows = _made(domain=DOMAIN).table
    ages, sick = np.array(rows["age"].to_pylist()), np.array(rows["sick"].to_pylist()) == "yes"
    assert sick[ages >= 70].mean() - sick[ages < 40].mean() > 0.2


@pytest.mark.parametrize("purpose", ["label", "general"])
def test_values_are_found_under_the_budget_and_it_is_spent_but_not_exceeded(purpose: str) -> None:
    made = _made(TABLE.drop(["key"]), identifying=[], purpose=purpose)
    assert made.origins["sex"] == made.origins["age"] == "found"
    assert set(made.table["sex"].to_pylist()) <= {"female", "male", "(other)"}
    assert 0 < made.found_delta <= made.delta / 10
    assert sum(part.share for part in made.parts) <= 1 + 1e-9
    assert sum(part.share for part in made.parts) > 0.99


def test_a_key_that_nobody_named_is_left_out_with_a_reason() -> None:
    made = _made(identifying=[])
    assert "key" not in made.table.column_names
    assert "free text or a key" in made.left_out["key"]


def test_equal_seeds_give_equal_rows_and_say_that_they_protect_nobody(tmp_path: Path) -> None:
    first, second = (_made(domain=DOMAIN) for _ in range(2))
    assert first.table.equals(second.table)
    assert not first.private
    assert "protects nobody" in first.warnings[0]
    made = _made(domain=DOMAIN, out=tmp_path / "made.csv")
    verified = aegis.verify(made.out, made.certificate)
    assert not verified.verified
    assert "seed" in (verified.reason or "")


def test_a_release_is_certified_verified_and_noted_in_the_ledger(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "made.parquet"
    made = aegis.synthesize(
        data, epsilon=2.0, label="sick", domain=DOMAIN, identifying=["key"], out=out, report=tmp_path / "page.html"
    )
    assert made.private
    assert made.warnings == ()
    assert made.certificate is not None
    assert made.ledger is not None
    assert aegis.verify(out, made.certificate).verified
    content = json.loads(Path(made.certificate).read_text(encoding="utf-8"))
    assert content["promise"]["epsilon"] == 2.0
    assert "P00001" not in Path(made.certificate).read_text(encoding="utf-8")
    entry = read_ledger(ledger_path(data)).releases[made.ledger]
    assert (entry.kind, entry.linkable) == ("synthetic", False)
    assert entry.budget == Budget(epsilon=2.0, delta=1e-6, rho=content["rho"])
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "made up" in page
    assert "P00001" not in page
    assert "http://" not in page.replace("http://www.w3.org", "")


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return _made(domain=DOMAIN, out=tmp_path_factory.mktemp("seeded") / "made.csv", rows=50)


@pytest.mark.parametrize("part", ["sigma", "rho", "private", "columns", "promise"])
def test_a_certificate_that_was_edited_or_does_not_add_up_is_not_verified(
    part: str, seeded: Any, tmp_path: Path
) -> None:
    made, path = seeded, tmp_path / "made.csv.certificate.json"
    path.write_bytes(Path(made.certificate).read_bytes())
    content = json.loads(path.read_text(encoding="utf-8"))
    content["private"] = True
    path.write_text(json.dumps(content), encoding="utf-8")
    assert "changed after" in (aegis.verify(made.out, path).reason or "")
    del content["certificate_sha256"]
    if part == "sigma":
        content["measured"][0]["sigma"] *= 2
    elif part == "rho":
        content["rho"] /= 2
    elif part == "columns":
        content["columns"] = {**content["columns"], "more": "found"}
    elif part == "promise":
        content["promise"]["epsilon"] = 1.0
    else:
        content["private"] = False
    path.write_text(Certificate(content=content).to_json(), encoding="utf-8")
    verified = aegis.verify(made.out, path)
    assert not verified.verified
    assert verified.exit_status == 1


def test_a_budget_that_is_spent_stops_everything_and_leaves_nothing(data: Path, tmp_path: Path) -> None:
    ledger = ledger_path(data)
    opening = Opening.new(source="people", columns=TABLE.column_names)
    limit = Budget(epsilon=1.5, delta=1e-6)
    append(ledger, EntryKind.LIMITED, {"budget": limit.to_mapping()}, opening=opening)
    options: dict[str, Any] = {"epsilon": 1.0, "label": "sick", "domain": DOMAIN, "identifying": ["key"]}
    aegis.synthesize(data, out=tmp_path / "first.csv", **options)
    with pytest.raises(LedgerError, match="budget of this table"):
        aegis.synthesize(data, out=tmp_path / "second.csv", **options)
    assert sorted(path.name for path in tmp_path.glob("second*")) == []
    assert len(read_ledger(ledger).releases) == 1


def test_hierarchies_made_from_the_data_are_public_only_where_somebody_names_them(tmp_path: Path) -> None:
    """One of them lists the town of a single person, and rows drawn of it would name that town."""
    towns = ["Ayr", "Bude"] * 300 + ["Eye"]
    data = tmp_path / "people.csv"
    pa.csv.write_csv(
        pa.table({"town": towns, "age": np.arange(601) % 70, "sick": ["yes", "no", "no"] * 200 + ["no"]}), data
    )
    aegis.hierarchies(data, columns=["town", "age"], out=tmp_path / "hierarchies")
    made = _made(data, identifying=[])
    assert dict(made.origins) == {"town": "found", "age": "found", "sick": "found"}
    assert "Eye" not in made.table["town"].to_pylist()
    named = _made(data, identifying=[], hierarchies=tmp_path / "hierarchies")
    assert named.origins["town"] == named.origins["age"] == "a hierarchy"


def test_a_person_with_many_rows_counts_as_one() -> None:
    many = pa.concat_tables([TABLE.slice(0, 400)] * 5)
    made = _made(many, identifying=[], unit="person", person="key", domain=DOMAIN)
    assert made.left_out["key"] == "it tells persons apart"
    assert abs(made.records - 400) < 150
    assert "one person (key)" in made.unit
    twice = _made(many, identifying=[], unit="person", person="key", rows_per_person=2, domain=DOMAIN)
    assert twice.parts[-1].sigma == pytest.approx(2 * made.parts[-1].sigma)


WITH_TRUTH = TABLE.append_column("old", pa.array([age is not None and age > 40 for age in TABLE["age"].to_pylist()]))


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"epsilon": 0.0}, OptionError, "epsilon is more than 0"),
        ({"epsilon": 1e6}, OptionError, "at most 100"),
        ({"delta": 0.5}, OptionError, "delta is more than 0"),
        ({"label": "nothing"}, RoleError, "no column 'nothing'"),
        ({"label": None}, OptionError, "--purpose general"),
        ({"unit": "person"}, RoleError, "--person"),
        ({"unit": "person", "person": "nobody"}, RoleError, "no column 'nobody'"),
        ({"person": "key"}, OptionError, "leave out --person"),
        ({"rows_per_person": 2}, OptionError, "leave out --rows-per-person"),
        ({"ledger": "x.jsonl"}, OptionError, "nothing is written"),
        ({"rows": 0}, OptionError, "at least 1"),
        ({"purpose": "fun"}, OptionError, "one of label, general"),
        ({"domain": {"columns": {"sick": ["yes"]}}}, DataError, "declared domain misses"),
        ({"domain": {"columns": {"age": [18, 19]}}}, DataError, "declare it by min and max"),
        ({"domain": {"columns": {"age": [18, "(other)"]}}}, InputError, "numbers by min and max"),
        ({"table": WITH_TRUTH, "domain": {"columns": {"old": [True]}}}, DataError, "from the code book$"),
        ({"domain": {"columns": {"nothing": ["yes"]}}}, InputError, "the table does not have"),
        ({"domain": {"columns": {"age": {"min": 9}}}}, InputError, "needs min and max"),
        ({"domain": {"columns": {"age": {"min": 9, "max": 3}}}}, InputError, "above its max"),
        ({"domain": {"columns": {"age": {"min": 1, "max": 99, "decimals": 2}}}}, InputError, "no decimals"),
        ({"domain": {"columns": {"sex": {"min": 1, "max": 2}}}}, InputError, "by its values"),
        ({"domain": {"columns": {"weight": [1.5, 2.5]}}}, InputError, "by min and max"),
        ({"domain": {"columns": {"sex": ["a", "a"]}}}, InputError, "more than once"),
        ({"domain": {"impossible": [{"sex": "male"}]}}, InputError, "two columns or more"),
        ({"domain": {"impossible": [{"sex": {"from": 3}, "age": 3}]}}, InputError, "a condition on 'sex'"),
    ],
)
def test_bad_input_is_said_in_a_sentence(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        _made(**options)


def test_a_delta_above_one_in_the_rows_is_warned_of() -> None:
    assert "one in the about" in _made(domain=DOMAIN, delta=1e-3).warnings[1]


def test_nothing_is_overwritten_and_the_source_is_safe(data: Path, tmp_path: Path) -> None:
    (tmp_path / "there.csv").write_text("mine", encoding="utf-8")
    for out, words in (
        (tmp_path / "there.csv", "exists already"),
        (data, "exists already"),
        (tmp_path / "a.txt", ".csv"),
    ):
        with pytest.raises(OutputError, match=words):
            _made(data, out=out)
    with pytest.raises(OutputError, match="an input"):
        _made(data, out=data, overwrite=True)
    assert (tmp_path / "there.csv").read_text(encoding="utf-8") == "mine"
    assert not list(tmp_path.glob("*.part"))


def test_more_columns_than_are_modelled_together_are_drawn_from_their_own_counts() -> None:
    rng = np.random.default_rng(0)
    columns = {f"c{i:02d}": rng.choice(["x", "y"], 400) for i in range(43)}
    made = aegis.synthesize(pa.table({**columns, "y": rng.choice(["a", "b"], 400)}), epsilon=50.0, label="y", seed=1)
    assert len(made.columns) == 44
    assert len(made.errors) == 40 * 39 // 2


def test_a_truth_value_that_is_missing_stays_missing_as_often() -> None:
    rng = np.random.default_rng(5)
    smoker = pa.array(rng.random(ROWS) < 0.5, mask=rng.random(ROWS) < 0.3)
    made = _made(pa.table({"smoker": smoker, "sex": TABLE["sex"], "sick": TABLE["sick"]}), identifying=[])
    missing = made.table["smoker"].null_count / len(made.table)
    assert 0.2 < missing < 0.4


def test_more_columns_than_the_model_holds_together_are_named() -> None:
    rng = np.random.default_rng(4)
    names = [f"c{at:02d}" for at in range(42)]
    wide = pa.table({name: rng.choice(["a", "b"], 600) for name in (*names, "sick")})
    public = {"columns": {name: {"values": ["a", "b"], "missing": False} for name in (*names, "sick")}}
    made = aegis.synthesize(wide, epsilon=50.0, label="sick", seed=1, domain=public, rows=10)
    assert len(made.alone) == 2
    assert any("40 columns together" in text and made.alone[0] in text for text in made.warnings)
    assert _made(domain=DOMAIN).alone == ()


def test_a_table_too_small_for_pairs_says_so_and_measures_none() -> None:
    small = aegis.synthesize(TABLE.slice(0, 300), epsilon=0.5, label="sick", seed=1, identifying=["key"], domain=DOMAIN)
    assert small.errors == ()
    assert "pair" not in {part.what for part in small.parts}
    assert sum(part.share for part in small.parts) == pytest.approx(1.0, abs=0.2)
    assert any("noise would hide every pair" in text for text in small.warnings)
    assert not any("noise would hide" in text for text in _made(domain=DOMAIN).warnings)


def test_an_empty_table_is_said_to_be_one_though_all_is_declared(tmp_path: Path) -> None:
    public = {"columns": {name: {"values": ["a", "b"], "missing": False} for name in ("x", "y")}}
    empty = pa.table({name: pa.array([], pa.string()) for name in ("x", "y")})
    with pytest.raises(DataError, match="empty, or far too small"):
        aegis.synthesize(empty, epsilon=1.0, label="y", domain=public, out=tmp_path / "made.csv", ledger="none")
    assert list(tmp_path.iterdir()) == []


def test_an_epsilon_that_promises_little_is_warned_of() -> None:
    assert any("promises little" in text for text in _made(epsilon=40.0).warnings)
    assert not any("promises little" in text for text in _made(epsilon=10.0).warnings)


def test_a_label_that_is_not_told_from_noise_is_to_be_declared() -> None:
    few = TABLE.slice(0, 60)
    one = few.set_column(few.column_names.index("sick"), "sick", pa.array(["yes"] * 50 + ["no"] * 10))
    with pytest.raises(LabelError, match="declare its values in a domain file"):
        _made(one, epsilon=20.0)


KINDS = {
    "age": "integer",
    "weight": "real",
    "sex": "text",
    "pregnant": "text",
    "smoker": "boolean",
    "seen": "date",
    "sick": "text",
}


def test_a_stated_type_asks_no_row_of_a_text_file(tmp_path: Path) -> None:
    """One row that is written in another way changes no type; without a statement it does, which is said."""
    text = TABLE.slice(0, 1500)
    strange = text.set_column(1, "age", pa.array(["abc", *map(str, text["age"].to_pylist()[1:])]))
    plain, other = tmp_path / "plain.csv", tmp_path / "other.csv"
    pa.csv.write_csv(text, plain)
    pa.csv.write_csv(strange, other)
    typed = {"columns": {name: {"type": kind} for name, kind in KINDS.items()}}
    for file in (plain, other):
        made = _made(file, domain=typed)
        assert made.types_read == ()
        assert made.table.schema.field("age").type == pa.int64()
    assert set(_made(open_dataset(plain)).types_read) == set(TABLE.column_names) - {"key"}  # also of an open table
    with pytest.raises(DataError, match="holds text by its type"):
        _made(open_dataset(other), domain=typed)
    read = _made(other)
    assert set(read.types_read) == set(TABLE.column_names) - {"key"}
    assert "age" not in read.columns or read.table.schema.field("age").type == pa.string()


def test_types_read_off_rows_are_warned_of_and_stand_on_the_certificate(tmp_path: Path) -> None:
    file, out = tmp_path / "people.csv", tmp_path / "made.csv"
    pa.csv.write_csv(TABLE, file)
    made = _made(file, domain={"columns": {"age": {"type": "integer", "min": 18, "max": 89}}}, seed=None, out=out)
    assert any("does not cover the types of weight, sex" in text for text in made.warnings)
    certificate = json.loads(Path(f"{out}.certificate.json").read_text())
    assert certificate["types_read_off_rows"] == [name for name in made.columns if name != "age"]


def test_a_stated_type_is_one_that_there_is_and_that_the_file_has(data: Path) -> None:
    assert _made(data).types_read == ()
    for stated, said in (("number", "is one of integer, real"), ("text", "holds integer by its type")):
        with pytest.raises(AegisError, match=said):
            _made(data, domain={"columns": {"age": {"type": stated}}})
