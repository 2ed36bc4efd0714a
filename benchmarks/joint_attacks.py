"""Do releases that are let through together withstand the attacks, and do those that are refused really break?

For each table configurations are drawn at random; those whose release satisfies the policy alone (k = 5, two different
sensitive values in a class, at most 5 % starred) are kept. Random pairs and triples of these are judged together by the
gate of ``aegis check``; beside it a plain check of the common refinement, record by record, says how often the two
disagree. Then the attacks
are run on the released values themselves: the attacker links rows by the columns that the releases leave as they are,
knows the masks and everybody's quasi-identifiers, and claims a row where one alone is left.

Releases are made in memory, masked value by value as ``aegis release`` does, each in an order of its own. Among them
are tables that local recoding cut into boxes (``aegis anonymize --method boxes``) under the same policy, for labels and
subsets of the quasi-identifiers of their own: what stands there has no mask, so the gate judges sets that hold one row
by row, as ``aegis release --rows-of`` does, and the attacker reads their intervals and sets as they are. The two
releases of the demo are written and attacked as files.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import aegis
from _result import dataset, write
from aegis.attacks.attack import ATTACKS, AttackResult, run_attacks
from aegis.attacks.candidates import People, starred_rows, with_hidden
from aegis.attacks.reading import written_by
from aegis.attacks.scene import HeldRelease, Scene
from aegis.candidates.boxes.estimator import LocalRecoding
from aegis.candidates.clusters.methods import ANONYMIZERS
from aegis.counts.answer import ask
from aegis.counts.class_table import ClassTable
from aegis.counts.collect_classes import count_classes
from aegis.counts.grouping import group_rows
from aegis.counts.joint import Histogram
from aegis.data.dataset import Dataset
from aegis.data.domain import Domain
from aegis.data.engine import open_dataset
from aegis.data.kind import Kind
from aegis.data.schema import Roles
from aegis.library import clinic
from aegis.library.releasing.attack_scene import held_release, people_of
from aegis.library.releasing.recode import recoded_rows
from aegis.library.tables.judging import written_texts
from aegis.masking.configuration import Configuration
from aegis.masking.generator import generate
from aegis.masking.masks.identity import Identity
from aegis.privacy.judgement import judge_all
from aegis.privacy.policy import Policy
from aegis.ranking.joint import joint_classes

K, DIFFERENT, SUPPRESSED = 5, 2, 0.05
ATTACKED = ("intersection", "prosecutor")


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table to attack: its quasi-identifiers, its sensitive column, and how many of its rows are taken."""

    name: str
    quasi: tuple[str, ...]
    sensitive: str
    rows: int
    file: str | None = None
    left_out: tuple[str, ...] = ()


TABLES = (
    Table(name="clinic", quasi=("age", "weight", "zip", "gender"), sensitive="diagnosis", rows=2000,
          left_out=("patient",)),
    Table(name="adult", quasi=("age", "education", "race", "sex", "native-country"), sensitive="occupation", rows=2000,
          file="adult/adult_complete_45222.csv"),
    Table(name="hotel", quasi=("lead_time", "no_of_adults", "no_of_children", "arrival_month"),
          sensitive="market_segment_type", rows=2000, file="hotel/hotel_reservations.csv", left_out=("Booking_ID",)),
    Table(name="german", quasi=("age", "personal_status", "job", "housing"), sensitive="credit_history", rows=1000,
          file="german/german_credit_labelled.csv"),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False)
class Made:
    """A release in memory, rows shuffled, with the class of every person (starred ones share one)."""

    class_of: np.ndarray[Any, Any]
    configuration: Configuration | None
    """None for a table in boxes: no mask says what stands there."""
    release: HeldRelease
    hidden: dict[str, np.ndarray[Any, Any]]
    """Who is behind its starred rows, as the attacker works it out; a column for everybody."""


def rows_of(table: Table, folder: Path) -> Dataset:
    """The true table, some of its rows."""
    path = clinic.write_clinic(folder) if table.file is None else dataset(table.file)
    read = open_dataset(path)
    chosen = read.table.drop(*table.left_out) if table.left_out else read.table
    return open_dataset(chosen.to_pyarrow().slice(0, table.rows))


