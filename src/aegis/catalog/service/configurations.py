"""Masking configurations of a product: proposed, generated, withdrawn, and shown on published values.

A preview shows what a mask does to the published values of a column: never to rows, never to rare values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from sqlalchemy import select

from aegis.catalog import records
from aegis.catalog.database.tables import Configuration, Product, Request, Summary, User, new_id
from aegis.catalog.records import record_of
from aegis.catalog.service.catalog import Work, by_id, of_current_summary, sees_product, visible_product
from aegis.catalog.service.checks import (
    checked_document,
    checked_file_stem,
    checked_whole,
    parsed_document,
    schema_of,
    well_formed,
)
from aegis.catalog.service.disclosure import (
    named_values,
    published_histogram,
    sees_everything,
    shown_content,
    shown_hierarchy,
    shown_values,
)
from aegis.catalog.service.permissions import Permission, require
from aegis.catalog.service.seen_requests import in_state
from aegis.catalog.states import RequestState
from aegis.counts.disclosure_rule import shown_count
from aegis.counts.joint import Histogram
from aegis.data.hierarchy import Hierarchy
from aegis.data.schema import Role
from aegis.data.yaml_text import dump
from aegis.errors import ConfigurationError, ConflictError, InputError, MaskError, NotFoundError, RoleError
from aegis.masking import configuration_file
from aegis.masking.configuration import Configuration as Masks
from aegis.masking.configuration import build_mask
from aegis.masking.generator import generate as draw
from aegis.masking.mask import Mask
from aegis.masking.transition import Partition, transition

MOST_AT_ONCE = 500
MOST_OF_A_PRODUCT = 5_000
MOST_LINKS = 12


def propose(
    work: Work, *, product: str, content: Mapping[str, Any] | str, name: str = "configuration"
) -> list[records.Configuration]:
    """Enter one configuration or many; one that does the same as a known one is that one (a withdrawn one comes back).

    ``content`` is the mapping or the YAML or JSON text of a configuration file.
    """
    product_row = visible_product(work, product, Permission.PROPOSE_CONFIGURATION, lock=True)
    checked_file_stem(name, what="the configuration's name", most=120)
    if isinstance(content, str):
        content = parsed_document(content, what="the configuration", most_characters=work.settings.document_bytes)
    checked_document(content, what="the configuration")
    _check_chains(content)
    proposed = _read(content, name=name, hierarchies=known_hierarchies(work, product_row.id))
    return _enter(work, product_row, proposed, how="proposed")


def generate(
    work: Work, *, product: str, count: int = 20, strength: str = "mixed", seed: int = 0
) -> list[records.Configuration]:
    """Make configurations from the published domains of the product's current summary, and enter them."""
    product_row = visible_product(work, product, Permission.PROPOSE_CONFIGURATION, lock=True)
    checked_whole(count, what="the number of configurations", least=1, most=MOST_AT_ONCE)
    checked_whole(seed, what="the seed", least=0, most=2**32)
    current = of_current_summary(work, product_row.id, Summary)
    if current is None:
        raise ConflictError("the product has no summary yet to make configurations from; push one first")
    roles = {column["name"]: column["role"] for column in product_row.columns}
    histograms = {
        entry["column"]: histogram
        for entry in current.histograms
        if roles.get(entry["column"]) in (Role.QUASI_IDENTIFYING, Role.SENSITIVE)
        and (histogram := published_histogram(entry)) is not None
        and histogram.domain.size > 1
    }
    if not histograms:
        raise ConflictError("the summary publishes no values to make configurations from; propose your own")
    prefix = f"{strength}-{seed}"
    label, rng = product_row.label, np.random.default_rng(seed)
    drawn = draw(histograms, count=count, strength=strength, rng=rng, label=label, fewer_if_need_be=True)
    made = [
        Masks(name=f"{prefix}-{number}", masks=configuration.masks, label=label)
        for number, configuration in enumerate(drawn, start=1)
    ]
    return _enter(work, product_row, made, how="generated")


