"""Sanitized columns as a page: what the audit found, who attacked, who is exposed, and what is released."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.sanitizers.encoding import BETWEEN
from aegis.candidates.sanitizers.mechanism import BinMechanism, CategoryMechanism
from aegis.counts.disclosure_rule import named
from aegis.report.figures import figure, percent
from aegis.report.page import Entry, Fact, entry, picture, render_page
from aegis.report.release_pictures import RECORDS, picture_of_mixture, picture_of_table

if TYPE_CHECKING:
    from aegis.candidates.sanitizers.audit import PartyAudit
    from aegis.candidates.sanitizers.audited_column import Fitted
    from aegis.candidates.sanitizers.written import Written

Scale = Literal["share", "bits", "plain"]
_FEWEST_NAMED = 10  # more than the rule asks: every named value has a row of chances


@dataclass(frozen=True, slots=True, kw_only=True)
class PartyRow:
    """One party's error without and with the release."""

    party: str
    knows: str
    before: str
    after: str
    interval: str
    attacker: str
    others: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnPart:
    """What the page says of one private column."""

    name: str
    summary: str
    facts: tuple[Fact, ...]
    rows: tuple[PartyRow, ...]
    chart: Any
    caption: str


def render_sanitized(
    fitted: Sequence[Fitted],
    *,
    written: Sequence[Written],
    source: str,
    authorized: Sequence[Sequence[str]],
    adversaries: Sequence[Sequence[str]],
    columns: Mapping[str, NDArray[Any]],
    seeded: bool,
) -> str:
    """The page for sanitized columns, as one self-contained HTML document.

    ``columns`` holds the private values: of a category those of at least ten records are named, of a number none is
    shown, the map is drawn over a normal law with the column's rounded centre and spread.
    """
    names = [column.mechanism.column for column in fitted]
    return render_page(
        "sanitize.html",
        title=f"Sanitized {', '.join(names)} · {source} · Aegis",
        source=source,
        headline=f"{', '.join(names)}: what the authorised party gets, and what others can tell",
        columns=[
            _part(column, drawn, columns[column.mechanism.column], authorized, adversaries)
            for column, drawn in zip(fitted, written, strict=True)
        ],
        ledger=_ledger(fitted, authorized, adversaries, seeded=seeded),
    )


def _part(
    column: Fitted,
    drawn: Written,
    values: NDArray[Any],
    authorized: Sequence[Sequence[str]],
    adversaries: Sequence[Sequence[str]],
) -> ColumnPart:
    audit, exposure = column.audit, column.audit.exposure
    category = isinstance(column.mechanism, CategoryMechanism)
    scale = _scale(column)
    words = {"costs": "mean cost", "zero-one": "wrong guesses", "log": "log loss", "squared": "squared error"}
    unit = "wrong guesses" if scale == "share" else words[column.loss]
    proxy_scale: Scale = "share" if category and scale == "plain" else scale
    rows = [_row(_group_names(len(authorized))[0], authorized[0], column.max_distortion, audit.distortion, scale=scale)]
    rows += [
        PartyRow(
            party=name,
            knows=", ".join(knows),
            before=_loss(group.max_distortion, scale=scale),
            after=_loss(group.reconstruction.loss, scale=scale),
            interval=" – ".join(_loss(end, scale=scale) for end in group.reconstruction.interval),
            attacker="its reconstructor",
            others="",
        )
        for name, knows, group in zip(_group_names(len(authorized)), authorized, column.groups, strict=True)
        if knows is not authorized[0]
    ]
    rows += [
        _row(f"adversary {number}", knows, before, party, scale=scale)
        for number, (knows, before, party) in enumerate(
            zip(adversaries, column.saturation_losses, audit.adversaries, strict=True), start=1
        )
    ]
    facts = [
        *_group_facts(column, scale=scale),
        Fact(term="worst adversary", value=_loss(audit.worst, scale=scale), unit=unit),
        Fact(term="records named correctly" if category else "records pinned", value=percent(exposure.pinned_share)),
    ]
    if exposure.reference_pinned_share is not None:
        facts.append(Fact(term="pinned under equal noise", value=percent(exposure.reference_pinned_share)))
    facts.append(Fact(term="records determined", value=percent(drawn.determined)))
    if not category:
        facts.append(Fact(term="values written as they are", value=percent(drawn.equal)))
    facts.append(Fact(term="error with both files", value=_loss(drawn.both_files_loss, scale=scale)))
    if column.proof is not None:
        proved = min(adversary.proved_loss for adversary in column.proof.adversaries)
        facts.append(Fact(term="proved for the worst adversary", value=_loss(proved, scale=scale), unit=unit))
    chart, caption = _picture(column, values)
    return ColumnPart(
        name=column.mechanism.column,
        summary=f"{_summary(column, values, scale=scale)}{_proxy_words(drawn, scale=proxy_scale)}"
        f"{f' Take care: {drawn.beyond_cap}.' if drawn.beyond_cap else ''}",
        facts=tuple(facts),
        rows=tuple(rows),
        chart=chart,
        caption=caption,
    )


