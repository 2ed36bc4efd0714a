"""The page of a ranking: complete, self-contained, silent about single records, and whole or not there at all."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aegis._version import __version__
from aegis.counts.summary import ConfigurationScores, Level, Summary, reduced
from aegis.data.kind import Kind
from aegis.errors import MissingExtraError, OutputError
from aegis.ranking.rank import rank
from aegis.ranking.ranking import Ranking
from aegis.report import page as page_module
from aegis.report.page import write_page
from aegis.report.ranking_report import render_ranking

Bench = Any  # the class of that name in conftest.py, which cannot be imported

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Reader(HTMLParser):
    """Checks that tags close in order, and keeps what was seen."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text.append(data)


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader


def words(html: str) -> str:
    return re.sub(r"\s+", " ", " ".join(read(html).text))


def levels(summary: Summary) -> dict[str, Summary]:
    return {
        "2d": summary,
        "1d": reduced(summary, level=Level.ONE_D),
        "ranges": reduced(summary, level=Level.ONE_D, ranges=5),
        "none": reduced(summary, level=Level.NONE),
        "opaque": reduced(summary, level=Level.NONE, opaque=True),
    }


@pytest.mark.parametrize("level", ["2d", "1d", "ranges", "none", "opaque"])
def test_a_page_stands_alone_at_every_level(people: Summary, level: str) -> None:
    summary = levels(people)[level]
    html = render_ranking(rank(summary), summary)
    reader = read(html)
    assert not {"script", "link", "img", "iframe", "object", "image", "use", "foreignobject"} & set(reader.tags)
    names = {name for name, _ in reader.attributes}
    assert not {"src", "href", "xlink:href", "action", "style"} & names
    assert not [name for name in names if name.startswith("on")]
    assert "http:" not in html
    assert "https:" not in html
    assert "//" not in html.replace("<!DOCTYPE", "")
    assert "url(" not in html
    assert "@import" not in html
    assert reader.tags.count("svg") >= 2 + len(summary.attributes)


@pytest.mark.parametrize("level", ["2d", "none", "opaque"])
def test_the_page_says_what_was_done(people: Summary, level: str) -> None:
    summary = levels(people)[level]
    ranking = replace(rank(summary), timing={"counting_seconds": 0.25, "total_seconds": 1.5}, notes=("a note of mine",))
    said = words(render_ranking(ranking, summary))
    for one in ranking.ranking:
        assert one.configuration in said
    for expected in (
        "table.csv",
        "600",
        "outcome, 2 values",
        "5: age, weight, town, seen, smoker",
        "patient: identifying: never counted",
        ranking.measure,
        "higher is better",
        "a note of mine",
        "counting 250 ms, together 1.5 s",
        f"Aegis {__version__}",
        f"4, with {sum(len(a.masked) for a in summary.attributes.values())} distinct masks",
    ):
        assert expected in said


def test_the_headline_names_the_best_and_those_like_it(people: Summary) -> None:
    ranking = rank(people, measure="mutual-information")
    first, second, third, last = ranking.ranking
    ranking = replace(
        ranking,
        ranking=(
            replace(first, configuration="alpha", retained=0.875, borrowed=False, like_best=True),
            replace(second, configuration="beta", like_best=True, rank=2),
            replace(third, configuration="gamma", like_best=False, rank=3),
            replace(last, configuration="omega", like_best=False, rank=4, retained=0.0),
        ),
    )
    renamed = dict(zip([one.configuration for one in (first, second, third, last)], "abgo", strict=True))
    full = {"a": "alpha", "b": "beta", "g": "gamma", "o": "omega"}
    summary = replace(
        people,
        configurations=tuple(replace(c, name=full[renamed[c.name]]) for c in people.configurations),
    )
    said = words(render_ranking(ranking, summary)).replace("\u00a0", " ")
    assert "alpha keeps 87.5 % of what the table says about outcome" in said
    assert "1 of the 3 others cannot be told apart from it on these records: beta." in said
    assert "At the other end, omega keeps 0 %." in said


@pytest.mark.parametrize("retained", [None, float("inf"), 1.2, float("nan"), 0.0, 1.0])
def test_odd_shares_do_not_break_the_page(people: Summary, retained: float | None) -> None:
    ranking = rank(people)
    odd = tuple(replace(one, retained=retained, borrowed=bool(retained and retained > 1)) for one in ranking.ranking)
    said = words(render_ranking(replace(ranking, ranking=odd), people))
    assert "nan" not in said.split()
    assert "None" not in said


