"""The keys that one signs releases with."""

from __future__ import annotations

from starlette.responses import Response

from aegis.catalog.server.pages.page import PageContext, PageRoutes
from aegis.catalog.service import signing_keys
from aegis.errors import AegisError, ConflictError, InputError

routes = PageRoutes()


@routes.get("/account/keys")
def show_keys(context: PageContext) -> Response:
    return _page(context, problem=None)


@routes.post("/account/keys")
def register_key(context: PageContext) -> Response:
    form = context.form
    try:
        with context.write() as work:
            key = signing_keys.register(work, name=form.text("name"), public=form.text("public"))
    except (InputError, ConflictError) as error:
        return _page(context, problem=error)
    return context.redirect("/account/keys", f"The key {key.fingerprint} is registered.")


@routes.post("/account/keys/{key}/revoke")
def revoke_key(context: PageContext) -> Response:
    with context.write() as work:
        key = signing_keys.revoke(work, key_id=context.parameters["key"])
    return context.redirect("/account/keys", f"The key {key.fingerprint} counts no longer.")


def _page(context: PageContext, *, problem: AegisError | None) -> Response:
    with context.read() as work:
        keys = signing_keys.list_keys(work)
    return context.render(
        "keys.html",
        title="Signing keys",
        keys=keys,
        required=context.catalog.settings.signatures_required,
        values=context.form,
        problem=problem,
    )