def _scale(column: Fitted) -> Scale:
    """How errors are written: shares of wrong guesses, by record or by column of a tuple; bits; costs or squares."""
    if column.loss == "log":
        return "bits"
    tuples = isinstance(column.mechanism, CategoryMechanism) and bool(column.mechanism.parts)
    return "share" if tuples or column.loss == "zero-one" else "plain"


def _summary(column: Fitted, values: NDArray[Any], *, scale: Scale) -> str:
    audit = column.audit
    if column.method.startswith("silence"):
        return (
            "The authorised party has that little error without any release: nothing is released, and the column says "
            f"nothing. {_certain_words(column, values)}"
        )
    errors = [group.reconstruction.loss for group in column.groups]
    who = ", ".join(
        f"{name} errs by {_loss(error, scale=scale)}"
        for name, error in zip(_group_names(len(errors)), errors, strict=True)
    )
    text = f"The {who}, the best adversary by {_loss(audit.worst, scale=scale)}."
    for words in column.unprotected:
        text += f" Take care: {words}."
    if column.proof is not None and not column.proof.holds_for_set:
        text += f" Take care: {column.proof.where_caps_hold}."
    return f"{text} {_certain_words(column, values)}"


def _group_names(number: int) -> tuple[str, ...]:
    if number == 1:
        return ("authorised party",)
    return tuple(f"authorised group {place}" for place in range(1, number + 1))


def _group_facts(column: Fitted, *, scale: Scale) -> list[Fact]:
    """What each authorised group asked for and what its reconstructor reaches."""
    facts = []
    for number, group in enumerate(column.groups, start=1):
        of = "" if len(column.groups) == 1 else f", group {number}"
        facts.append(Fact(term=f"distortion asked for{of}", value=_loss(group.distortion, scale=scale)))
        reached = _loss(group.reconstruction.loss, scale=scale)
        facts.append(Fact(term=f"error of the reconstructor{of}", value=reached))
    return facts


def _proxy_words(drawn: Written, *, scale: Scale) -> str:
    """Which columns outside the public file tell the private one by themselves."""
    if not drawn.proxies:
        return ""
    named = ", ".join(f"{proxy.column} {_loss(proxy.error, scale=scale)}" for proxy in drawn.proxies)
    return (
        f" Somebody who knows one of these columns from elsewhere needs no release (error by it alone; from nothing "
        f"{_loss(drawn.proxies[0].error_without, scale=scale)}): {named}."
    )


def _proved_lines(column: Fitted) -> tuple[str, ...]:
    """What was proved of one column, with what it rests on; nothing where all of it was only audited."""
    proof, name = column.proof, column.mechanism.column
    if proof is None:
        return (f"{name}: nothing; every figure is an audit of the attackers that ran",)
    losses = ", ".join(
        f"adversary {number} {_loss(adversary.proved_loss, scale=_scale(column))}"
        for number, adversary in enumerate(proof.adversaries, start=1)
    )
    epsilon = "no bound" if proof.local_dp is None else f"ε = {figure(proof.local_dp, 3)}"
    return (
        f"{name}: {proof.where_caps_hold}; over all these laws posteriors are at most "
        f"{'1' if proof.posterior is None else figure(proof.posterior, 3)}, above the cap for at most "
        f"{percent(proof.open_share)} of the records",
        f"{name}: errors of at least {losses}, with {100 * proof.confidence:g} % confidence",
        f"{name}: whatever an adversary knows, {percent(proof.kept_share)} of its error without the release is left; "
        f"local differential privacy: {epsilon}",
        f"{name}: under the estimated law the worst adversary errs by "
        f"{_loss(proof.loss_under_law, scale=_scale(column))}, and no release that keeps these caps under it and "
        "tells the authorised party no less makes it err by more than "
        f"{_loss(proof.most_any_release_leaves, scale=_scale(column))}",
        *(f"{name} assumes: {words}" for words in proof.assumptions),
    )


def _certain_words(column: Fitted, values: NDArray[Any]) -> str:
    """What an adversary that knows the mechanism is sure of, by value of a category or by width of a window."""
    after = [protection.after for protection in column.protection]
    if isinstance(column.mechanism, CategoryMechanism):
        shares = [max(certain.by_value[i] for certain in after) for i in range(len(column.mechanism.values))]
        named = _named(column.mechanism, values)[0]
        sure = ", ".join(f"{name} {percent(share)}" for name, share in zip(named, shares, strict=True))
        return f"Records whose value an adversary gives a posterior of at least 0.99, of those with each value: {sure}."
    noise = [protection.noise for protection in column.protection if protection.noise is not None]
    widths = [
        f"within {figure(epsilon, 3)} {percent(max(certain.pinned[i] for certain in after))}"
        + (f" (noise of the same error: {percent(max(certain.pinned[i] for certain in noise))})" if noise else "")
        for i, epsilon in enumerate(after[0].epsilons)
    ]
    return f"Records that an adversary who knows the mechanism places: {', '.join(widths)}."


