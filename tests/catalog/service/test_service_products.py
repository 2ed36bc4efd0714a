"""Products and configurations: found by those who may, changed by one at a time, refused with a sentence."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event

from aegis.catalog.records import UserRole
from aegis.catalog.server.pages import mask_views
from aegis.catalog.service import configurations, products
from aegis.catalog.service.checks import parsed_document
from aegis.catalog.service.paging import PageRequest
from aegis.errors import (
    AegisError,
    ConfigurationError,
    ConflictError,
    InputError,
    NotFoundError,
    NotPermittedError,
    PolicyError,
    RoleError,
    TooLargeError,
)
from aegis.masking.configuration import Configuration

Stage = Any

JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("\0") | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


def test_a_draft_is_seen_by_those_who_work_on_it_only(stage: Stage) -> None:
    made = stage.product(publish=False)
    stage.person("rival", UserRole.PROVIDER, product_id=None)
    for name in ("provider", "expert", "admin"):
        with stage.read(name) as work:
            assert products.product(work, product="clinic").id == made.id
    with stage.read("consumer") as work:
        assert products.list_products(work).items == ()
        for key in ("clinic", made.id, "nothing", "\0", "\ud800", "x" * 500):
            with pytest.raises(NotFoundError):
                products.product(work, product=key)


def test_whoever_registers_a_product_is_its_provider_and_nobody_else(stage: Stage) -> None:
    made = stage.product()
    stage.person("scoped")
    stage.product("second")
    stage.person("scoped", UserRole.PROVIDER, product_id=made.id)
    with stage.write("scoped") as work:
        third = products.register(work, name="third", title="T", columns=stage.parts.columns)
    assert stage.actor("scoped").holds(UserRole.PROVIDER, third.id)
    with pytest.raises(NotPermittedError), stage.write("scoped") as work:
        products.change(work, product="second", version=1, title="mine now")
    with pytest.raises(NotPermittedError), stage.write("consumer") as work:
        products.register(work, name="fourth", title="T", columns=stage.parts.columns)


def test_the_second_of_two_who_read_the_same_version_is_told(stage: Stage) -> None:
    made = stage.product()
    with stage.write("provider") as work:
        changed = products.change(work, product="clinic", version=made.version, title="first")
    assert changed.version == made.version + 1
    with pytest.raises(ConflictError, match="meantime"), stage.write("provider") as work:
        products.change(work, product="clinic", version=made.version, title="second")
    with stage.read("provider") as work:
        assert products.product(work, product="clinic").title == "first"


def test_a_name_is_taken_once_and_states_move_one_way(stage: Stage) -> None:
    stage.product()
    with pytest.raises(ConflictError, match="already"):
        stage.product()
    with pytest.raises(ConflictError, match="cannot become"), stage.write("provider") as work:
        products.publish(work, product="clinic")
    with stage.write("provider") as work:
        assert products.retire(work, product="clinic").state == "retired"
        assert products.publish(work, product="clinic").state == "published"


def test_a_product_without_policy_or_label_cannot_be_published(small_stage: Stage) -> None:
    plain = [{"name": "a", "kind": "integer", "role": "quasi_identifying"}]
    with small_stage.write("provider") as work:
        products.register(work, name="plain", title="P", columns=plain)
    with pytest.raises(InputError, match="label"), small_stage.write("provider") as work:
        products.publish(work, product="plain")


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"columns": []}, InputError),
        ({"columns": "abc"}, InputError),
        ({"columns": [{"name": "a"}]}, InputError),
        ({"columns": [{"name": "a", "kind": "float", "role": "label"}]}, InputError),
        ({"columns": [{"name": "a", "kind": "text", "role": "secret"}]}, RoleError),
        ({"columns": [{"name": "a", "kind": "text", "role": "label"}] * 2}, RoleError),
        ({"columns": [{"name": n, "kind": "text", "role": "label"} for n in "ab"]}, RoleError),
        ({"columns": [{"name": "a\0", "kind": "text", "role": "label"}]}, InputError),
        ({"label": "nothing"}, RoleError),
        ({"label": "age"}, RoleError),
        ({"policy": {"k": 0}}, InputError),
        ({"policy": {"k": 5, "quasi_identifying": ["nothing"]}}, PolicyError),
        ({"policy": [1]}, PolicyError),
        ({"policy": {"k": float("nan")}}, InputError),
        ({"name": "Big Name"}, InputError),
        ({"title": ""}, InputError),
        ({"title": "\ud800"}, InputError),
        ({"title": "reversed \u202e"}, InputError),
        ({"description": "x" * 20_001}, InputError),
    ],
)
def test_products_that_make_no_sense_are_refused_in_a_sentence(small_stage: Stage, wrong: Any, error: Any) -> None:
    given_ones = {"name": "p", "title": "P", "columns": small_stage.parts.columns, "policy": {"k": 5}, **wrong}
    with pytest.raises(error), small_stage.write("provider") as work:
        products.register(work, **given_ones)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=st.sampled_from(["name", "title", "description", "columns", "label", "policy"]), junk=JUNK)
def test_whatever_is_sent_the_answer_is_an_error_of_ours(small_stage: Stage, where: str, junk: Any) -> None:
    sound = {"name": "p", "title": "P", "columns": small_stage.parts.columns, "policy": {"k": 5}}
    try:
        with small_stage.catalog.write(small_stage.actor("provider")) as work:
            products.register(work, **{**sound, where: junk})
            raise ConflictError("undo")
    except AegisError:
        pass


def test_products_are_found_by_words_and_paged_by_name(stage: Stage) -> None:
    with stage.write("provider") as work:
        for number in range(7):
            products.register(
                work, name=f"table-{number}", title=f"Title {number}", description="100% of it_all",
                columns=stage.parts.columns, policy={"k": 5},
            )  # fmt: skip
            products.publish(work, product=f"table-{number}")
    with stage.read("consumer") as work:
        assert [p.name for p in products.list_products(work, query="TITLE 3").items] == ["table-3"]
        assert len(products.list_products(work, query="100% it_all").items) == 7
        assert products.list_products(work, query="1__%").items == ()
        seen, cursor = [], None
        while True:
            page = products.list_products(work, page=PageRequest(size=3, cursor=cursor))
            seen += [p.name for p in page.items]
            if (cursor := page.next) is None:
                break
        assert seen == [f"table-{number}" for number in range(7)]
        for wrong in ("", "x", "bm90", "W10", "WyJhIiwiYiJd", "ü", "WzFd", "WyJcdTAwMDAiXQ"):
            with pytest.raises(InputError):
                products.list_products(work, page=PageRequest(cursor=wrong))
    for size in (0, 201, True, "5"):
        with pytest.raises(InputError):
            PageRequest(size=size)  # type: ignore[arg-type]


def test_changing_the_columns_sets_a_summary_aside_that_no_longer_fits(stage: Stage) -> None:
    made = stage.product()
    stage.summary()
    with stage.write("provider") as work:
        same = products.change(work, product="clinic", version=made.version, title="still fits")
    assert same.summary_id is not None
    columns = [
        {**column, "role": "identifying"} if column["name"] == "ward" else column for column in stage.parts.columns
    ]
    with stage.write("provider") as work:
        changed = products.change(work, product="clinic", version=same.version, columns=columns)
    assert changed.summary_id is None


def test_a_configuration_is_entered_once_and_comes_back_when_proposed_again(stage: Stage) -> None:
    stage.product()
    made = stage.configurations()
    assert made["strict"].described["zip"] == "suppressed"
    again = stage.configurations()
    assert {each.id for each in again.values()} == {each.id for each in made.values()}
    with stage.write("expert") as work:
        configurations.withdraw(work, configuration_id=made["strict"].id)
        assert len(configurations.list_configurations(work, product="clinic")) == 2
        assert len(configurations.list_configurations(work, product="clinic", withdrawn=True)) == 3
    assert stage.configurations()["strict"].withdrawn_at is None


def test_what_is_stored_is_what_was_proposed_and_can_be_taken_home(stage: Stage) -> None:
    stage.product()
    for view in stage.configurations().values():
        text = configurations.as_yaml(view)
        loaded = configurations.masks_of(parsed_document(text, what="it", most_characters=10**6))
        assert isinstance(loaded, Configuration)
        assert loaded.id == view.content_id


@pytest.mark.parametrize(
    "content",
    [
        "", "- a", "[1, 2", "age: {bucketize: {width: 0}}", "age: nonsense", "nothing: suppress", "age: [[[[suppress",
        "{age: suppress, age: round}", "a: &x [1]\nb: *x", "age: {generalize: {level: 1, hierarchy: ../../etc/passwd}}",
        "zip: {round: {step: 5}}", "!!python/object/apply:os.system ['true']", '{"age": "suppress\\u0000"}',
        "age: !!int ''", "age: !!bool x", "age: !!timestamp x", "age: !!set [1]",
        "[" * 5_000, {"age": {"bucketize": {"width": float("inf")}}}, {"masks": {"age": 5}}, {}, None, 5,
    ],
)  # fmt: skip
def test_configurations_that_make_no_sense_are_refused_in_a_sentence(small_stage: Stage, content: Any) -> None:
    small_stage.product()
    with pytest.raises(InputError), small_stage.write("expert") as work:
        configurations.propose(work, product="clinic", content=content)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(junk=JUNK, where=st.sampled_from(["whole", "mask", "text", "parameters"]))
def test_whatever_is_proposed_or_previewed_the_answer_is_an_error_of_ours(
    published: Stage, junk: Any, where: str
) -> None:
    content = {"whole": junk, "mask": {"age": junk}, "text": str(junk), "parameters": {"age": {"bucketize": junk}}}[
        where
    ]
    try:
        with published.catalog.write(published.actor("expert")) as work:
            configurations.propose(work, product="clinic", content=content)
            raise ConflictError("undo")
    except AegisError:
        pass
    try:
        with published.catalog.read(published.actor("expert")) as work:
            configurations.preview(work, product="clinic", column="age", mask=content)
    except AegisError:
        pass


@pytest.fixture
def published(small_stage: Stage) -> Stage:
    """A product with a summary and configurations."""
    small_stage.product()
    small_stage.configurations()
    small_stage.summary()
    return small_stage


def test_a_huge_yaml_is_refused_before_it_is_read(small_stage: Stage) -> None:
    small_stage.product()
    with pytest.raises(ConfigurationError, match="JSON"), small_stage.write("expert") as work:
        configurations.propose(work, product="clinic", content="a: b\n" * 200_000)
    with pytest.raises(TooLargeError), small_stage.write("expert") as work:
        configurations.propose(work, product="clinic", content="{" + " " * 5_000_000 + "}")


def test_a_preview_shows_common_values_only_and_never_an_identifying_column(published: Stage) -> None:
    with published.read("consumer") as work:
        shown = configurations.preview(work, product="clinic", column="weight", mask={"bucketize": {"width": 20}})
        assert shown.rows
        assert min(row.records for row in shown.rows) >= 5
        drawn = configurations.preview(work, product="clinic", column="gender", mask={"randomize": {"keep": 0.5}})
        assert drawn.random
        assert all(row.masked is None for row in drawn.rows)
        keyed = configurations.preview(
            work, product="clinic", column="zip", mask={"pseudonym": {"key_file": "/etc/passwd"}}
        )
        assert all(str(row.masked).startswith("#") for row in keyed.rows)
        zips = configurations.preview(work, product="clinic", column="zip", mask={"generalize": {"level": 3}})
        assert {row.masked for row in zips.rows} <= {f"{p}***" for p in ("02", "10", "11", "21", "60", "94")}
        with pytest.raises(RoleError, match="identifying"):
            configurations.preview(work, product="clinic", column="patient", mask="suppress")
        with pytest.raises(RoleError):
            configurations.preview(work, product="clinic", column="nothing", mask="suppress")


def test_configurations_are_generated_from_published_values_and_equal_seeds_give_equal_ones(published: Stage) -> None:
    with published.write("expert") as work:
        made = configurations.generate(work, product="clinic", count=6, strength="medium", seed=3)
        again = configurations.generate(work, product="clinic", count=6, strength="medium", seed=3)
    assert [each.id for each in made] == [each.id for each in again]
    assert len(made) == 6
    assert all("health" not in each.described for each in made)
    with pytest.raises(InputError), published.write("expert") as work:
        configurations.generate(work, product="clinic", strength="enormous")


def test_without_a_summary_there_is_nothing_to_preview_or_generate_from(small_stage: Stage) -> None:
    small_stage.product()
    with pytest.raises(ConflictError), small_stage.read("expert") as work:
        configurations.preview(work, product="clinic", column="age", mask="suppress")
    with pytest.raises(ConflictError), small_stage.write("expert") as work:
        configurations.generate(work, product="clinic")


def test_however_many_columns_are_masked_their_previews_are_read_once(published: Stage) -> None:
    statements: list[str] = []
    few, many = {"age": "suppress"}, dict.fromkeys(("age", "weight", "zip", "gender", "diagnosis"), "suppress")
    asked = []
    event.listen(published.catalog.database.engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    for masks in (few, many):
        with published.read("expert") as work:
            shown = mask_views.previews(work, product="clinic", content={"masks": masks})
        assert [each.column for each in shown] == list(masks)
        asked.append(len(statements))
        statements.clear()
    assert asked[0] == asked[1] > 0


def test_a_lapsed_approval_does_not_keep_a_configuration(small_stage: Stage) -> None:
    small_stage.product()
    made = small_stage.configurations()["strict"]
    asked = small_stage.ask(days=1)
    small_stage.approve(asked.id, made.id)
    with pytest.raises(ConflictError, match="approved request"), small_stage.write("expert") as work:
        configurations.withdraw(work, configuration_id=made.id)
    small_stage.clock.pass_by(days=2)
    with small_stage.write("expert") as work:
        assert configurations.withdraw(work, configuration_id=made.id).withdrawn_at is not None


def test_two_who_propose_at_once_never_take_the_same_name(stage: Stage) -> None:
    stage.product()
    together = threading.Barrier(6)

    def propose(width: int) -> str:
        actor = stage.actor("expert")
        together.wait()
        with stage.catalog.write(actor) as work:
            content = {"age": {"bucketize": {"width": width}}}
            return configurations.propose(work, product="clinic", content=content, name="decades")[0].name

    with ThreadPoolExecutor(6) as pool:
        names = list(pool.map(propose, range(10, 16)))
    assert sorted(names) == ["decades", *(f"decades-{number}" for number in range(2, 7))]
