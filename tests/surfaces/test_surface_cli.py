"""The command line as people use it: contracts, exit statuses, one sentence for every mistake, and no cell value."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rich.progress

import aegis as library
from aegis.commands import terminal
from aegis.library.clinic import write_clinic

Aegis = Callable[..., Any]


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example with so few patients that models train on all candidates in a second or two."""
    return write_clinic(tmp_path_factory.mktemp("clinic"), rows=600).parent


MEASURES = (None, "mutual-information", "leave-one-out-information")


@pytest.fixture(scope="module")
def ranked_from_rows(clinic: Path) -> dict[str | None, Any]:
    """What a provider is advised, by measure; it depends on no level of a summary."""
    configs = clinic / "configurations"
    return {
        measure: library.advise(clinic / "clinic.csv", configs=configs, measure=measure).to_json()
        for measure in MEASURES
    }


def test_advise_prints_the_object_of_the_contract(
    aegis: Aegis, clinic: Path, ranked_from_rows: dict[str | None, Any]
) -> None:
    answer = aegis(
        "advise", clinic / "clinic.csv", "--label", "health", "--configs", clinic / "configurations", "--json"
    )
    assert answer.status == 0
    found = answer.json
    assert {"label", "goal", "unmasked", "guessing", "probability", "stages", "rows", "ranking", "timing"} <= set(found)
    assert (found["label"], found["goal"], found["rows"], found["probability"]) == ("health", "accuracy", 600, 0.95)
    assert found["guessing"] < found["ranking"][0]["performance"] < 1
    assert [one["rank"] for one in found["ranking"]] == sorted(one["rank"] for one in found["ranking"])
    assert len(found["ranking"]) == 12
    for one in found["ranking"]:
        assert {"rank", "configuration", "kind", "performance", "interval", "kept", "stage", "attributes"} <= set(one)
        assert one["interval"][0] <= one["performance"] <= one["interval"][1]
        for attribute in one["attributes"]:
            assert {"name", "mask", "original", "masked", "deviation"} <= set(attribute)
    assert {one["configuration"] for one in found["ranking"]} == {f.stem for f in (clinic / "configurations").iterdir()}
    assert {**ranked_from_rows[None], "timing": None} == {**found, "timing": None}, "the library answers the same"


@pytest.mark.parametrize("level", ["2d", "1d", "none"])
def test_a_publisher_gets_the_same_ranking_without_rows(
    aegis: Aegis, clinic: Path, tmp_path: Path, level: str, ranked_from_rows: dict[str | None, Any]
) -> None:
    common = (clinic / "clinic.csv", "--configs", clinic / "configurations")
    assert aegis("summarize", *common, "--level", level, "--out", tmp_path / "s").status == 0
    for measure, provider in ranked_from_rows.items():
        option = () if measure is None else ("--measure", measure)
        publisher = aegis("advise", tmp_path / "s", *option, "--json").json
        assert [provider.get(key) for key in ("goal", "measure")] == [publisher.get(key) for key in ("goal", "measure")]
        order = [(place["rank"], place["configuration"]) for place in provider["ranking"]]
        assert [(place["rank"], place["configuration"]) for place in publisher["ranking"]] == order
        if level == "2d":  # classes are counted where the rows are, and masks are defined by whoever holds them
            here_alone = ("privacy", "definition")
            as_both_see_it = [
                [{name: value for name, value in place.items() if name not in here_alone} for place in ranking]
                for ranking in (publisher["ranking"], provider["ranking"])
            ]
            assert as_both_see_it[0] == as_both_see_it[1]


