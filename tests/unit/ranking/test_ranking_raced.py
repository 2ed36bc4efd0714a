"""What single attributes lose and what models lose, side by side in one row: they must agree."""

from __future__ import annotations

from dataclasses import replace

from aegis.learners.race_result import Raced, RaceResult, RaceStage, Reached
from aegis.ranking.raced import rank_raced
from aegis.ranking.ranking import RankedConfiguration, Ranking

COUNTED = Ranking(
    label="ill",
    measure="leave-one-out-information",
    unit="bits",
    higher_is_better=True,
    reference="exact",
    rows=900,
    ranking=(
        RankedConfiguration(
            rank=1,
            configuration="a",
            id="1",
            interval=(0.0, 0.0),
            half_width=0.0,
            like_best=True,
            reasons=("keeps 60.0 % of what the attributes say about ill", "loses on age (suppressed)"),
        ),
        RankedConfiguration(
            rank=2,
            configuration="b",
            id="2",
            interval=(0.0, 0.0),
            half_width=0.0,
            like_best=False,
            reasons=("ill itself is masked (grouped); behind the best on age (suppressed; 79 %), zip (starred; 9 %)",),
        ),
    ),
)


def raced(*, no_loss: bool, told: bool = True) -> RaceResult:
    places = tuple(
        Raced(
            rank=rank,
            name=name,
            kind="masks",
            performance=0.8,
            interval=(0.7, 0.9),
            half_width=0.1,
            kept=0.9 if told else None,
            no_loss_found=no_loss,
            in_best_group=True,
            stage=1,
            rows=900,
        )
        for rank, name in ((1, "a"), (2, "b"))
    )
    return RaceResult(
        goal="accuracy",
        goal_reason="as asked",
        probability=0.95,
        unmasked=Reached(performance=0.8, interval=(0.7, 0.9), half_width=0.1),
        guessing=0.6,
        ranking=places,
        stages=(RaceStage(number=1, rows=900, folds=2, repeats=1, candidates=2, out=()),),
        learners=("line",),
        label="ill",
        sample_rows=900,
        table_rows=900,
        rows_without_label=0,
        seed=0,
        notes=(),
        interrupted=False,
        label_told=told,
    )


def reasons(result: RaceResult) -> list[tuple[str, ...]]:
    return [place.reasons for place in rank_raced(COUNTED, result).ranking]


def test_a_loss_that_models_find_is_explained_by_attributes() -> None:
    assert reasons(raced(no_loss=False)) == [
        ("loses on age (suppressed)",),
        ("ill itself is masked (grouped); behind the best on age (suppressed; 79 %), zip (starred; 9 %)",),
    ]


def test_where_models_find_no_loss_no_attribute_is_said_to_lose() -> None:
    assert reasons(raced(no_loss=True)) == [
        ("models do not miss what is lost, taken alone, on age (suppressed)",),
        (
            "ill itself is masked (grouped); models do not miss what is lost against the best, taken alone, on age "
            "(suppressed; 79 %), zip (starred; 9 %)",
        ),
    ]


def test_where_nothing_tells_the_label_attributes_lose_nothing_of_it() -> None:
    assert reasons(raced(no_loss=False, told=False)) == [(), ()]


def test_a_doubt_is_the_last_of_the_reasons() -> None:
    result = raced(no_loss=False)
    table = replace(result.ranking[1], name="t", kind="table", doubt="its labels are others", in_best_group=False)
    result = replace(result, ranking=(result.ranking[0], table))
    place = rank_raced(COUNTED, result, reasons={"t": ("a finished table",)}).ranking[1]
    assert place.reasons == ("a finished table", "its labels are others")
    assert place.to_json()["doubt"] == "its labels are others"


def test_what_no_attribute_loses_by_itself_and_models_lose_is_lost_together() -> None:
    """An exclusive or, say: each of its columns tells nothing, and without one of them nothing is left."""
    nothing = (
        "keeps 100.0 % of what the attributes say about ill",
        "ill itself is masked (g); no attribute loses anything",
    )
    counted = replace(COUNTED, ranking=tuple(replace(place, reasons=nothing) for place in COUNTED.ranking))

    def said(result: RaceResult) -> str:
        (reason,) = rank_raced(counted, result).ranking[0].reasons
        return reason

    together = "ill itself is masked (g); no attribute loses anything by itself; what is lost they tell together"
    assert said(raced(no_loss=False)) == together
    assert said(raced(no_loss=True)) == said(raced(no_loss=False, told=False)) == nothing[1]
