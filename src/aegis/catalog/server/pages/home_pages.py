"""The start page, and the tour for a newcomer: the clinic example as a full flow."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from aegis.catalog import records
from aegis.catalog.records import UserRole
from aegis.catalog.server.lanes import costly
from aegis.catalog.server.pages.page import PageContext, PageRoutes
from aegis.catalog.service import overview
from aegis.catalog.service.permissions import Permission, may
from aegis.catalog.worker import clinic_example
from aegis.errors import ConflictError, NotPermittedError
from aegis.report.figures import count

routes = PageRoutes()


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """Something that this person can do."""

    title: str
    path: str
    words: str


@routes.get("/")
def show_home(context: PageContext) -> Response:
    with context.read() as work:
        view = overview.overview(work)
    return context.render(
        "home.html",
        title="Start",
        lead=_lead(context, view),
        facts=_facts(context, view),
        recent=view.recent,
        cards=_cards(context),
        is_empty=view.products == 0,
    )


def _lead(context: PageContext, view: records.Overview) -> str:
    waits = view.requests_to_decide + view.requests_to_fulfil
    if waits:
        return f"{count(waits, 'request')} {'waits' if waits == 1 else 'wait'} for you."
    if view.downloads_ready:
        return f"{count(view.downloads_ready, 'release')} {'is' if view.downloads_ready == 1 else 'are'} ready for you."
    if not view.products:
        return "The catalog is empty so far."
    return "Nothing waits for you."


def _facts(context: PageContext, view: records.Overview) -> list[tuple[str, str, str]]:
    facts = [("products in the catalog", f"{view.products:,}", "")]
    actor = context.actor
    if actor.is_admin or actor.holds_anywhere(UserRole.EXPERT):
        facts.append(("to decide", f"{view.requests_to_decide:,}", ""))
    if actor.is_admin or actor.holds_anywhere(UserRole.PROVIDER):
        facts.append(("to fulfil", f"{view.requests_to_fulfil:,}", ""))
    if actor.is_admin or actor.holds_anywhere(UserRole.CONSUMER):
        facts += [("your requests", f"{view.requests_of_mine:,}", ""), ("ready", f"{view.downloads_ready:,}", "")]
    return facts


def _cards(context: PageContext) -> list[Card]:
    actor = context.actor
    cards = [
        Card(title="Browse the catalog", path="/products", words="What there is, what it holds, what a release keeps.")
    ]
    if actor.holds_anywhere(UserRole.CONSUMER) or actor.is_admin:
        cards.append(
            Card(title="Your requests", path="/requests?mine=1", words="What you asked for, and what came of it.")
        )
    if may(actor, Permission.REGISTER_PRODUCT):
        cards.append(
            Card(
                title="Register a product",
                path="/register",
                words="Columns, roles and a policy. The rows stay with you.",
            )
        )
        cards.append(
            Card(title="Make a token", path="/tokens", words="For aegis push and aegis pull on the provider's machine.")
        )
    if actor.products_as(UserRole.PROVIDER, UserRole.EXPERT) != frozenset():
        cards.append(
            Card(
                title="Request inbox",
                path="/requests",
                words="Look at the ranking, then approve or reject.",
            )
        )
    if actor.is_admin:
        cards += [
            Card(title="People", path="/people", words="Invite people and give them roles, per product or for all."),
            Card(title="Audit", path="/audit", words="Everything that happened, in a chain that shows any edit."),
            Card(title="Tour with the clinic", path="/welcome", words="Load a made-up clinic and see the whole flow."),
        ]
    return cards


@routes.get("/welcome")
def show_welcome(context: PageContext) -> Response:
    if not context.actor.is_admin:
        raise NotPermittedError("only an administrator may load the example; look at the catalog instead")
    return context.render("welcome.html", title="Welcome")


@routes.post("/welcome", lane=costly, refused=show_welcome)
def load(context: PageContext) -> Response:
    """Build the example. Its passwords are on this one page and nowhere else, so it is the answer to the form."""
    try:
        flow = clinic_example.load_clinic(context.catalog, context.actor)
    except ConflictError as error:
        raise ConflictError(f"the example is here already, or a name that it needs is taken: {error}") from None
    return context.render("toured.html", title="The clinic is loaded", flow=flow)
