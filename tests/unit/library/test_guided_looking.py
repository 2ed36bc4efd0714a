"""What is noticed in a table, and which roles follow from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pyarrow as pa
import pytest

from aegis.data.engine import open_dataset
from aegis.data.schema import Role, Roles
from aegis.errors import LabelError
from aegis.inspection.telling import dependent
from aegis.library.guided.deciding import checked
from aegis.library.guided.looking import (
    AS_SAID,
    Look,
    label_words,
    likely_label,
    look,
    roles_of,
    suggest_roles,
    values_to_tell_apart,
)

ROWS = 400


def _look(columns: Mapping[str, Sequence[object]]) -> Look:
    return look(open_dataset(pa.table({name: list(values) for name, values in columns.items()})))


def _plain(**more: Sequence[object]) -> dict[str, Sequence[object]]:
    """A table in which nothing tells anything."""
    return {
        "age": [20 + (i * 7) % 50 for i in range(ROWS)],
        "shop": ["abcdef"[(i * 11) % 6] for i in range(ROWS)],
        **more,
        "outcome": [("no", "yes")[(i * i // 7) % 2] for i in range(ROWS)],
    }


def _role(seen: Look, column: str, label: str = "outcome") -> tuple[Role, str]:
    (found,) = (each for each in suggest_roles(seen, label) if each.column == column)
    return found.role, found.why


def test_a_plain_table_has_nothing_to_say() -> None:
    seen = _look(_plain())
    assert seen.sentences() == ()
    assert likely_label(seen) == "outcome"
    assert _role(seen, "age")[0] is Role.QUASI_IDENTIFYING
    assert _role(seen, "shop")[0] is Role.INSENSITIVE


@pytest.mark.parametrize("mark", ["?", "NA", "NULL", "n/a", "NaN"])
def test_marks_of_missing_values_are_found(mark: str) -> None:
    seen = _look(_plain(size=[mark if i % 10 == 0 else "SML"[i % 3] for i in range(ROWS)]))
    assert seen.marks == (mark,)
    assert seen.sentences() == (f"size: {mark} in 40 rows means a missing value",)


def test_a_word_is_a_mark_only_among_numbers() -> None:
    numbers = _look(_plain(height=["none" if i % 10 == 0 else str(150 + i % 40) for i in range(ROWS)]))
    words = _look(_plain(illness=["none" if i % 2 == 0 else "flu" for i in range(ROWS)]))
    assert numbers.marks == ("none",)
    assert words.marks == ()


def test_decimal_commas_and_dates_are_found_with_what_comes_first() -> None:
    seen = _look(
        _plain(
            price=[f"{i % 90},{i % 10}" for i in range(ROWS)],
            day=[f"{1 + i % 28:02d}.{1 + i % 12:02d}.2024" for i in range(ROWS)],
            month=[f"{1 + i % 12}/{1 + i % 28}/2024" for i in range(ROWS)],
            either=[f"{1 + i % 12}/{1 + i % 9}/2024" for i in range(ROWS)],
            short=[f"{1 + i % 28}.{1 + i % 12}.24" for i in range(ROWS)],
            never=[f"{1 + i % 31}.2.2024" for i in range(ROWS)],
            version=[f"{i % 9},{i % 7},{i % 5}" for i in range(ROWS)],
        )
    )
    assert {(each.column, each.what) for each in seen.findings.written} == {
        ("price", "decimal comma"),
        ("day", "day first"),
        ("month", "month first"),
        ("either", "day or month first"),
        ("short", "short years"),
    }, "what is no date in some row, or no number, is a text"
    assert [each.likely for each in seen.findings.written if each.column in ("either", "short")] == ["day_first", None]


def test_people_with_several_rows_are_counted() -> None:
    seen = _look(_plain(patient_id=[f"P{i // 4:04d}" for i in range(ROWS)]))
    (people,) = seen.findings.people
    assert (people.column, people.people, people.rows) == ("patient_id", 100, ROWS)
    assert "4.0 rows each" in " ".join(seen.sentences())
    assert _role(seen, "patient_id")[0] is Role.IDENTIFYING


def test_a_copy_of_the_label_is_left_out_and_the_reason_said() -> None:
    labels = [("no", "yes")[(i * i // 7) % 2] for i in range(ROWS)]
    seen = _look(_plain(verdict=["N" if label == "no" else "Y" for label in labels]))
    role, why = _role(seen, "verdict")
    assert role is Role.IDENTIFYING
    assert why.startswith("tells outcome by itself (100.0 % right)")


def test_numbers_that_give_the_label_away_are_found_however_many_there_are() -> None:
    labels = [(i * i // 7) % 2 for i in range(5 * ROWS)]
    scores = [label * 1000.0 + i * 0.37 for i, label in enumerate(labels)]
    seen = _look({"age": [20 + i % 50 for i in range(5 * ROWS)], "score": scores, "outcome": [f"l{b}" for b in labels]})
    assert _role(seen, "score")[0] is Role.IDENTIFYING


def test_another_value_in_every_row_tells_nothing() -> None:
    seen = _look(_plain(reading=[i * 0.731 % 17 for i in range(ROWS)]))
    assert _role(seen, "reading")[0] is Role.INSENSITIVE


def test_a_column_that_tells_a_quasi_identifier_is_one_too() -> None:
    ages = [20 + (i * 7) % 50 for i in range(ROWS)]
    seen = _look(_plain(generation=[f"g{age // 5}" for age in ages], cohort=[1990 - age for age in ages]))
    role, why = _role(seen, "cohort")
    assert role is Role.QUASI_IDENTIFYING
    assert why.startswith("tells age (")
    assert dependent(seen.rows, ["age"], ["generation"]) == (), "five ages in one are not told"


def test_what_a_quasi_identifier_tells_is_one_too() -> None:
    """Whoever knows a day knows its month: k by the days alone would be a promise that nobody keeps."""
    days = [date(2023, 1, 1) + timedelta(days=(i * 7919) % 365) for i in range(4 * ROWS)]
    ages = [20 + (i * 7) % 50 for i in range(4 * ROWS)]
    seen = _look(
        {
            "visit": days,
            "age": ages,
            "month": [f"m{day.month}" for day in days],
            "week": [day.isocalendar()[1] for day in days],
            "generation": [f"g{age // 5}" for age in ages],
            "shop": ["abcdef"[(i * i // 3) % 6] for i in range(4 * ROWS)],
            "outcome": ["uv"[(i * i // 7) % 2] for i in range(4 * ROWS)],
        }
    )
    for column, by in (("month", "visit"), ("week", "visit"), ("generation", "age")):
        role, why = _role(seen, column)
        assert role is Role.QUASI_IDENTIFYING, column
        assert why.startswith(f"is known to whoever knows {by} (right in "), column
    assert _role(seen, "shop")[0] is Role.INSENSITIVE


def test_a_birthday_that_nobody_shares_still_tells_the_age_it_gives() -> None:
    born = [date(1930, 1, 1) + timedelta(days=i * 7) for i in range(4 * ROWS)]
    seen = _look(
        {
            "born": born,
            "decade": [f"{day.year // 10}0s" for day in born],
            "shop": ["abcdef"[(i * i // 3) % 6] for i in range(4 * ROWS)],
            "outcome": ["uv"[(i * i // 7) % 2] for i in range(4 * ROWS)],
        }
    )
    assert _role(seen, "decade")[0] is Role.QUASI_IDENTIFYING
    assert _role(seen, "shop")[0] is Role.INSENSITIVE


def test_what_was_named_insensitive_stays_so_however_much_it_tells() -> None:
    ages = [20 + (i * 7) % 50 for i in range(ROWS)]
    cohort, generation = [1990 - age for age in ages], [f"g{age // 5}" for age in ages]
    seen = _look(_plain(birth_year=[1990 - age for age in ages], cohort=cohort, generation=generation))
    suggested = [
        replace(each, role=Role.INSENSITIVE, why=AS_SAID) if each.column in ("cohort", "generation") else each
        for each in suggest_roles(seen, "outcome")
    ]
    decided, notes = checked(seen, suggested)
    roles = {each.column: each for each in decided}
    assert roles["cohort"].role is roles["generation"].role is Role.INSENSITIVE, "cohort tells two, and stays"
    assert [note.partition(" ")[0] for note in notes] == ["cohort", "generation"]
    assert notes[1].endswith(
        "because you named it insensitive: k does not count what it adds, and the attacks on the release do"
    )


def test_codes_of_regions_tell_their_country_though_their_order_means_nothing() -> None:
    """A number may be a code: in ranges of neighbouring codes countries are mixed, code by code they are not."""
    regions = [(i * 7919) % 300 for i in range(4000)]
    seen = _look(
        {
            "region": regions,
            "country": [f"c{(region * 31) % 7}" for region in regions],
            "outcome": ["uv"[(i * i // 7) % 2] for i in range(4000)],
        }
    )
    (told,) = dependent(seen.rows, ["country"], ["region"])
    assert (told.right, told.ranges) == (1.0, None)
    assert told.sentence().startswith("tells country (right in 100.0 % of rows, guessing in ")
    assert dependent(seen.rows, ["country"], ["outcome"]) == ()


def test_a_share_in_ranges_says_that_it_is_one() -> None:
    """Whoever comes stays a few days: the day of leaving tells about when somebody came, and not the day."""
    came = [date(2020, 1, 1) + timedelta(days=(i * 7919) % 700) for i in range(8000)]
    left = [day + timedelta(days=(i * i // 11) % 3) for i, day in enumerate(came)]
    seen = _look({"came": came, "left": left, "outcome": ["uv"[(i * i // 7) % 2] for i in range(8000)]})
    (told,) = dependent(seen.rows, ["came"], ["left"])
    assert told.ranges == 64
    assert told.sentence().startswith("tells in which of 64 ranges came lies (right in ")
    exact = sum(day == recorded for day, recorded in zip(came, left, strict=True)) / 8000
    assert exact < 0.5 < told.right


def test_where_nothing_looks_known_whatever_varies_counts() -> None:
    seen = _look({"a": [i % 3 for i in range(90)], "b": [1] * 90, "y": ["uv"[i % 2] for i in range(90)]})
    suggested = suggest_roles(seen, "y")
    assert {each.column: each.role for each in suggested} == {"a": Role.QUASI_IDENTIFYING, "b": Role.INSENSITIVE}
    assert "to be safe" in suggested[0].why
    assert roles_of("y", suggested).quasi_identifying == ("a",)


def test_a_label_that_looks_sensitive_is_said_to_leave_as_it_is() -> None:
    seen = _look(_plain(diagnosis=["abc"[(i * i // 5) % 3] for i in range(ROWS)]))
    roles = roles_of("diagnosis", suggest_roles(seen, "diagnosis"))
    said = label_words(seen, "diagnosis", roles)
    assert said is not None
    assert said.startswith("diagnosis looks sensitive and leaves as it is, because it is the label")
    assert label_words(seen, "outcome", roles_of("outcome", suggest_roles(seen, "outcome"))) is None
    named = roles_of("diagnosis", suggest_roles(seen, "diagnosis"), label_is_sensitive=True)
    assert label_words(seen, "diagnosis", named) is None


def test_to_be_admitted_again_is_an_outcome_and_no_admission() -> None:
    names: dict[str, list[Any]] = {
        "Aufnahmedatum": ["abcdefgh"[i % 8] for i in range(ROWS)],
        "Alter": [20 + i % 50 for i in range(ROWS)],
    }
    seen = _look({"Wiederaufnahme": ["ja" if i * i // 7 % 2 else "nein" for i in range(ROWS)], **names})
    assert likely_label(seen) == "Wiederaufnahme"
    assert _role(seen, "Aufnahmedatum", "Wiederaufnahme")[0] is Role.QUASI_IDENTIFYING


def test_a_table_without_anything_to_predict_is_said() -> None:
    with pytest.raises(LabelError, match="no column of table has two values"):
        likely_label(_look({"a": [1] * 5}))


def _panel(**more: Sequence[object]) -> dict[str, Sequence[object]]:
    """Four rows each of a hundred people, in no order, with two traits that stay."""
    people = [(i * 37) % 100 for i in range(ROWS)]
    return {
        "zper": people,
        "female": [(each * 7) % 2 for each in people],
        "race": ["abc"[(each * 5 + each // 9) % 3] for each in people],
        "visits": [(i * i + 3 * i) % 9 for i in range(ROWS)],
        **more,
        "outcome": [("no", "yes")[(i * i // 7) % 2] for i in range(ROWS)],
    }


def test_a_column_whose_rows_agree_in_two_traits_says_whose_they_are() -> None:
    seen = _look(_panel())
    role, why = _role(seen, "zper")
    assert role is Role.IDENTIFYING
    assert "alike in female and race" in why
    assert any("rows that share one agree in female and race" in sentence for sentence in seen.sentences())


def test_one_trait_is_not_enough_and_a_copy_of_it_is_no_second() -> None:
    columns = _panel()
    sexes = ["fm"[int(str(each))] for each in columns["female"]]
    first_name = {**columns, "sex": sexes, "race": ["abc"[(i * i + i // 5) % 3] for i in range(ROWS)]}
    assert _role(_look(first_name), "zper")[0] is not Role.IDENTIFYING


def test_values_are_counted_by_people_where_people_are_counted() -> None:
    """Whoever was tested again after an invalid test has another result too: nobody has that one alone."""
    results = [("invalid" if i % 2 else "negative") if i < 40 else "negative" for i in range(ROWS)]
    columns: dict[str, list[Any]] = {
        "patient_id": [i // 2 for i in range(ROWS)],
        "age": [20 + (i * 7) % 50 for i in range(ROWS)],
        "result": results,
    }
    table = open_dataset(pa.table({name: list(values) for name, values in columns.items()}))
    roles = Roles(identifying=("patient_id",), quasi_identifying=("age",), sensitive=("result",))
    seen = look(table)
    assert values_to_tell_apart(table, seen, roles, None)["result"] == 2
    assert values_to_tell_apart(table, seen, roles, "patient_id")["result"] == 1


def test_days_of_any_century_are_looked_at() -> None:
    """Their microseconds do not fit into the whole numbers that a float tells apart."""
    days = pa.array([-354_000 + 997 * i for i in range(ROWS)], type=pa.int32()).cast(pa.date32())
    seen = look(open_dataset(pa.table({"seen": days, **{name: list(v) for name, v in _plain().items()}})))
    assert _role(seen, "seen")[0] is Role.QUASI_IDENTIFYING


def test_free_text_is_left_out_and_says_nothing_of_whose_the_rows_are() -> None:
    remarks = [f"asked for a call back on day {row}" if row % 2 else "nothing to add" for row in range(ROWS)]
    table = pa.table({"remark": remarks, "age": [20 + row % 40 for row in range(ROWS)], "y": ["a", "b"] * (ROWS // 2)})
    seen = look(open_dataset(table))
    assert seen.findings.people == ()
    (remark,) = [each for each in suggest_roles(seen, "y") if each.column == "remark"]
    assert remark.role is Role.IDENTIFYING
    assert "free text" in remark.why
