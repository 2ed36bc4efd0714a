"""Signing in at the identity provider of the organisation: out to it, and back from it."""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response

from aegis.catalog.server.lanes import identity
from aegis.catalog.server.pages.page import PageContext, PageRoutes
from aegis.catalog.server.pages.sign_in_pages import inside, signed_in
from aegis.catalog.service import external_people
from aegis.catalog.service.openid_provider import CALLBACK, Flow, OpenIdProvider
from aegis.errors import EngineError, NotFoundError, NotSignedInError, ServiceError

routes = PageRoutes()
FLOW_COOKIE = "aegis_flow"
"""Ties the answer of the provider to the browser that asked."""
_FLOW_SECONDS = 600


@routes.get("/sign-in/oidc", is_open=True, lane=identity, refused="/sign-in", also=(EngineError,))
def go_out(context: PageContext) -> Response:
    """To the provider, to sign in. A link and not a form: a page's forms may not lead elsewhere."""
    if context.is_signed_in:
        return context.redirect("/")
    flow = Flow.new(next_path=inside(context.query.get("next", "")))
    address = _provider(context).authorization_address(flow)
    response = RedirectResponse(address, status_code=303)
    context.set_cookie(response, FLOW_COOKIE, flow.to_cookie(), seconds=_FLOW_SECONDS)
    return response


@routes.post("/account/organisation", lane=identity, refused="/account", also=(EngineError,))
def begin_linking(context: PageContext) -> Response:
    """Begin to add the organisation's account to one's own; no link does, only the form on the account's page.

    Its answer is a page with the way out, because a form may not lead to another site.
    """
    assert context.actor.user_id is not None
    flow = Flow.new(links=context.actor.user_id)
    address = _provider(context).authorization_address(flow)
    response = context.render(
        "organisation.html",
        title="Add another way to sign in",
        organisation=context.catalog.settings.oidc_name,
        address=address,
    )
    context.set_cookie(response, FLOW_COOKIE, flow.to_cookie(), seconds=_FLOW_SECONDS)
    return response


@routes.get(CALLBACK, is_open=True, lane=identity)
def come_back(context: PageContext) -> Response:
    """From the provider; whatever it says, the flow is over with it."""
    flow = Flow.from_cookie(context.cookies.get(FLOW_COOKIE, ""))
    try:
        response = _came_back(context, flow)
    except (ServiceError, EngineError) as error:
        response = context.redirect("/account" if context.is_signed_in else "/sign-in", problem=error)
    context.delete_cookie(response, FLOW_COOKIE)
    return response


def _came_back(context: PageContext, flow: Flow | None) -> Response:
    if flow is None:
        raise NotSignedInError("this answer belongs to no sign-in of this browser, or it took too long; begin again")
    person = _provider(context).person(flow, context.query)
    if flow.links:
        if flow.links != context.actor.user_id:
            raise NotSignedInError("somebody else began to add this account; begin again on your own account's page")
        external_people.link_external(context.catalog, context.actor, person)
        return context.redirect("/account", "Added: from now on you can sign in with it.")
    session = external_people.sign_in_external(context.catalog, person)
    return signed_in(context, session, to=inside(flow.next) or "/")


def _provider(context: PageContext) -> OpenIdProvider:
    provider = context.catalog.identity_provider
    if provider is None:
        raise NotFoundError("this catalog knows no identity provider; sign in with a password")
    return provider
