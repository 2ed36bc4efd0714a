"""One rule says what may be shown, and every door asks it: nobody keeps a threshold of its own."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import aegis
from aegis.candidates.sanitizers.mechanism import CategoryMechanism
from aegis.catalog.service.disclosure import _published
from aegis.catalog.service.judged_together import _broken_words
from aegis.catalog.worker import verification
from aegis.counts import disclosure_rule
from aegis.counts.joint import Histogram
from aegis.counts.summary import AttributeSummary, RangedHistogram
from aegis.data.domain import Domain
from aegis.data.engine import open_dataset
from aegis.data.kind import Kind
from aegis.library.guided.hierarchy_drafts import drafts
from aegis.report.drawn_columns import columns
from aegis.report.sanitize_report import _named

SOURCE = Path(aegis.__file__).parent
DOORS = (
    "candidates/boxes/tuples.py",  # the values that no set of a box names
    "candidates/clusters/candidate.py",  # the same of clusters in the race
    "candidates/clusters/records.py",  # the categories that no centre of a class names
    "candidates/search/masks.py",  # the names of groups that a search makes
    "catalog/service/disclosure.py",  # configurations, hierarchies, bars and exposures, and what a summary publishes
    "catalog/service/configurations.py",  # previews of a mask
    "catalog/service/judged_together.py",
    "catalog/worker/verification.py",
    "counts/named_from.py",  # how many rows are of enough people, where a page knows rows only
    "library/releasing/release_certificate.py",  # certificates
    "library/guided/hierarchy_drafts.py",  # the page of start
    "report/drawn_columns.py",
    "report/distribution.py",
    "report/attribute_cards.py",
    "report/sanitize_report.py",
)
CANARY = "canary-of-one"
COUNTS = {"common": 40, "enough": 5, "few": 4, CANARY: 1}


def _texts() -> dict[str, str]:
    return {str(path.relative_to(SOURCE)): path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}


def test_every_door_asks_the_rule_and_no_other_module_does_unnoticed() -> None:
    asking = {name for name, text in _texts().items() if "\nfrom aegis.counts.disclosure_rule import " in text}
    words_only = {"report/ranking_words.py", "library/guided/web.py", "library/guided/web_session.py"}
    assert asking == {*DOORS, *words_only}


def test_nobody_compares_with_the_threshold_but_the_rule() -> None:
    own = re.compile(r"[<>]=?\s*FEWEST\b|\bFEWEST\s*[<>]|^FEWEST\s*=\s*\d", re.MULTILINE)
    assert [name for name, text in _texts().items() if own.search(text)] == ["counts/disclosure_rule.py"]


def test_a_door_may_ask_for_more_people_and_never_for_fewer() -> None:
    assert disclosure_rule.may_name([4, 5, 9], at_least=1).tolist() == [False, True, True]
    assert disclosure_rule.may_name([4, 5, 9], at_least=9).tolist() == [False, False, True]


def _attribute() -> AttributeSummary:
    values = np.array(sorted(COUNTS), dtype=object)
    domain = Domain(kind=Kind.TEXT, values=values)
    histogram = Histogram(domain=domain, counts=np.array([COUNTS[value] for value in values], dtype=np.int64))
    return AttributeSummary(
        name="town", domain=domain, histogram=RangedHistogram.of_values(histogram), joint=None, masked={}
    )


def _drawn(tmp_path: Path) -> Any:
    attribute = _attribute()
    assert attribute.domain is not None
    counts = np.array([[COUNTS[value]] for value in attribute.domain.values])
    joint = SimpleNamespace(counts=counts, attribute=attribute.domain)
    shown: Any = SimpleNamespace(joint=joint, mask="identity", change=None)
    drawn = columns(attribute, shown, named_from=0)
    return drawn.names, drawn.masked_names


def _summary(tmp_path: Path) -> Any:
    return _published(_attribute(), 0)


def _sanitized(tmp_path: Path) -> Any:
    mechanism: CategoryMechanism = SimpleNamespace(values=tuple(sorted(COUNTS)))  # type: ignore[assignment]
    return _named(mechanism, np.array([value for value, times in COUNTS.items() for _ in range(times)]))[0]


def _hierarchy(tmp_path: Path) -> Any:
    table = tmp_path / "towns.csv"
    pd.DataFrame({"town": [value for value, times in COUNTS.items() for _ in range(times)]}).to_csv(table, index=False)
    folder = tmp_path / "hierarchies"
    folder.mkdir()
    lines = [f"{value};{'common places' if COUNTS[value] >= 5 else value};*" for value in COUNTS]
    (folder / "towns_hierarchy_town.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (draft,) = drafts(open_dataset(table), ["town"], folder=folder, k=5, unit=None)
    return [group.label for level in draft.levels for group in level.groups]


@pytest.mark.parametrize("door", [_drawn, _summary, _sanitized, _hierarchy])
def test_a_value_of_one_person_passes_no_door(door: Any, tmp_path: Path) -> None:
    """Certificates have their canary beside them, and so have the catalog's routes and pages."""
    shown = str(door(tmp_path))
    assert "common" in shown
    assert CANARY not in shown
    assert "few" not in shown


def test_a_count_of_one_is_told_in_words_by_the_catalog() -> None:
    verdict: Any = SimpleNamespace(broken=[{"model": "k-anonymity", "records": 1}])
    out: Any = [SimpleNamespace(name="first.csv")]
    assert "k-anonymity (for fewer than 5 records)" in _broken_words(verdict, out)
    texts: Any = {"age": (["1", "2"], np.array([0, 0, 0, 0, 0, 0, 1]))}
    row: Any = SimpleNamespace(certificate={"roles": {"quasi_identifying": ["age"]}})
    found = verification._alone(texts, 7, row)
    assert (found["exposed"], found["records"]) == (0, 5)
    assert found["said"] == "the smallest group has fewer than 5 records"