def test_models_decide_unless_counts_are_asked_for(aegis: Aegis, clinic: Path, tmp_path: Path) -> None:
    common = (clinic / "clinic.csv", "--configs", clinic / "configurations")
    few = ("--rows", "200", "--json")
    assert aegis("advise", *common, *few).json["goal"] == "accuracy"
    assert aegis("advise", *common, "--goal", "log-loss", *few).json["goal"] == "log-loss"
    assert aegis("advise", *common, "--fast", "--json").json["measure"] == "pair-prediction"
    assert "cannot be" in aegis("advise", *common, "--goal", "fame").err
    for unused in (("--fast", "--goal", "auc"), ("--measure", "g3", "--goal", "auc"), ("--fast", "--measure", "g3")):
        assert aegis("advise", *common, *unused).status == 2
    assert aegis("advise", *common, "--measure", "pair-information", "--json").json["measure"] == "pair-information"
    assert aegis("summarize", *common, "--no-race", "--out", tmp_path / "s").status == 0
    assert aegis("advise", tmp_path / "s", "--json").json["measure"] == "leave-one-out-information"
    refused = aegis("advise", tmp_path / "s", "--measure", "label-probe")
    assert refused.status == 2
    assert "pairs" in refused.err


def test_a_summary_holds_the_scores_it_was_asked_for(aegis: Aegis, clinic: Path, tmp_path: Path) -> None:
    data, told = clinic / "clinic.csv", tmp_path / "told"
    given = ("--configs", clinic / "configurations", "--level", "none", "--out", told)
    assert aegis("summarize", data, *given, "--score", "magic").status == 2
    assert not told.exists()
    assert aegis("summarize", data, *given, "--no-race").status == 0
    assert "--score pair-information" in aegis("advise", told, "--measure", "pair-information").err
    assert aegis("summarize", data, *given, "--no-race", "--score", "pair-information", "--overwrite").status == 0
    there = aegis("advise", told, "--measure", "pair-information", "--json").json["ranking"]
    here = aegis("advise", data, *given[:2], "--measure", "pair-information", "--json").json["ranking"]
    assert [one["configuration"] for one in there] == [one["configuration"] for one in here]
    assert [one["utility"] for one in there] == [one["utility"] for one in here]


