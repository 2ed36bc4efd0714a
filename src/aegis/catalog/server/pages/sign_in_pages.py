"""Signing in and out, here or at the identity provider; the second factor; and the links with which people choose a
password.
"""

from __future__ import annotations

from urllib.parse import urlencode

import segno
from starlette.responses import RedirectResponse, Response

from aegis.catalog.server.limits import identity_lane, password_lane
from aegis.catalog.server.pages.page import PageContext, PageRoutes
from aegis.catalog.server.session import SESSION_COOKIE
from aegis.catalog.service import people, second_factor, sessions
from aegis.catalog.service.openid_provider import CALLBACK, Flow, OpenIdProvider
from aegis.catalog.service.second_factor import Enrolment, enrolment_address
from aegis.errors import EngineError, InputError, NotFoundError, NotSignedInError, ServiceError, TooManyAttemptsError

routes = PageRoutes()

HALF_COOKIE = "aegis_half"
"""Held between the password and the second factor."""
_HALF_SECONDS = 300

_WORDS = {
    "setup": (
        "Welcome to Aegis",
        "Nobody is here yet. Choose a name and a password: you become the first administrator of this catalog.",
        "Create the administrator",
    ),
    "invite": ("Welcome to Aegis", "You were invited as {name}. Choose a password.", "Choose this password"),
    "reset": ("A new password", "Choose another password for {name}.", "Choose this password"),
}


@routes.get("/sign-in", is_open=True)
def show_sign_in(context: PageContext) -> Response:
    if context.is_signed_in and not context.problem:
        return context.redirect("/")
    settings = context.catalog.settings
    wanted = inside(context.form.text("next") or context.query.get("next", ""))
    return context.render(
        "sign_in.html",
        title="Sign in",
        name=context.form.text("name"),
        next=wanted,
        local=settings.local_accounts,
        organisation=settings.oidc_name if settings.oidc_issuer else None,
        organisation_path=f"/sign-in/oidc?{urlencode({'next': wanted})}" if wanted else "/sign-in/oidc",
    )


@routes.post(
    "/sign-in", is_open=True, lane=password_lane, refused=show_sign_in, also=(NotSignedInError, TooManyAttemptsError)
)
def sign_in(context: PageContext) -> Response:
    form = context.form
    began = sessions.begin_sign_in(
        context.catalog, name=form.text("name"), password=form.raw("password"), address=context.address
    )
    return began_sign_in(context, began, to=inside(form.text("next")) or "/")


def began_sign_in(context: PageContext, began: sessions.SignedIn | sessions.HalfSignedIn, *, to: str) -> Response:
    """On to the page that was wanted, or to the second half of the sign-in first."""
    if isinstance(began, sessions.SignedIn):
        return signed_in(context, began, to=to)
    second = "/sign-in/enrol" if began.must_enrol else "/sign-in/second"
    response = context.redirect(f"{second}?{urlencode({'next': to})}" if to != "/" else second)
    context.set_cookie(response, HALF_COOKIE, began.secret, seconds=_HALF_SECONDS)
    return response


def signed_in(context: PageContext, session: sessions.SignedIn, *, to: str) -> Response:
    """On to a page, with the cookie of a session that was just opened."""
    response = context.redirect(to)
    set_session(context, response, session)
    return response


def set_session(context: PageContext, response: Response, session: sessions.SignedIn) -> None:
    """Give the browser its session; what it had half-way is over."""
    context.set_cookie(response, SESSION_COOKIE, session.secret, seconds=context.catalog.settings.session_hours * 3600)
    context.delete_cookie(response, HALF_COOKIE)


@routes.post("/sign-out", is_open=True)
def sign_out(context: PageContext) -> Response:
    secret = context.identity.secret
    if secret is not None:
        with context.write() as work:
            sessions.sign_out(work, secret=secret)
    response = context.redirect("/sign-in", "You are signed out.")
    context.delete_cookie(response, SESSION_COOKIE)
    return response


@routes.get("/link/{secret}", is_open=True)
def show_link(context: PageContext) -> Response:
    link = people.link(context.catalog, secret=context.parameters["secret"])
    title, words, button = _WORDS[link.purpose]
    return context.render(
        "accept_link.html",
        title=title,
        words=words.format(name=link.user_name),
        button=button,
        asks_name=link.purpose == "setup",
        user_name=link.user_name or "",
        name=context.form.text("name", "admin"),
        display_name=context.form.text("display_name"),
        shortest=context.catalog.settings.password_characters,
    )


@routes.post("/link/{secret}", is_open=True, lane=password_lane, refused=show_link)
def accept_link(context: PageContext) -> Response:
    """Use the link, and sign in at once: whoever just chose a password need not type it a third time."""
    form, secret = context.form, context.parameters["secret"]
    is_setup = people.link(context.catalog, secret=secret).purpose == "setup"
    password = form.raw("password")
    if password != form.raw("again"):
        raise InputError("the two passwords differ; type them again")
    user = people.accept_link(
        context.catalog,
        secret=secret,
        password=password,
        name=form.text("name") if is_setup else None,
        display_name=form.text("display_name") or None if is_setup else None,
    )
    began = sessions.begin_sign_in(context.catalog, name=user.name, password=password, address=context.address)
    return began_sign_in(context, began, to="/welcome" if is_setup else "/")


def inside(path: str) -> str:
    """A path of this site, or nothing: a sign-in page must not send people elsewhere.

    >>> inside("/requests?mine=1"), inside("//elsewhere.example/"), inside("https://elsewhere.example/")
    ('/requests?mine=1', '', '')
    """
    fine = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable() and len(path) < 2000
    return path if fine and "\\" not in path else ""


