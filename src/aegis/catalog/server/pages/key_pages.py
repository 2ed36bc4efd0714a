"""The keys that one signs releases with."""

from __future__ import annotations

from starlette.responses import Response

from aegis.catalog.server.pages.page import PageContext, PageRoutes
from aegis.catalog.service import signing_keys

routes = PageRoutes()


@routes.get("/account/keys")
def show_keys(context: PageContext) -> Response:
    with context.read() as work:
        keys = signing_keys.list_keys(work)
    required = context.catalog.settings.signatures_required
    return context.render("keys.html", title="Signing keys", keys=keys, required=required, values=context.form)


@routes.post("/account/keys", refused=show_keys)
def register_key(context: PageContext) -> Response:
    form = context.form
    with context.write() as work:
        key = signing_keys.register(work, name=form.text("name"), public=form.text("public"))
    return context.redirect("/account/keys", f"The key {key.fingerprint} is registered.")


@routes.post("/account/keys/{key}/revoke")
def revoke_key(context: PageContext) -> Response:
    with context.write() as work:
        key = signing_keys.revoke(work, key_id=context.parameters["key"])
    return context.redirect("/account/keys", f"The key {key.fingerprint} counts no longer.")