def _named(mechanism: CategoryMechanism, values: NDArray[Any]) -> tuple[list[str], int]:
    """The categories by name where enough records have them, else by number; and how many have no name."""
    codes = np.unique(values.astype(str), return_inverse=True)[1]
    counts = np.bincount(codes, minlength=len(mechanism.values))
    shown = named([value.replace(BETWEEN, " | ") for value in mechanism.values], counts, at_least=_FEWEST_NAMED)
    names = [f"value {number}" if name is None else name for number, name in enumerate(shown, start=1)]
    return names, shown.count(None)


def _picture(column: Fitted, values: NDArray[Any]) -> tuple[Any, str]:
    mechanism = column.mechanism
    if isinstance(mechanism, CategoryMechanism):
        names, hidden = _named(mechanism, values)
        drawn = picture_of_table(mechanism.release, names=names, title=f"Release of {mechanism.column}")
        note = f" {hidden} values of fewer than {_FEWEST_NAMED} records are not named." if hidden else ""
        return picture(drawn), f"How often the value in a row is released as the symbol in a column.{note}"
    if isinstance(mechanism, BinMechanism):
        bins = [f"bin {number}" for number in range(1, mechanism.edges.size + 2)]
        drawn = picture_of_table(mechanism.release, names=bins, title=f"Release of {mechanism.column}")
        return picture(drawn), "How often a value in the bin of a row, lowest first, is released as a symbol."
    numbers = values.astype(np.float64)
    centre, spread = (float(f"{part:.2g}") for part in (numbers.mean(), numbers.std()))
    drawn_values = np.random.default_rng(2).normal(centre, spread, RECORDS)
    drawn = picture_of_mixture(
        mechanism.mixture,
        drawn_values,
        title=f"Map from {mechanism.column} to its release",
        x_axis=f"{mechanism.column} (drawn from a normal law with its rounded mean and spread, not the records)",
    )
    return picture(drawn), "Each dot is a drawn value and what the mechanism releases for it."


def _row(party: str, knows: Sequence[str], before: float, audit: PartyAudit, *, scale: Scale) -> PartyRow:
    low, high = audit.interval
    return PartyRow(
        party=party,
        knows=", ".join(knows) or "nothing but the release",
        before=_loss(before, scale=scale),
        after=_loss(audit.loss, scale=scale),
        interval=f"{_loss(low, scale=scale)} – {_loss(high, scale=scale)}",
        attacker=audit.attacker,
        others=", ".join(f"{name} {_loss(loss, scale=scale)}" for name, loss in audit.by_attacker.items()),
    )


def _loss(value: float, *, scale: Scale) -> str:
    if scale == "share":
        return percent(value)
    return f"{figure(value, 4)} bits" if scale == "bits" else figure(value, 4)


def _ledger(
    fitted: Sequence[Fitted], authorized: Sequence[Sequence[str]], adversaries: Sequence[Sequence[str]], *, seeded: bool
) -> list[Entry]:
    together = (
        "Every figure is against parties that see the releases of all private columns.",
        "Columns fitted earlier were not told of later releases, so they may keep less distortion than they may have.",
    )
    return [
        *(
            entry(f"{name} knows", ", ".join(side) or "nothing but the release")
            for name, side in zip(_group_names(len(authorized)), authorized, strict=True)
        ),
        *(entry(f"adversary {n} knows", ", ".join(side)) for n, side in enumerate(adversaries, start=1)),
        entry("method", *tuple(f"{column.mechanism.column}: {column.method}" for column in fitted)),
        entry("proved", *tuple(line for column in fitted for line in _proved_lines(column))),
        entry("rows of the audit", f"{fitted[0].audit.rows:,} that no attacker was fitted on"),
        *([entry("several columns", *together)] if len(fitted) > 1 else []),
        entry(
            "noise",
            "from a seed: whoever knows it can undo the release" if seeded else "fresh: it cannot be drawn again",
            "Do not release the same records twice: whoever averages the releases removes noise.",
        ),
        entry(
            "what this is not",
            "The audit speaks for the attackers that ran, one of which knows how the release was made, and for the "
            "columns that were named. What is proved stands above with what it rests on; where no local "
            "differential privacy is named there is none, and an adversary that knows more does better.",
        ),
    ]