def withdraw(work: Work, *, configuration_id: str) -> records.Configuration:
    """Offer it no longer; a conflict while an approved request relies on it."""
    row, product = _found(work, configuration_id, lock=True)
    require(work.actor, Permission.WITHDRAW_CONFIGURATION, row.product_id)
    if row.withdrawn_at is None:
        waiting = work.session.scalar(
            select(Request.id)
            .where(Request.configuration_id == row.id, in_state(RequestState.APPROVED, work.now))
            .limit(1)
        )
        if waiting is not None:
            raise ConflictError("an approved request waits for a release with this configuration; revoke it first")
        row.withdrawn_at = work.now
        work.record("configuration withdrawn", row, name=row.name)
        work.session.flush()
    return _views(work, product.id, [row])[0]


def list_configurations(work: Work, *, product: str, withdrawn: bool = False) -> list[records.Configuration]:
    """The configurations of a product, by name."""
    product_row = visible_product(work, product)
    query = select(Configuration).where(Configuration.product_id == product_row.id)
    if not withdrawn:
        query = query.where(Configuration.withdrawn_at.is_(None))
    rows = work.session.scalars(query.order_by(Configuration.name, Configuration.id)).all()
    return _views(work, product_row.id, rows)


def configuration(work: Work, *, configuration_id: str) -> records.Configuration:
    """One configuration."""
    row, product = _found(work, configuration_id)
    return _views(work, product.id, [row])[0]


def as_yaml(view: records.Configuration) -> str:
    """The configuration as a file that ``aegis release`` takes."""
    return dump(dict(view.content))


def check_chain(mask: Any) -> None:
    """Raise where a mask is a longer list than anybody writes: each of its links is worked out on every value."""
    if isinstance(mask, list | tuple) and len(mask) > MOST_LINKS:
        raise InputError(f"a column has a list of {len(mask)} masks; at most {MOST_LINKS} follow one another")


def _check_chains(content: Any) -> None:
    listed = content.get("configurations") if isinstance(content, Mapping) else None
    listed = listed if isinstance(listed, list) else [content]
    if len(listed) > MOST_AT_ONCE:
        raise InputError(f"send at most {MOST_AT_ONCE} configurations at once")
    for configuration in listed:
        masks = configuration.get("masks", configuration) if isinstance(configuration, Mapping) else {}
        for mask in masks.values() if isinstance(masks, Mapping) else ():
            check_chain(mask)


def masks_of(content: Mapping[str, Any]) -> Masks:
    """A stored configuration as the library's own value."""
    return configuration_file.configurations_from_mapping(content, name=str(content["name"]))[0]


def _read(content: Any, *, name: str, hierarchies: Mapping[str, Hierarchy]) -> list[Masks]:
    with well_formed(ConfigurationError, "the configuration cannot be read; write it as {column: mask}"):
        configurations = configuration_file.configurations_from_mapping(content, name=name, hierarchies=hierarchies)
        for configuration in configurations:  # what is stored can be read again
            masks_of(json.loads(json.dumps(configuration_file.to_mapping(configuration))))
    if len(configurations) > MOST_AT_ONCE:
        raise InputError(f"send at most {MOST_AT_ONCE} configurations at once")
    return configurations


def enter_unknown(work: Work, product: Product, configurations: Sequence[Masks]) -> None:
    """Enter what came with a summary; what is known, or was withdrawn, stays as it is."""
    entered = set(work.session.scalars(select(Configuration.content_id).where(Configuration.product_id == product.id)))
    fresh = [configuration for configuration in configurations if configuration.id not in entered]
    if fresh and len(entered) + len(fresh) <= MOST_OF_A_PRODUCT:
        _enter(work, product, fresh, how="pushed with a summary")