def test_a_policy_lets_only_those_pass_that_satisfy_it(aegis: Aegis, clinic: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("quasi_identifying: [age, zip, gender]\nk: 3\nmax_suppression: 0.05\n", encoding="utf-8")
    common = (clinic / "clinic.csv", "--policy", policy)
    found = aegis("advise", *common, "--configs", clinic / "configurations", "--rows", "300", "--json").json
    passing = {one["configuration"] for one in found["ranking"]}
    assert passing
    assert found["rejected"]
    for file in (clinic / "configurations").iterdir():
        if file.stem == "noisy":  # it draws: only its release can be judged
            assert "at random" in found["rejected"]["noisy"]
            continue
        assert (aegis("check", *common, "--config", file).status == 0) == (file.stem in passing)
    policy.write_text("quasi_identifying: [age, zip, gender]\nk: 5000\n", encoding="utf-8")
    refused = aegis("advise", *common, "--configs", clinic / "configurations")
    assert refused.status == 1
    assert "none of the 12 configurations satisfies the policy" in refused.err


def test_generated_configurations_are_seeded_and_spare_the_label(aegis: Aegis, clinic: Path) -> None:
    ask = ("advise", clinic / "clinic.csv", "--generate", "15", "--seed", "4", "--fast", "--json")
    one, two = aegis(*ask).json, aegis(*ask).json
    assert [o["id"] for o in one["ranking"]] == [o["id"] for o in two["ranking"]]
    assert len({o["id"] for o in one["ranking"]}) == 15
    assert all(a["name"] != "health" for o in one["ranking"] for a in o["attributes"])


def test_every_command_has_help_and_json_where_it_answers(aegis: Aegis, clinic: Path, tmp_path: Path) -> None:
    for command in ("inspect", "masks", "measures"):
        arguments = (command, clinic / "clinic.csv") if command == "inspect" else (command,)
        assert aegis(*arguments).status == 0
        assert isinstance(aegis(*arguments, "--json").json, dict)
    assert aegis("--version").out.strip() == f"aegis {library.__version__}"
    assert "advise" in aegis("--help").out


@pytest.mark.parametrize(
    "given", [["--nope"], ["nope"], ["advise"], ["advise", "x.csv", "--nope"], ["masks", "x", "y"]]
)
def test_a_wrong_word_is_a_usage_error(aegis: Aegis, given: list[str]) -> None:
    answer = aegis(*given)
    assert answer.status == 2
    assert "Usage" in answer.err
    assert "internal error" not in answer.err


def test_inspect_shows_no_value(aegis: Aegis, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("name,y\nCANARY,CANARY2\nb,c\n", encoding="utf-8")
    for more in ((), ("--json",)):
        answer = aegis("inspect", path, *more)
        assert answer.status == 0
        assert "CANARY" not in answer.out + answer.err


def _write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


GOOD = "age,zip,when,y\n1,CANARY,2020-01-01,a\n2,CANARY2,2020-01-02,b\n3,CANARY,2020-01-02,a\n4,CANARY3,2020-01-03,b\n"

MISTAKES: dict[str, tuple[str | bytes, list[str], str]] = {
    "label absent": (GOOD, ["--label", "nope", "--generate", "3"], "there is no column 'nope'"),
    "no label": (GOOD, ["--generate", "3", "--fast"], "name one with --label"),
    "label constant": ("a,y\n1,CANARY\n2,CANARY\n", ["--label", "y", "--generate", "3"], "same value in every row"),
    "label continuous": (
        "a,y\n" + "".join(f"{i % 3},{i}.5\n" for i in range(100)),
        ["--label", "y", "--generate", "3", "--fast"],
        "--label-bins",
    ),
    "label of many dates": (
        "a,y\n" + "".join(f"{i % 3},20{i // 12:02}-{i % 12 + 1:02}-01\n" for i in range(100)),
        ["--label", "y", "--generate", "3", "--fast"],
        "looks continuous (100 distinct dates)",
    ),
    "unknown column": (GOOD, ["--label", "y", "--configs", "{config:colour: suppress}"], "'colour'"),
    "mask that does not fit": (
        GOOD,
        ["--label", "y", "--configs", "{config:zip: {bucketize: {width: 10}}}"],
        "does not fit column 'zip'",
    ),
    "unknown mask": (GOOD, ["--label", "y", "--configs", "{config:zip: vanish}"], "there is no mask called 'vanish'"),
    "bad parameter": (GOOD, ["--label", "y", "--configs", "{config:age: {bucketize: {width: -1}}}"], "width"),
    "outside a hierarchy": (
        GOOD,
        ["--label", "y", "--configs", "{config:zip: {generalize: {level: 1, hierarchy: [[CANARY, c, '*']]}}}"],
        "misses 2 of the column's 3 values",
    ),
    "not yaml": (GOOD, ["--label", "y", "--configs", "{config:age: [}"], "YAML"),
    "no configurations": (GOOD, ["--label", "y"], "--generate"),
    "unknown measure": (GOOD, ["--label", "y", "--generate", "3", "--measure", "magic"], "(known: balanced-"),
    "unknown reference": (GOOD, ["--label", "y", "--generate", "3", "--reference", "magic"], "--reference cannot be"),
    "ragged": ("a,y\n1,CANARY\n2\n", ["--label", "y", "--generate", "3"], "line 3"),
    "wrong encoding": (b"a,y\n1,CANARY\xe9\n", ["--label", "y", "--generate", "3"], "encoding"),
    "empty file": ("", ["--label", "y", "--generate", "3"], "is empty"),
    "no rows": ("a,y\n", ["--label", "y", "--generate", "3"], "no rows"),
    "one row": ("a,y\n1,CANARY\n", ["--label", "y", "--generate", "3"], "same value in every row"),
    "all-null label": ("a,y\n1,\n2,\n", ["--label", "y", "--generate", "3"], "missing in every row"),
    "all-null column": (
        "a,b,y\n1,,u\n2,,v\n3,,u\n1,,v\n",
        ["--label", "y", "--generate", "2"],
        "column 'b' has no value in any row; drop it, or leave it out by naming it identifying (--identifying b",
    ),
    "two all-null columns": (
        "a,b,c,y\n1,,,u\n2,,,v\n3,,,u\n",
        ["--label", "y", "--generate", "2"],
        "columns 'b', 'c' have no value",
    ),
    "label of its own in every row": (
        "a,y\n1,CANARY\n2,CANARY2\n3,CANARY3\n",
        ["--label", "y", "--generate", "2"],
        "no two rows are alike",
    ),
    "names that differ in case": ("age,AGE,y\n1,2,u\n3,4,v\n", ["--label", "y"], "apart from upper and lower case"),
    "a table of a file": (GOOD, ["--label", "y", "--generate", "2", "--table", "t"], "leave out --table"),
    "a number that YAML takes for text": (
        GOOD,
        ["--label", "y", "--configs", "{config:age: {bucketize: {width: 1e300}}}"],
        "write it like 1.0e+3",
    ),
    "saved under an unknown ending": (
        GOOD,
        ["--label", "y", "--generate", "2", "--save", "{folder}/best.txt"],
        "must end in .yaml, .yml or .json",
    ),
    "a configuration for another label": (
        GOOD,
        ["--label", "y", "--configs", "{config:{label: zip, masks: {age: suppress}}}"],
        "is for the label 'zip', and the label here is 'y'",
    ),
    "a published configuration for another label": (
        GOOD,
        ["--label", "y", "--configs", "{config:{dataset: {target_variable: zip}, masking: {attributes: {}}}}"],
        "is for the label 'zip', and the label here is 'y'",
    ),
    "report exists": (GOOD, ["--label", "y", "--generate", "3", "--report", "{exists}"], "exists already"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence_and_exit_status_2(aegis: Aegis, tmp_path: Path, mistake: str) -> None:
    content, arguments, said = MISTAKES[mistake]
    data = _write(tmp_path, "data.csv", content)
    given: list[Any] = []
    for argument in arguments:
        if argument.startswith("{config:"):
            argument = str(_write(tmp_path, "c.yaml", argument.removeprefix("{config:")[:-1]))
        elif argument.startswith("{folder}"):
            argument = argument.replace("{folder}", str(tmp_path))
        elif argument == "{exists}":
            argument = str(_write(tmp_path, "r.html", "old"))
        given.append(argument)
    before = sorted(path.name for path in tmp_path.iterdir())
    answer = aegis("advise", data, *given)
    assert answer.status == 2, answer.err
    assert said in answer.err.replace("\n", " ")
    assert answer.out == ""
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1, "one sentence"
    assert "CANARY" not in answer.err
    assert sorted(path.name for path in tmp_path.iterdir()) == before, "nothing is written"


ALL_NULL = "a,b,y\n1,,u\n2,,v\n3,,u\n1,,v\n"


def test_an_all_null_column_is_shown_and_can_be_left_out(aegis: Aegis, tmp_path: Path) -> None:
    data = _write(tmp_path, "data.csv", ALL_NULL)
    seen = {column["name"]: column for column in aegis("inspect", data, "--json").json["columns"]}
    assert (seen["b"]["distinct"], seen["b"]["missing"], seen["b"]["suggested_role"]) == (0, 4, "identifying")
    assert "leaves it out" in seen["b"]["why"]
    assert "--label y --identifying b --generate 50" in aegis("inspect", data).err
    given = ("advise", data, "--label", "y", "--generate", "2", "--fast")
    found = aegis(*given, "--identifying", "b", "--json")
    assert found.status == 0, found.err
    assert {a["name"] for one in found.json["ranking"] for a in one["attributes"]} == {"a"}
    _write(tmp_path, "data.roles.yaml", "identifying: b\n")
    assert aegis(*given).status == 0


@pytest.mark.parametrize("command", ["summarize", "generate", "evaluate"])
def test_every_command_that_scores_columns_refuses_an_all_null_one(aegis: Aegis, tmp_path: Path, command: str) -> None:
    data = _write(tmp_path, "data.csv", ALL_NULL)
    count = ("--count", "2") if command == "generate" else ("--generate", "2")
    out = () if command == "evaluate" else ("--out", tmp_path / "out.yaml")
    answer = aegis(command, data, "--label", "y", *count, *out)
    assert (answer.status, answer.err.count("\n")) == (2, 1), answer.err
    assert "column 'b' has no value in any row" in answer.err
    assert not (tmp_path / "out.yaml").exists()


def test_a_search_refuses_a_quasi_identifier_without_values(aegis: Aegis, tmp_path: Path) -> None:
    data = _write(tmp_path, "data.csv", ALL_NULL)
    policy = _write(tmp_path, "policy.yaml", "quasi_identifying: [a, b]\nk: 2\nmax_suppression: 0.5\n")
    answer = aegis("search", data, "--label", "y", "--policy", policy, "--out", tmp_path / "best.yaml")
    assert answer.status == 2
    assert "column 'b' has no value in any row; drop it, or take it out of the quasi-identifiers" in answer.err


PUBLISHED = """\
dataset: {original_path: x.csv, target_variable: y}
masking:
  attributes:
    age: [{function: generalize, params: {M: 2}}]
"""


def test_the_published_format_names_the_label(aegis: Aegis, tmp_path: Path) -> None:
    data, config = _write(tmp_path, "data.csv", GOOD), _write(tmp_path, "c.yaml", PUBLISHED)
    ask = ("advise", data, "--configs", config, "--fast", "--json")
    alone = aegis(*ask)
    assert alone.status == 0, alone.err
    assert alone.json["label"] == "y"
    assert aegis(*ask, "--label", "y").json["ranking"] == alone.json["ranking"]
    _write(tmp_path, "data.roles.yaml", "label: zip\n")
    refused = aegis("advise", data, "--configs", config)
    assert refused.status == 2
    assert "configuration 'c' is for the label 'y', and the label here is 'zip'" in refused.err
    assert aegis("advise", data, "--configs", config, "--label", "y", "--fast").status == 0


def test_a_mask_on_the_label_is_said(aegis: Aegis, tmp_path: Path) -> None:
    data = _write(tmp_path, "data.csv", GOOD)
    config = _write(tmp_path, "c.yaml", "{y: {regroup: {groups: {u: [a, b]}}}, age: suppress}")
    found = aegis("advise", data, "--label", "y", "--configs", config, "--fast", "--json").json
    assert "1 of 1 configuration masks the label 'y' itself and is ranked by what is left of it: c" in found["notes"]


@pytest.mark.parametrize("level", ["2d", "1d"])
def test_an_opaque_summary_says_the_level_it_has(aegis: Aegis, clinic: Path, tmp_path: Path, level: str) -> None:
    given = ("summarize", clinic / "clinic.csv", "--configs", clinic / "configurations", "--no-race", "--opaque")
    answer = aegis(*given, "--level", level, "--out", tmp_path / "s")
    assert answer.status == 2
    assert "its level is none; leave out --level" in answer.err
    assert not (tmp_path / "s").exists()
    assert aegis(*given, "--out", tmp_path / "t", "--json").json["level"] == "none"
    assert aegis("advise", tmp_path / "t").status == 0


def test_masks_print_the_schema_of_configurations(aegis: Aegis) -> None:
    assert "mask_bucketize" in aegis("masks", "--schema").json["$defs"]


@pytest.mark.parametrize("function", ["advise", "summarize", "generate", "search", "inspect", "check"])
def test_a_misspelt_option_is_told_in_the_name_of_its_function(function: str, tmp_path: Path) -> None:
    data = _write(tmp_path, "data.csv", GOOD)
    needed = {"policy": {"k": 2}} if function in ("search", "check") else {}
    with pytest.raises(
        TypeError, match=rf"^{function}\(\) got an unexpected keyword argument 'delimitter'; did you mean"
    ):
        getattr(library, function)(data, delimitter=";", **needed)


@pytest.mark.parametrize(("function", "missing"), [("apply", "config"), ("release", "policy"), ("search", "policy")])
def test_an_option_that_is_missing_is_told_in_the_name_of_its_function(function: str, missing: str) -> None:
    with pytest.raises(TypeError, match=rf"^{function}\(\) missing a required .*argument: '{missing}'"):
        getattr(library, function)("data.csv")


def test_a_bar_without_an_end_forgets_the_end_of_what_was_done_before(monkeypatch: pytest.MonkeyPatch) -> None:
    bars: list[rich.progress.Progress] = []

    class Seen(rich.progress.Progress):
        def __init__(self, *columns: Any, **options: Any) -> None:
            super().__init__(*columns, **options)
            bars.append(self)

    monkeypatch.setattr(rich.progress, "Progress", Seen)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with terminal.progress("making") as update:
        update(1, 6, "kinds")
        update(10_164, None, "searching")
        (task,) = bars[0].tasks
        assert (task.completed, task.total) == (10_164, None), "it showed 10164/6"


def test_an_output_may_be_called_as_a_column_is(aegis: Aegis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = _write(tmp_path, "data.csv", GOOD)
    summarize = ("summarize", data, "--label", "y", "--generate", "2", "--no-race", "--out", "y", "--overwrite")
    for _ in ("new", "there"):
        answer = aegis(*summarize)
        assert answer.status == 0, answer.err
    long_text = "because " * 100  # longer than the name of a file may be
    assert aegis(*summarize, "--missing", long_text).status == 0


@pytest.mark.parametrize("given", [("--report", "{data}"), ("--save", "{data}"), ("--report", "x", "--save", "x")])
def test_an_output_is_never_the_input_or_another_output(aegis: Aegis, tmp_path: Path, given: tuple[str, ...]) -> None:
    data = _write(tmp_path, "data.csv", GOOD)
    named = [str(data) if word == "{data}" else word if word[0] == "-" else str(tmp_path / word) for word in given]
    answer = aegis("advise", data, "--label", "y", "--generate", "2", "--overwrite", *named)
    assert answer.status == 2
    assert "choose another name" in answer.err
    assert data.read_text(encoding="utf-8") == GOOD


def test_fewer_configurations_than_asked_are_ranked_and_said(aegis: Aegis, tmp_path: Path) -> None:
    data = _write(tmp_path, "data.csv", "a,y\nu,1\nv,2\nu,1\nv,1\n")
    answer = aegis("advise", data, "--label", "y", "--generate", "500", "--fast")
    assert answer.status == 0, answer.err
    assert "fewer than 500" in answer.err


def test_brackets_in_a_path_are_no_markup(aegis: Aegis, tmp_path: Path) -> None:
    folder = tmp_path / "final[" / "x]"
    folder.mkdir(parents=True)
    data = _write(folder, "data [bold].csv", GOOD)
    answer = aegis("summarize", data, "--label", "y", "--generate", "2", "--no-race", "--out", folder / "s [red]")
    assert answer.status == 0, answer.err
    assert "final[/x]/s [red]: level 2d" in answer.err
    answer = aegis("advise", data, "--label", "y", "--generate", "2", "--fast", "--report", folder / "r [red].html")
    assert answer.status == 0, answer.err
    assert "r [red].html" in answer.err


def test_generated_configurations_are_followed_by_a_command_that_works(aegis: Aegis, tmp_path: Path) -> None:
    data = _write(tmp_path, "data.csv", GOOD)
    answer = aegis("generate", data, "--label", "y", "--count", "2", "--out", tmp_path / "made.yaml")
    assert f"next: aegis advise {data} --label y --configs {tmp_path / 'made.yaml'}" in answer.err


def test_one_configuration_is_singular(aegis: Aegis, tmp_path: Path) -> None:
    data = _write(tmp_path, "one.csv", "a,y\n" + "1,u\n2,v\n" * 10)
    answer = aegis("summarize", data, "--label", "y", "--generate", "1", "--no-race", "--out", tmp_path / "s")
    assert answer.status == 0
    assert "20 rows, 1 attribute, 1 configuration" in answer.err
    assert "1 configurations" not in answer.err


def test_an_unknown_failure_shows_no_traceback(aegis: Aegis, clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def explode(*_: object, **__: object) -> None:
        raise RuntimeError("CANARY")

    monkeypatch.setattr("aegis.library.advise.rank", explode)
    answer = aegis("advise", clinic / "clinic.csv", "--generate", "2")
    assert answer.status == 2
    assert "internal error" in answer.err
    assert "CANARY" not in answer.err


def test_an_interruption_is_130(aegis: Aegis, clinic: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("aegis.counts.collect._joint", interrupt)
    answer = aegis("summarize", clinic / "clinic.csv", "--generate", "2", "--out", tmp_path / "s")
    assert answer.status == 130
    assert list(tmp_path.iterdir()) == []


def test_what_is_said_of_a_configuration_does_not_depend_on_the_others(aegis: Aegis, clinic: Path) -> None:
    data, configs = clinic / "clinic.csv", clinic / "configurations"
    alone = aegis("advise", data, "--configs", configs / "decades.yaml", "--fast", "--json").json["ranking"][0]
    among = aegis("advise", data, "--configs", configs, "--fast", "--json").json["ranking"]
    (same,) = [one for one in among if one["configuration"] == "decades"]
    assert same["utility"] == alone["utility"]
    assert same["interval"] == pytest.approx(alone["interval"])


def test_the_next_command_names_the_engine(aegis: Callable[..., Any], tmp_path: Path) -> None:
    import duckdb

    shop = tmp_path / "shop.duckdb"
    with duckdb.connect(str(shop)) as connection:
        connection.execute("create table visits as select range % 7 as age, range % 2 as y from range(100)")
    answer = aegis("inspect", "visits", "--engine", f"duckdb://{shop}")
    assert answer.status == 0, answer.err
    assert f"next: aegis advise visits --engine duckdb://{shop} " in answer.err


def test_a_summary_is_added_to_where_it_is(aegis: Aegis, tmp_path: Path) -> None:
    table, home = tmp_path / "table.csv", tmp_path / "summary"
    table.write_text("age,y\n" + "30,no\n40,yes\n" * 60, encoding="utf-8")
    first = aegis("summarize", table, "--label", "y", "--generate", "2", "--no-race", "--out", home)
    assert first.status == 0, first.err
    again = aegis("summarize", table, "--append", home, "--part", "more", "--out", home, "--overwrite")
    assert again.status == 0, again.err


@pytest.mark.parametrize(
    "arguments",
    [
        "attack TABLE --original TABLE --report TABLE",
        "compare TABLE --label y --quasi age --k 5 --report TABLE",
        "tune TABLE --quasi age --k-values 5 --report TABLE",
        "evaluate TABLE --label y --generate 2 --report TABLE",
        "advise TABLE --label y --generate 2 --report roles.yaml --roles roles.yaml",
        "sanitize TABLE --private y --adversary age --out TABLE",
        "release other.csv --rows-of TABLE --policy policy.yaml --out TABLE",
        "apply other.csv --config masks.yaml --roles roles.yaml --out roles.yaml",
        "anonymize TABLE --method boxes --quasi age --k 5 --out boxes.csv --model ./folder/../boxes.csv",
    ],
)
def test_no_output_takes_the_place_of_what_another_option_names(
    aegis: Aegis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    names = ("table.csv", "roles.yaml", "boxes.csv")
    for name in names:
        (tmp_path / name).write_text("age,y\n30,no\n40,yes\n", encoding="utf-8")
    (tmp_path / "link.csv").symlink_to("table.csv")
    for table in ("table.csv", "link.csv"):
        answer = aegis(*arguments.replace("TABLE", "table.csv", 1).replace("TABLE", table).split(), "--overwrite")
        assert answer.status == 2
        assert "is an input or another output of this command" in answer.err
        for name in names:
            assert (tmp_path / name).read_text(encoding="utf-8").startswith("age,y")
