"""What every operation answers: a value that shows itself, turns into a table, and is written and read as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import aegis
from aegis.errors import InputError
from aegis.library import clinic
from aegis.library.guided.started import Started
from aegis.library.release import Released
from aegis.library.run import Rerun
from aegis.library.verify import Verification
from aegis.result import Result


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The clinic with a summary and a release of it."""
    folder = tmp_path_factory.mktemp("clinic")
    table = clinic.write_clinic(folder)
    few = table.read_text(encoding="utf-8").splitlines()[:301]
    (folder / "few.csv").write_text("\n".join(few) + "\n", encoding="utf-8")
    aegis.summarize(table, configs=folder / "configurations" / "decades.yaml", out=folder / "summary", race=False)
    return folder


def _configuration(home: Path) -> Path:
    return home / "configurations" / "decades.yaml"


BOXED = {"quasi_identifying": ["age", "gender"], "k": 20}
CLUSTERED: dict[str, Any] = {"quasi": ["age", "gender"], "sensitive": ["diagnosis"]}


def _released(home: Path, work: Path) -> Released:
    return aegis.release(
        home / "clinic.csv",
        config=_configuration(home),
        policy=home / "policy.yaml",
        out=work / "released.csv",
        overwrite=True,
    )


def _verified(home: Path, work: Path, *, changed: bool) -> Verification:
    released = _released(home, work)
    if changed:
        with Path(released.out).open("a", encoding="utf-8") as file:
            file.write("\n")
    return aegis.verify(released.out, released.certificate_path)


def _on_record(home: Path, work: Path) -> Path:
    """A ledger with a release of the small table."""
    policy, ledger = {"quasi_identifying": ["gender"], "k": 2}, work / "few.ledger.jsonl"
    if not ledger.exists():
        aegis.release(home / "few.csv", policy=policy, insensitive=["rest"], out=work / "few.out.csv", ledger=ledger)
    return ledger


def _started(home: Path, work: Path) -> Started:
    """A walk over the small table, left beside it under a name of its own each time."""
    number = len(list(work.glob("walk-*.yaml")))
    return aegis.start(
        home / "few.csv",
        yes=True,
        label="smoker",
        quasi=["gender"],
        insensitive=["age", "weight", "zip", "admitted"],
        purpose="internal",
        candidates=["masks"],
        generate=2,
        ledger=work / f"walk-{number}.ledger.jsonl",
        project=work / f"walk-{number}.yaml",
        out=work / f"walk-{number}.csv",
        report=work / f"walk-{number}.html",
    )


def _run_again(home: Path, work: Path) -> Rerun:
    started = _started(home, work)
    ledger = started.project.with_suffix(".ledger.jsonl")
    assert started.out is not None
    return aegis.run(
        home / "few.csv", project=started.project, ledger=ledger, out=started.out.with_suffix(".again.csv")
    )