def _enter(work: Work, product: Product, configurations: Sequence[Masks], *, how: str) -> list[records.Configuration]:
    schema = schema_of(product.columns)
    rows = {
        row.content_id: row
        for row in work.session.scalars(select(Configuration).where(Configuration.product_id == product.id))
    }
    if len(rows) + len(configurations) > MOST_OF_A_PRODUCT:
        raise ConflictError(f"a product has at most {MOST_OF_A_PRODUCT} configurations; withdraw none, use fewer")
    names = {row.name for row in rows.values()}
    entered: dict[str, Configuration] = {}
    for configuration in configurations:
        configuration.check(schema)
        if product.label is not None and configuration.label not in (None, product.label):
            raise ConfigurationError(f"configuration {configuration.name!r} is for another label than the product's")
        row = rows.get(configuration.id)
        if row is None:
            stem = checked_file_stem(configuration.name, what="a configuration's name", most=110)
            unique, number = stem, 2
            while unique in names:
                unique, number = f"{stem}-{number}", number + 1
            content = {**configuration_file.to_mapping(configuration), "name": unique}
            row = rows[configuration.id] = Configuration(
                id=new_id(),
                product_id=product.id,
                name=unique,
                content=json.loads(json.dumps(content)),
                content_id=configuration.id,
                proposed_by=work.user_id,
                created_at=work.now,
            )
            names.add(unique)
            work.session.add(row)
            work.record(f"configuration {how}", row, name=row.name, content_id=row.content_id)
        elif row.withdrawn_at is not None:
            row.withdrawn_at = None
            work.record("configuration brought back", row, name=row.name, content_id=row.content_id)
        entered[row.id] = row
    work.session.flush()
    return _views(work, product.id, list(entered.values()))


def _found(work: Work, key: str, *, lock: bool = False) -> tuple[Configuration, Product]:
    require(work.actor, Permission.SEE_CATALOG)
    row = by_id(work, Configuration, key, lock=lock)
    product = None if row is None else work.session.get(Product, row.product_id)
    if row is None or product is None or not sees_product(work, product):
        raise NotFoundError("there is no such configuration; look at the product's list")
    return row, product


def _views(work: Work, product_id: str, rows: Sequence[Configuration]) -> list[records.Configuration]:
    in_summary = counted_ids(work, product_id)
    named = None if sees_everything(work, product_id) else named_values(work, product_id)
    people = select(User.id, User.name).where(User.id.in_({row.proposed_by for row in rows}))
    names: dict[str, str] = dict(iter(work.session.execute(people)))
    return [
        record_of(
            records.Configuration,
            row,
            content=row.content if named is None else shown_content(row.content, named),
            described=_described(json.dumps(row.content)),
            proposed_by=names[row.proposed_by],
            in_summary=row.content_id in in_summary,
        )
        for row in rows
    ]


def counted_ids(work: Work, product_id: str) -> set[str]:
    """What the configurations do that the current summary counts, by the ids of their content."""
    counted = of_current_summary(work, product_id, Summary.configurations)
    return {configuration["id"] for configuration in counted or []}


@lru_cache(maxsize=4_096)
def _described(text: str) -> Mapping[str, str]:
    masks = masks_of(json.loads(text))
    return {column: masks[column].describe() for column in masks.columns}


def known_hierarchies(work: Work, product_id: str) -> dict[str, Hierarchy]:
    """Every hierarchy by its name, which is the column's unless a configuration chose another."""
    by_name: dict[str, Hierarchy] = {}
    rows = work.session.scalars(
        select(Configuration.content)
        .where(Configuration.product_id == product_id, Configuration.content["hierarchies"].as_string().is_not(None))
        .order_by(Configuration.created_at, Configuration.id)
    )
    for content in rows:
        for name, levels in content["hierarchies"].items():
            if name not in by_name:
                by_name[name] = Hierarchy.of(levels)
    return by_name


