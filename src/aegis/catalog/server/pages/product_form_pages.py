"""Registering and editing a product."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any

import yaml
from starlette.responses import Response

from aegis.catalog import records
from aegis.catalog.server.limits import costly_lane
from aegis.catalog.server.pages.page import PageContext, PageRoutes
from aegis.catalog.server.pages.product_pages import product_of
from aegis.catalog.server.pages.rendering import KINDS, ROLE_MEANINGS, ROLES
from aegis.catalog.server.uploads import Form, whole, whole_number
from aegis.catalog.service import products
from aegis.catalog.service.checks import MOST_FILE_BYTES, parsed_policy, read_inspected
from aegis.catalog.service.permissions import Permission, may, require
from aegis.data.kind import Kind
from aegis.data.schema import Role
from aegis.errors import InputError, PolicyError, TooLargeError
from aegis.privacy.policy import Policy

routes = PageRoutes()

_MORE_ROWS = 4
_MOST_COLUMNS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """What stands in the fields; kept when something was wrong."""

    name: str = ""
    title: str = ""
    description: str = ""
    columns: tuple[records.Column, ...] = ()
    k: str = "5"
    l: str = ""
    suppression: str = "5"
    policy: str = ""
    version: str = ""
    tags: str = ""

    def with_rows(self, more: int) -> Values:
        """The same with empty rows for further columns."""
        empty = records.Column(name="", kind=Kind.TEXT.value, role="")
        return replace(self, columns=self.columns + (empty,) * min(more, _MOST_COLUMNS - len(self.columns)))

    def described(self) -> dict[str, Any]:
        """What the product is, as the service takes it; `InputError` where a field makes no sense."""
        return {
            "title": self.title,
            "description": self.description,
            "columns": [asdict(column) for column in self.columns],
            "label": next((column.name for column in self.columns if column.role == Role.LABEL.value), None),
            "policy": _policy(self),
            "tags": [tag.strip() for tag in self.tags.split(",") if tag.strip()],
        }


@routes.get("/register")
def show_new(context: PageContext) -> Response:
    require(context.actor, Permission.REGISTER_PRODUCT)
    is_typed = "name" in context.form.fields
    return _page(context, _typed(context.form).with_rows(1) if is_typed else Values().with_rows(6), product=None)


@routes.post("/register", lane=costly_lane, refused=show_new)
def register(context: PageContext) -> Response:
    require(context.actor, Permission.REGISTER_PRODUCT)
    values = _typed(context.form)
    if context.form.text("more"):
        return _page(context, values.with_rows(_empty_rows(context.form) + _MORE_ROWS), product=None)
    with context.write() as work:
        product = products.register(work, name=values.name, **values.described())
    notice = "The product is registered as a draft: only those who work on it see it."
    return context.redirect(f"/products/{product.name}", notice)


@routes.post("/register/columns", upload=True, refused=show_new, also=(TooLargeError,))
def fill_in(context: PageContext) -> Response:
    """The form with the columns of a file that was inspected; nothing is registered yet."""
    require(context.actor, Permission.REGISTER_PRODUCT)
    upload = context.form.file("inspected", what="the file of the columns")
    inspected = read_inspected(whole(upload.stream, limit_bytes=MOST_FILE_BYTES))
    columns = tuple(
        records.Column(name=column.name, kind=column.kind, role=column.role) for column in inspected.columns
    )
    suggested = {column.name: column.suggested for column in inspected.columns if column.suggested}
    values = Values(name=inspected.name.lower(), title=inspected.name, columns=columns)
    return _page(context, values, product=None, suggested=suggested)


@routes.get("/products/{product}/edit")
def show_edit(context: PageContext) -> Response:
    product = _editable(context)
    values = _typed(context.form) if context.problem else _of(product)
    return _page(context, values.with_rows(1), product=product)


@routes.post("/products/{product}/edit", lane=costly_lane, refused=show_edit)
def change(context: PageContext) -> Response:
    product = _editable(context)
    values = _typed(context.form)
    if context.form.text("more"):
        return _page(context, values.with_rows(_empty_rows(context.form) + _MORE_ROWS), product=product)
    version = context.form.whole("version", what="the version")
    with context.write() as work:
        products.change(work, product=product.id, version=version, **values.described())
    return context.redirect(f"/products/{product.name}", "The product is changed.")


@routes.post("/products/{product}/publish", refused="/products/{product}")
def publish(context: PageContext) -> Response:
    name = context.parameters["product"]
    with context.write() as work:
        products.publish(work, product=name, version=context.form.whole("version", what="the version"))
    notice = "The product is published: everybody who is signed in sees it."
    return context.redirect(f"/products/{name}", notice)


@routes.post("/products/{product}/retire", refused="/products/{product}")
def retire(context: PageContext) -> Response:
    name = context.parameters["product"]
    with context.write() as work:
        products.retire(work, product=name, version=context.form.whole("version", what="the version"))
    return context.redirect(f"/products/{name}", "The product is retired.")


def _editable(context: PageContext) -> records.Product:
    with context.read() as work:
        return product_of(context, work, Permission.CHANGE_PRODUCT)


def _page(
    context: PageContext,
    values: Values,
    *,
    product: records.Product | None,
    suggested: Mapping[str, str] = MappingProxyType({}),
) -> Response:
    return context.render(
        "product_form.html",
        title=f"Edit {product.title}" if product else "Register a product",
        action=context.path.removesuffix("/columns"),
        suggested=suggested,
        button="Save" if product else "Register",
        product=product,
        values=values,
        kinds=KINDS,
        roles=ROLES,
        role_meanings=ROLE_MEANINGS,
        may_retire=product is not None
        and product.state == "published"
        and may(context.actor, Permission.CHANGE_PRODUCT, product.id),
    )


def _typed(form: Form) -> Values:
    rows = zip(form.texts("column"), form.texts("kind"), form.texts("role"), form.texts("meaning"), strict=False)
    return Values(
        name=form.text("name"),
        title=form.text("title"),
        description=form.text("description").replace("\r\n", "\n"),
        columns=tuple(
            records.Column(name=name.strip(), kind=kind, role=role, description=meaning.strip())
            for name, kind, role, meaning in rows
            if name.strip()
        ),
        k=form.text("k"),
        l=form.text("l"),
        suppression=form.text("suppression"),
        policy=form.text("policy").replace("\r\n", "\n"),
        version=form.text("version"),
        tags=form.text("tags"),
    )


def _empty_rows(form: Form) -> int:
    return sum(not name.strip() for name in form.texts("column"))


def _policy(values: Values) -> dict[str, Any] | None:
    """The policy as a mapping: the text where there is one, else what the three fields say."""
    if values.policy:
        return parsed_policy(values.policy)
    if not values.k:
        return None
    by_role: dict[str, list[str]] = {}
    for column in values.columns:
        by_role.setdefault(column.role, []).append(column.name)
    policy: dict[str, Any] = {
        role.value: by_role[role.value] for role in (Role.QUASI_IDENTIFYING, Role.SENSITIVE) if by_role.get(role.value)
    }
    policy["k"] = whole_number(values.k, what="k")
    if values.l:
        if not by_role.get(Role.SENSITIVE.value):
            raise PolicyError("l protects sensitive columns, but no column is sensitive; leave l empty or name one")
        policy["l"] = {column: whole_number(values.l, what="l") for column in by_role[Role.SENSITIVE.value]}
    try:
        share = float(values.suppression or "0") / 100
    except ValueError:
        raise PolicyError("the records that may be suppressed must be a number in per cent") from None
    policy["max_suppression"] = round(share, 12)
    return policy


def _of(product: records.Product) -> Values:
    """What the fields show of a product: the three simple ones where they say the whole policy, else the text."""
    values = Values(
        name=product.name,
        title=product.title,
        description=product.description,
        columns=product.columns,
        k="",
        suppression="0",
        version=str(product.version),
        tags=", ".join(product.tags),
    )
    if not product.policy:
        return values
    simple = replace(
        values,
        k=str(product.policy.get("k", "")),
        l=_only_l(product.policy.get("l")),
        suppression=f"{100 * float(product.policy.get('max_suppression', 0)):g}",
    )
    try:
        if Policy.from_mapping(_policy(simple) or {}).id == Policy.from_mapping(product.policy).id:
            return simple
    except InputError:
        pass
    text = yaml.safe_dump(dict(product.policy), sort_keys=False, allow_unicode=True, width=100)
    return replace(values, policy=text)


def _only_l(by_column: Any) -> str:
    """The number of distinct-l-diversity, where all columns have the same."""
    if not isinstance(by_column, dict):
        return ""
    numbers = {str(entry.get("l") if isinstance(entry, dict) else entry) for entry in by_column.values()}
    return numbers.pop() if len(numbers) == 1 else ""
