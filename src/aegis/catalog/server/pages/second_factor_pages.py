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
from aegis.errors import AegisError, ConflictError, InputError, NotSignedInError, TooManyAttemptsError

routes = PageRoutes()
_REFUSED = (InputError, ConflictError, NotSignedInError, TooManyAttemptsError)


@routes.get("/sign-in/second", is_open=True)
def show_second(context: PageContext) -> Response:
    return _second(context, wanted=inside(context.query.get("next", "")), problem=None)


@routes.post("/sign-in/second", is_open=True, lane=passwords)
def finish_sign_in(context: PageContext) -> Response:
    wanted = inside(context.form.text("next"))
    secret = _half_secret(context)
    second_factor.half_signed_in(context.catalog, secret=secret)  # over: back to the password, by what it raises
    try:
        session = second_factor.finish_sign_in(context.catalog, secret=secret, code=context.form.raw("code"))
    except (NotSignedInError, TooManyAttemptsError) as error:
        return _second(context, wanted=wanted, problem=error)
    return signed_in(context, session, to=wanted or "/")


def _second(context: PageContext, *, wanted: str, problem: AegisError | None) -> Response:
    half = second_factor.half_signed_in(context.catalog, secret=_half_secret(context))
    return context.render(
        "second_factor_code.html", title="Second factor", name=half.name, next=wanted, problem=problem
    )


@routes.get("/sign-in/enrol", is_open=True)
def show_required_enrolment(context: PageContext) -> Response:
    return _required(context, problem=None)


@routes.post("/sign-in/enrol", is_open=True, lane=passwords)
def finish_required_enrolment(context: PageContext) -> Response:
    """Set up before the first session; the recovery codes are on this one answer."""
    secret = _half_secret(context)
    second_factor.half_signed_in(context.catalog, secret=secret)
    try:
        session, codes = second_factor.finish_required_enrolment(
            context.catalog, secret=secret, code=context.form.raw("code")
        )
    except _REFUSED as error:
        return _required(context, problem=error)
    response = _codes(context, codes, to=inside(context.form.text("next")) or "/")
    set_session(context, response, session)
    return response


def _required(context: PageContext, *, problem: AegisError | None) -> Response:
    enrolment = second_factor.begin_required_enrolment(context.catalog, secret=_half_secret(context))
    wanted = inside(context.query.get("next", "") or context.form.text("next"))
    return _enrol_page(context, enrolment, action="/sign-in/enrol", wanted=wanted, problem=problem)


@routes.get("/account/second-factor")
def show_factor(context: PageContext) -> Response:
    return _factor(context, problem=None)


@routes.post("/account/second-factor/begin")
def begin_enrolment(context: PageContext) -> Response:
    """The secret is on this one answer; a wrong first code draws another one."""
    return _begin(context, problem=None)


@routes.post("/account/second-factor/confirm", lane=passwords)
def confirm_enrolment(context: PageContext) -> Response:
    try:
        codes = second_factor.confirm_enrolment(
            context.catalog, context.actor, code=context.form.raw("code"), session=context.identity.secret
        )
    except _REFUSED as error:
        return _begin(context, problem=error)
    return _codes(context, codes, to="/account")


@routes.post("/account/second-factor/codes", lane=passwords)
def draw_codes(context: PageContext) -> Response:
    try:
        codes = second_factor.new_recovery_codes(context.catalog, context.actor, code=context.form.raw("code"))
    except _REFUSED as error:
        return _factor(context, problem=error)
    return _codes(context, codes, to="/account")


@routes.post("/account/second-factor/remove", lane=passwords)
def remove(context: PageContext) -> Response:
    try:
        second_factor.remove(context.catalog, context.actor, code=context.form.raw("code"))
    except _REFUSED as error:
        return _factor(context, problem=error)
    return context.redirect("/account", "The second factor is off.")


def _begin(context: PageContext, *, problem: AegisError | None) -> Response:
    with context.write() as work:
        enrolment = second_factor.begin_enrolment(work)
    return _enrol_page(context, enrolment, action="/account/second-factor/confirm", wanted="", problem=problem)


def _factor(context: PageContext, *, problem: AegisError | None) -> Response:
    with context.read() as work:
        state = second_factor.state(work)
    required = context.catalog.settings.second_factor_required
    return context.render("second_factor.html", title="Second factor", factor=state, required=required, problem=problem)


def _enrol_page(
    context: PageContext, enrolment: Enrolment, *, action: str, wanted: str, problem: AegisError | None
) -> Response:
    address = enrolment_address(enrolment.secret, account=enrolment.account, issuer="Aegis catalog")
    return context.render(
        "second_factor_enrol.html",
        title="Set up a second factor",
        secret=" ".join(enrolment.secret[at : at + 4] for at in range(0, len(enrolment.secret), 4)),
        picture=segno.make(address, error="m").svg_data_uri(scale=4, border=2, dark="#000", light="#fff"),
        action=action,
        next=wanted,
        problem=problem,
    )


def _codes(context: PageContext, codes: tuple[str, ...], *, to: str) -> Response:
    return context.render("second_factor_codes.html", title="Recovery codes", codes=codes, to=to)


def _half_secret(context: PageContext) -> str:
    secret = context.cookies.get(HALF_COOKIE, "")
    if not 20 <= len(secret) <= 64:
        raise NotSignedInError("nobody is half signed in here; begin again")
    return secret
