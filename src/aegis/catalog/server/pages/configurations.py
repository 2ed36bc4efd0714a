"""The configurations of a product: listed, looked at, uploaded, generated, withdrawn."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from starlette.responses import Response

from aegis.catalog.server.pages.form import attachment
from aegis.catalog.server.pages.hierarchy_view import hierarchies_of
from aegis.catalog.server.pages.previews import previews
from aegis.catalog.server.pages.product_part import head
from aegis.catalog.server.pages.routing import Door, get, post, sentence
from aegis.catalog.server.pages.visit import Visit
from aegis.catalog.service import configurations, products
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.permissions import Permission, require
from aegis.catalog.service.views import ConfigurationView, ProductView
from aegis.errors import AegisError, ConflictError, InputError, NotFoundError
from aegis.masking.configuration_file import as_text, configurations_from_mapping
from aegis.report.figures import count

_PAGE = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A configuration in the list."""

    id: str
    name: str
    words: str
    counted: bool
    proposed_by: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Paging:
    """Pages of a list that is at hand as a whole."""

    started: bool
    next: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """What stands in the forms of the page for many configurations."""

    count: str = "20"
    strength: str = "mixed"
    seed: str = "0"
    text: str = ""


def show_all(visit: Visit) -> Response:
    with visit.read() as work:
        product = products.product(work, product=visit.names["product"])
        listed = configurations.list_configurations(work, product=product.id)
    text = visit.query.get("from", "0")
    start = int(text) if text.isascii() and text.isdigit() and len(text) < 8 else 0
    rows = [
        Row(
            id=one.id,
            name=one.name,
            words="; ".join(f"{column}: {said}" for column, said in one.described.items()) or "masks nothing",
            counted=one.in_summary,
            proposed_by=one.proposed_by,
            created_at=one.created_at,
        )
        for one in listed[start : start + _PAGE]
    ]
    after = f"{visit.path}?from={start + _PAGE}" if len(listed) > start + _PAGE else None
    return visit.page(
        "configurations.html",
        **head(visit, product),
        configurations=rows,
        paging=Paging(started=start > 0, next=after),
    )


def show_one(visit: Visit) -> Response:
    with visit.read() as work:
        product, view = _both(visit, work)
        shown = previews(work, product=product.id, content=view.content)
    return visit.page(
        "configuration.html",
        **head(visit, product),
        configuration=view,
        previews=shown,
        hierarchies=hierarchies_of(view.content),
        yaml=configurations.as_yaml(view),
    )


def send_one(visit: Visit) -> Response:
    """A configuration as the file that ``aegis release`` takes."""
    with visit.read() as work:
        _, view = _both(visit, work)
    return yaml_file(f"{view.name}.yaml", configurations.as_yaml(view))


def send_all(visit: Visit) -> Response:
    """Every configuration in one file, for ``aegis summarize --configs``."""
    with visit.read() as work:
        product = products.product(work, product=visit.names["product"])
        listed = configurations.list_configurations(work, product=product.id)
    if not listed:
        raise NotFoundError("this product has no configuration yet; propose one first")
    built = [one for view in listed for one in configurations_from_mapping(view.content, name=view.name)]
    return yaml_file("configurations.yaml", as_text(built, path=Path("configurations.yaml")))


def yaml_file(name: str, text: str) -> Response:
    """A YAML file to be saved."""
    return Response(text, media_type="application/yaml", headers={"Content-Disposition": attachment(name)})


def withdraw(visit: Visit) -> Response:
    here = f"/products/{visit.names['product']}/configurations"
    try:
        with visit.write() as work:
            view = configurations.withdraw(work, configuration_id=visit.names["configuration"])
    except ConflictError as error:
        return visit.go(f"{here}/{visit.names['configuration']}", sentence(error), bad=True)
    return visit.go(here, f"{view.name} is withdrawn.")


def show_more(visit: Visit) -> Response:
    return _more(visit, Values(), problem=None)


def generate(visit: Visit) -> Response:
    form = visit.form
    values = Values(count=form.text("count"), strength=form.text("strength"), seed=form.text("seed"))
    try:
        with visit.write() as work:
            made = configurations.generate(
                work,
                product=visit.names["product"],
                count=form.whole("count", what="how many"),
                strength=values.strength,
                seed=form.whole("seed", what="the seed"),
            )
    except (InputError, ConflictError) as error:
        return _more(visit, values, problem=error)
    return _listed(visit, made)


def upload(visit: Visit) -> Response:
    text = visit.form.text("text").replace("\r\n", "\n")
    try:
        name = "configuration"
        if "file" in visit.form.files:
            given = visit.form.file("file", what="the file")
            name = given.name.rsplit(".", 1)[0] or name
            text = _decoded(given.stream.read(visit.catalog.settings.document_bytes + 1))
        if not text:
            raise InputError("there is nothing to propose; choose a file or paste one")  # noqa: TRY301
        with visit.write() as work:
            made = configurations.propose(work, product=visit.names["product"], content=text, name=name)
    except (InputError, ConflictError) as error:
        return _more(visit, Values(text=text[:200_000]), problem=error)
    return _listed(visit, made)


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("the file is not UTF-8 text; save it as UTF-8") from None


def _listed(visit: Visit, made: list[ConfigurationView]) -> Response:
    here = f"/products/{visit.names['product']}/configurations"
    said = count(len(made), "configuration")
    return visit.go(here, f"{said} {'is' if len(made) == 1 else 'are'} proposed.")


def _more(visit: Visit, values: Values, *, problem: AegisError | None) -> Response:
    with visit.read() as work:
        product = products.product(work, product=visit.names["product"])
    require(visit.actor, Permission.PROPOSE_CONFIGURATION, product.id)
    return visit.page(
        "configurations_more.html",
        status=problem.http_status if problem else 200,
        **head(visit, product),
        values=values,
        problem=sentence(problem) if problem else None,
    )


def _both(visit: Visit, work: Work) -> tuple[ProductView, ConfigurationView]:
    product = products.product(work, product=visit.names["product"])
    view = configurations.configuration(work, configuration_id=visit.names["configuration"])
    if view.product_id != product.id:
        raise NotFoundError("this product has no such configuration")
    return product, view


DOORS: tuple[Door, ...] = (
    get("/products/{product}/configurations", show_all),
    get("/products/{product}/configurations.yaml", send_all),
    get("/products/{product}/configurations/more", show_more),
    post("/products/{product}/configurations/generate", generate),
    post("/products/{product}/configurations/upload", upload, limit="document_bytes"),
    get("/products/{product}/configurations/{configuration}", show_one),
    get("/products/{product}/configurations/{configuration}/yaml", send_one),
    post("/products/{product}/configurations/{configuration}/withdraw", withdraw),
)