def hierarchies(work: Work, *, product: str) -> dict[str, Hierarchy]:
    """The hierarchies of a product, to be looked at: without values that must not be named, but by its own people."""
    product_row = visible_product(work, product)
    by_name = known_hierarchies(work, product_row.id)
    if sees_everything(work, product_row.id):
        return by_name
    named = named_values(work, product_row.id)
    every = frozenset().union(*named.values())
    shown = {name: shown_hierarchy(hierarchy.rows, named.get(name, every)) for name, hierarchy in by_name.items()}
    return {name: Hierarchy.of(rows) for name, rows in shown.items() if rows}


# What a mask would do, shown on the published values of a column

MOST_ROWS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What masks of a product are shown on: read once, however many are shown. ``entries`` None: without a summary."""

    product: Product
    entries: Sequence[Mapping[str, Any]] | None
    hierarchies: Mapping[str, Hierarchy]


def published(work: Work, *, product: str) -> Published:
    """What `preview_on` shows masks of this product on."""
    row = visible_product(work, product)
    entries = of_current_summary(work, row.id, Summary.histograms)
    return Published(product=row, entries=entries, hierarchies=known_hierarchies(work, row.id))


def preview(work: Work, *, product: str, column: str, mask: Any) -> records.Preview:
    """What a mask does to the published values of a column: never rows, never rare values. Nothing is written.

    ``mask`` is ``suppress``, ``{bucketize: {width: 10}}``, or a list of such.
    ``generalize`` takes a hierarchy that a configuration of the product already brought along.
    """
    return preview_on(published(work, product=product), column=column, mask=mask)


def preview_on(published: Published, *, column: str, mask: Any) -> records.Preview:
    """The same, of one mask among several."""
    role = next((declared["role"] for declared in published.product.columns if declared["name"] == column), None)
    if role is None:
        raise RoleError("the product has no such column; look at its schema")
    if role == Role.IDENTIFYING:
        raise RoleError("nothing is published of an identifying column; releases suppress it unless it is masked")
    check_chain(mask)
    checked_document(mask, what="the mask")
    histogram = _histogram(published.entries, column)
    built, change = _applied(mask, histogram, published.hierarchies, column)
    shown = shown_values(histogram.domain) + (["missing"] if histogram.domain.missing else [])
    counts = [shown_count(count) for count in histogram.counts.tolist()]
    masked: list[str | None] = [None] * len(shown)
    values_after: int | None = None
    if change is not None:
        after = shown_values(change.target) + (["missing"] if change.target.missing else [])
        masked = [after[code] for code in change.codes.tolist()]
        values_after = change.target.size
    rows = [
        records.PreviewRow(value=value, masked=became, records=count)
        for value, became, count in zip(shown, masked, counts, strict=True)
    ]
    random = change is None
    note = "the mask draws at random: what becomes of a value is not certain" if random else None
    if built.injective:
        note = "values stay different under names that only the provider's key or draw decides"
    return records.Preview(
        column=column,
        described=built.describe(),
        values_before=histogram.domain.size,
        values_after=values_after,
        rows=tuple(rows[:MOST_ROWS]),
        random=random,
        note=note,
    )


def _histogram(entries: Sequence[Mapping[str, Any]] | None, column: str) -> Histogram:
    if entries is None:
        raise ConflictError("the product has no summary yet, so no values are published; push one first")
    entry = next((entry for entry in entries if entry["column"] == column), None)
    histogram = None if entry is None else published_histogram(entry)
    if histogram is None or histogram.domain.size == 0:
        raise ConflictError("the summary publishes no values of this column")
    return histogram


def _applied(
    spec: Any, histogram: Histogram, hierarchies: Mapping[str, Hierarchy], column: str
) -> tuple[Mask, Partition | None]:
    """The mask, and what becomes of each value; None where that is drawn at random, and nothing is worked out then."""
    with well_formed(MaskError, "the mask cannot be applied to this column; check its parameters"):
        built = build_mask(spec, hierarchy=lambda wanted: hierarchies.get(wanted or column))
        built.check(histogram.domain.kind, column=column)
        if built.is_random:
            return built, None
        change = transition(built, histogram.domain, np.asarray(histogram.counts))
    return built, change if isinstance(change, Partition) else None
