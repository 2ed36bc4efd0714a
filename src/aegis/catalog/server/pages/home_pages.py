"""The start page, the tour for a newcomer with the clinic example as a full flow, and the words that pages use."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from aegis.catalog import records
from aegis.catalog.records import UserRole
from aegis.catalog.server.limits import costly_lane
from aegis.catalog.server.pages.page import PageContext, PageRoutes
from aegis.catalog.service import seen_requests
from aegis.catalog.service.permissions import Permission, may
from aegis.catalog.worker import clinic_example
from aegis.errors import ConflictError, NotPermittedError
from aegis.report.figures import count
from aegis.report.page import Fact

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
        view = seen_requests.overview(work)
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


def _facts(context: PageContext, view: records.Overview) -> list[Fact]:
    actor = context.actor
    numbers = {"products in the catalog": view.products}
    if actor.is_admin or actor.holds_anywhere(UserRole.EXPERT):
        numbers["to decide"] = view.requests_to_decide
    if actor.is_admin or actor.holds_anywhere(UserRole.PROVIDER):
        numbers["to fulfil"] = view.requests_to_fulfil
    if actor.is_admin or actor.holds_anywhere(UserRole.CONSUMER):
        numbers |= {"your requests": view.requests_of_mine, "ready": view.downloads_ready}
    return [Fact(term=term, value=f"{number:,}") for term, number in numbers.items()]


def _cards(context: PageContext) -> list[Card]:
    actor = context.actor
    cards = [
        Card(title="Browse the catalog", path="/products", words="What there is, what it holds, what a release keeps.")
    ]
    if actor.holds_anywhere(UserRole.CONSUMER) or actor.is_admin:
        words = "What you asked for, and what came of it."
        cards.append(Card(title="Your requests", path="/requests?mine=1", words=words))
    if may(actor, Permission.REGISTER_PRODUCT):
        words = "Columns, roles and a policy. The rows stay with you."
        cards.append(Card(title="Register a product", path="/register", words=words))
        words = "For aegis push and aegis pull on the provider's machine."
        cards.append(Card(title="Make a token", path="/tokens", words=words))
    if actor.products_as(UserRole.PROVIDER, UserRole.EXPERT) != frozenset():
        words = "Look at the ranking, then approve or reject."
        cards.append(Card(title="Request inbox", path="/requests", words=words))
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


@routes.post("/welcome", lane=costly_lane, refused=show_welcome)
def load(context: PageContext) -> Response:
    """Build the example. Its passwords are on this one page and nowhere else, so it is the answer to the form."""
    try:
        flow = clinic_example.load_clinic(context.catalog, context.actor)
    except ConflictError as error:
        raise ConflictError(f"the example is here already, or a name that it needs is taken: {error}") from None
    return context.render("toured.html", title="The clinic is loaded", flow=flow)


WORDS: tuple[tuple[str, str], ...] = (
    (
        "certificate",
        "what holds for a released table, measured on it: policy, masks, groups, hashes. It travels with the file",
    ),
    ("configuration", "what is done to which column before a table leaves: rounded, put into ranges, hidden"),
    ("consumer", "somebody who wants to learn something from data and asks for it"),
    (
        "counts, summary",
        "how many records have which values, counted by the provider. The catalog ranks by these; it never sees rows",
    ),
    ("expert", "somebody who knows how much may be released, and decides requests"),
    ("group", "the records that look alike in everything that could tell people apart. The larger, the safer"),
    (
        "identifying",
        "a column that names a person by itself: a name, a number of a patient, a mail address. It is never released",
    ),
    ("insensitive", "a column that neither tells people apart nor says anything that would harm them"),
    ("k-anonymity", "every group has at least k records, so nobody is told apart from k − 1 others"),
    (
        "l-diversity",
        "every group has at least l different sensitive values, so that knowing the group does not tell the value",
    ),
    ("label", "the column that a model is to predict"),
    (
        "ledger",
        "the record of everything that left of a product. What leaves next must keep the policy together with "
        "all of it",
    ),
    ("mask", "one thing that is done to a column, like rounding it"),
    ("measure", "a number that says how useful a masked table still is"),
    ("policy", "what every release of a product must keep"),
    ("provider", "somebody who has the data. Rows stay on the provider's own machine"),
    ("quasi-identifying", "columns that together tell people apart although none does alone: age, postcode, gender"),
    ("release", "a masked table that left, with its certificate"),
    ("sensitive", "a column that nobody shall learn about a person: a diagnosis, an income"),
    ("suppressed", "records whose group was too small: their telling values are starred, or they are left out"),
    ("t-closeness", "in every group sensitive values are spread about as in the whole table"),
    ("verified", "the catalog measured a release again, from scratch, and it keeps what its certificate says"),
)


@routes.get("/glossary")
def show_glossary(context: PageContext) -> Response:
    return context.render("glossary.html", title="Glossary", words=WORDS)
