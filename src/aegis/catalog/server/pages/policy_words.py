"""A policy in sentences that a person without the field's words understands; each keeps the field's name beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aegis.errors import PolicyError
from aegis.privacy.model import Model
from aegis.privacy.policy import Policy, Suppressed
from aegis.report.figures import listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """One thing that a release must keep: in plain words, and by its name."""

    words: str
    model: str


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


_WORDS: dict[str, Callable[[dict[str, Any], str, str], str]] = {
    "k-anonymity": lambda p, on, _: f"Every combination of {on} is shared by at least {p['k']} records.",
    "distinct-l-diversity": lambda p, _, of: (
        f"In every group of alike records {of} has at least {p['l']} different values."
    ),
    "entropy-l-diversity": lambda p, _, of: (
        f"In every group of alike records {of} is as uncertain as between {p['l']:g} equally frequent values."
    ),
    "recursive-l-diversity": lambda p, _, of: (
        f"In no group of alike records does the most frequent value of {of} outweigh the rarer ones: "
        f"it stays below {p['c']:g} times all from the {p['l']}th on."
    ),
    "t-closeness": lambda p, _, of: (
        f"In every group of alike records {of} is distributed nearly as in the whole table: at most {p['t']:g} apart."
    ),
    "alpha-k-anonymity": lambda p, _, of: (
        f"In no group of alike records does one value of {of} make up more than {_percent(p['alpha'])}."
    ),
    "delta-disclosure": lambda p, _, of: (
        f"No group of alike records makes a value of {of} much likelier or unlikelier than it is: "
        f"at most {p['delta']:g} on the scale of logarithms."
    ),
    "basic-beta-likeness": lambda p, _, of: (
        f"No group of alike records makes a value of {of} more than {p['beta']:g} times likelier on top of what it is."
    ),
    "enhanced-beta-likeness": lambda p, _, of: (
        f"No group of alike records makes a value of {of} much likelier than it is: at most {p['beta']:g} on top, "
        "and less for frequent values."
    ),
    "prosecutor-risk": lambda p, *_: (
        f"Whoever knows that a person is in the table finds that person's record with at most {_percent(p['limit'])}."
    ),
    "journalist-risk": lambda p, *_: (
        f"Whoever looks for anybody in the population finds a record with at most {_percent(p['limit'])}."
    ),
    "linkage-risk": lambda p, *_: (
        f"At most {_percent(p['share'])} of the records stand in groups where a guess is right "
        f"with more than {_percent(p['tau'])}."
    ),
    "homogeneity-risk": lambda p, _, of: (
        f"At most {_percent(p['share'])} of the records stand in groups that all share one value of {of}."
    ),
    "marketer-risk": lambda p, *_: f"Whoever guesses for everybody is right for at most {_percent(p['limit'])}.",
}


def promises(policy: Mapping[str, Any] | None) -> list[Promise]:
    """What the policy asks for, sentence by sentence; empty where there is none."""
    if not policy:
        return []
    try:
        rules = Policy.from_mapping(policy)
    except PolicyError:
        return [Promise(words="The policy cannot be read.", model="")]
    on = listed(list(rules.roles.quasi_identifying), 8) or "the quasi-identifying columns"
    said = [_promise(model, on) for model in rules.models]
    return [*said, Promise(words=_suppressed(rules), model="suppression")]


def _promise(model: Model, on: str) -> Promise:
    parameters = dict(model.parameters())
    of = listed(list(model.needs), 8) or "the sensitive column"
    name = f"{model.name}{f' of {of}' if model.needs else ''}"
    if model.name in _WORDS:
        return Promise(words=_WORDS[model.name](parameters, on, of), model=name)
    given = ", ".join(f"{key} {value}" for key, value in parameters.items() if key != "attributes")
    return Promise(words=f"{name.capitalize()} holds with {given}.", model=name)


def _suppressed(rules: Policy) -> str:
    if rules.max_suppression == 0:
        return "No record may be suppressed to reach this."
    then = {
        Suppressed.JUDGED: "they are published with * instead of what identifies, and must keep the same promises",
        Suppressed.EXEMPT: "they are published with * instead of what identifies, and are judged by no promise",
        Suppressed.DROPPED: "they are left out",
    }[rules.suppressed]
    return f"Up to {_percent(rules.max_suppression)} of the records may be suppressed to reach this; {then}."