def together(summary: Summary, share: float) -> Summary:
    """The summary with scores of whole configurations, the best of them at ``share`` of the unmasked table."""
    many = len(summary.configurations)
    utilities = 0.5 * np.linspace(share, 0.1, many)
    scores = ConfigurationScores(
        unit="share of errors avoided and of entropy told",
        sample_rows=600,
        utilities=utilities,
        resampled=utilities[:, None] + np.linspace(-0.01, 0.01, 5),
        original=0.5,
        original_resampled=0.5 + np.linspace(-0.01, 0.01, 5),
    )
    return replace(summary, scores={"pair-prediction": scores})


def test_single_attributes_are_not_shown_in_the_unit_of_whole_configurations(people: Summary) -> None:
    summary = together(people, 1.408)
    ranking = rank(summary)
    assert ranking.measure == "pair-prediction"
    html = render_ranking(ranking, summary)
    said = words(html).replace("\u00a0", " ")
    assert "(bits of information about the label)" in said, "the legend of the heat map"
    assert "Single attributes are shown in bits of information about the label" in said
    assert "bits left" in html, "the tips of the heat map"
    assert re.search(r"(gains|loses [0-9.]+ of) [0-9.]+ bits", said)
    assert "what the configuration loses against the unmasked table" in said
    assert "what an attribute loses on average" not in said
    assert "mean over the attributes" not in said


def test_more_than_all_is_shown_as_such_and_explained(people: Summary) -> None:
    for summary in (together(people, 1.408), people):
        ranking = rank(summary)
        best = replace(ranking.best, retained=1.408, borrowed=True)
        html = render_ranking(replace(ranking, ranking=(best, *ranking.ranking[1:])), summary)
        said = words(html).replace("\u00a0", " ")
        assert "140.8 %" not in said
        assert said.count("100 %+") >= 4, "the fact, the plot, the table and the sentence that explains it"
        assert "what exceeds the whole was gained, not kept" in said
        assert ("Taken one by one" in said) == (summary is people)
    assert "100 %+" not in words(render_ranking(rank(together(people, 0.9)), together(people, 0.9)))


@pytest.mark.parametrize("measure", ["chi-square", "g3", "cramers-v", "mutual-information"])
def test_rounding_is_not_taken_for_a_loss_or_a_gain(people: Summary, measure: str) -> None:
    ranking = rank(people, measure=measure)
    noisy = tuple(
        replace(
            one,
            attributes=tuple(
                replace(loss, deviation=-1e-13 * (loss.original or 0.0), masked=loss.original or 0.0)
                for loss in one.attributes
            ),
        )
        for one in ranking.ranking
    )
    said = words(render_ranking(replace(ranking, ranking=noisy), people))
    assert "nothing lost (" in said
    assert "gained below zero" not in said
    assert "gains" not in said
    assert not re.search(r"\de-1\d", said)


def planted(bench: Bench) -> Summary:
    """Values that occur once, in every kind of column and in the label."""
    rng = np.random.default_rng(3)
    rows = 400
    columns: dict[str, tuple[Kind, list[Any]]] = {
        "city": (Kind.TEXT, [*rng.choice(["rome", "oslo", "bonn"], rows).tolist(), "zqxcanary-text"]),
        "pay": (Kind.INTEGER, [*rng.integers(20, 60, rows).tolist(), 17371]),
        "dose": (Kind.REAL, [*np.round(rng.normal(5, 1, rows), 2).tolist(), 4.7331937]),
        "born": (Kind.DATE, [*(np.datetime64("1990-01-01") + rng.integers(0, 99, rows)).tolist(), "1913-11-17"]),
    }
    columns["born"] = (Kind.DATE, [np.datetime64(value, "D") for value in columns["born"][1]])
    label = [*rng.choice(["yes", "no"], rows).tolist(), "zqxcanary-label"]
    masks: dict[str, Any] = {
        "open": {},
        "starred": {"city": {"star_trailing": {"characters": 2}}, "pay": {"bucketize": {"width": 10}}},
        "drawn": {
            "city": {"randomize": {"keep": 0.2}},
            "pay": "shuffle",
            "dose": {"randomize": {"keep": 0.2}},
            "born": "shuffle",
        },
        "noise": {"pay": {"add_laplace_noise": {"scale": 3, "step": 1}}, "dose": {"round": {"step": 0.5}}},
        "named": dict.fromkeys(columns, "token"),
        "label": {"outcome": {"randomize": {"keep": 0.5}}, "born": {"date_truncate": {"unit": "year"}}},
    }
    return bench.summary(columns, label, masks)


@pytest.mark.parametrize("level", ["2d", "1d", "ranges", "none", "opaque"])
def test_no_value_of_a_single_record_is_on_the_page(bench: Bench, level: str) -> None:
    summary = levels(planted(bench))[level]
    ranking = rank(summary)
    for i in range(len(ranking.ranking)):
        # Every configuration takes its turn as the one whose distributions are drawn.
        turn = replace(ranking, ranking=(ranking.ranking[i], *ranking.ranking[:i], *ranking.ranking[i + 1 :]))
        html = render_ranking(turn, summary)
        for canary in ("zqxcanary", "zqxcan", "17371", "17,371", "[17370", "4.7331937", "4.733", "1913"):
            assert canary not in html, f"{canary} under {turn.best.configuration}"


