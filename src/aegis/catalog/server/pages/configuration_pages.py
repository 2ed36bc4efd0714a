"""The configurations of a product: listed, looked at, uploaded, generated, withdrawn."""

from __future__ import annotations

from pathlib import Path

from starlette.responses import Response

from aegis.catalog import records
from aegis.catalog.server.lanes import costly
from aegis.catalog.server.pages.mask_views import hierarchies_of, previews
from aegis.catalog.server.pages.page import PageContext, PageRoutes, Paging
from aegis.catalog.server.pages.product_head import head, product_of
from aegis.catalog.server.uploads import sent_text, whole
from aegis.catalog.service import configurations
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.permissions import Permission
from aegis.errors import InputError, NotFoundError
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


@routes.get("/products/{product}/configurations/{configuration}", lane=costly)
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


@routes.get("/products/{product}/configurations.yaml", lane=costly)
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


@routes.post("/products/{product}/configurations/generate", lane=costly, refused=show_more)
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
