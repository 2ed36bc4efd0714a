"""The editor of a configuration: a mask per column, and what becomes of the published values under it.

It works without a script: choosing a mask and pressing the button brings its settings and the preview.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from starlette.responses import Response

from aegis.catalog import records
from aegis.catalog.server.lanes import costly
from aegis.catalog.server.pages.mask_views import ShownPreview, hierarchy_view, previews
from aegis.catalog.server.pages.page import PageContext, PageRoutes
from aegis.catalog.server.pages.product_head import head, product_of
from aegis.catalog.server.uploads import Form
from aegis.catalog.service import configurations
from aegis.catalog.service.checks import parsed_document
from aegis.catalog.service.configurations import hierarchies
from aegis.catalog.service.permissions import Permission
from aegis.data.hierarchy import Hierarchy
from aegis.data.kind import Kind
from aegis.data.schema import Role
from aegis.errors import ConfigurationError, ConflictError, InputError, MaskError, TooLargeError
from aegis.masking.catalogue import CatalogueRow, catalogue, form_masks, shown_in_form

routes = PageRoutes()

_AS_IN_FILE = "="
_LONGEST_SETTING = 100_000

_masks = cache(catalogue)
_form_masks = cache(form_masks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A parameter of a mask and what was typed for it."""

    name: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A column with its mask."""

    number: int
    name: str
    role: str
    masks: tuple[tuple[str, str], ...]
    mask: str = ""
    settings: tuple[Setting, ...] = ()
    help: str = ""
    spec: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What the form says: a name, a mask per column, and the hierarchies that are at hand."""

    name: str
    masks: Mapping[str, Any]
    hierarchies: Mapping[str, Any]

    @property
    def content(self) -> dict[str, Any]:
        """The draft as a configuration file writes it, with the hierarchies that it uses."""
        used = {name: rows for name, rows in self.hierarchies.items() if _uses(self.masks, name)}
        body: dict[str, Any] = {"aegis": 1, "name": self.name, "masks": dict(self.masks)}
        return {**body, "hierarchies": used} if used else body


@routes.get("/products/{product}/configurations/new", lane=costly)
def show(context: PageContext) -> Response:
    """An empty form, or one that starts from a configuration."""
    with context.read() as work:
        product = product_of(context, work, Permission.PROPOSE_CONFIGURATION)
        offered = _hierarchies(hierarchies(work, product=product.id))
        start: Mapping[str, Any] = {}
        if "from" in context.query:
            start = configurations.configuration(work, configuration_id=context.query["from"]).content
        brought = {**offered, **(start.get("hierarchies") or {})}
        draft = Draft(name="", masks=start.get("masks", {}), hierarchies=brought)
        shown = previews(work, product=product.id, content=draft.content)
    rows = [_row(i, column, draft.masks.get(column.name), offered) for i, column in enumerate(_maskable(product))]
    return _page(context, product, draft, rows, shown)


@routes.post("/products/{product}/configurations/new", lane=costly)
def write(context: PageContext) -> Response:
    """Preview what was chosen, or propose it."""
    with context.read() as work:
        product = product_of(context, work, Permission.PROPOSE_CONFIGURATION)
        offered = _hierarchies(hierarchies(work, product=product.id))
        masks: dict[str, Any] = {}
        try:
            masks = _typed(context.form, product)
        except InputError as error:
            context = replace(context, problem=error)
        draft = Draft(name=context.form.text("name"), masks=masks, hierarchies=offered)
        shown = previews(work, product=product.id, content=draft.content)
    if context.form.text("do") == "save" and context.problem is None:
        try:
            if not draft.name:
                raise ConfigurationError("the configuration needs a name; type one")
            with context.write() as work:
                (made,) = configurations.propose(work, product=product.id, content=draft.content, name=draft.name)
            return context.redirect(f"/products/{product.name}/configurations/{made.id}", f"{made.name} is proposed.")
        except (InputError, ConflictError) as error:
            context = replace(context, problem=error)
    rows = [_typed_row(i, column, context.form, offered) for i, column in enumerate(_maskable(product))]
    return _page(context, product, draft, rows, shown)


def _page(
    context: PageContext, product: records.Product, draft: Draft, rows: list[Row], shown: list[ShownPreview]
) -> Response:
    names = [row.name for row in rows if row.name in draft.hierarchies]
    return context.render(
        "editor.html",
        **head(context, product),
        draft=draft,
        rows=rows,
        previews=shown,
        hierarchies=[hierarchy_view(name, draft.hierarchies[name]) for name in names],
    )