def made_from(
    configuration: Configuration, table: Table, people: People, *, number: int, rng: np.random.Generator
) -> Made | None:
    """The release that a configuration makes, or None where it fails the policy by itself."""
    written: dict[str, list[str | None]] = {}
    codes, sizes = [], []
    for name, true in people.codes.items():
        domain = people.domains[name]
        texts = written_by(configuration.masks.get(name, Identity()), domain, np.bincount(true, minlength=domain.size))
        if texts is None:
            return None
        written[name] = [texts[code] for code in true.tolist()]
        if name in table.quasi:
            place: dict[str | None, int] = {}
            places = np.array([place.setdefault(text, len(place)) for text in texts])
            codes.append(places[true])
            sizes.append(len(place))
    class_of = group_rows(np.stack(codes, axis=1), sizes)[1]
    good = good_classes(class_of, people.codes[table.sensitive])
    starred = ~good[class_of]
    if starred.mean() > SUPPRESSED:
        return None
    if starred.any():
        class_of = np.where(starred, 0, class_of + 1)
        if not good_classes(class_of, people.codes[table.sensitive])[0]:
            return None
        for name in table.quasi:
            written[name] = ["*" if star else text for star, text in zip(starred, written[name], strict=True)]
    return in_hands(written, class_of, configuration, table, people, number=number, rng=rng)


def in_hands(
    written: dict[str, list[str | None]],
    class_of: np.ndarray[Any, Any],
    configuration: Configuration | None,
    table: Table,
    people: People,
    *,
    number: int,
    rng: np.random.Generator,
) -> Made:
    """What is written, shuffled, as an attacker holds it."""
    masks = {} if configuration is None else dict(configuration.masks)
    order = pa.array(rng.permutation(people.count))
    columns = pa.table({name: pa.array(texts).take(order) for name, texts in written.items()})
    release = held_release(f"release-{number}", columns, people, masks=masks)
    view, knowing = with_hidden(
        str(number),
        release.view,
        people,
        starred=starred_rows(release.texts, table.quasi),
        known=table.quasi,
        masks=release.masks,
    )
    hidden = {name: knowing.codes[name] for name in view.derived}
    return Made(class_of=class_of, configuration=configuration, release=replace(release, view=view), hidden=hidden)


def boxed(
    table: Table, data: Dataset, classes: ClassTable, people: People, *, number: int, rng: np.random.Generator
) -> Made | None:
    """A table that local recoding cut into boxes of at least K records, or many more, for a label or none."""
    smallest = int(rng.choice([K, 2 * K, 4 * K, 10 * K, 20 * K]))
    policy = asked_policy(table, k=smallest)
    label = [(), (table.sensitive,)][int(rng.integers(2))]
    recoding = ANONYMIZERS["boxes"].anonymizer(
        k=None, seed=number, policy=policy, hierarchies=None, by_branch=False, label_weight=None
    )
    assert isinstance(recoding, LocalRecoding), "a method that recodes is fitted to counts"
    rows = recoded_rows(ask(data.table), recoding.fit_counts(classes, labels=label), classes)
    written: dict[str, list[str | None]] = {}
    for name in people.codes:
        labels, codes = written_texts(rows.select([name]))[name]
        written[name] = [labels[code] for code in codes.tolist()]
    place: dict[tuple[str | None, ...], int] = {}
    tuples = zip(*(written[name] for name in table.quasi), strict=True)
    class_of = np.array([place.setdefault(shown, len(place)) for shown in tuples])
    if not good_classes(class_of, people.codes[table.sensitive]).all():
        return None
    return in_hands(written, class_of, None, table, people, number=number, rng=rng)


def asked_policy(table: Table, *, k: int = K) -> Policy:
    return Policy.from_mapping(
        {
            "quasi_identifying": list(table.quasi),
            "sensitive": [table.sensitive],
            "k": k,
            "l": {table.sensitive: DIFFERENT},
            "max_suppression": SUPPRESSED,
        }
    )