def test_common_values_are_on_the_page(bench: Bench) -> None:
    html = render_ranking(rank(planted(bench)), planted(bench))
    assert "rome" in html  # the test above could not fail if no value were ever shown


def test_hostile_names_are_text(bench: Bench) -> None:
    evil = '"><script>alert(1)</script>&'
    summary = bench.summary(
        {evil: (Kind.TEXT, [evil] * 20 + ["b"] * 20)},
        ["y", "n"] * 20,
        {evil: {}, "other": {evil: "suppress"}},
        name=evil,
        skipped={evil: evil},
    )
    html = render_ranking(replace(rank(summary), notes=(evil,)), summary)
    assert "<script" not in html
    assert evil in "".join(read(html).text)


def test_many_configurations_and_attributes(bench: Bench) -> None:
    rng = np.random.default_rng(0)
    columns = {f"attribute-{a:02d}": (Kind.INTEGER, rng.integers(0, 90, 500).tolist()) for a in range(45)}
    masks: list[Any] = ["suppress", {"bucketize": {"width": 10}}, {"bucketize": {"width": 30}}, "identity"]
    configurations = {
        f"configuration-{c:03d}": {name: masks[int(rng.integers(4))] for name in columns} for c in range(200)
    }
    summary = bench.summary(columns, rng.choice(["y", "n"], 500).tolist(), configurations)
    html = render_ranking(rank(summary), summary)
    said = words(html)
    assert len(html) < 1_500_000
    assert "The first 30 of 200 are drawn." in said
    assert "All 200 candidates in a table" in said
    assert "40 of 45 attributes are drawn." in said
    assert said.count("configuration-") >= 200


def test_one_attribute_and_one_configuration(bench: Bench) -> None:
    summary = bench.summary({"a": (Kind.TEXT, ["x", "y"] * 20)}, ["y", "n"] * 20, {"only": {}})
    said = words(render_ranking(rank(summary), summary))
    assert "It is the only configuration that was given" in said
    assert "1 attribute published as it is" in said


def test_ties_are_shown_as_ties(bench: Bench) -> None:
    summary = bench.summary(
        {"a": (Kind.TEXT, ["x", "y"] * 20), "b": (Kind.TEXT, ["u", "v"] * 20)},
        ["y", "n"] * 20,
        {"one": {}, "two": {"a": "identity"}, "three": {"a": "suppress", "b": "suppress"}},
    )
    said = words(render_ranking(rank(summary), summary))
    assert "(exactly equal): two." in said
    assert said.count("1= ") == 2


def test_a_page_is_written_whole_and_an_old_one_kept_unless_told(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    assert write_page(target, "<p>é</p>") == target
    assert target.read_bytes() == "<p>é</p>".encode()
    with pytest.raises(OutputError, match="--overwrite"):
        write_page(target, "new")
    assert target.read_bytes() == "<p>é</p>".encode()
    write_page(target, "new", overwrite=True)
    assert target.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [target]


def test_a_verdict_is_said_in_words_and_not_by_colour_alone() -> None:
    template = page_module._environment(None).from_string(
        '{% import "parts.html" as parts %}{{ parts.verdict(true) }}|{{ parts.verdict(false) }}'
    )
    good, bad = (words(part).strip() for part in template.render().split("|"))
    assert (good, bad) == ("✓ satisfied", "✗ not satisfied")


def test_without_jinja_the_install_line_is_printed(people: Summary, monkeypatch: pytest.MonkeyPatch) -> None:
    page_module._environment.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"aegis-share\[report\]"):
        page_module.render_page("ranking.html")
    monkeypatch.setitem(sys.modules, "markupsafe", None)
    ranking: Ranking = rank(people)
    with pytest.raises(MissingExtraError, match=r"aegis-share\[report\]"):
        render_ranking(ranking, people)


def test_a_candidate_that_masks_nothing_has_a_place_and_the_attributes_are_those_of_the_best_masks(
    people: Summary,
) -> None:
    ranking = rank(people)
    clusters = replace(ranking.best, configuration="mdav", id="", attributes=())
    first = replace(ranking, ranking=(clusters, *ranking.ranking))
    said = words(render_ranking(first, people))
    assert "mdav" in said
    assert f"The attributes under {ranking.best.configuration}" in said
    alone = words(render_ranking(replace(ranking, ranking=(clusters,)), people))
    assert "The attributes under" not in alone
