"""The race: who is best, how sure, by which goal; candidates of every kind by one protocol."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from aegis.data.engine import open_dataset
from aegis.errors import ConfigurationError, InputError, LabelError, MeasureError
from aegis.learners.candidate import Candidate, MaskedCandidate, MaskTables, Part, unmasked
from aegis.learners.features import CodedColumn, Split, SplitColumn
from aegis.learners.goal import GOALS
from aegis.learners.learner import LEARNERS, expect
from aegis.learners.race import race
from aegis.learners.race_result import RaceResult, kept_words
from aegis.learners.sample import draw_sample
from aegis.learners.schedule import Schedule, parts
from aegis.learners.target import Target
from aegis.masking.configuration import Configuration

QUICK = Schedule(first_cells=800 * 5 * 3, least_rows=300, cells=120_000, small_rows=0)


def clinic(rows: int = 3_000, *, seed: int = 0) -> pa.Table:
    """Age and dose tell the outcome, the town nothing."""
    rng = np.random.default_rng(seed)
    age, dose = rng.integers(20, 80, rows), rng.integers(0, 50, rows)
    risk = (age - 50) / 8 + (dose - 25) / 10 + rng.logistic(0, 1, rows)
    return pa.table(
        {
            "age": age,
            "dose": dose,
            "town": rng.choice(["north", "south", "west"], rows),
            "outcome": np.where(risk > 0, "ill", "well"),
            "bill": 40 * age + 100 * dose + rng.normal(0, 500, rows),
            "rare": np.where(risk > 5.5, "yes", "no"),
            "ward": np.array(["a", "b", "c", "d", "e"])[np.clip((risk // 2 + 2).astype(int), 0, 4)],
        }
    )


MASKS: dict[str, dict[str, Any]] = {
    "blind": {"age": "suppress", "dose": "suppress"},
    "fine": {"age": {"bucketize": {"width": 5}}, "town": "suppress"},
    "no-dose": {"dose": "suppress"},
    "coarse": {"age": {"bucketize": {"width": 40}}, "dose": {"bucketize": {"width": 25}}},
    "noisy": {"age": {"add_laplace_noise": {"scale": 30}}},
}


def tables_of(label: str, data: pa.Table | None = None) -> MaskTables:
    known = clinic() if data is None else data
    kept = [name for name in ("age", "dose", "town") if name in known.column_names]
    return MaskTables(draw_sample(open_dataset(known.select([*kept, label])), label=label))


def configurations(tables: MaskTables) -> list[Candidate]:
    return [MaskedCandidate(Configuration.of(name, masks), tables) for name, masks in MASKS.items()]


def raced(label: str = "outcome", **options: Any) -> RaceResult:
    tables = tables_of(label)
    return race(configurations(tables), tables, schedule=options.pop("schedule", QUICK), **options)


@pytest.mark.parametrize(
    ("label", "goal"),
    [
        ("outcome", "accuracy"),
        ("outcome", "auc"),
        ("outcome", "log-loss"),
        ("rare", "balanced-accuracy"),
        ("ward", "accuracy"),
        ("bill", "r2"),
        ("bill", "mae"),
    ],
)
def test_the_best_is_found_by_every_goal_and_the_blind_one_only_guesses(label: str, goal: str) -> None:
    result = raced(label, goal=goal)
    assert result.best.name == "fine"
    assert result.ranking[-1].name == "blind"
    assert [candidate.rank for candidate in result.ranking] == [1, 2, 3, 4, 5]
    last, better = result.ranking[-1], GOALS[result.goal].better
    assert last.kept is not None
    assert last.kept < 0.15
    assert better(result.unmasked.performance, result.guessing) > 0
    assert result.best.kept is not None
    assert result.best.kept > 0.85
    for candidate in result.ranking:
        assert candidate.interval[0] <= candidate.performance <= candidate.interval[1]


def test_the_goal_is_chosen_by_the_label_and_said() -> None:
    assert (raced("outcome").goal, raced("bill").goal, raced("rare").goal) == ("accuracy", "r2", "balanced-accuracy")
    assert "accuracy cannot tell" in raced("rare").goal_reason
    with pytest.raises(LabelError, match="needs a label of numbers"):
        raced("outcome", goal="r2")
    with pytest.raises(LabelError, match="distinct values and at most 50 classes"):
        raced("bill", goal="accuracy")
    with pytest.raises(MeasureError, match="no goal called"):
        raced("outcome", goal="f1")


def test_equal_seeds_give_equal_races() -> None:
    assert raced().to_json() == raced().to_json()
    assert raced().to_json() != raced(seed=1).to_json()


def close_race(**options: Any) -> RaceResult:
    """With a candidate that can hardly be told from the best."""
    tables = tables_of("outcome")
    close = Configuration.of("finer", {"age": {"bucketize": {"width": 4}}, "town": "suppress"})
    return race([*configurations(tables), MaskedCandidate(close, tables)], tables, schedule=QUICK, **options)


def test_those_that_cannot_be_best_are_out_early_and_stay_comparable() -> None:
    result = close_race()
    first = result.stages[0]
    assert "blind" in first.out
    assert len(result.stages) > 1
    assert result.stages[1].rows > first.rows
    by_name = {candidate.name: candidate for candidate in result.ranking}
    assert (by_name["blind"].stage, by_name["fine"].stage, by_name["finer"].stage) == (
        1,
        *2 * [result.stages[-2].number],
    )
    assert result.stages[-1].for_order  # those that were out are looked at again, to put them in order
    assert not by_name["blind"].in_best_group
    assert {"fine", "finer"} <= {candidate.name for candidate in result.best_group}
    assert result.to_json()["stages"][0]["out"] == list(first.out)


def test_a_sentence_that_people_understand() -> None:
    result = raced()
    assert result.sentence(result.best).startswith("accuracy 8")
    assert f"(unmasked {100 * result.unmasked.performance:.1f} %, guessing " in result.sentence(result.best)
    assert kept_words(result.best) == "no loss found"
    assert kept_words(result.ranking[-1]).endswith("% kept")
    assert all(candidate.kept is None or candidate.kept <= 1.0 for candidate in result.ranking)


def test_where_the_table_says_nothing_there_is_nothing_to_keep() -> None:
    rng = np.random.default_rng(8)
    data = pa.table(
        {"age": rng.integers(0, 9, 400), "dose": rng.integers(0, 9, 400), "label": rng.choice(["a", "b"], 400)}
    )
    tables = MaskTables(draw_sample(open_dataset(data), label="label"))
    candidate = MaskedCandidate(Configuration.of("no-dose", {"dose": "suppress"}), tables)
    result = race([candidate], tables, goal="log-loss", schedule=QUICK)
    assert result.best.kept is None
    assert not result.best.no_loss_found
    assert not result.label_told
    assert result.to_json()["label_told"] is False
    assert kept_words(result.best).startswith("nothing to keep")
    assert raced().label_told


def test_an_interruption_gives_the_ranking_so_far_and_before_that_nothing() -> None:
    def stop_in(stage: str, after: int) -> Any:
        def progress(done: int, total: int | None, what: str) -> None:
            if what.startswith(stage) and done >= after:
                raise KeyboardInterrupt

        return progress

    result = close_race(progress=stop_in("stage 2", 0))
    assert result.interrupted
    assert len(result.stages) == 1
    assert len(result.ranking) == len(MASKS) + 1
    half = close_race(progress=stop_in("stage 1", len(MASKS) + 3))
    assert half.interrupted
    assert half.stages[0].candidates == len(MASKS) + 1
    with pytest.raises(KeyboardInterrupt):
        close_race(progress=stop_in("stage 1", 2))


def test_progress_counts_up_to_the_total() -> None:
    seen: list[tuple[int, int | None]] = []
    raced(progress=lambda done, total, what: seen.append((done, total)))
    assert seen[0][0] == 0
    assert all(total is not None and done <= total for done, total in seen)
    assert seen[-1][0] == seen[-1][1]


def test_three_attributes_together_are_seen_by_trees_and_not_by_the_line() -> None:
    rng = np.random.default_rng(4)
    rows = 4_000
    bits = rng.integers(0, 2, (rows, 6))
    data = pa.table({**{f"x{i}": bits[:, i] for i in range(6)}, "label": (bits[:, :3].sum(axis=1) % 2).astype(str)})
    tables = MaskTables(draw_sample(open_dataset(data), label="label"))
    target = tables.sample.target()
    part = parts(target, rows, folds=2, repeats=1, seed=0)[0]
    split = unmasked(tables).split(part, draw=0)
    right = {
        name: float((expect(learner, split, seed=0).argmax(axis=1) == part.testing_target.labels).mean())
        for name, learner in LEARNERS.items()
    }
    assert right["line"] < 0.56
    assert right["forest"] > 0.9
    assert right["boosting"] > 0.9
    without = [Configuration.of(f"without-{i}", {f"x{i}": "suppress"}) for i in range(6)]
    result = race([MaskedCandidate(each, tables) for each in without], tables)
    assert {candidate.name for candidate in result.ranking[:3]} == {"without-3", "without-4", "without-5"}


@dataclass(frozen=True)
class Flipped:
    """A candidate whose one column is the label, wrong in a known share of the rows: the truth is known."""

    name: str
    target: Target
    wrong: float
    seed: int
    kind: str = "made-up"
    draws: int = 1

    def split(self, part: Part, *, draw: int) -> Split:
        rng = np.random.default_rng(self.seed)
        codes = (self.target.labels ^ (rng.random(len(self.target)) < self.wrong)).astype(np.int32)
        column = SplitColumn(CodedColumn(size=2), training=codes[part.training], testing=codes[part.testing])
        return Split(columns=(column,), target=part.training_target, test_rows=len(part.testing))


def test_the_group_holds_the_best_as_often_as_it_says_and_is_small() -> None:
    held, sizes = 0, []
    runs = 30
    tables = tables_of("outcome")
    target = tables.sample.target()
    for run in range(runs):
        rng = np.random.default_rng(run)
        wrong = np.sort(rng.uniform(0.2, 0.4, 8))
        candidates: list[Candidate] = [Flipped(f"c{i}", target, float(w), 100 * run + i) for i, w in enumerate(wrong)]
        group = {each.name for each in race(candidates, tables, schedule=QUICK, learners=["line"], seed=run).best_group}
        held += "c0" in group
        sizes.append(len(group))
    assert held >= 0.95 * runs - 1
    assert np.mean(sizes) < 5


def test_an_order_that_is_mostly_noise_gets_more_rows_before_anybody_is_out() -> None:
    tables = tables_of("outcome")
    target = tables.sample.target()
    alike: list[Candidate] = [Flipped(f"c{i}", target, 0.3 + 0.001 * i, i) for i in range(8)]
    apart: list[Candidate] = [Flipped(f"c{i}", target, 0.1 + 0.05 * i, i) for i in range(8)]
    again, at_once = (race(each, tables, schedule=QUICK, learners=["line"]) for each in (alike, apart))
    assert again.stages[0].out == ()
    assert again.stages[1].candidates == 8
    assert len(at_once.stages[0].out) >= 4


def test_rows_that_are_all_in_are_parted_anew_on_top_of_what_was_measured() -> None:
    tables = tables_of("outcome")
    target = tables.sample.target()
    alike: list[Candidate] = [Flipped(f"c{i}", target, 0.3, i) for i in range(3)]
    rows = len(target)
    plan = Schedule(
        first_cells=3 * 5 * rows,
        least_rows=300,
        cells=100 * 5 * rows,
        small_rows=0,
        medium_rows=0,
        most_repeats=6,
    )
    result = race(alike, tables, schedule=plan, learners=["line"])
    assert {stage.rows for stage in result.stages} == {rows}
    repeats = [stage.repeats for stage in result.stages]
    assert repeats == sorted(set(repeats))
    assert repeats[-1] == plan.most_repeats
    assert result.unmasked.performance > result.guessing


def test_those_that_were_out_first_are_put_in_order_by_more_rows_and_stay_out() -> None:
    tables = tables_of("outcome")
    target = tables.sample.target()
    flips = [0.05, 0.3, 0.302, 0.304, 0.306, 0.308, 0.31, 0.312]
    candidates: list[Candidate] = [Flipped(f"c{i}", target, flip, i, kind="masks") for i, flip in enumerate(flips)]
    plan = Schedule(first_cells=8 * 5 * 500, least_rows=400, cells=10**6, reliable=0.0, order_cells=10**6)
    looked, once = (
        race(candidates, tables, schedule=each, learners=["line"]) for each in (plan, replace(plan, order_cells=0))
    )
    assert {each.rows for each in once.ranking} == {once.stages[0].rows}
    assert {each.rows for each in looked.ranking} == {len(target)}
    assert [place.name for place in looked.best_group] == [place.name for place in once.best_group] == ["c0"]
    assert looked.unmasked.half_width < once.unmasked.half_width


def test_who_drops_out_because_nothing_is_left_may_still_be_the_best() -> None:
    tables = tables_of("outcome")
    target = tables.sample.target()
    alike: list[Candidate] = [Flipped(f"c{i}", target, 0.3, i) for i in range(8)]
    plan = Schedule(first_cells=1, least_rows=1_000, cells=1, last_cells=0, small_rows=0, reliable=0.0)
    result = race(alike, tables, schedule=plan, learners=["line"])
    last = result.stages[-1]
    assert 2 <= last.candidates < 8
    assert len(result.best_group) > last.candidates
    assert result.best.stage == last.number
    assert max(each.performance for each in result.ranking) == result.best.performance


def test_suppressed_rows_show_a_star_or_are_not_learnt_from() -> None:
    tables = tables_of("outcome")
    configuration = Configuration.of("fine", MASKS["fine"])
    starred = np.zeros(tables.sample.rows, dtype=bool)
    starred[::3] = True
    plain = MaskedCandidate(configuration, tables)
    shown = MaskedCandidate(configuration, tables, starred=starred, quasi_identifiers=("age",))
    dropped = MaskedCandidate(configuration, tables, starred=starred, quasi_identifiers=("age",), dropped=True)
    part = parts(tables.sample.target(), 900, folds=2, repeats=1, seed=0)[0]
    whole, star, fewer = (each.split(part, draw=0) for each in (plain, shown, dropped))
    age = list(tables.sample.codes).index("age")
    assert star.columns[age].column.size == whole.columns[age].column.size + 1
    assert (star.columns[age].training == star.columns[age].column.size - 1).sum() == starred[part.training].sum()
    np.testing.assert_array_equal(star.columns[1].training, whole.columns[1].training)
    assert len(fewer.target) == len(part.training) - starred[part.training].sum()
    assert fewer.test_rows == len(part.testing)


def test_noise_is_drawn_again_for_every_draw_and_part_and_alike_by_seed() -> None:
    tables = tables_of("outcome")
    noisy = MaskedCandidate(Configuration.of("noisy", MASKS["noisy"]), tables)
    assert noisy.draws == 2
    first, second = parts(tables.sample.target(), 900, folds=2, repeats=1, seed=0)
    age = list(tables.sample.codes).index("age")
    one, other = (noisy.split(first, draw=draw).columns[age].training for draw in (0, 1))
    assert (one != other).mean() > 0.5
    np.testing.assert_array_equal(one, noisy.split(first, draw=0).columns[age].training)
    np.testing.assert_array_equal(
        noisy.split(first, draw=0).columns[1].training, noisy.split(first, draw=1).columns[1].training
    )
    assert len(noisy.split(second, draw=0).target) == len(second.training)


@dataclass(frozen=True)
class Elsewhere:
    """A finished table that is split inside itself: other rows, other labels."""

    name: str
    wrong: float
    kind: str = "table"
    draws: int = 1

    def split(self, part: Part, *, draw: int) -> Split:
        rng = np.random.default_rng(part.number)
        labels = rng.integers(0, 2, 700)
        codes = (labels ^ (rng.random(700) < self.wrong)).astype(np.int32)
        column = SplitColumn(CodedColumn(size=2), training=codes[:400], testing=codes[400:])
        own, wanted = Target.of_classes(labels[:400], 2), Target.of_classes(labels[400:], 2)
        return Split(columns=(column,), target=own, test_rows=300, own_target=wanted)


def test_a_table_of_other_rows_is_compared_without_pairing() -> None:
    tables = tables_of("outcome")
    candidates = [*configurations(tables), Elsewhere("good", 0.2), Elsewhere("bad", 0.45)]
    result = race(candidates, tables, schedule=QUICK)
    by_name = {candidate.name: candidate for candidate in result.ranking}
    assert by_name["good"].rank < by_name["bad"].rank
    assert result.ranking[-1].name in ("bad", "blind")
    assert {candidate.kind for candidate in result.ranking} == {"masks", "table"}
    assert by_name["good"].protocol == "split inside itself"
    assert by_name["fine"].protocol == "test rows are masked as the training rows are"


def test_a_table_that_scores_above_the_unmasked_one_is_no_winner() -> None:
    tables = tables_of("outcome")
    result = race([*configurations(tables), Elsewhere("too-good", 0.02)], tables, schedule=QUICK)
    assert result.best.name == "fine"
    last = result.ranking[-1]
    assert last.name == "too-good"
    assert last.performance > result.unmasked.interval[1]
    assert last.doubt is not None
    assert last.doubt.startswith("scores above the unmasked table, which no masking of it can")
    assert (last.in_best_group, last.no_loss_found, last.kept) == (False, False, None)
    assert kept_words(last) == "not compared"
    assert RaceResult.from_json(result.to_json()) == result
    alone = race([Elsewhere("too-good", 0.02)], tables, schedule=QUICK)
    assert alone.best_group == ()


def test_a_table_in_doubt_from_the_start_comes_last_and_takes_no_chance_from_others() -> None:
    tables = tables_of("outcome")
    doubts = {"fine": "its labels are others"}
    result = race(configurations(tables), tables, schedule=QUICK, doubts=doubts)
    assert result.ranking[-1].name == "fine"
    assert result.ranking[-1].doubt == "its labels are others"
    assert "fine" not in {candidate.name for candidate in result.best_group}
    assert result.best.in_best_group
    assert "fine" in result.stages[0].out or len(result.stages) == 1


def test_more_rows_than_boosted_trees_take_are_no_trouble() -> None:
    rng = np.random.default_rng(6)
    rows = 40_000
    labels = rng.integers(0, 2, rows)
    codes = (labels ^ (rng.random(rows) < 0.1)).astype(np.int32)
    column = SplitColumn(CodedColumn(size=2), training=codes, testing=codes[:100])
    split = Split(columns=(column,), target=Target.of_classes(labels, 2), test_rows=100)
    expected = expect(LEARNERS["boosting"], split, seed=0)
    np.testing.assert_array_equal(expected.argmax(axis=1), codes[:100])


@pytest.mark.parametrize("goal", ["accuracy", "balanced-accuracy", "auc", "log-loss"])
def test_thirty_rows_are_enough_for_a_race_with_wide_intervals(goal: str) -> None:
    tables = tables_of("ward", clinic(30))
    result = race(configurations(tables), tables, goal=goal)
    assert result.notes[0] == "only 30 rows have a label: intervals are wide"
    assert all("too few to try other goals" in note for note in result.notes[1:])
    assert len(result.ranking) == len(MASKS)
    assert all(np.isfinite(candidate.interval).all() for candidate in result.ranking)
    assert result.best.interval[1] - result.best.interval[0] > 0.05


def test_what_cannot_race_is_refused() -> None:
    tables = tables_of("outcome")
    with pytest.raises(InputError, match="nothing to race"):
        race([], tables)
    twice = configurations(tables)
    with pytest.raises(InputError, match=f"'{twice[0].name}' is that of another one"):
        race([*twice, twice[0]], tables)
    with pytest.raises(ConfigurationError, match="masks the label"):
        MaskedCandidate(Configuration.of("bad", {"outcome": "suppress"}), tables)
    with pytest.raises(InputError, match="probability"):
        race(twice, tables, probability=1.0)


def test_no_value_is_shown() -> None:
    tables = tables_of("outcome")
    candidate = configurations(tables)[1]
    part = parts(tables.sample.target(), 600, folds=2, repeats=1, seed=0)[0]
    shown = [tables, candidate, part, candidate.split(part, draw=0), candidate.split(part, draw=0).columns[2]]
    assert not any(word in repr(each) for each in shown for word in ("north", "ill", "well"))


def test_matrix_products_of_a_race_run_in_one_thread() -> None:
    """Threads that wait for the next product cost more processor time than the products themselves."""
    seen: set[int] = set()

    def say(done: int, total: int | None, name: str) -> None:
        if total is not None:  # a stage, not the compiling before the first
            seen.update(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")

    with threadpool_limits(limits=2, user_api="blas"):
        before = [library["num_threads"] for library in threadpool_info()]
        raced(progress=say)
        assert [library["num_threads"] for library in threadpool_info()] == before
    assert seen == {1}
