"""The certificate of a release as a page: what was promised, what was measured, and how to check it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aegis.errors import AegisError
from aegis.masking.configuration import build_mask
from aegis.operation import word
from aegis.report.figures import MORE_THAN_ALL, count, figure, listed, percent
from aegis.report.page import Entry, Fact, entry, picture, render_page

_MOST_SHOWN = 24
"""Longer lists of edges or of group sizes are cut."""
_NEARLY_NOTHING = 1e-3
"""Bits of the raw table below which a share of them means nothing."""
_DECIDED_TOGETHER = (
    (
        "insensitive_as_the_rest",
        "insensitive as the rest",
        "named all at once, not one by one",
    ),
    ("left_out_as_identifying", "left out unasked", "they look identifying and nobody gave them a role"),
    (
        "insensitive_that_look_identifying",
        "published although they look identifying",
        "somebody named them insensitive, and no verdict speaks of them",
    ),
    (
        "identifying_as_pseudonyms",
        "published as pseudonyms",
        "they say which rows are of one person, and no verdict speaks of them",
    ),
)
_ABOUT_ROLES = {"unlisted_are_insensitive", *(key for key, _, _ in _DECIDED_TOGETHER)}


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictRow:
    """One model in the table of verdicts."""

    model: str
    attribute: str
    settings: str
    asked: str
    found: str
    satisfied: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackRow:
    """One attack that was run on the release before it left."""

    attack: str
    knows: str
    run_on: str
    singled_out: str
    right: str
    exposed: str
    limit: str


def render_certificate(content: Mapping[str, Any], *, tree: str | None = None) -> str:
    """The page for what a certificate holds, as one self-contained HTML document.

    ``tree`` is the picture of a local recoding's cuts, where it is one.
    """
    return render_page(
        "certificate.html",
        title=f"Certificate of {content['release']['name']} · Aegis",
        version=content["software"]["aegis"],
        tree=None if tree is None else picture(tree),
        **certificate_parts(content),
    )


def certificate_parts(content: Mapping[str, Any]) -> dict[str, Any]:
    """What a page says of a certificate: the lead, facts, verdicts, masks and the ledger."""
    name = content["release"]["name"]
    return {
        "name": name,
        "lead": _lead(content),
        "facts": _facts(content),
        "verdicts": [_row(verdict) for verdict in content["verdicts"]],
        "masks": _masks(content),
        "attacks": _attacks(content.get("attacks", ())),
        "suppressed": _suppressed(content["suppressed"]),
        "measured": _measured(content),
        "ledger": _ledger(content),
        "check": f"aegis verify {word(name)} {word(f'{name}.certificate.json')}",
    }


def _lead(content: Mapping[str, Any]) -> str:
    quasi = [name for name in content["roles"].get("quasi_identifying", ()) if name not in _left_out(content)]
    columns = ", ".join(quasi) or "all its records as one group"
    models = "; ".join(_asked(verdict) for verdict in content["verdicts"])
    counted = "" if "unit" not in content else f", counting people by {content['unit']['column']} and not records"
    return f"The table as it was written satisfies its policy on {columns}{counted}: {models}."


def _measured(content: Mapping[str, Any]) -> str:
    """Where the figures come from."""
    if "unit" not in content:
        return "Every model was judged on the table as it lies there, read again after it was written."
    unit, records = content["unit"], content["unit"]["by_records"]["smallest_class"]
    return (
        f"{count(unit['people'], 'person', 'people')} were counted by {unit['column']}, a column that the table does "
        "not show, so nobody can count them there: that was done before it was hidden. The table was read again after "
        f"it was written, and its groups are those that were judged; the smallest has {count(records, 'record')}."
    )


def _left_out(content: Mapping[str, Any]) -> Sequence[str]:
    """The columns of the source that were not written."""
    left: Sequence[str] = content["release"].get("left_out", ())
    return left


def _asked(verdict: Mapping[str, Any]) -> str:
    of = f" of {verdict['attribute']}" if verdict["attribute"] else ""
    return f"{verdict['name']}{of} {verdict['bound']} {figure(float(verdict['threshold']))}"


def _facts(content: Mapping[str, Any]) -> list[Fact]:
    utility = content.get("utility")  # boxes are cut for a label, and no measure compares them with the raw table
    facts = [
        Fact(term="records", value=f"{content['release']['rows']:,}"),
        Fact(term="groups of alike records", value=f"{content['classes']:,}"),
        Fact(
            term="smallest group",
            value=f"{content['smallest_class']:,}",
            unit="people" if "unit" in content else "",
        ),
        Fact(term="suppressed", value=f"{content['suppressed']['records']:,}"),
    ]
    if utility is not None and utility["kept_share"] is not None:
        term = f"kept of what quasi-identifiers, one by one, say about {utility['label']}"
        facts.append(Fact(term=term, value=_share(utility["columns"], utility["kept_share"])))
    return facts


def _share(bits: Mapping[str, float], share: float) -> str:
    """A share in words where it would say nothing or more than all."""
    if bits["raw"] < _NEARLY_NOTHING:
        return "hardly anything was said"
    return "all of it" if share > MORE_THAN_ALL else percent(share)


def _told(what: str, bits: Mapping[str, float], utility: Mapping[str, Any]) -> str:
    """What the release says about the label beside what the raw table said."""
    unit, label = utility["unit"], utility["label"]
    now, raw = f"{figure(bits['released'], 3)} {unit} about {label}", figure(bits["raw"], 3)
    if bits["raw"] < _NEARLY_NOTHING:
        return (
            f"{what}: {now}; in the raw table hardly anything ({raw} {unit}), because its values are too rare to learn "
            "from, so there is no share to state"
        )
    if bits["released"] > bits["raw"] * MORE_THAN_ALL:
        return (
            f"{what}: {now}, more than the {raw} of the raw table: merging rare values makes them clearer, and the "
            "surplus is gained, not kept"
        )
    return f"{what}: {figure(bits['released'], 3)} of {raw} {unit} about {label}"


def _row(verdict: Mapping[str, Any]) -> VerdictRow:
    value = verdict["value"]
    return VerdictRow(
        model=verdict["name"],
        attribute=verdict["attribute"] or "",
        settings=", ".join(f"{key} {setting}" for key, setting in verdict["parameters"].items()),
        asked=f"{verdict['bound']} {figure(float(verdict['threshold']))}",
        found="nothing to judge" if value is None else value if isinstance(value, str) else figure(float(value)),
        satisfied=verdict["satisfied"],
    )


def _attacks(results: Any) -> list[AttackRow]:
    """What attacks found, as far as it is written as Aegis writes it: nothing else of a certificate depends on it."""
    try:
        return [_attack(result) for result in results]
    except (KeyError, TypeError, ValueError):
        return []


def _attack(result: Mapping[str, Any]) -> AttackRow:
    """An attack in words; one that does not apply says why."""
    if result["not_applicable"] is not None:
        return AttackRow(
            attack=result["name"],
            knows=result["knows"],
            run_on=_run_on(result),
            singled_out=str(result["not_applicable"]),
            right="",
            exposed="",
            limit="",
        )
    return AttackRow(
        attack=result["name"],
        knows=result["knows"],
        run_on=_run_on(result),
        singled_out=f"{result['singled_out']:,} of {result['people']:,}",
        right="unknown" if result["right"] is None else f"{result['right']:,}",
        exposed=percent(result["exposed_share"]),
        limit="" if result["limit"] is None else percent(result["limit"]),
    )


def _run_on(result: Mapping[str, Any]) -> str:
    """What an attack held beside this table; certificates of before did not say."""
    seen = result.get("releases_seen")
    if seen is None:
        return "not said"
    others = int(seen) - 1
    return f"this table with {count(others, 'release')} that left before" if others else "this table alone"


def _masks(content: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the configuration or the boxes do, and then the identifying columns that it left to be hidden."""
    if "recoding" in content:
        return _recoded(content)
    masks = content["configuration"]["masks"]
    records: Mapping[str, Sequence[int]] = content.get("group_records", {})  # certificates of 0.1 count none
    left = _left_out(content)
    hidden = [column for column in content["roles"].get("identifying", ()) if column not in (*masks, *left)]
    return [
        *((column, "left out: the table does not have this column") for column in left),
        *(
            (column, _mask(spec, records.get(column)) + _values_behind(content, column))
            for column, spec in masks.items()
            if column not in left
        ),
        *((column, "suppressed, * in every record, because it is identifying") for column in hidden),
    ]