def good_classes(class_of: np.ndarray[Any, Any], sensitive: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Which classes have enough records and enough different sensitive values."""
    count = int(class_of.max()) + 1
    values = int(sensitive.max()) + 1
    table = np.bincount(class_of * values + sensitive, minlength=count * values).reshape(count, values)
    return np.asarray((table.sum(axis=1) >= K) & ((table > 0).sum(axis=1) >= DIFFERENT))


@dataclass(frozen=True, kw_only=True, eq=False)
class Sensitive:
    """The sensitive column, row by row."""

    name: str
    values: pa.ChunkedArray


def let_through(several: list[Made], classes: ClassTable, policy: Policy, sensitive: Sensitive) -> bool:
    """What the gate says of several releases together: from the class table, or row by row where one is in boxes."""
    configurations = [made.configuration for made in several if made.configuration is not None]
    if len(configurations) == len(several):
        return judge_all(joint_classes(configurations, classes, policy), policy, suppress=False).satisfied
    beside = {f"release {place}": pa.array(made.class_of) for place, made in enumerate(several)}
    joined = open_dataset(pa.table({**beside, sensitive.name: sensitive.values}))
    shown = count_classes(joined, tuple(beside), contents=(sensitive.name,))
    return judge_all(shown, policy, suppress=False).satisfied


def holds(several: list[Made], sensitive: np.ndarray[Any, Any]) -> bool:
    """Whether every class of the common refinement satisfies the policy, counted record by record."""
    together = np.stack([made.class_of for made in several], axis=1)
    class_of = group_rows(together, (together.max(axis=0) + 1).tolist())[1]
    return bool(good_classes(class_of, sensitive).all())


def attacked(several: list[Made], table: Table, people: People) -> dict[str, AttackResult]:
    """What the attacks find on the released values of all of them."""
    hidden = {name: codes for made in several for name, codes in made.hidden.items()}
    knowing = replace(
        people,
        codes={**people.codes, **hidden},
        domains={**people.domains, **dict.fromkeys(hidden, Domain.of(Kind.BOOLEAN, [False, True]))},
    )
    scene = Scene(
        releases=tuple(made.release for made in several),
        people=knowing,
        roles=Roles(quasi_identifying=table.quasi, sensitive=(table.sensitive,)),
        policy=Policy.from_mapping({"quasi_identifying": list(table.quasi), "k": K}),
    )
    results = run_attacks([ATTACKS[name] for name in ATTACKED], scene)
    return {result.name: result for result in results}


def tried(table: Table, *, sets: int, seed: int, folder: Path) -> dict[str, Any]:
    """Random pairs and triples of a table's configurations: judged, then attacked."""
    people = people_of(rows_of(table, folder))
    rng = np.random.default_rng(seed)
    histograms = {
        name: Histogram(
            domain=people.domains[name],
            counts=np.bincount(people.codes[name], minlength=people.domains[name].size),
        )
        for name in table.quasi
    }
    drawn = [
        configuration
        for strength in ("medium", "heavy")
        for configuration in generate(
            histograms, count=150, strength=strength, rng=rng, fewer_if_need_be=True, masks=MASKS
        )
    ]
    made = []
    for number, configuration in enumerate(drawn):
        release = made_from(configuration, table, people, number=number, rng=rng)
        if release is not None:
            made.append(release)
    policy, data = asked_policy(table), rows_of(table, folder)
    classes = count_classes(data, table.quasi, contents=(table.sensitive,))
    sensitive = Sensitive(name=table.sensitive, values=ask(data.table)[table.sensitive])
    in_boxes = [
        release
        for number in range(BOXED)
        if (release := boxed(table, data, classes, people, number=1000 + number, rng=rng)) is not None
    ]
    answer: dict[str, Any] = {
        "people": people.count,
        "configurations_drawn": len(drawn),
        "configurations_that_pass_alone": len(made),
        "tables_in_boxes": len(in_boxes),
    }
    counts_of_boxes = {True: new_counts(), False: new_counts()}
    counts = {True: new_counts(), False: new_counts()}
    attempts = judged = disagreed = 0
    while min(counts[True]["sets"], counts[False]["sets"]) < sets and attempts < 600 * sets and len(made) >= 3:
        attempts += 1
        size = 2 + attempts % 2
        several = [made[i] for i in rng.choice(len(made), size, replace=False)]
        with_boxes = attempts % 4 < 2 and bool(in_boxes)
        if with_boxes:
            several[0] = in_boxes[int(rng.integers(len(in_boxes)))]
        allowed = let_through(several, classes, policy, sensitive)
        judged += 1
        disagreed += allowed != holds(several, people.codes[table.sensitive])
        if counts[allowed]["sets"] >= sets:
            continue
        found = attacked(several, table, people)
        add(counts[allowed], found)
        if with_boxes:
            add(counts_of_boxes[allowed], found)
    answer |= {"sets_judged": judged, "sets_on_which_the_gate_and_a_plain_count_disagree": disagreed}
    answer["let_through"], answer["refused"] = counts[True], counts[False]
    answer["with_boxes"] = {"let_through": counts_of_boxes[True], "refused": counts_of_boxes[False]}
    print(table.name, answer)
    return answer


BOXED = 16
MASKS = ("bucketize", "regroup", "round", "star_trailing", "suppress", "top_code")


def new_counts() -> dict[str, int]:
    return {
        "sets": 0,
        "sets_with_somebody_singled_out": 0,
        "sets_with_somebody_below_k": 0,
        "people_singled_out": 0,
        "claims_that_are_right": 0,
        "people_below_k": 0,
        "singled_out_by_one_release_alone": 0,
        "most_people_singled_out_by_one_set": 0,
    }


def add(counts: dict[str, int], results: dict[str, AttackResult]) -> None:
    found = results["intersection"]
    counts["sets"] += 1
    counts["sets_with_somebody_singled_out"] += found.singled_out > 0
    counts["sets_with_somebody_below_k"] += found.details["below_k"] > 0
    counts["people_singled_out"] += found.singled_out
    counts["claims_that_are_right"] += found.right or 0
    counts["people_below_k"] += int(found.details["below_k"])
    counts["singled_out_by_one_release_alone"] += results["prosecutor"].singled_out
    counts["most_people_singled_out_by_one_set"] = max(counts["most_people_singled_out_by_one_set"], found.singled_out)


def summed_up(parts: Sequence[dict[str, int]]) -> dict[str, int]:
    totals = new_counts()
    for part in parts:
        for key, here in part.items():
            totals[key] = max(totals[key], here) if key.startswith("most") else totals[key] + here
    return totals


def demo(folder: Path) -> dict[str, Any]:
    """The demo's two certified releases, made by people who do not know of each other, attacked as files."""
    releases = []
    for name in ("decades", "no-body"):
        table = clinic.write_clinic(folder / name)
        out = folder / f"{name}.parquet"
        masks = table.parent / "configurations" / f"{name}.yaml"
        aegis.release(
            table, config=masks, policy=table.parent / "policy.yaml", insensitive=["rest"], out=out, ledger="none"
        )
        releases.append(out)
    found = aegis.attack(releases, original=table, policy=table.parent / "policy.yaml", attacks=ATTACKED)
    return {
        result.name: {
            "people": result.people,
            "singled_out": result.singled_out,
            "right": result.right,
            "details": dict(result.details),
        }
        for result in found.results
    }


def main() -> None:
    """Run everything and write the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sets", type=int, default=250, help="sets of each table that are let through, and refused")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        payload: dict[str, Any] = {
            "policy": {"k": K, "distinct_l": DIFFERENT, "max_suppression": SUPPRESSED},
            "attacks": list(ATTACKED),
            "demo": demo(home / "demo"),
            "tables": {
                table.name: tried(table, sets=asked.sets, seed=asked.seed, folder=home / table.name) for table in TABLES
            },
        }
    answers = payload["tables"].values()
    for verdict in ("let_through", "refused"):
        payload[verdict] = summed_up([answer[verdict] for answer in answers])
    payload["with_boxes"] = {
        verdict: summed_up([answer["with_boxes"][verdict] for answer in answers])
        for verdict in ("let_through", "refused")
    }
    write("joint_attacks", payload)


if __name__ == "__main__":
    main()
