"""What pages say: policies in sentences, hierarchies as tables, previews in groups, histograms as bars."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contracts.asked_models import ways_to_use

from aegis.catalog import records
from aegis.catalog.server.api.bodies import Generation
from aegis.catalog.server.pages import rendering
from aegis.catalog.server.pages.mask_views import hierarchy_view, with_hierarchy
from aegis.catalog.server.pages.product_form_pages import _policy, _typed
from aegis.catalog.server.pages.rendering import byte_size, first_words, promises, state_words, tone
from aegis.catalog.server.pages.request_pages import timeline
from aegis.catalog.server.uploads import Form
from aegis.catalog.states import JobState, ProductState, ReleaseState, RequestState
from aegis.data.schema import Roles
from aegis.masking.generator import STRENGTHS
from aegis.privacy.model import MODELS
from aegis.privacy.policy import Policy
from aegis.report.charts.bars import Bar, Tick, histogram


def test_every_model_is_said_in_a_sentence_of_its_own() -> None:
    rng = np.random.default_rng(0)
    ways = [way for name in MODELS for way in ways_to_use(name, of=("illness", "salary"))]
    for name, make in ways:
        asked = Policy(models=(MODELS[name].from_parameters(make(rng)),), roles=Roles(quasi_identifying=("age", "zip")))
        said, _ = promises(asked.to_mapping())
        assert said.model.split(" of ")[0] == name
        assert said.words.endswith("."), name
        assert "{" not in said.words, name


def test_a_policy_is_said_with_its_columns_and_its_limit() -> None:
    asked = {"quasi_identifying": ["age", "zip"], "k": 4, "l": {"illness": 2}, "max_suppression": 0.02}
    first, _, last = promises(asked)
    assert "age and zip is shared by at least 4 records" in first.words
    assert "2 %" in last.words


def test_every_strength_can_be_chosen_and_no_other() -> None:
    page = Path(rendering.__file__).with_name("templates") / "configurations_more.html"
    line = next(line for line in page.read_text(encoding="utf-8").splitlines() if 'select("strength"' in line)
    assert set(re.findall(r'\("(\w+)", "', line.split("[", 1)[1])) == set(STRENGTHS)
    pattern = next(m for m in Generation.model_fields["strength"].metadata if hasattr(m, "pattern")).pattern
    assert all(re.fullmatch(pattern, strength) for strength in STRENGTHS)


def test_a_policy_that_is_none_is_no_defect() -> None:
    assert promises(None) == []
    assert promises({"k": "many"})[0].words == "The policy cannot be read."


@given(
    st.lists(
        st.tuples(st.sampled_from("abcdef"), st.sampled_from("AB")),
        min_size=1,
        max_size=20,
        unique_by=lambda row: row[0],
    )
)
def test_a_hierarchy_loses_no_value_and_no_cell(rows: list[tuple[str, str]]) -> None:
    view = hierarchy_view("column", [[value, label, "*"] for value, label in rows])
    shown = [value for row in view.rows for value in row[0].text.split(", ")]
    assert sorted(shown) == sorted(value for value, _ in rows)
    assert sum(cell.span for row in view.rows for cell in row) == 3 * len(view.rows)
    assert [cell.text for row in view.rows for cell in row].count("*") == 1


def test_a_hierarchy_is_written_into_the_mask_that_uses_it() -> None:
    rows = [["1", "odd"], ["2", "even"]]
    chain = ["suppress", {"generalize": {"level": 1, "hierarchy": "other"}}]
    assert with_hierarchy(chain, "n", {"other": rows}) == [
        "suppress",
        {"generalize": {"level": 1, "hierarchy": rows}},
    ]
    assert with_hierarchy({"generalize": {"level": 1}}, "n", {}) == {"generalize": {"level": 1}}


def test_few_names_lie_beside_their_bars_and_numbers_stand_on_an_axis() -> None:
    named = [
        Bar(left=i, right=i + 1, share=share, name=name) for i, (name, share) in enumerate([("a<b", 0.7), ("c", 0.3)])
    ]
    lying = histogram(named, title="Records by letter")
    assert "a&lt;b" in lying
    assert "70 %" in lying
    bins = [Bar(left=10 * i, right=10 * i + 10, share=1 / 30, merged=i == 29) for i in range(30)]
    standing = histogram(bins, ticks=[Tick(at=0, text="0"), Tick(at=1, text="1"), Tick(at=290, text="290")], title="t")
    assert standing.count("<rect") == 30
    assert standing.count('class="tick"') == 2  # the second would run into the first
    assert 'class="count few"' in standing
    for picture in (lying, standing, histogram([], title="nothing")):
        assert "style=" not in picture
        assert "<title>" in picture


def test_every_state_has_a_colour_and_words() -> None:
    for states in (RequestState, ProductState, ReleaseState, JobState):
        for state in states:
            assert tone(state) in {"wait", "go", "good", "bad", "calm"}
            assert state_words(state).islower()


@given(st.text(max_size=300), st.integers(min_value=10, max_value=200))
def test_a_beginning_is_no_longer_than_asked(text: str, most: int) -> None:
    assert len(first_words(text, most)) <= most + 1


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (10**13, "10.0 TB")]
)
def test_sizes(number: int, said: str) -> None:
    assert byte_size(number) == said


def _request(state: RequestState, actions: list[str]) -> records.RequestWithHistory:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    history = tuple(
        records.Act(
            sequence=i, at=at, actor="ada", action=action, subject="request", subject_id="r", product_id="p",
            details={"state": "X"}, previous="", hash="",
        )
        for i, action in enumerate(actions)
    )  # fmt: skip
    return records.RequestWithHistory(
        id="r", product_id="p", product_name="p", product_title="P", consumer_id="c", consumer_name="c",
        consumer_display_name="C", purpose="x", columns=(), days=1, measure=None, state=state, configuration_id=None,
        configuration_name=None, reason=None, decided_by=None, decided_at=None, job_id=None, release_id=None,
        expires_at=at, created_at=at, changed_at=at, version=1, history=history[::-1],
    )  # fmt: skip


def test_a_timeline_ends_with_what_is_awaited() -> None:
    waiting = timeline(_request(RequestState.PENDING, ["access requested"]))
    assert [step.tone for step in waiting] == ["", "next"]
    ready = timeline(
        _request(RequestState.PROVISIONED, ["access requested", "request approved", "request provisioned"])
    )
    assert [step.tone for step in ready] == ["", "good", "good", "next"]
    rejected = timeline(_request(RequestState.REJECTED, ["access requested", "request rejected"]))
    assert [step.tone for step in rejected] == ["", "bad"]
    expired = timeline(_request(RequestState.EXPIRED, ["access requested"]))
    assert expired[-1].words == "Expired"


def test_the_three_fields_and_the_text_say_the_same_policy() -> None:
    form = Form(
        fields={
            "column": ("age", "illness", "y"), "kind": ("integer", "text", "text"), "meaning": ("", "", ""),
            "role": ("quasi_identifying", "sensitive", "label"), "k": ("7",), "l": ("3",), "suppression": ("2.5",),
        }
    )  # fmt: skip
    policy = _policy(_typed(form))
    assert policy is not None
    expected = {"quasi_identifying": ["age"], "sensitive": ["illness"], "k": 7, "l": {"illness": 3}}
    assert Policy.from_mapping(policy).id == Policy.from_mapping({**expected, "max_suppression": 0.025}).id
    text = Form(fields={**form.fields, "policy": ("k: 9\nquasi_identifying: [age]",)})
    assert Policy.from_mapping(_policy(_typed(text)) or {}).models[0].threshold == 9


def test_the_style_sheet_loads_nothing_from_elsewhere() -> None:
    for name in ("house.css", "console.css"):
        text = rendering.assets()[name].content.decode()
        assert not re.search(r"@import|url\((?!\"data:image/svg)", text)
        assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")


def test_the_script_is_small_and_its_own() -> None:
    text = Path(rendering.__file__).with_name("static").joinpath("progress.js").read_text(encoding="utf-8")
    assert len(text) < 3000
    assert "innerHTML" not in text
    assert "eval" not in text
