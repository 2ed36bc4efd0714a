"""A hundred mistakes of a first week, on the command line: one sentence with a way out, and nothing is written.

Each is a line of `MISTAKES`: what somebody typed. What it is typed at, files that are damaged, empty, odd or none, lies
in the folder that `_desk` lays out.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Aegis = Callable[..., Any]

GOOD = "customer_id,age,zip,region,segment,outcome\n" + "".join(
    f"C{i:04d},{20 + i % 30},{10000 + i % 7},{'ns'[i % 2]},{'abc'[i % 3]},{'uv'[(i * i // 7) % 2]}\n" for i in range(90)
)
CANARY = "C0017"

TEXTS = {
    "good.csv": GOOD,
    "empty.csv": "",
    "blank.csv": "\n\n",
    "header.csv": "a,b,y\n",
    "no_header.csv": "39,State-gov,77516\n50,Private,83311\n38,Private,215646\n",
    "twice.csv": "a,a,y\n1,2,u\n3,4,v\n",
    "cases.csv": "a,A,y\n1,2,u\n3,4,v\n",
    "unnamed.csv": "a,,y\n1,2,u\n3,4,v\n",
    "ragged.csv": "a,b,y\n1,2,u\n3,v\n5,6,u\n",
    "open_quote.csv": 'a,b,y\n1,"2,u\n3,4,v\n',
    "constant.csv": "a,b,y\n" + "1,2,u\n" * 20,
    "one_row.csv": "a,b,y\n1,2,u\n",
    "page.html": "<html><body>no table</body></html>\n",
    "fake.parquet": "not parquet",
    "fake.xlsx": "not a workbook",
    "fake.duckdb": "not a database",
    "fake.csv.gz": "a,y\n1,u\n",
    "fake.arrow": "not arrow",
    "broken.jsonl": '{"a": 1}\n{"a": \n',
    "nested.jsonl": '{"a": {"b": 1}}\n',
    "list.json": "[1, 2, 3]\n",
    "policy.yaml": "quasi_identifying: [age, zip]\nk: 3\n",
    "policy_no_k.yaml": "quasi_identifying: [age]\n",
    "policy_k_text.yaml": "quasi_identifying: [age]\nk: many\n",
    "policy_k_zero.yaml": "quasi_identifying: [age]\nk: 0\n",
    "policy_unknown_key.yaml": "quasi_identifying: [age]\nk: 3\nkk: 4\n",
    "policy_no_column.yaml": "quasi_identifying: [height]\nk: 3\n",
    "policy_too_strict.yaml": "quasi_identifying: [age, zip]\nk: 80\n",
    "policy_share.yaml": "quasi_identifying: [age]\nk: 3\nmax_suppression: 7\n",
    "policy_attack.yaml": "quasi_identifying: [age]\nk: 3\nattacks: {wizard: 0.0}\n",
    "policy_list.yaml": "- k\n- 3\n",
    "policy_not_yaml.yaml": "k: [3\n",
    "policy_empty.yaml": "",
    "policy_unit.yaml": "quasi_identifying: [age]\nk: 3\nunit: nobody\n",
    "policy_l.yaml": "quasi_identifying: [age]\nk: 3\nl: {region: {kind: wild, l: 2}}\n",
    "masks.yaml": "age: {bucketize: {width: 10}}\nzip: suppress\n",
    "masks_none.yaml": "age: identity\n",
    "masks_no_column.yaml": "height: suppress\n",
    "masks_unknown.yaml": "age: {smudge: {radius: 3}}\n",
    "masks_parameter.yaml": "age: {bucketize: {breadth: 10}}\n",
    "masks_width.yaml": "age: {bucketize: {width: -5}}\n",
    "masks_text.yaml": "region: {bucketize: {width: 10}}\n",
    "masks_list.yaml": "[suppress]\n",
    "roles_two.yaml": "label: outcome\nquasi_identifying: [age]\nsensitive: [age]\n",
    "roles_unknown.yaml": "label: outcome\nsecret: [age]\n",
    "roles_no_column.yaml": "label: outcome\nquasi_identifying: [height]\n",
    "roles_list.yaml": "- age\n",
    "roles_order.yaml": "label: outcome\norder: {region: [n]}\n",
    "project_other.yaml": "aegis_project: 1\ndata: elsewhere.csv\n",
    "project_version.yaml": "aegis_project: 9\ndata: good.csv\n",
    "project_part.yaml": "aegis_project: 1\ndata: good.csv\nsurprise: 1\n",
    "project_no_data.yaml": "aegis_project: 1\n",
    "project_undecided.yaml": "aegis_project: 1\ndata: good.csv\n",
    "project_broken.yaml": "aegis_project: [1\n",
    "project_reading.yaml": "aegis_project: 1\ndata: good.csv\nreading: {missing: 3}\n",
    "not_a_project.yaml": "k: 3\n",
    "certificate.json": json.dumps({"kind": "certificate"}),
    "note.json": "{}",
    "ledger_broken.jsonl": "{}\n",
    "hierarchies/age.csv": "20;20-29;*\n21;20-29;*\n",
}
MADE = ("cut.csv.gz", "latin.csv", "folder")

MISTAKES: dict[str, tuple[str, ...]] = {
    # files
    "a file that is not there": ("inspect", "gone.csv"),
    "a folder without tables": ("inspect", "folder"),
    "an empty file": ("inspect", "empty.csv"),
    "a file of blank lines": ("inspect", "blank.csv"),
    "a file without header": ("inspect", "no_header.csv"),
    "a name twice": ("inspect", "twice.csv"),
    "names that differ in case": ("inspect", "cases.csv"),
    "a column without a name": ("inspect", "unnamed.csv"),
    "a row with a field less": ("inspect", "ragged.csv"),
    "a quote that is not closed": ("inspect", "open_quote.csv"),
    "a page instead of a table": ("inspect", "page.html"),
    "no parquet at all": ("inspect", "fake.parquet"),
    "no workbook at all": ("inspect", "fake.xlsx"),
    "no database at all": ("inspect", "fake.duckdb"),
    "no arrow at all": ("inspect", "fake.arrow"),
    "text that says it is compressed": ("inspect", "fake.csv.gz"),
    "a compressed file that is cut": ("inspect", "cut.csv.gz"),
    "another encoding": ("inspect", "latin.csv"),
    "a line that is not JSON": ("inspect", "broken.jsonl"),
    "records within records": ("inspect", "nested.jsonl"),
    "a list that holds no records": ("inspect", "list.json"),
    "a table without rows": ("advise", "header.csv", "--label", "y", "--generate", "4"),
    "a database that is not there": ("inspect", "duckdb://gone.duckdb#visits"),
    "an engine nobody knows": ("inspect", "nosuch://host/base#table"),
    "a table of a file that is one": ("inspect", "good.csv", "--table", "visits"),
    # how it is read
    "an encoding that does not exist": ("inspect", "good.csv", "--encoding", "klingon"),
    "a delimiter of two characters": ("inspect", "good.csv", "--delimiter", ";;"),
    "the wrong delimiter": ("inspect", "ragged.csv", "--delimiter", "|", "--decimal-comma", "a"),
    "a column of commas that is not there": ("inspect", "good.csv", "--decimal-comma", "price"),
    "dates that are none": ("inspect", "good.csv", "--day-first", "region"),
    "one column, two notations": ("inspect", "good.csv", "--day-first", "region", "--month-first", "region"),
    # what is typed
    "no command": ("anonymise", "good.csv"),
    "no file": ("inspect",),
    "an option that does not exist": ("inspect", "good.csv", "--labels", "outcome"),
    "a number that is a word": ("advise", "good.csv", "--label", "outcome", "--generate", "many"),
    "a number below zero": ("advise", "good.csv", "--label", "outcome", "--generate", "-3"),
    "nothing to compare": ("advise", "good.csv", "--label", "outcome"),
    "no label": ("advise", "good.csv", "--label", "income", "--generate", "4"),
    "a label that is constant": ("advise", "constant.csv", "--label", "y", "--generate", "4"),
    "a label of one row": ("advise", "one_row.csv", "--label", "y", "--generate", "4"),
    "a label that names people": ("advise", "good.csv", "--label", "customer_id", "--generate", "4"),
    "a label with a second role": ("advise", "good.csv", "--label", "outcome", "--quasi", "outcome", "--generate", "4"),
    "a column with two roles": ("inspect", "good.csv", "--quasi", "age", "--sensitive", "age"),
    "a measure that does not exist": (
        "advise", "good.csv", "--label", "outcome", "--generate", "4", "--measure", "luck",
    ),
    "a goal that does not exist": ("advise", "good.csv", "--label", "outcome", "--generate", "4", "--goal", "fame"),
    "a strength that does not exist": (
        "advise", "good.csv", "--label", "outcome", "--generate", "4", "--strength", "feeble",
    ),
    "masks that do not exist": ("advise", "good.csv", "--label", "outcome", "--generate", "4", "--masks", "blur"),
    "a column to mask that is not there": (
        "advise", "good.csv", "--label", "outcome", "--generate", "4", "--mask-columns", "height",
    ),
    "a kind of candidate nobody knows": (
        "advise", "good.csv", "--label", "outcome", "--generate", "4", "--candidates", "dreams", "--policy",
        "policy.yaml",
    ),
    "a strength without generation": (
        "advise", "good.csv", "--label", "outcome", "--configs", "masks.yaml", "--strength", "light",
    ),
    "a report where a folder is": (
        "advise", "good.csv", "--label", "outcome", "--configs", "masks.yaml", "--fast", "--report", "folder",
    ),
    # policies
    "a policy that is not there": ("check", "good.csv", "--policy", "gone.yaml"),
    "a policy without a promise": ("check", "good.csv", "--policy", "policy_no_k.yaml"),
    "a k that is a word": ("check", "good.csv", "--policy", "policy_k_text.yaml"),
    "a k of nothing": ("check", "good.csv", "--policy", "policy_k_zero.yaml"),
    "a policy with a strange key": ("check", "good.csv", "--policy", "policy_unknown_key.yaml"),
    "a policy about another table": ("check", "good.csv", "--policy", "policy_no_column.yaml"),
    "a share above one": ("check", "good.csv", "--policy", "policy_share.yaml"),
    "an attack that does not exist": ("check", "good.csv", "--policy", "policy_attack.yaml"),
    "a policy that is a list": ("check", "good.csv", "--policy", "policy_list.yaml"),
    "a policy that is no YAML": ("check", "good.csv", "--policy", "policy_not_yaml.yaml"),
    "an empty policy": ("check", "good.csv", "--policy", "policy_empty.yaml"),
    "a person column that is not there": ("check", "good.csv", "--policy", "policy_unit.yaml"),
    "two person columns": ("check", "good.csv", "--policy", "policy_unit.yaml", "--person", "customer_id"),
    "a diversity that does not exist": ("check", "good.csv", "--policy", "policy_l.yaml"),
    "a table instead of a policy": ("check", "good.csv", "--policy", "good.csv"),
    # masks
    "masks that are not there": ("apply", "good.csv", "--config", "gone.yaml", "--out", "out.csv"),
    "masks of another table": ("apply", "good.csv", "--config", "masks_no_column.yaml", "--out", "out.csv"),
    "a mask that does not exist": ("apply", "good.csv", "--config", "masks_unknown.yaml", "--out", "out.csv"),
    "a parameter that does not exist": ("apply", "good.csv", "--config", "masks_parameter.yaml", "--out", "out.csv"),
    "a width below zero": ("apply", "good.csv", "--config", "masks_width.yaml", "--out", "out.csv"),
    "a mask of numbers for texts": ("apply", "good.csv", "--config", "masks_text.yaml", "--out", "out.csv"),
    "masks that are a list": ("apply", "good.csv", "--config", "masks_list.yaml", "--out", "out.csv"),
    "an output that exists": ("apply", "good.csv", "--config", "masks.yaml", "--out", "header.csv"),
    "an output over its own source": ("apply", "good.csv", "--config", "masks.yaml", "--out", "good.csv"),
    "an output of a format that is not written": ("apply", "good.csv", "--config", "masks.yaml", "--out", "out.xlsx"),
    # roles
    "roles that are not there": ("inspect", "good.csv", "--roles", "gone.yaml"),
    "two roles in a file": ("inspect", "good.csv", "--roles", "roles_two.yaml"),
    "a role that does not exist": ("inspect", "good.csv", "--roles", "roles_unknown.yaml"),
    "roles of another table": ("inspect", "good.csv", "--roles", "roles_no_column.yaml"),
    "roles that are a list": ("inspect", "good.csv", "--roles", "roles_list.yaml"),
    "an order of one value": ("inspect", "good.csv", "--roles", "roles_order.yaml"),
    # releases
    "a release that would break its promise": (
        "release", "good.csv", "--config", "masks_none.yaml", "--policy", "policy_too_strict.yaml", "--insensitive",
        "rest", "--out", "out.csv",
    ),
    "a release of columns nobody gave a role": (
        "release", "good.csv", "--config", "masks.yaml", "--policy", "policy.yaml", "--out", "out.csv",
    ),
    "a release without masks": ("release", "good.csv", "--policy", "policy.yaml", "--out", "out.csv"),
    "a search that nothing satisfies": ("search", "good.csv", "--label", "outcome", "--policy", "policy_k_zero.yaml"),
    "a certificate that is none": ("verify", "good.csv", "note.json"),
    "half a certificate": ("verify", "good.csv", "certificate.json"),
    "a certificate that is not there": ("verify", "good.csv", "gone.json"),
    "an attack nobody knows": ("attack", "good.csv", "--original", "good.csv", "--quasi", "age", "--attacks", "wizard"),
    "an attack on what is not there": ("attack", "gone.csv", "--original", "good.csv", "--quasi", "age"),
    "a ledger of nothing": ("ledger", "show", "header.csv"),
    # the path and its project
    "a purpose that does not exist": ("start", "good.csv", "-y", "--purpose", "friends"),
    "a policy and a purpose": ("start", "good.csv", "-y", "--purpose", "public", "--policy", "policy.yaml"),
    "a page without questions": ("start", "good.csv", "-y", "--web"),
    "a person that is no column": ("start", "good.csv", "-y", "--person", "nobody", "--project", "p1.yaml"),
    "a project of another table": ("start", "good.csv", "-y", "--project", "project_other.yaml"),
    "a project of tomorrow's format": ("start", "good.csv", "-y", "--project", "project_version.yaml"),
    "a project with a strange part": ("start", "good.csv", "-y", "--project", "project_part.yaml"),
    "a project without data": ("start", "good.csv", "-y", "--project", "project_no_data.yaml"),
    "a project that is no YAML": ("start", "good.csv", "-y", "--project", "project_broken.yaml"),
    "a project that reads by a number": ("start", "good.csv", "-y", "--project", "project_reading.yaml"),
    "a project that is none": ("run", "good.csv", "--project", "not_a_project.yaml"),
    "a project that is not there": ("run", "good.csv", "--project", "gone.yaml"),
    "a project with nothing chosen": ("run", "good.csv", "--project", "project_undecided.yaml"),
    "a table with nothing to predict": ("start", "constant.csv", "-y", "--project", "p2.yaml"),
    "no candidates at all": ("start", "good.csv", "-y", "--candidates", "dreams", "--project", "p3.yaml"),
    # everything else
    "a method that does not exist": (
        "anonymize", "good.csv", "--method", "magic", "--quasi", "age", "--k", "3", "--out", "out.csv",
    ),
    "nothing to group by": ("anonymize", "good.csv", "--k", "3", "--out", "out.csv"),
    "more alike than rows": ("anonymize", "good.csv", "--quasi", "age", "--k", "900", "--out", "out.csv"),
    "a budget of nothing": ("synthesize", "good.csv", "--epsilon", "0", "--out", "out.csv"),
    "hierarchies that are not there": ("search", "good.csv", "--label", "outcome", "--policy", "policy.yaml",
                                       "--hierarchies", "gone"),
    "a summary that is a file": ("merge", "good.csv", "header.csv", "--out", "merged"),
    "a table without the label": ("compare", "good.csv", "--label", "income", "--quasi", "age", "--k", "3"),
}  # fmt: skip

_WAYS_OUT = re.compile(
    r"[;:(]|\b(add|choose|name|give|use|write|check|try|see|there (is|are)|the columns are|must|aegis [a-z]+)\b",
    re.IGNORECASE,
)
"""A second half of the sentence, or a list of what there is."""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("desk")
    for name, text in TEXTS.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    packed = gzip.compress((GOOD * 40).encode())
    (folder / "cut.csv.gz").write_bytes(packed[: len(packed) // 2])
    (folder / "latin.csv").write_bytes("name,y\nJosé,u\nZoë,v\n".encode("latin-1"))
    (folder / "folder").mkdir()
    return folder


def test_there_are_a_hundred_and_more() -> None:
    assert len(set(MISTAKES.values())) >= 100


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_answered_in_a_sentence(
    aegis: Aegis, desk: Path, monkeypatch: pytest.MonkeyPatch, mistake: str
) -> None:
    monkeypatch.chdir(desk)
    before = {path.relative_to(desk): path.read_bytes() for path in sorted(desk.rglob("*")) if path.is_file()}
    answer = aegis(*MISTAKES[mistake])
    after = {path.relative_to(desk): path.read_bytes() for path in sorted(desk.rglob("*")) if path.is_file()}
    said = answer.err.strip()
    assert answer.status in (1, 2), said or answer.out
    assert "Traceback" not in said
    assert "internal error" not in said
    assert CANARY not in said + answer.out, "no value of a record"
    sentences = [line for line in said.splitlines() if line.lower().startswith("error:")]
    assert len(sentences) == 1, said
    assert _WAYS_OUT.search(sentences[0].removeprefix("error:")), f"no way out: {sentences[0]}"
    kept = {path: content for path, content in after.items() if path in before or path.suffix in (".csv", ".html")}
    assert kept == before, "nothing is written, and nothing replaced"
