"""Signing in and out, and the links with which people choose a password."""

from __future__ import annotations

from starlette.responses import Response

from aegis.catalog.server.pages.routing import Door, get, post, sentence
from aegis.catalog.server.pages.visit import SESSION_COOKIE, Visit
from aegis.catalog.service import people
from aegis.errors import InputError, NotSignedInError, TooManyAttemptsError

_WORDS = {
    "setup": (
        "Welcome to Aegis",
        "Nobody is here yet. Choose a name and a password: you become the first administrator of this catalog.",
        "Create the administrator",
    ),
    "invite": ("Welcome to Aegis", "You were invited as {name}. Choose a password.", "Choose this password"),
    "reset": ("A new password", "Choose another password for {name}.", "Choose this password"),
}


def show_sign_in(visit: Visit) -> Response:
    if visit.is_signed_in:
        return visit.go("/")
    return visit.page("sign_in.html", title="Sign in", problem=None, name="", next=_inside(visit.query.get("next", "")))


def sign_in(visit: Visit) -> Response:
    name = visit.form.text("name")
    wanted = _inside(visit.form.text("next"))
    try:
        session = people.sign_in(visit.catalog, name=name, password=visit.form.raw("password"), address=visit.address)
    except (NotSignedInError, TooManyAttemptsError, InputError) as error:
        response = visit.page(
            "sign_in.html",
            status=error.http_status,
            title="Sign in",
            problem=sentence(error),
            name=name,
            next=wanted,
        )
        if isinstance(error, TooManyAttemptsError):
            response.headers["Retry-After"] = str(error.retry_after_seconds)
        return response
    response = visit.go(wanted or "/")
    visit.keep(response, SESSION_COOKIE, session.secret, seconds=visit.catalog.settings.session_hours * 3600)
    return response


def sign_out(visit: Visit) -> Response:
    if visit.session:
        with visit.write() as work:
            people.sign_out(work, secret=visit.session)
    response = visit.go("/sign-in", "You are signed out.")
    response.delete_cookie(SESSION_COOKIE, path="/", secure=visit.secure, httponly=True, samesite="lax")
    return response


def show_link(visit: Visit) -> Response:
    return _link_page(visit, problem=None)


def accept_link(visit: Visit) -> Response:
    """Use the link, and sign in at once: whoever just chose a password need not type it a third time."""
    purpose = people.link(visit.catalog, secret=visit.names["secret"]).purpose
    password = visit.form.raw("password")
    try:
        if password != visit.form.raw("again"):
            raise InputError("the two passwords differ; type them again")  # noqa: TRY301 - shown like any other
        user = people.accept_link(
            visit.catalog,
            secret=visit.names["secret"],
            password=password,
            name=visit.form.text("name") if purpose == "setup" else None,
            display_name=visit.form.text("display_name") or None if purpose == "setup" else None,
        )
    except InputError as error:
        return _link_page(visit, problem=sentence(error))
    session = people.sign_in(visit.catalog, name=user.name, password=password, address=visit.address)
    response = visit.go("/welcome" if purpose == "setup" else "/")
    visit.keep(response, SESSION_COOKIE, session.secret, seconds=visit.catalog.settings.session_hours * 3600)
    return response


def _link_page(visit: Visit, *, problem: str | None) -> Response:
    link = people.link(visit.catalog, secret=visit.names["secret"])
    title, words, button = _WORDS[link.purpose]
    return visit.page(
        "accept_link.html",
        status=422 if problem else 200,
        title=title,
        words=words.format(name=link.user_name),
        button=button,
        asks_name=link.purpose == "setup",
        user_name=link.user_name or "",
        name=visit.form.text("name", "admin"),
        display_name=visit.form.text("display_name"),
        shortest=visit.catalog.settings.password_characters,
        problem=problem,
    )


def _inside(path: str) -> str:
    """A path of this site, or nothing: a sign-in page must not send people elsewhere.

    >>> _inside("/requests?mine=1"), _inside("//elsewhere.example/"), _inside("https://elsewhere.example/")
    ('/requests?mine=1', '', '')
    """
    fine = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable() and len(path) < 2000
    return path if fine and "\\" not in path else ""


DOORS: tuple[Door, ...] = (
    get("/sign-in", show_sign_in, is_open=True),
    post("/sign-in", sign_in, is_open=True),
    post("/sign-out", sign_out, is_open=True),
    get("/link/{secret}", show_link, is_open=True),
    post("/link/{secret}", accept_link, is_open=True),
)