# At the identity provider

FLOW_COOKIE = "aegis_flow"
"""Ties the answer of the provider to the browser that asked."""
_FLOW_SECONDS = 600


@routes.get("/sign-in/oidc", is_open=True, lane=identity_lane, refused="/sign-in", also=(EngineError,))
def go_out(context: PageContext) -> Response:
    """To the provider, to sign in. A link and not a form: a page's forms may not lead elsewhere."""
    if context.is_signed_in:
        return context.redirect("/")
    flow = Flow.new(next_path=inside(context.query.get("next", "")))
    address = _provider(context).authorization_address(flow)
    response = RedirectResponse(address, status_code=303)
    context.set_cookie(response, FLOW_COOKIE, flow.to_cookie(), seconds=_FLOW_SECONDS)
    return response


@routes.post("/account/organisation", lane=identity_lane, refused="/account", also=(EngineError,))
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


@routes.get(CALLBACK, is_open=True, lane=identity_lane)
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
        people.link_external(context.catalog, context.actor, person)
        return context.redirect("/account", "Added: from now on you can sign in with it.")
    session = people.sign_in_external(context.catalog, person)
    return signed_in(context, session, to=inside(flow.next) or "/")


def _provider(context: PageContext) -> OpenIdProvider:
    provider = context.catalog.identity_provider
    if provider is None:
        raise NotFoundError("this catalog knows no identity provider; sign in with a password")
    return provider


# The second factor: asked for after the password, set up with an app, and managed on one's account

_WRONG_CODE = (NotSignedInError, TooManyAttemptsError)


@routes.get("/sign-in/second", is_open=True)
def show_second(context: PageContext) -> Response:
    half = second_factor.half_signed_in(context.catalog, secret=_half_secret(context))
    return context.render("second_factor_code.html", title="Second factor", name=half.name, next=_next(context))


@routes.post("/sign-in/second", is_open=True, lane=password_lane, refused=show_second, also=_WRONG_CODE)
def finish_sign_in(context: PageContext) -> Response:
    session = second_factor.finish_sign_in(context.catalog, secret=_half_secret(context), code=context.form.raw("code"))
    return signed_in(context, session, to=_next(context) or "/")


@routes.get("/sign-in/enrol", is_open=True)
def show_required_enrolment(context: PageContext) -> Response:
    enrolment = second_factor.begin_required_enrolment(context.catalog, secret=_half_secret(context))
    return _enrol_page(context, enrolment, action="/sign-in/enrol")


@routes.post("/sign-in/enrol", is_open=True, lane=password_lane, refused=show_required_enrolment, also=_WRONG_CODE)
def finish_required_enrolment(context: PageContext) -> Response:
    """Set up before the first session; the recovery codes are on this one answer."""
    session, codes = second_factor.finish_required_enrolment(
        context.catalog, secret=_half_secret(context), code=context.form.raw("code")
    )
    response = _codes(context, codes, to=_next(context) or "/")
    set_session(context, response, session)
    return response


@routes.get("/account/second-factor")
def show_factor(context: PageContext) -> Response:
    with context.read() as work:
        state = second_factor.state(work)
    required = context.catalog.settings.second_factor_required
    return context.render("second_factor.html", title="Second factor", factor=state, required=required)


@routes.post("/account/second-factor/begin")
def begin_enrolment(context: PageContext) -> Response:
    """The secret is on this one answer; a wrong first code draws another one."""
    with context.write() as work:
        enrolment = second_factor.begin_enrolment(work)
    return _enrol_page(context, enrolment, action="/account/second-factor/confirm")


@routes.post("/account/second-factor/confirm", lane=password_lane, refused=begin_enrolment, also=_WRONG_CODE)
def confirm_enrolment(context: PageContext) -> Response:
    codes = second_factor.confirm_enrolment(
        context.catalog, context.actor, code=context.form.raw("code"), session=context.identity.secret
    )
    return _codes(context, codes, to="/account")


@routes.post("/account/second-factor/codes", lane=password_lane, refused=show_factor, also=_WRONG_CODE)
def draw_codes(context: PageContext) -> Response:
    codes = second_factor.new_recovery_codes(context.catalog, context.actor, code=context.form.raw("code"))
    return _codes(context, codes, to="/account")


@routes.post("/account/second-factor/remove", lane=password_lane, refused=show_factor, also=_WRONG_CODE)
def remove(context: PageContext) -> Response:
    second_factor.remove(context.catalog, context.actor, code=context.form.raw("code"))
    return context.redirect("/account", "The second factor is off.")


def _next(context: PageContext) -> str:
    """The page that was wanted before the sign-in."""
    return inside(context.form.text("next") or context.query.get("next", ""))


def _enrol_page(context: PageContext, enrolment: Enrolment, *, action: str) -> Response:
    address = enrolment_address(enrolment.secret, account=enrolment.account, issuer="Aegis catalog")
    return context.render(
        "second_factor_enrol.html",
        title="Set up a second factor",
        secret=" ".join(enrolment.secret[at : at + 4] for at in range(0, len(enrolment.secret), 4)),
        picture=segno.make(address, error="m").svg_data_uri(scale=4, border=2, dark="#000", light="#fff"),
        action=action,
        next=_next(context),
    )


def _codes(context: PageContext, codes: tuple[str, ...], *, to: str) -> Response:
    return context.render("second_factor_codes.html", title="Recovery codes", codes=codes, to=to)


def _half_secret(context: PageContext) -> str:
    secret = context.cookies.get(HALF_COOKIE, "")
    if not 20 <= len(secret) <= 64:
        raise NotSignedInError("nobody is half signed in here; begin again")
    return secret
