"""``aegis advise`` on input that it cannot rank: one sentence, exit status 2, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

Aegis = Callable[..., Any]
ROWS = 240


def table(path: Path, columns: dict[str, list[Any]]) -> Path:
    lines = [",".join(columns), *(",".join(str(value) for value in row) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def columns(rows: int = ROWS) -> dict[str, list[Any]]:
    """Ages tell the label; towns do not."""
    return {
        "age": [20 + i * 7 % 40 for i in range(rows)],
        "town": [f"t{i * 5 % 7}" for i in range(rows)],
        "ill": ["yes" if (i * 7 % 40) > 17 else "no" for i in range(rows)],
    }


def with_label(values: list[Any]) -> dict[str, list[Any]]:
    return {**columns(len(values)), "ill": values}


BAD: dict[str, tuple[dict[str, list[Any]], list[str], str]] = {
    "one value": (with_label(["yes"] * ROWS), [], "has the same value in every row"),
    "a text per row": (with_label([f"p{i}" for i in range(ROWS)]), [], "another value in every row"),
    "a number per row": (with_label(list(range(ROWS))), [], "another value in every row"),
    "no label in any row": (with_label([""] * ROWS), [], "missing in every row"),
    "too few rows": (columns(29), [], "at least 30 are needed"),
    "no such label": (columns(), ["--label", "il"], "there is no column 'il'"),
    "no usable column": ({"ill": columns()["ill"]}, [], "no attribute beside the label"),
    "all else names people": (columns(), ["--identifying", "age,town"], "no attribute beside the label"),
    "a number's goal for classes": (columns(), ["--goal", "r2"], "needs a label of numbers"),
    "a number's goal for numbers cut into classes": (
        with_label([i * 37 % 101 for i in range(ROWS)]),
        ["--label-bins", "3", "--goal", "mae"],
        "was cut into classes",
    ),
    "no such kind of candidates": (columns(), ["--candidates", "mask"], "did you mean 'masks'?"),
    "configurations that are not among the kinds": (columns(), ["--candidates", "clusters"], "leave out --generate"),
    "a class's goal for numbers": (
        with_label([i * 37 % 101 for i in range(ROWS)]),
        ["--goal", "auc"],
        "at most 50 classes",
    ),
    "no such goal": (columns(), ["--goal", "acuracy"], "accuracy"),
    "a goal without models": (columns(), ["--fast", "--goal", "auc"], "leave out --goal"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_ranked_is_one_sentence_and_leaves_nothing(aegis: Aegis, tmp_path: Path, case: str) -> None:
    content, options, reason = BAD[case]
    path = table(tmp_path / "people.csv", content)
    kept = tmp_path / "best.yaml"
    label = [] if "--label" in options else ["--label", "ill"]
    answer = aegis("advise", path, *label, "--generate", "3", "--save", kept, *options)
    assert answer.status == 2, answer.out + answer.err
    assert reason in " ".join(answer.err.split())
    assert "Traceback" not in answer.err
    assert not kept.exists()
    assert not answer.out


def test_few_labelled_rows_are_ranked_with_a_note(aegis: Aegis, tmp_path: Path) -> None:
    path = table(tmp_path / "people.csv", columns(60))
    answer = aegis("advise", path, "--label", "ill", "--generate", "2", "--json")
    assert answer.status == 0, answer.err
    assert any("only 60 rows have a label: intervals are wide" in note for note in answer.json["notes"])


def test_what_is_not_ranked_is_shown_with_its_own_reason(aegis: Aegis, tmp_path: Path) -> None:
    """A search, which takes no number for its label, was said not to satisfy the policy."""
    path = table(tmp_path / "people.csv", with_label([i * 37 % 101 for i in range(ROWS)]))
    policy = tmp_path / "policy.yaml"
    policy.write_text("quasi_identifying: [age, town]\nk: 2\n", encoding="utf-8")
    kinds = ["--candidates", "masks,search", "--policy", policy, "--ledger", "none"]
    answer = aegis("advise", path, "--label", "ill", "--generate", "2", "--strength", "heavy", *kinds)
    assert answer.status == 0, answer.err
    told = " ".join(answer.err.split())
    assert "not ranked: search (a search keeps classes predictable, and this label is a number" in told
    assert "satisfy the policy: search" not in answer.out


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"height": [1, 2] * 120, "ill": ["yes", "no"] * 120}, "shares no column"),
        ({**columns(), "height": [1, 2] * 120}, "has 1 column that the table does not have, as 'height'"),
        ({"age": list(range(240))}, "has no column 'ill'"),
        ({**columns(), "ill": ["often", "never"] * 120}, "has values that the table does not have"),
    ],
    ids=["other columns", "a further column", "no label", "another label"],
)
def test_a_finished_table_of_something_else_is_refused(
    aegis: Aegis, tmp_path: Path, content: dict[str, list[Any]], reason: str
) -> None:
    path = table(tmp_path / "people.csv", columns())
    other = table(tmp_path / "other.csv", content)
    answer = aegis("advise", path, "--label", "ill", "--generate", "2", "--tables", other)
    assert answer.status == 2, answer.out + answer.err
    assert reason in " ".join(answer.err.split())


def test_a_finished_table_that_lacks_columns_says_which(aegis: Aegis, tmp_path: Path) -> None:
    path = table(tmp_path / "people.csv", columns())
    fewer = table(tmp_path / "fewer.csv", {name: values for name, values in columns().items() if name != "town"})
    answer = aegis("advise", path, "--label", "ill", "--generate", "2", "--tables", fewer, "--json")
    assert answer.status == 0, answer.err
    found = next(each for each in answer.json["ranking"] if each["configuration"] == "fewer")
    assert any("it lacks town" in reason for reason in found["reasons"])


def test_a_finished_table_that_is_a_folder_is_refused(aegis: Aegis, tmp_path: Path) -> None:
    path = table(tmp_path / "people.csv", columns())
    folder = tmp_path / "finished"
    folder.mkdir()
    pq.write_table(pa.table(columns()), folder / "part.parquet")
    answer = aegis("advise", path, "--label", "ill", "--generate", "2", "--tables", folder)
    assert answer.status == 2, answer.out + answer.err
    assert "finished is a folder; give one file" in " ".join(answer.err.split())


def test_a_date_is_not_advised_to_be_cut_into_classes_which_is_refused(aegis: Aegis, tmp_path: Path) -> None:
    days = [f"2024-{1 + i % 12:02d}-{1 + i // 12 % 10:02d}" for i in range(ROWS)]  # each of 120 days twice
    path = table(tmp_path / "people.csv", with_label(days))
    answer = aegis("advise", path, "--label", "ill", "--generate", "2", "--goal", "accuracy")
    assert answer.status == 2, answer.out + answer.err
    told = " ".join(answer.err.split())
    assert "at most 50 classes can be learnt; use r2 or mae" in told