def _values_behind(content: Mapping[str, Any], column: str) -> str:
    """The values behind each label, as far as enough people have them; none where the certificate lists none."""
    behind = content.get("group_values", {}).get(column)
    if behind is None:
        return ""
    named = [f"{label} holds {listed(values, _MOST_SHOWN)}" for label, values in behind["groups"].items() if values]
    rest = f"values of fewer than {behind['at_least']} people are not named"
    return "; " + "; ".join([*named, rest])


def _recoded(content: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What boxes do to each column; certificates before 0.2 do not say it column by column."""
    recoding, roles = content["recoding"], content["roles"]
    words: Mapping[str, str] = recoding.get("columns") or dict.fromkeys(
        roles.get("quasi_identifying", ()), "intervals or sets, as fine as the records of a box allow"
    )
    hidden = [column for column in roles.get("identifying", ()) if column not in words]
    return [
        *words.items(),
        *((column, "suppressed, * in every record, because it is identifying") for column in hidden),
    ]


def _mask(spec: Any, records: Sequence[int] | None = None) -> str:
    """A mask in words; edges are shown, values of the table are counted and not shown.

    ``records`` are those that stand in each of its groups, where they were counted.
    """
    if isinstance(spec, list):
        return ", then ".join(_mask(link) for link in spec)
    ((name, parameters),) = ((spec, {}),) if isinstance(spec, str) else spec.items()
    if not any(isinstance(value, list | tuple | dict) for value in parameters.values()):
        try:
            return build_mask(spec).describe()
        except AegisError:  # of a plug-in that is not here, or a hierarchy that only the provider has
            pass
    words = {
        "bucketize": "buckets with ",
        "date_ranges": "ranges of time with ",
        "regroup": "",
        "generalize": "generalised to ",
    }.get(name, name.replace("_", " ") + ": ")
    return (words + ", ".join(_parameter(key, value, records) for key, value in parameters.items())).removesuffix(": ")


def _parameter(key: str, value: Any, records: Sequence[int] | None = None) -> str:
    if key == "edges" and isinstance(value, list | tuple):
        edges = [f"{edge:g}" if isinstance(edge, int | float) else str(edge) for edge in value]
        return f"{count(len(edges), 'edge')} at {listed(edges, _MOST_SHOWN)}"
    if key == "groups" and isinstance(value, dict):
        return f"{count(len(value), 'group')}: {listed(_group_names(value, records), _MOST_SHOWN)}"
    if isinstance(value, list | dict):
        return f"{key} of {count(len(value), 'entry', 'entries')}"
    return f"{key} {value}"


def _group_names(groups: Mapping[str, Sequence[Any]], records: Sequence[int] | None) -> list[str]:
    """Each group by its name and size; a name that is made of its values is not shown, for those are the table's."""
    texts = []
    sizes_of = [None] * len(groups) if records is None or len(records) != len(groups) else list(records)
    for number, (name, values) in enumerate(groups.items(), start=1):
        made_of_values = any(str(value).casefold() in name.casefold() for value in values)
        here = sizes_of[number - 1]
        sizes = [count(len(values), "value")] if values else []  # certificates of releases name labels, and no value
        sizes += [] if here is None else [count(here, "record")]
        named = f"group {number}" if made_of_values else name
        texts.append(f"{named} ({', '.join(sizes)})" if sizes else named)
    return texts


def _suppressed(suppressed: Mapping[str, Any]) -> str:
    if not suppressed["records"]:
        return "No record was suppressed."
    many = count(suppressed["records"], "record")
    end = "left out" if suppressed["dropped"] else "published with * in every quasi-identifier"
    return f"{many} would have stood out and {'was' if suppressed['records'] == 1 else 'were'} {end}."


def _ledger(content: Mapping[str, Any]) -> list[Entry]:
    release, roles, utility = content["release"], content["roles"], content.get("utility")
    entries = [
        entry("file", release["name"], f"sha256 {release['sha256']}"),
        entry("rows", "in random order" if release["shuffled"] else "in the order of the source"),
        entry("made from", f"{content['source']['name']}, {content['source']['rows']:,} rows", f"on {content['date']}"),
        entry("policy", f"id {content['policy_id']}"),
        _made_by(content),
        entry(
            "roles",
            *tuple(
                f"{role.replace('_', '-')}: {', '.join(named) if isinstance(named, list) else named}"
                for role, named in roles.items()
                if role not in _ABOUT_ROLES and named
            ),
        ),
    ]
    what = ("person", "people") if "unit" in content else ("record", "records")
    if roles["unlisted_are_insensitive"]:
        unlisted = (
            f"{', '.join(roles['unlisted_are_insensitive'])}: nobody gave them a role, so they count as insensitive"
        )
        entries.append(entry("without a role", unlisted))
    entries.append(entry("judged together with", *_together(content.get("ledger"), what)))
    for key, term, words in _DECIDED_TOGETHER:
        if roles.get(key):
            entries.append(entry(term, f"{', '.join(roles[key])}: {words}"))
    if utility is not None:
        lines = tuple(
            _told(what, utility[part], utility)
            for what, part in (("the quasi-identifiers one by one", "columns"), ("as a tuple", "tuple"))
        )
        how = f"{utility['measure']}, compared on {utility['compared_on_rows']:,} rows"
        entries.append(entry("utility", *lines, how))
    entries.append(entry("software", f"Aegis {content['software']['aegis']}, engine {content['software']['engine']}"))
    return entries


def _made_by(content: Mapping[str, Any]) -> Entry:
    """What made the release: masks of a configuration, or the boxes of a local recoding."""
    if "recoding" not in content:
        configuration = content["configuration"]
        return entry("configuration", f"{configuration['name']}, id {configuration['id']}")
    recoding = content["recoding"]
    cut_for = f", cut for {', '.join(recoding['labels'])}" if recoding["labels"] else ", cut where they are widest"
    return entry(
        "local recoding",
        f"{count(recoding['boxes'], 'box', 'boxes')}{cut_for}",
        f"sha256 of the boxes {recoding['sha256']}",
    )


def _together(ledger: Mapping[str, Any] | None, what: tuple[str, str]) -> tuple[str, ...]:
    """What the release was judged beside: what it promises holds for all of that together."""
    if ledger is None:
        return ("nothing: it was judged alone, and promises nothing beside other releases of the same table",)
    beside = count(len(ledger["together_with"]), "earlier release")
    lines = [f"{beside} of the same table (release {ledger['number']} of its ledger, for {ledger['recipient']})"]
    if ledger["recipients"] == "separate":
        lines.append("it is taken for granted that recipients do not put their releases together")
    if ledger["smallest_class_together"] is not None:
        smallest = count(ledger["smallest_class_together"], *what)
        lines.append(f"the smallest group told apart in all of them has {smallest}")
    waiting = ledger["held"] + ledger["withdrawn"]
    if waiting:
        lines.append(
            f"{count(waiting, 'row')} of the source {'waits' if waiting == 1 else 'wait'} for others like them"
        )
    order = ledger.get("order_seen_by")
    if order is not None:
        lines.append(
            f"its rows stand in the order of the source by {', '.join(order['columns'])}, by which "
            f"{order['rows_told_apart']:,} of {order['rows']:,} rows are told apart"
        )
    if ledger["despite"] is not None:
        lines.append(f"released although it breaks its policy together with these: {ledger['despite']}")
    return tuple(lines)
