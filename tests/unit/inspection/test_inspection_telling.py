"""What whoever knows a value knows with it: parts of dates, times and codes, however a column spells them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aegis.data.engine import open_dataset
from aegis.inspection.first_rows import first_rows, of_times
from aegis.inspection.telling import Tells, dependent, following

ROWS = 1500
RNG = np.random.default_rng(0)
DAYS = [date(2022, 1, 1) + timedelta(days=int(day)) for day in RNG.integers(0, 700, ROWS)]  # two rows a day
BORN = [date(1930, 1, 1) + timedelta(days=int(day)) for day in RNG.permutation(25_000)[:ROWS]]  # no two alike
MOMENTS = [datetime(2023, 1, 1) + timedelta(seconds=int(s)) for s in RNG.choice(30_000_000, ROWS, replace=False)]
CODES = [f"{number:05d}" for number in RNG.permutation(100_000)[:ROWS]]


def _told(known: dict[str, Any], other: list[Any], rows: int = ROWS) -> Tells | None:
    table = pa.table({**known, "other": other}).slice(0, rows)
    coded = first_rows(table, open_dataset(table).schema)
    found = following(coded, list(known), ["other"])
    return found[0] if found else None


@pytest.mark.parametrize(
    "spelled",
    [
        lambda day: day.strftime("%A"),
        lambda day: ["Mo", "Di", "Mi", "Do", "Fr", "Sa", "So"][day.weekday()],
        lambda day: (day.weekday() + 1) % 7,
        lambda day: day.day,
        lambda day: day.timetuple().tm_yday,
        lambda day: day.isocalendar()[1],
        lambda day: int(day.strftime("%U")),
        lambda day: f"Q{(day.month + 2) // 3}",
        lambda day: day.strftime("%b"),
        lambda day: day.weekday() > 4,
        lambda day: ["winter", "spring", "summer", "autumn"][day.month % 12 // 3],
        lambda day: day.day % 2,
    ],
)
@pytest.mark.parametrize("days", [DAYS, BORN], ids=["shared", "nobody's but one's"])
def test_a_date_tells_its_parts_however_they_are_written(days: list[date], spelled: Callable[[date], Any]) -> None:
    told = _told({"day": days}, [spelled(day) for day in days])
    assert told is not None
    assert told.right > 0.95


@pytest.mark.parametrize(
    "spelled",
    [
        lambda time: time.hour,
        lambda time: time.minute,
        lambda time: ["early", "late", "night"][time.hour // 8],
        lambda time: "on duty" if time.weekday() < 5 and 8 <= time.hour < 17 else "off",
        lambda time: time.strftime("%a"),
        lambda time: time.second % 10,
    ],
)
def test_a_moment_tells_its_hour_and_its_shift(spelled: Callable[[datetime], Any]) -> None:
    assert _told({"came": MOMENTS}, [spelled(time) for time in MOMENTS]) is not None


def test_dates_and_times_that_are_no_dates_to_the_engine_are_read_too() -> None:
    weekdays = [day.strftime("%A") for day in BORN]
    assert _told({"day": [day.strftime("%d.%m.%Y") for day in BORN]}, weekdays) is not None
    assert _told({"day": [day.strftime("%m/%d/%Y") for day in BORN]}, weekdays) is not None
    assert _told({"day": [int(day.strftime("%Y%m%d")) for day in BORN]}, weekdays) is not None
    assert _told({"time": [time.strftime("%H:%M:%S") for time in MOMENTS]}, [f"h{t.hour}" for t in MOMENTS]) is not None


def test_a_code_tells_its_beginning_and_a_number_its_digits() -> None:
    assert _told({"zip": CODES}, [f"area {ord(code[0]) * 7 % 10}{code[1]}" for code in CODES]) is not None
    assert _told({"number": [int(code) for code in CODES]}, ["fm"[int(code) % 2] for code in CODES]) is not None


def test_what_a_day_decides_by_no_rule_is_told_where_days_occur_again() -> None:
    closed = {day: "closed" if RNG.random() < 0.3 else "open" for day in set(DAYS)}
    assert _told({"day": DAYS}, [closed[day] for day in DAYS]) is not None


def test_two_days_tell_the_age_and_the_stay() -> None:
    dates = list(zip(DAYS, BORN, strict=True))
    age = [day.year - born.year - ((day.month, day.day) < (born.month, born.day)) for day, born in dates]
    told = _told({"day": DAYS, "born": BORN}, age)
    assert told is not None
    assert told.as_known().startswith("is known to whoever knows day and born (right in ")
    assert _told({"day": DAYS}, age) is None
    assert _told({"day": DAYS, "birth_year": [born.year for born in BORN]}, [f"{years // 10}0s" for years in age])
    left = [day + timedelta(days=int(stay)) for day, stay in zip(DAYS, RNG.integers(0, 90, ROWS), strict=True)]
    stays = [(gone - day).days for gone, day in zip(left, DAYS, strict=True)]
    assert _told({"day": DAYS, "left": left}, [f"{stay} days" for stay in stays]) is not None
    assert _told({"day": DAYS, "stay": stays}, left) is not None


def test_height_and_weight_tell_the_body_mass_index() -> None:
    rng = np.random.default_rng(3)
    height = rng.normal(170, 9, ROWS).round()
    weight = (height - 100 + rng.normal(0, 12, ROWS)).round()
    body = {"height": height.tolist(), "weight": weight.tolist()}
    index = weight / (height / 100) ** 2
    told = _told(body, index.round(1).tolist())
    assert told is not None
    assert (told.column, told.beside) == ("height", "weight")
    assert _told(body, np.where(index > 27, "high", "low").tolist()) is not None
    assert _told(body, np.sqrt(height * weight / 3600).round(2).tolist()) is not None, "the surface of a body"
    assert _told({"weight": body["weight"]}, index.round(1).tolist()) is None
    assert _told({"weight": weight.tolist(), "none": [0.0] * ROWS}, index.round(1).tolist()) is None


def test_two_columns_tell_a_stratum_that_follows_no_rule() -> None:
    rng = np.random.default_rng(4)
    sex, age = rng.choice(["f", "m"], ROWS).tolist(), rng.integers(20, 90, ROWS).tolist()
    strata = [f"{'ab'[each == 'f']}{years // 10 * 7 % 10}" for each, years in zip(sex, age, strict=True)]
    told = _told({"sex": sex, "age": age}, strata)
    assert told is not None
    assert told.as_known().startswith("is known to whoever knows sex and age (right in ")
    assert _told({"age": age}, strata) is None


def test_what_the_rows_of_a_person_share_is_not_told_by_two_columns() -> None:
    rng = np.random.default_rng(5)
    person = rng.integers(0, 300, ROWS)
    born, town = rng.integers(1930, 2005, 300)[person].tolist(), rng.choice(list("abcdefgh"), 300)[person].tolist()
    assert _told({"born": born, "town": town}, rng.choice(["x", "y", "z"], 300)[person].tolist()) is None


def test_a_dose_by_weight_is_told_about() -> None:
    rng = np.random.default_rng(6)
    weight = rng.normal(75, 12, ROWS)
    told = _told({"weight": weight.round(1).tolist()}, (weight / 2 + rng.normal(0, 0.1, ROWS)).round(2).tolist())
    assert told is not None
    assert told.nearly
    assert ", give or take one of 64 ranges, to whoever knows weight" in told.as_known()
    assert _told({"weight": weight.tolist()}, (weight / 2 + rng.normal(0, 2, ROWS)).tolist()) is None


def test_day_month_and_year_are_each_told_by_a_date() -> None:
    for part in ([day.day for day in BORN], [day.month for day in BORN], [day.year for day in BORN]):
        assert _told({"born": BORN}, part) is not None


def test_a_date_gives_away_the_masked_weekday() -> None:
    table = pa.table({"day": BORN, "weekday": [day.strftime("%A") for day in BORN]})
    (told,) = dependent(first_rows(table, open_dataset(table).schema), ["weekday"], ["day"])
    assert (told.column, told.right) == ("day", 1.0)


@pytest.mark.parametrize("seed", range(5))
def test_what_is_drawn_by_chance_is_told_by_nothing(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    known = {"day": DAYS, "born": BORN, "came": MOMENTS, "zip": CODES, "number": [int(code) for code in CODES]}
    assert _told(known, rng.integers(0, 7, ROWS).tolist()) is None
    assert _told(known, np.where(rng.random(ROWS) < 0.97, "no", "yes").tolist()) is None
    assert _told(known, rng.normal(size=ROWS).tolist()) is None
    noisy = [day.weekday() if rng.random() < 0.8 else int(rng.integers(0, 7)) for day in DAYS]
    assert _told(known, noisy) is None, "four weekdays in five are not all"


def test_parts_are_those_of_the_calendar() -> None:
    days = [date(1968, 12, 28) + timedelta(days=step) for step in range(0, 30_000, 13)]
    parts = of_times(np.array(days, dtype="datetime64[us]"))
    for name, of in (
        ("weekday", lambda day: day.weekday()),
        ("ISO week", lambda day: day.isocalendar()[1]),
        ("week", lambda day: int(day.strftime("%U"))),
        ("day of year", lambda day: day.timetuple().tm_yday),
        ("day of month", lambda day: day.day),
        ("month", lambda day: day.month),
        ("year", lambda day: day.year),
    ):
        assert parts[name].tolist() == [of(day) for day in days], name


def test_missing_values_stay_missing() -> None:
    days: list[date | None] = [None if row % 5 == 0 else day for row, day in enumerate(BORN)]
    assert _told({"day": days}, ["" if day is None else day.strftime("%A") for day in days]) is not None
    assert _told({"day": [None] * ROWS}, ["a", "b"] * (ROWS // 2)) is None