RESULTS: dict[str, Callable[[Path, Path], Result]] = {
    "inspect": lambda home, _: aegis.inspect(home / "clinic.csv"),
    "exposure": lambda home, _: aegis.exposure(home / "summary", k=30),
    "hierarchies": lambda home, _: aegis.hierarchies(home / "clinic.csv", columns=["age"]),
    "generate": lambda home, work: aegis.generate(home / "clinic.csv", count=3, out=work / "made.yaml"),
    "diff": lambda home, _: aegis.diff(_configuration(home), home / "configurations" / "strict.yaml"),
    "check": lambda home, _: aegis.check(home / "clinic.csv", policy=home / "policy.yaml", config=_configuration(home)),
    "check that fails": lambda home, _: aegis.check(home / "clinic.csv", policy=home / "policy.yaml"),
    "check several that fails": lambda home, _: aegis.check(
        home / "clinic.csv",
        policy=home / "policy.yaml",
        config=[_configuration(home), home / "configurations" / "no-body.yaml"],
    ),
    "release": lambda home, work: _released(home, work),
    "ledger show": lambda home, work: aegis.ledger_show(_on_record(home, work)),
    "ledger add": lambda home, work: aegis.ledger_add(
        home / "few.csv",
        policy={"quasi_identifying": ["gender"], "k": 2},
        insensitive=["rest"],
        ledger=work / "a.ledger.jsonl",
    ),
    "ledger forget": lambda home, work: aegis.ledger_forget(_on_record(home, work), 2, reason="never sent"),
    "ledger limit": lambda home, work: aegis.ledger_limit(
        home / "few.csv", rho=0.5, ledger=aegis.ledger_show(_on_record(home, work)).path
    ),
    "verify": lambda home, work: _verified(home, work, changed=False),
    "verify that fails": lambda home, work: _verified(home, work, changed=True),
    "key": lambda _, work: aegis.key_new(work / f"key-{len(list(work.iterdir()))}"),
    "attack": lambda home, work: aegis.attack(
        [_released(home, work).out],
        original=home / "clinic.csv",
        policy=home / "policy.yaml",
        attacks=["prosecutor", "averaging"],
    ),
    "start": lambda home, work: _started(home, work),
    "run": lambda home, work: _run_again(home, work),
    "apply": lambda home, work: aegis.apply(
        home / "clinic.csv", config=home / "configurations" / "generations.yaml", out=work / "masked.csv"
    ),
    "search": lambda home, _: aegis.search(
        home / "clinic.csv", policy=home / "policy.yaml", space="levels", seconds=5, train=1
    ),
    "search for boxes": lambda home, _: aegis.search(home / "few.csv", policy=BOXED, label="smoker", space="boxes"),
    "masks": lambda *_: aegis.list_masks(),
    "masks with schema": lambda *_: aegis.list_masks(schema=True),
    "measures": lambda *_: aegis.list_measures(),
    "anonymize": lambda home, work: aegis.anonymize(
        home / "few.csv", **CLUSTERED, k=5, method="mdav", tau=[0.2], out=work / "clustered.csv"
    ),
    "tune": lambda home, _: aegis.tune(
        home / "few.csv", **CLUSTERED, k_values=[5], classes_values=[4, 150], rounds=3, search=False, jobs=1
    ),
    "compare": lambda home, _: aegis.compare(
        home / "few.csv", **CLUSTERED, k=5, label="smoker", methods=["mdav"], models=["decision-tree"], splits=2, jobs=1
    ),
    "curve gaussian": lambda *_: aegis.curve_gaussian(preset="paper", points=1, trials=0, attackers=["neighbours"]),
    "curve binary": lambda *_: aegis.curve_binary(points=1, trials=0, attackers=["neighbours"]),
    "sanitize": lambda home, work: aegis.sanitize(
        home / "few.csv",
        private="age",
        authorized="visits",
        adversary=["zip", ["gender", "smoker"]],
        distortion=400.0,
        family="noise",
        attackers=["neighbours"],
        out=work / "sanitized.csv",
        ledger="none",
        despite_adversary=True,  # visits tell hardly more of the age than smoking does
    ),
    "synthesize": lambda home, work: aegis.synthesize(
        home / "few.csv", epsilon=5.0, label="health", rows=20, out=work / "made.csv", seed=0
    ),
    "evaluate": lambda home, _: aegis.evaluate(
        home / "few.csv", label="health", generate=3, models=["naive-bayes"], splits=1, shortlist=1
    ),
    "evaluate families": lambda home, _: aegis.evaluate(
        home / "few.csv",
        label="health",
        generate=2,
        families=["light", "heavy"],
        draws=2,
        models=["naive-bayes"],
        splits=2,
        shortlist=0,
    ),
}
"""One call of each operation, small enough to be made here."""


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_written_and_read_as_json_and_shows_itself(name: str, home: Path, tmp_path: Path) -> None:
    result = RESULTS[name](home, tmp_path)
    assert isinstance(result, Result)
    written = json.loads(json.dumps(result.to_json(), allow_nan=False))
    again = type(result).from_json(written)
    assert again.to_json() == result.to_json()
    assert again.exit_status == result.exit_status == (1 if name.endswith("that fails") else 0)
    assert json.loads(json.dumps(again.to_json())) == written

    assert len(result.headline) > 5
    assert result.headline != type(result).__name__, "it must answer in a sentence of its own"
    rows = result.table_rows()
    assert rows
    assert all(list(row) == list(rows[0]) for row in rows)
    assert again.table_rows() == rows
    frame: Any = result.to_pandas()
    assert list(frame.columns) == list(rows[0])
    assert len(frame) == len(rows) == len(result.to_polars())
    assert result._repr_html_().startswith("<table>")

    with pytest.raises(InputError):
        type(result).from_json({})