def _maskable(product: records.Product) -> list[records.Column]:
    """Identifying columns are hidden in every release, whatever a configuration says."""
    return [column for column in product.columns if column.role != Role.IDENTIFYING.value]


def _fitting(column: records.Column, offered: Mapping[str, Any]) -> dict[str, CatalogueRow]:
    return _form_masks(Kind(column.kind), has_hierarchy=column.name in offered)


def _row(number: int, column: records.Column, spec: Any, offered: Mapping[str, Any]) -> Row:
    """A row that shows a mask as a configuration has it; one that fields cannot show stays as it is."""
    row = _empty(number, column, offered)
    if spec is None or spec == "identity":
        return row
    name: Any = spec
    parameters: dict[str, Any] = {}
    if isinstance(spec, Mapping):
        ((name, parameters),) = spec.items()
        parameters = parameters or {}
    fitting = _fitting(column, offered)
    if isinstance(spec, list) or name not in fitting or "hierarchy" in parameters:
        return replace(row, mask=_AS_IN_FILE, spec=json.dumps(spec, ensure_ascii=False))
    return _filled(row, fitting[name], {key: shown_in_form(value) for key, value in parameters.items()})


def _typed_row(number: int, column: records.Column, form: Form, offered: Mapping[str, Any]) -> Row:
    row, name = _empty(number, column, offered), form.text(f"mask.{column.name}")
    if name == _AS_IN_FILE:
        return replace(row, mask=name, spec=form.text(f"spec.{column.name}"))
    mask = _fitting(column, offered).get(name)
    return row if mask is None else _filled(row, mask, _settings(form, column, mask))


def _empty(number: int, column: records.Column, offered: Mapping[str, Any]) -> Row:
    return Row(number=number, name=column.name, role=column.role, masks=_choices(column, offered))


def _filled(row: Row, mask: CatalogueRow, values: Mapping[str, str]) -> Row:
    settings = tuple(Setting(name=field.name, value=values.get(field.name, "")) for field in mask.form_fields)
    return replace(row, mask=mask.name, settings=settings, help=mask.summary.replace("``", ""))


def _choices(column: records.Column, offered: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((name, name.replace("_", " ")) for name in _fitting(column, offered))


def _typed(form: Form, product: records.Product) -> dict[str, Any]:
    """The masks that the form describes; a mask that was only just chosen has its example's settings."""
    masks: dict[str, Any] = {}
    rows = {row.name: row for row in _masks() if row.offered_in_forms}
    for column in _maskable(product):
        name = form.text(f"mask.{column.name}")
        if name == _AS_IN_FILE:
            masks[column.name] = _value(form.text(f"spec.{column.name}"), column.name)
        elif name in rows:
            try:
                masks[column.name] = rows[name].spec_from_form(_settings(form, column, rows[name]))
            except MaskError as error:
                raise MaskError(f"column {column.name!r}: {error}") from None
    return masks


def _settings(form: Form, column: records.Column, mask: CatalogueRow) -> dict[str, str]:
    """What was typed for a mask; its example where it was only just chosen."""
    fields = {field.name: f"set.{column.name}.{field.name}" for field in mask.form_fields}
    if any(name in form.fields for name in fields.values()):
        return {parameter: form.text(name) for parameter, name in fields.items()}
    return {field.name: field.example for field in mask.form_fields}


def _value(text: str, column: str) -> Any:
    try:
        return parsed_document(text, what="a setting", most_characters=_LONGEST_SETTING)
    except (InputError, TooLargeError):
        raise MaskError(
            f"a setting for column {column!r} cannot be read; write a number, a word, or a list like [1, 2]"
        ) from None


def _hierarchies(of_product: Mapping[str, Hierarchy]) -> dict[str, Any]:
    """The hierarchies that some configuration of the product brings, as a file lists them."""
    return {name: [list(row) for row in hierarchy.rows] for name, hierarchy in of_product.items()}


def _uses(masks: Mapping[str, Any], hierarchy: str) -> bool:
    def named(spec: Any, column: str) -> bool:
        if isinstance(spec, list):
            return any(named(link, column) for link in spec)
        parameters = spec.get("generalize") if isinstance(spec, dict) else None
        return isinstance(parameters, dict) and parameters.get("hierarchy", column) == hierarchy

    return any(named(spec, column) for column, spec in masks.items())
