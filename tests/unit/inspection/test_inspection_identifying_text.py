"""Texts that name people are recognised by their form and their check digits; plain columns are not."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from aegis.data.engine import open_dataset
from aegis.inspection.identifying_text import (
    FIRST_NAMES,
    is_card,
    is_iban,
    is_ip_address,
    is_name,
    is_national_id,
    is_phone,
    looks_like,
    luhn,
    texts_that_identify,
)
from aegis.masking.mask import MASKS

RNG = np.random.default_rng(3)


def ibans(count: int) -> list[str]:
    made = []
    for _ in range(count):
        account = "".join(map(str, RNG.integers(0, 10, 18)))
        check = 98 - int(account + "131400") % 97
        made.append(f"DE{check:02d}{account}")
    return made


def cards(count: int) -> list[str]:
    made = []
    for _ in range(count):
        first = "4" + "".join(map(str, RNG.integers(0, 10, 14)))
        made.append(next(first + digit for digit in "0123456789" if luhn(first + digit)))
    return made


def names(count: int) -> list[str]:
    usual = sorted(FIRST_NAMES)
    return [f"{usual[i % len(usual)].capitalize()} {'BCDFG'[i % 5]}{'aeiou'[i % 5]}rtman" for i in range(3, 3 + count)]


FOUND = {
    "e-mail addresses": [f"person.{i}@mail{i % 3}.example.org" for i in range(40)],
    "telephone numbers": [f"+49 30 {i:04d}-{i * 7 % 100:02d}" for i in range(1000, 1040)],
    "bank accounts (IBAN)": ibans(40),
    "payment cards": cards(40),
    "addresses of machines (IP)": [f"10.{i}.{i * 3 % 250}.7" for i in range(40)],
    "links": [f"https://example.org/u/{i}" for i in range(40)],
    "national identity numbers": [f"{i:03d}-{1 + i % 99:02d}-{1000 + i}" for i in range(101, 141)],
    "names of people": names(40),
    "texts with e-mail addresses": [f"please write to the office or to a{i}@b.org by noon" for i in range(40)],
    "texts with telephone numbers": [f"the patient can be reached under 0171 {555000 + i} at night" for i in range(40)],
}


@pytest.mark.parametrize("what", FOUND)
def test_what_names_people_is_recognised_and_has_a_mask(what: str) -> None:
    found = looks_like(FOUND[what])
    assert found is not None
    assert found.what == what
    assert found.mask in MASKS


@pytest.mark.parametrize("what", FOUND)
def test_a_few_others_among_them_do_not_hide_it(what: str) -> None:
    found = looks_like([*FOUND[what], "unknown", "n/a"])
    assert found is not None
    assert found.what == what


ORDINARY = {
    "colours": ["red", "green", "blue", "white", "black", "grey"],
    "numbers": [str(number) for number in RNG.integers(0, 10**6, 300)],
    "long numbers": [str(number) for number in RNG.integers(10**15, 9 * 10**15, 300)],
    "eleven digits": [str(number) for number in RNG.integers(10**10, 9 * 10**10, 300)],
    "dates": [f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(200)],
    "german dates": [f"{1 + i % 28:02d}.{1 + i % 12:02d}.2024" for i in range(200)],
    "times": [f"{i % 24:02d}:{i % 60:02d}:00" for i in range(200)],
    "zip codes": [f"{number:05d}" for number in RNG.integers(0, 99999, 300)],
    "diagnoses": [f"{'ABCDEIJK'[i % 8]}{i % 90 + 10}.{i % 10}" for i in range(300)],
    "cities": ["New York", "San Francisco", "Los Angeles", "Rio de Janeiro", "Berlin", "Cape Town"],
    "jobs": ["Tech support", "Craft repair", "Other service", "Sales", "Exec managerial", "Prof specialty"],
    "versions": ["1.2.3", "1.2.4", "2.0.0", "2.1.0", "3.0.0", "3.0.1"],
    "amounts": [f"{i}.{i % 100:02d}" for i in range(300)],
    "intervals": ["[10-20)", "[20-30)", "[30-40)", "[40-50)", "[50-60)", "[60-70)"],
    "sentences": [f"the patient was seen on day {i} and sent home without complaint" for i in range(50)],
    "few": ["ann@example.org"],
}


@pytest.mark.parametrize("what", ORDINARY)
def test_ordinary_columns_are_left_alone(what: str) -> None:
    assert looks_like(ORDINARY[what]) is None


@pytest.mark.parametrize(
    ("text", "check", "right"),
    [
        ("GB29 NWBK 6016 1331 9268 19", is_iban, True),
        ("GB28 NWBK 6016 1331 9268 19", is_iban, False),
        ("5500-0000-0000-0004", is_card, True),
        ("5500-0000-0000-0005", is_card, False),
        ("2001:db8::1", is_ip_address, True),
        ("300.1.1.1", is_ip_address, False),
        ("(212) 555-0187", is_phone, True),
        ("2024-05-06", is_phone, False),
        ("12345678Z", is_national_id, True),
        ("12345678A", is_national_id, False),
        ("RSSMRA85T10A562S", is_national_id, True),
        ("RSSMRA85T10A562T", is_national_id, False),
        ("756.9217.0769.85", is_national_id, True),
        ("756.9217.0769.84", is_national_id, False),
        ("811218-9876", is_national_id, True),
        ("811218-9875", is_national_id, False),
        ("666-12-1234", is_national_id, False),
        ("O'Neill, Mary", is_name, True),
        ("other service", is_name, False),
    ],
)
def test_check_digits_decide(text: str, check: object, right: bool) -> None:
    assert check(text) is right  # type: ignore[operator]  # each is a function of a text


def _notes(rows: int) -> list[str]:
    """What guests wish: few write an address, and those texts do not begin with the first letters of the alphabet."""
    return [
        f"please mail guest{row}@example.org about the room"
        if row % 40 == 0
        else f"late arrival at {row % 24}, ask {row}"
        for row in range(rows)
    ]


def test_texts_from_everywhere_in_a_column_are_looked_at() -> None:
    """The first texts by the alphabet hold no address."""
    table = pa.table({"notes": _notes(4_000)})
    found = texts_that_identify(open_dataset(table))
    assert found["notes"].what == "texts with e-mail addresses"
    assert found["notes"].mask == "suppress"


def test_two_addresses_are_enough() -> None:
    texts = [f"the room at the end of corridor {number}" for number in range(498)]
    texts += ["write to ann@example.org about the keys", "write to bob@example.org about the keys"]
    seen = looks_like(texts)
    assert seen is not None
    assert seen.what == "texts with e-mail addresses"


def test_sentences_that_differ_from_row_to_row_are_free_text() -> None:
    own = pa.table({"remark": [f"the patient came on day {row} and left" for row in range(600)]})
    assert texts_that_identify(open_dataset(own))["remark"].what.startswith("free text")
    few = pa.table({"tariff": [f"stays of {row % 9} nights with breakfast" for row in range(600)]})
    assert texts_that_identify(open_dataset(few)) == {}
