"""The words that pages use, each in a sentence: people who decide about data need not know the field."""

from __future__ import annotations

from starlette.responses import Response

from aegis.catalog.server.pages.page import PageContext, PageRoutes

routes = PageRoutes()

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
