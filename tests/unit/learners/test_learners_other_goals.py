"""Where a goal cannot tell, the race says which one would."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from aegis.data.engine import open_dataset
from aegis.learners.candidate import MaskedCandidate, MaskTables
from aegis.learners.race import race
from aegis.learners.race_result import RaceResult
from aegis.learners.sample import draw_sample
from aegis.learners.schedule import Schedule
from aegis.masking.configuration import Configuration

QUICK = Schedule(first_cells=1_000, cells=1_000)


def raced(share_low: float, share_high: float, goal: str) -> RaceResult:
    """A race on a table of whose records these shares have the label ``yes``, by whether the number is low or high."""
    rows = 800
    number = np.arange(rows) % 8
    rng = np.random.default_rng(3)
    yes = rng.random(rows) < np.where(number < 4, share_low, share_high)
    data = pa.table({"number": number, "noise": rng.integers(0, 5, rows), "label": np.where(yes, "yes", "no")})
    tables = MaskTables(draw_sample(open_dataset(data), label="label"))
    candidate = MaskedCandidate(Configuration.of("no-noise", {"noise": "suppress"}), tables)
    return race([candidate], tables, goal=goal, schedule=QUICK)


def test_accuracy_that_cannot_tell_names_the_goals_that_do() -> None:
    (note,) = raced(0.05, 0.35, "accuracy").notes  # "no" is the likelier answer on both sides
    assert note.startswith("accuracy does not tell what is kept of the label 'label'")
    assert "--goal auc" in note
    assert "nothing here tells" not in note


def test_a_goal_that_tells_needs_no_note() -> None:
    assert raced(0.05, 0.35, "auc").notes == ()


def test_a_label_that_nothing_tells_is_said_to_be_one_by_every_goal() -> None:
    (note,) = raced(0.5, 0.5, "accuracy").notes
    assert note.startswith("nothing here tells the label 'label'")
    assert "any other goal" in note
