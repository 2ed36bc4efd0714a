"""The front door as a type checker sees it: right calls pass ``mypy --strict``, and wrong ones do not.

One run of mypy checks all lines below. It takes the project's own settings and its cache, so it is quick after `mypy`;
what the project's settings leave out of ``--strict`` is said in the checked file itself, because another setting of the
whole run would not find anything in the cache.
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import aegis

ROOT = Path(__file__).resolve().parents[2]

RIGHT = """
aegis.advise("x.csv", label="y", generate=5, policy={"k": 5, "quasi_identifying": ["age"]})
advised: Ranking = aegis.advise(Path("x.csv"), configs=[{"age": "suppress"}], tables=["a.csv"], seed=3)
advised_best: str = advised.best.configuration
aegis.anonymize("x.csv", k=5, quasi=["age"], out="out.csv")
aegis.apply("x.csv", config={"age": "suppress"}, out=Path("out.csv"))
aegis.check("x.csv", policy="policy.yaml", config="best.yaml")
checked: bool = aegis.check("x.csv", policy=Path("policy.yaml")).satisfied
aegis.compare("x.csv", k=5, quasi=["age"], label="y", methods=["mdav"])
aegis.curve_binary(preset="paper", points=3, trials=0)
aegis.curve_gaussian(preset="paper", points=3, trials=0)
aegis.demo(out="demo", seed=1)
aegis.diff("a.yaml", {"age": "suppress"})
aegis.evaluate("x.csv", label="y", generate=5)
aegis.exposure("summary", k=7)
aegis.hierarchies("clinic.csv", columns=["age"], k=3)
exposed: int | None = aegis.exposure("summary").smallest_cell
aegis.generate("x.csv", label="y", count=10, strength="light")
aegis.advise("x.csv", label="y", configs=aegis.generate("x.csv", label="y"))
aegis.inspect("x.csv", missing=["?"])
aegis.list_masks(schema=True)
aegis.list_measures()
aegis.load_configurations("configurations")
aegis.merge(["a", "b"], out="c")
aegis.open("x.csv").with_roles(label="y", quasi=["age"]).for_purpose("public", k=20).compare(candidates=["masks"])
aegis.open("x.csv", delimiter=";", missing=["?"], day_first=["born"])
aegis.open_dataset("x.csv", delimiter=";")
aegis.Client("https://host", "token").change_product("clinic", version=3, title="Clinic", tags=["health"])
aegis.read_summary(Path("summary"))
aegis.release("x.csv", policy="policy.yaml", out="out.csv", config="best.yaml", columns=["age"])
rows: int = aegis.release("x.csv", policy="policy.yaml", out="out.csv").rows
aegis.reconstruct("x.csv", with_="own.csv", model="m.npz", out="e.csv")
aegis.sanitize("x.csv", private=["age"], authorized=["zip"], adversary=[["sex"]], distortion=0.2, out="out.csv")
aegis.search("x.csv", policy="policy.yaml", label="y", train=2, seconds=None)
aegis.run("x.csv", project="aegis.yaml", choose=True)
aegis.start("x.csv", yes=True, purpose="public", quasi=["age"])
released_to: Path | None = aegis.start("x.csv", yes=True).out
aegis.summarize("x.csv", label="y", generate=3, out="summary")
aegis.tune("x.csv", quasi=["age"], k_values=[5, 10])
aegis.verify("out.csv", "out.csv.certificate.json")
aegis.push_product("x.csv", policy="policy.yaml", publish=True, url="http://host")
aegis.push_configurations("configurations", product="clinic")
aegis.push_summary("summary", product="clinic", token_file=Path("token"))
pushed: str = aegis.push_release("out.csv", product="clinic", request="id", wait=False).state
pulled: Path = aegis.pull("clinic", out="home.csv").file
aegis.backup("c.tar", database="c.sqlite", storage="files", overwrite=True)
aegis.restore(Path("c.tar"), database="new.sqlite")
intact: bool = aegis.verify_audit(head="ab").intact
"""

WRONG = """
aegis.advise("x.csv", lable="y", nonsense=3)
ranked: int = aegis.advise("x.csv", label="y")
aegis.advise(label="y")
aegis.advise("x.csv", generate="many")
aegis.advise("x.csv", label="y").nothing
aegis.anonymize("x.csv", quasi=["age"], kk=5)
aegis.reconstruct("x.csv", model="m.npz", out="e.csv")
aegis.apply("x.csv", configuration={"age": "suppress"}, out="out.csv")
aegis.check("x.csv")
aegis.check("x.csv", policy=5)
aegis.compare("x.csv", k="five")
aegis.curve_binary("paper")
aegis.curve_gaussian(points="three")
aegis.demo("demo")
aegis.diff("a.yaml")
aegis.evaluate("x.csv", generate=5, tabels=["a.csv"])
aegis.exposure("summary", 7)
aegis.generate("x.csv", configurations=10)
aegis.inspect("x.csv", missing=3)
aegis.list_masks(True)
aegis.list_measures(schema=True)
aegis.load_configurations(3)
aegis.merge("a", "b")
aegis.open("x.csv", label=3)
aegis.open("x.csv", delimeter=";")
aegis.Client("https://host", "token").change_product("clinic", version=3, titel="Clinic")
aegis.open_dataset("x.csv", delimeter=";")
aegis.read_summary(3)
aegis.release("x.csv", policy="policy.yaml")
certificate: str = aegis.release("x.csv", policy="policy.yaml", out="out.csv").certificate
aegis.sanitize("x.csv", private=["age"], adversaries=[["sex"]])
aegis.search("x.csv", policy="policy.yaml", verify=2)
aegis.run("x.csv", "aegis.yaml")
aegis.start("x.csv", k="five")
aegis.summarize("x.csv", label=3)
aegis.tune("x.csv", k_values=["five"])
aegis.verify("out.csv")
aegis.push_product("x.csv")
aegis.push_configurations("configurations", "clinic")
aegis.push_summary("summary")
aegis.push_release("out.csv", product="clinic", wait="long")
aegis.pull(out="home.csv")
aegis.backup()
aegis.restore("c.tar", overwrite=True)
aegis.verify_audit("ab")
aegis.nothing_of_this_name("x.csv")
"""

HEAD = [
    "# mypy: disallow-subclassing-any, warn-return-any",
    "from pathlib import Path",
    "import aegis",
    "from aegis import Ranking",
]


def _lines(text: str) -> list[str]:
    return text.strip().splitlines()


FUNCTIONS = [
    name for name in aegis.__all__ if callable(getattr(aegis, name)) and not inspect.isclass(getattr(aegis, name))
]
MISSPELT = [f"aegis.{name}(no_such_option=3)" for name in FUNCTIONS]


def _complaints(folder: Path) -> dict[int, str]:
    """What mypy says of each line of a file with all calls."""
    file = folder / "calls.py"
    file.write_text("\n".join([*HEAD, *_lines(RIGHT), *_lines(WRONG), *MISSPELT]) + "\n", encoding="utf-8")
    answer = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", "--hide-error-context", str(file)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 1, answer.stderr + answer.stdout
    errors = re.findall(rf"^.*{re.escape(file.name)}:(\d+): error: (.*)$", answer.stdout, flags=re.MULTILINE)
    return {int(line): text for line, text in errors}


def test_right_calls_pass_and_exactly_the_wrong_and_misspelt_ones_fail(tmp_path: Path) -> None:
    complaints = _complaints(tmp_path)
    right, refused = _lines(RIGHT), [*_lines(WRONG), *MISSPELT]
    first_right = len(HEAD) + 1
    first_refused = first_right + len(right)
    assert [
        (line, complaints[number]) for number, line in enumerate(right, start=first_right) if number in complaints
    ] == []
    assert [line for number, line in enumerate(refused, start=first_refused) if number not in complaints] == []


def test_the_project_is_checked_strictly() -> None:
    """The run above takes the project's settings: they are mypy's strict ones but for the two that the file says."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    assert settings["strict"] is True
    assert {name for name, value in settings.items() if value is False} == {
        "disallow_subclassing_any",
        "warn_return_any",
    }
