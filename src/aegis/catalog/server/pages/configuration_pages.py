"""The configurations of a product: listed, looked at, uploaded, generated, withdrawn, and written in an editor.

The editor shows a mask per column, and what becomes of the published values under it. It works without a script:
choosing a mask and pressing the button brings its settings and the preview.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from starlette.responses import Response

from aegis.catalog import records
from aegis.catalog.server.limits import costly_lane
from aegis.catalog.server.pages.mask_views import ShownPreview, hierarchies_of, hierarchy_view, previews
from aegis.catalog.server.pages.page import PageContext, PageRoutes, Paging
from aegis.catalog.server.pages.product_pages import head, product_of
from aegis.catalog.server.uploads import Form, sent_text, whole
from aegis.catalog.service import configurations
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.checks import parsed_document
from aegis.catalog.service.configurations import hierarchies
from aegis.catalog.service.permissions import Permission
from aegis.data.hierarchy import Hierarchy
from aegis.data.kind import Kind
from aegis.data.schema import Role
from aegis.errors import ConfigurationError, ConflictError, InputError, MaskError, NotFoundError, TooLargeError
from aegis.masking.catalogue import CatalogueRow, catalogue, form_masks, shown_in_form
from aegis.masking.configuration_file import as_text
from aegis.report.figures import count

routes = PageRoutes()

_PAGE = 60
_MOST_SHOWN = 200_000


@routes.get("/products/{product}/configurations")
def show_all(context: PageContext) -> Response:
    with context.read() as work:
        product = product_of(context, work)
        listed = configurations.list_configurations(work, product=product.id)
    text = context.query.get("from", "0")
    start = int(text) if text.isascii() and text.isdigit() and len(text) < 8 else 0
    after = f"{context.path}?from={start + _PAGE}" if len(listed) > start + _PAGE else None
    return context.render(
        "configurations.html",
        **head(context, product),
        configurations=listed[start : start + _PAGE],
        masks_in_words=masks_in_words,
        paging=Paging(started=start > 0, next=after),
    )


@routes.get("/products/{product}/configurations/{configuration}", lane=costly_lane)
def show_one(context: PageContext) -> Response:
    with context.read() as work:
        product, view = _both(context, work)
        shown = previews(work, product=product.id, content=view.content)
    return context.render(
        "configuration.html",
        **head(context, product),
        configuration=view,
        previews=shown,
        hierarchies=hierarchies_of(view.content),
        yaml=configurations.as_yaml(view),
    )


@routes.get("/products/{product}/configurations/{configuration}/yaml")
def send_one(context: PageContext) -> Response:
    """A configuration as the file that ``aegis release`` takes."""
    with context.read() as work:
        _, view = _both(context, work)
    return sent_text(configurations.as_yaml(view), name=f"{view.name}.yaml", media_type="application/yaml")


@routes.get("/products/{product}/configurations.yaml", lane=costly_lane)
def send_all(context: PageContext) -> Response:
    """Every configuration in one file, for ``aegis summarize --configs``."""
    with context.read() as work:
        product = product_of(context, work)
        listed = configurations.list_configurations(work, product=product.id)
    if not listed:
        raise NotFoundError("this product has no configuration yet; propose one first")
    built = [configurations.masks_of(view.content) for view in listed]
    text = as_text(built, path=Path("configurations.yaml"))
    return sent_text(text, name="configurations.yaml", media_type="application/yaml")


def masks_in_words(configuration: records.Configuration) -> str:
    """What a configuration does, column by column."""
    return "; ".join(f"{column}: {mask}" for column, mask in configuration.described.items()) or "masks nothing"


@routes.post(
    "/products/{product}/configurations/{configuration}/withdraw",
    refused="/products/{product}/configurations/{configuration}",
)
def withdraw(context: PageContext) -> Response:
    with context.write() as work:
        view = configurations.withdraw(work, configuration_id=context.parameters["configuration"])
    return context.redirect(f"/products/{context.parameters['product']}/configurations", f"{view.name} is withdrawn.")


@routes.get("/products/{product}/configurations/more")
def show_more(context: PageContext) -> Response:
    with context.read() as work:
        product = product_of(context, work, Permission.PROPOSE_CONFIGURATION)
    return context.render("configurations_more.html", **head(context, product), values=context.form)


@routes.post("/products/{product}/configurations/generate", lane=costly_lane, refused=show_more)
def generate(context: PageContext) -> Response:
    form = context.form
    with context.write() as work:
        made = configurations.generate(
            work,
            product=context.parameters["product"],
            count=form.whole("count", what="how many"),
            strength=form.text("strength"),
            seed=form.whole("seed", what="the seed"),
        )
    return _listed(context, made)


@routes.post("/products/{product}/configurations/upload", upload=True, refused=show_more)
def upload(context: PageContext) -> Response:
    """A file that was chosen counts instead of what was pasted."""
    name, text = "configuration", context.form.text("text").replace("\r\n", "\n")
    if context.form.has_file:
        file = context.form.file("file", what="the file")
        name = file.name.rsplit(".", 1)[0] or name
        text = _decoded(whole(file.stream, limit_bytes=context.catalog.settings.document_bytes))
        context.form.fields = {"text": (text[:_MOST_SHOWN],)}  # where it is refused it can be corrected on the page
    if not text:
        raise InputError("there is nothing to propose; choose a file or paste one")
    with context.write() as work:
        made = configurations.propose(work, product=context.parameters["product"], content=text, name=name)
    return _listed(context, made)


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("the file is not UTF-8 text; save it as UTF-8") from None


def _listed(context: PageContext, made: list[records.Configuration]) -> Response:
    here = f"/products/{context.parameters['product']}/configurations"
    counted = count(len(made), "configuration")
    return context.redirect(here, f"{counted} {'is' if len(made) == 1 else 'are'} proposed.")


def _both(context: PageContext, work: Work) -> tuple[records.Product, records.Configuration]:
    product = product_of(context, work)
    view = configurations.configuration(work, configuration_id=context.parameters["configuration"])
    if view.product_id != product.id:
        raise NotFoundError("this product has no such configuration")
    return product, view


# The editor

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


@routes.get("/products/{product}/configurations/new", lane=costly_lane)
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


@routes.post("/products/{product}/configurations/new", lane=costly_lane)
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
    masks = tuple((name, name.replace("_", " ")) for name in _fitting(column, offered))
    return Row(number=number, name=column.name, role=column.role, masks=masks)


def _filled(row: Row, mask: CatalogueRow, values: Mapping[str, str]) -> Row:
    settings = tuple(Setting(name=field.name, value=values.get(field.name, "")) for field in mask.form_fields)
    return replace(row, mask=mask.name, settings=settings, help=mask.summary.replace("``", ""))


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
