"""The committed results of repeating the papers, and the page of the documentation that is made from them."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
CHAPTERS = tuple(name for name in ("aegis", "mo_obam", "minimax") if (RESULTS / f"reproduce_{name}.json").exists())


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        spec = importlib.util.spec_from_file_location("reproduced_page", ROOT / "benchmarks" / "reproduced_page.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))
    return module


def committed(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / f"reproduce_{name}.json").read_text(encoding="utf-8"))
    return found


def test_the_page_is_made_from_the_committed_results(pages: ModuleType) -> None:
    made = pages.page({name: committed(name) for name in CHAPTERS})
    assert (ROOT / "docs" / "how-to" / "reproduced.md").read_text(encoding="utf-8") == made


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_value_is_counted_once(name: str) -> None:
    of = committed(name)
    claims = [claim for section in of["sections"] for claim in section["claims"]]
    for verdict, count in of["verdicts"].items():
        assert sum(claim["verdict"] == verdict for claim in claims) == count
        assert sum(section["summary"][verdict] for section in of["sections"]) == count
    assert sum(of["verdicts"].values()) == len(claims)
    assert sum(claim["better"] for claim in claims) == of["better"]
    assert all(claim["test"]["p"] < 0.05 for claim in claims if claim["better"])


@pytest.mark.parametrize("name", CHAPTERS)
def test_what_differs_has_a_reason_and_what_is_compared_two_columns(name: str) -> None:
    for section in committed(name)["sections"]:
        assert section["command"].startswith("aegis reproduce")
        for claim in section["claims"]:
            if claim["verdict"] == "different":
                assert len(claim["why"]) > 20, claim["what"]
            if claim["verdict"] != "not comparable":
                assert claim["as_printed"] is not None, claim["what"]


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_result_names_only_files_that_exist(name: str) -> None:
    text = json.dumps(committed(name), ensure_ascii=False)
    named = set(re.findall(r"\b(?:benchmarks|docs|papers)/[\w./-]+\.(?:py|json|md)\b", text))
    assert all((ROOT / path).exists() for path in named), sorted(named)
    bare = set(re.findall(r"(?<![\w/-])([\w-]+\.json)\b", text))
    assert all((RESULTS / path).exists() for path in bare), sorted(bare)


def test_most_values_of_the_papers_are_as_printed() -> None:
    results = [committed(name) for name in CHAPTERS]
    same = sum(of["verdicts"]["same"] for of in results)
    assert same >= 0.85 * sum(of["comparable"] for of in results)
