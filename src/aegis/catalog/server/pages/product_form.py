"""Registering and editing a product."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import yaml
from starlette.responses import Response

from aegis.catalog.server.pages.form import Form
from aegis.catalog.server.pages.product_part import can
from aegis.catalog.server.pages.routing import Door, get, post, sentence
from aegis.catalog.server.pages.visit import Visit
from aegis.catalog.server.pages.words import KINDS, ROLE_MEANINGS, ROLES
from aegis.catalog.service import products
from aegis.catalog.service.permissions import Permission, require
from aegis.catalog.service.views import ColumnView, ProductView
from aegis.data.kind import Kind
from aegis.data.schema import Role
from aegis.errors import ConflictError, InputError, PolicyError
from aegis.privacy.policy import Policy
from aegis.privacy.policy_format import parsed_yaml

_MORE_ROWS = 4
_MOST_COLUMNS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """What stands in the fields; kept when something was wrong."""

    name: str = ""
    title: str = ""
    description: str = ""
    columns: tuple[ColumnView, ...] = ()
    k: str = "5"
    l: str = ""  # noqa: E741 - the field's own letter
    suppression: str = "5"
    policy: str = ""
    version: str = ""

    def with_rows(self, more: int) -> Values:
        """The same with empty rows for further columns."""
        empty = ColumnView(name="", kind=Kind.TEXT.value, role=Role.INSENSITIVE.value)
        return replace(self, columns=self.columns + (empty,) * min(more, _MOST_COLUMNS - len(self.columns)))

    @property
    def label(self) -> str | None:
        """The column that plays the label."""
        return next((column.name for column in self.columns if column.role == Role.LABEL.value), None)


def show_new(visit: Visit) -> Response:
    require(visit.actor, Permission.REGISTER_PRODUCT)
    return _page(visit, Values().with_rows(6), product=None, problem=None)


def register(visit: Visit) -> Response:
    values = _typed(visit.form)
    if visit.form.text("more"):
        return _page(visit, values.with_rows(_empty_rows(visit.form) + _MORE_ROWS), product=None, problem=None)
    try:
        with visit.write() as work:
            product = products.register(
                work,
                name=values.name,
                title=values.title,
                description=values.description,
                columns=_columns(values),
                label=values.label,
                policy=_policy(values),
            )
    except (InputError, ConflictError) as error:
        return _page(visit, values.with_rows(1), product=None, problem=error)
    said = "The product is registered as a draft: only those who work on it see it."
    return visit.go(f"/products/{product.name}", said)


def show_edit(visit: Visit) -> Response:
    product = _editable(visit)
    return _page(visit, _of(product).with_rows(1), product=product, problem=None)


def change(visit: Visit) -> Response:
    product = _editable(visit)
    values = _typed(visit.form)
    if visit.form.text("more"):
        return _page(visit, values.with_rows(_empty_rows(visit.form) + _MORE_ROWS), product=product, problem=None)
    try:
        with visit.write() as work:
            products.change(
                work,
                product=product.id,
                version=visit.form.whole("version", what="the version"),
                title=values.title,
                description=values.description,
                columns=_columns(values),
                label=values.label,
                policy=_policy(values),
            )
    except (InputError, ConflictError) as error:
        return _page(visit, values.with_rows(1), product=product, problem=error)
    return visit.go(f"/products/{product.name}", "The product is changed.")


def publish(visit: Visit) -> Response:
    return _turn(visit, to="published")


def retire(visit: Visit) -> Response:
    return _turn(visit, to="retired")


def _turn(visit: Visit, *, to: str) -> Response:
    name = visit.names["product"]
    act = products.publish if to == "published" else products.retire
    said = (
        "The product is published: everybody who is signed in sees it."
        if to == "published"
        else "The product is retired."
    )
    try:
        with visit.write() as work:
            act(work, product=name, version=visit.form.whole("version", what="the version"))
    except (InputError, ConflictError) as error:
        return visit.go(f"/products/{name}", sentence(error), bad=True)
    return visit.go(f"/products/{name}", said)


def _editable(visit: Visit) -> ProductView:
    with visit.read() as work:
        product = products.product(work, product=visit.names["product"])
    require(visit.actor, Permission.CHANGE_PRODUCT, product.id)
    return product


def _page(visit: Visit, values: Values, *, product: ProductView | None, problem: Any) -> Response:
    return visit.page(
        "product_form.html",
        status=problem.http_status if problem else 200,
        title=f"Edit {product.title}" if product else "Register a product",
        button="Save" if product else "Register",
        product=product,
        values=values,
        problem=sentence(problem) if problem else None,
        kinds=KINDS,
        roles=ROLES,
        role_meanings=ROLE_MEANINGS,
        may_retire=product is not None and product.state == "published" and can(visit, product).change,
    )


def _typed(form: Form) -> Values:
    rows = zip(form.texts("column"), form.texts("kind"), form.texts("role"), form.texts("meaning"), strict=False)
    return Values(
        name=form.text("name"),
        title=form.text("title"),
        description=form.text("description").replace("\r\n", "\n"),
        columns=tuple(
            ColumnView(name=name.strip(), kind=kind, role=role, description=meaning.strip())
            for name, kind, role, meaning in rows
            if name.strip()
        ),
        k=form.text("k"),
        l=form.text("l"),
        suppression=form.text("suppression"),
        policy=form.text("policy").replace("\r\n", "\n"),
        version=form.text("version"),
    )


def _empty_rows(form: Form) -> int:
    return sum(not name.strip() for name in form.texts("column"))


def _columns(values: Values) -> list[dict[str, Any]]:
    return [
        {"name": column.name, "kind": column.kind, "role": column.role, "description": column.description}
        for column in values.columns
    ]


def _policy(values: Values) -> dict[str, Any] | None:
    """The policy as a mapping: the text where there is one, else what the three fields say."""
    if values.policy:
        return parsed_yaml(values.policy, where="the policy")
    if not values.k:
        return None
    by_role: dict[str, list[str]] = {}
    for column in values.columns:
        by_role.setdefault(column.role, []).append(column.name)
    policy: dict[str, Any] = {
        role.value: by_role[role.value] for role in (Role.QUASI_IDENTIFYING, Role.SENSITIVE) if by_role.get(role.value)
    }
    policy["k"] = _whole(values.k, "k")
    if values.l:
        if not by_role.get(Role.SENSITIVE.value):
            raise PolicyError("l protects sensitive columns, but no column is sensitive; leave l empty or name one")
        policy["l"] = {column: _whole(values.l, "l") for column in by_role[Role.SENSITIVE.value]}
    try:
        share = float(values.suppression or "0") / 100
    except ValueError:
        raise PolicyError("the records that may be suppressed must be a number in per cent") from None
    policy["max_suppression"] = round(share, 12)
    return policy


def _whole(text: str, what: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise PolicyError(f"{what} must be a whole number; write digits only")
    return int(text)


def _of(product: ProductView) -> Values:
    """What the fields show of a product: the three simple ones where they say the whole policy, else the text."""
    values = Values(
        name=product.name,
        title=product.title,
        description=product.description,
        columns=product.columns,
        k="",
        suppression="0",
        version=str(product.version),
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
    except PolicyError:
        pass
    text = yaml.safe_dump(dict(product.policy), sort_keys=False, allow_unicode=True, width=100)
    return replace(values, policy=text)


def _only_l(given: Any) -> str:
    """The number of distinct-l-diversity, where all columns have the same."""
    if not isinstance(given, dict):
        return ""
    found = {str(entry.get("l") if isinstance(entry, dict) else entry) for entry in given.values()}
    return found.pop() if len(found) == 1 else ""


DOORS: tuple[Door, ...] = (
    get("/register", show_new),
    post("/register", register),
    get("/products/{product}/edit", show_edit),
    post("/products/{product}/edit", change),
    post("/products/{product}/publish", publish),
    post("/products/{product}/retire", retire),
)
