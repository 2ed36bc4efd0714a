"""``aegis reproduce``: papers, their values and ours."""

from __future__ import annotations

import importlib.machinery
import sys
import types
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from aegis_papers.chapters import CHAPTERS, Chapter
from aegis_papers.reproduction import Reproduction, Section, judged
from aegis_papers.setting import Setting


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A chapter of two parts, the second of which can be told to fail; gives what was computed."""
    computed: list[str] = []

    def part(name: str) -> dict[str, float]:
        if name == "second" and "stop" in computed:
            computed.remove("stop")
            raise KeyboardInterrupt
        computed.append(name)
        return {"value": 0.5}

    def reproduce(setting: Setting) -> Reproduction:
        values = [setting.part(name, partial(part, name))["value"] for name in ("first", "second")]
        return Reproduction(
            paper="made up",
            title="A paper nobody wrote",
            sections=(
                Section(
                    title="Table 1",
                    text="",
                    claims=(judged(what="one", source="Table 1", printed=0.5, as_printed=values[0]),),
                ),
            ),
            seed=setting.seed,
            quick=setting.quick,
        )

    module = types.ModuleType("made_up_chapter")
    module.reproduce = reproduce  # type: ignore[attr-defined]
    module.__spec__ = importlib.machinery.ModuleSpec("made_up_chapter", loader=None)
    monkeypatch.setitem(sys.modules, "made_up_chapter", module)
    monkeypatch.setitem(CHAPTERS, "made-up", Chapter(name="made-up", module="made_up_chapter", about="nothing"))
    return computed


def test_an_unknown_paper_is_refused(aegis: Callable[..., Any]) -> None:
    answer = aegis("reproduce", "nothing")
    assert answer.status == 2
    assert "mo-obam" in answer.err


def test_a_missing_chapter_breaks_nothing(aegis: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CHAPTERS, "gone", Chapter(name="gone", module="aegis_papers.gone", about=""))
    answer = aegis("reproduce", "gone", "--quick")
    assert answer.status == 2
    assert "not part of this version" in answer.err


def test_table_json_and_page(aegis: Callable[..., Any], made_up: list[str], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    answer = aegis("reproduce", "made-up", "--quick", "--seed", "3", "--json", "--report", page)
    assert answer.status == 0
    assert answer.json["seed"] == 3
    assert answer.json["verdicts"]["same"] == 1
    assert "A paper nobody wrote" in page.read_text(encoding="utf-8")
    assert aegis("reproduce", "made-up", "--quick", "--report", page).status == 2  # exists already
    shown = aegis("reproduce", "made-up", "--quick")
    assert "1 values, by the paper's recipe: 1 same" in shown.out
    assert "quick run" in shown.err


def test_a_stopped_run_goes_on(
    aegis: Callable[..., Any], made_up: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made_up.append("stop")
    stopped = aegis("reproduce", "made-up")
    assert stopped.status == 130
    assert "goes on" in stopped.err
    assert made_up == ["first"]
    assert aegis("reproduce", "made-up").status == 0
    assert made_up == ["first", "second"]  # the first part was found again
    assert not list(tmp_path.rglob("*.json"))  # a run that is complete leaves nothing behind


def test_a_named_folder_keeps_parts(aegis: Callable[..., Any], made_up: list[str], tmp_path: Path) -> None:
    for _ in range(2):
        assert aegis("reproduce", "made-up", "--work", tmp_path / "parts").status == 0
    assert made_up == ["first", "second"]
    assert aegis("reproduce", "made-up", "--work", tmp_path / "parts", "--seed", "1").status == 0
    assert made_up == ["first", "second"] * 2


def test_the_aegis_paper_needs_its_data(
    aegis: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AEGIS_DATASETS", raising=False)
    nowhere = aegis("reproduce", "aegis")
    assert nowhere.status == 2
    assert "--datasets" in nowhere.err
    empty = aegis("reproduce", "aegis", "--datasets", tmp_path)
    assert empty.status == 2
    assert "updated_pollution_dataset.csv is not in the folder" in empty.err
    assert "Traceback" not in empty.err


def test_the_aegis_paper_in_a_few_seconds(aegis: Callable[..., Any], tmp_path: Path) -> None:
    page = tmp_path / "aegis.html"
    answer = aegis("reproduce", "aegis", "--quick", "--json", "--report", page)
    assert answer.status == 0, answer.err
    sections = {section["title"].split(":")[0]: section for section in answer.json["sections"]}
    assert list(sections) == [
        "Table 2",
        *("Fig. 1", "Fig. 5a–c", "Fig. 5d–f", "Fig. 6", "Fig. 7", "Fig. 8", "Fig. 9", "Fig. 10", "Fig. 11"),
    ]
    assert set(answer.json["verdicts"]) == {"same", "different", "not comparable"}
    claims = [claim for section in sections.values() for claim in section["claims"]]
    assert {claim["verdict"] for claim in claims} == {"not comparable"}  # a clinic says nothing about the paper
    assert all(claim["source"] for claim in claims)
    assert all(claim["ours"] is not None or claim["as_printed"] is not None for claim in claims)
    assert all(section["command"] == "aegis reproduce aegis --quick" for section in sections.values())
    # One deterministic mask and no rounding: the deviation is zero for every configuration, on any data.
    derived = [claim["as_printed"] for claim in sections["Fig. 9"]["claims"] if "without rounding" in claim["what"]]
    assert len(derived) == 7
    assert max(derived) < 1e-10
    # All configurations together tell more of the truth than each alone.
    pooled = [claim["ours"] for claim in sections["Fig. 7"]["claims"] if claim["source"] == "not in the paper"]
    alone = [claim["as_printed"] for claim in sections["Fig. 7"]["claims"] if claim["what"].endswith("Aegis+1D")]
    assert all(one < other for one, other in zip(pooled, alone, strict=True))
    text = page.read_text(encoding="utf-8")
    assert "quick run" in text
    assert text.count("<svg") >= 12
    assert "http" not in text.replace("http-equiv", "")
