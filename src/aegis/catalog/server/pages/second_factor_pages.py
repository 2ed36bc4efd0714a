"""The second factor: asked for after the password, set up with an app, and managed on one's account."""

from __future__ import annotations

import segno
from starlette.responses import Response

from aegis.catalog.server.lanes import passwords
from aegis.catalog.server.pages.page import PageContext, PageRoutes
from aegis.catalog.server.pages.sign_in_pages import HALF_COOKIE, inside, set_session, signed_in
from aegis.catalog.service import second_factor
from aegis.catalog.service.second_factor import Enrolment
from aegis.catalog.service.totp import enrolment_address
from aegis.errors import NotSignedInError, TooManyAttemptsError

routes = PageRoutes()
_WRONG_CODE = (NotSignedInError, TooManyAttemptsError)


@routes.get("/sign-in/second", is_open=True)
def show_second(context: PageContext) -> Response:
    half = second_factor.half_signed_in(context.catalog, secret=_half_secret(context))
    return context.render("second_factor_code.html", title="Second factor", name=half.name, next=_next(context))


@routes.post("/sign-in/second", is_open=True, lane=passwords, refused=show_second, also=_WRONG_CODE)
def finish_sign_in(context: PageContext) -> Response:
    session = second_factor.finish_sign_in(context.catalog, secret=_half_secret(context), code=context.form.raw("code"))
    return signed_in(context, session, to=_next(context) or "/")


@routes.get("/sign-in/enrol", is_open=True)
def show_required_enrolment(context: PageContext) -> Response:
    enrolment = second_factor.begin_required_enrolment(context.catalog, secret=_half_secret(context))
    return _enrol_page(context, enrolment, action="/sign-in/enrol")


@routes.post("/sign-in/enrol", is_open=True, lane=passwords, refused=show_required_enrolment, also=_WRONG_CODE)
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


@routes.post("/account/second-factor/confirm", lane=passwords, refused=begin_enrolment, also=_WRONG_CODE)
def confirm_enrolment(context: PageContext) -> Response:
    codes = second_factor.confirm_enrolment(
        context.catalog, context.actor, code=context.form.raw("code"), session=context.identity.secret
    )
    return _codes(context, codes, to="/account")


@routes.post("/account/second-factor/codes", lane=passwords, refused=show_factor, also=_WRONG_CODE)
def draw_codes(context: PageContext) -> Response:
    codes = second_factor.new_recovery_codes(context.catalog, context.actor, code=context.form.raw("code"))
    return _codes(context, codes, to="/account")


@routes.post("/account/second-factor/remove", lane=passwords, refused=show_factor, also=_WRONG_CODE)
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
