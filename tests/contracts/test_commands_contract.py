"""Every declared command says what its options mean; Python, the terminal and the reference name the same ones."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import typer

import aegis
from aegis.command_line import app
from aegis.commands.advise import Advise
from aegis.commands.apply import Apply
from aegis.commands.command import COMMANDS, GROUPS, Command
from aegis.commands.fields import WithLedger
from aegis.errors import AegisError, OptionError, OutputError
from aegis.operation import Argument, Field, Operation, fields_of

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
DECLARED: dict[str, Command] = dict(COMMANDS.items())
LIBRARY = {name: made for name, made in DECLARED.items() if made.run.startswith("aegis.library.")}


def _typed(name: str) -> Any:
    """The command as the terminal has it."""
    command: Any = typer.main.get_command(app)
    for word in name.split():
        command = command.commands[word]
    return command


def _terminal(made: Command) -> list[Field]:
    return [field for field in fields_of(made.options) if field.option.terminal]


@pytest.mark.parametrize("name", DECLARED)
def test_every_option_says_what_it_means(name: str) -> None:
    made = DECLARED[name]
    assert made.group in GROUPS, "its group is a heading of aegis --help, from commands/command.py"
    assert re.match(r"[A-Z].*\.", made.help, flags=re.DOTALL), "a command is described in sentences"
    for field in fields_of(made.options):
        text = field.option.help
        assert text[0].isupper() or text.split()[0] in ("ours,", "ours"), f"{field.flag}: {text}"
        assert text.rstrip("…").endswith((".", ";", ",", "'")) or text.endswith("…"), f"{field.flag}: {text}"
        assert set(field.needs) <= {other.name for other in fields_of(made.options)}


@pytest.mark.parametrize("name", [name for name in DECLARED if name not in ("start", "run")])  # these always write
def test_replacing_an_output_is_refused_where_none_is_named(name: str) -> None:
    declared = {field.name: field for field in fields_of(DECLARED[name].options)}
    if "overwrite" in declared:
        outputs = set(declared["overwrite"].needs)
        assert outputs or any(declared[output].required for output in ("out", "private_key") if output in declared)


@pytest.mark.parametrize("name", [name for name, made in DECLARED.items() if issubclass(made.options, WithLedger)])
def test_what_is_said_of_a_ledger_is_refused_where_none_is_asked(name: str) -> None:
    options: Any = DECLARED[name].options
    required = {field.name: 1.0 if field.kind is float else "x.csv" for field in fields_of(options) if field.required}
    if "policy" in {field.name for field in fields_of(options)}:
        required["policy"] = "policy.yaml"
    with pytest.raises(OptionError, match=r"; leave out .*--recipient"):
        options(**required, ledger="none", recipient="a hospital")


@pytest.mark.parametrize("name", DECLARED)
@pytest.mark.parametrize("blank", ["", "  "])
def test_a_blank_text_is_refused_and_not_taken_for_no_answer(name: str, blank: str) -> None:
    """An empty reason let a release pass its ledger, and an empty label was no label."""
    options: Any = DECLARED[name].options
    fields = fields_of(options)
    required = {field.name: 1.0 if field.kind is float else "x.csv" for field in fields if field.required}
    texts = [field for field in fields if field.kind is str and not field.many and not field.option.choices]
    for field in texts:
        if not field.option.blank and field.default != blank:
            with pytest.raises(OptionError, match=f"^{field.flag} is empty"):
                options(**{**required, field.name: blank})


@pytest.mark.parametrize("name", DECLARED)
def test_no_value_of_a_table_is_in_the_repr_of_options(name: str) -> None:
    """A data frame was shown with its rows, and a configuration with the values it lists."""
    options: Any = DECLARED[name].options
    fields = fields_of(options)
    table = pa.table({"age": [31], "town": ["Canary"]})
    required = {field.name: 1.0 if field.kind is float else table for field in fields if field.required}
    masks = {"configs": [{"town": {"regroup": {"groups": {"x": ["Canary"]}}}}], "config": {"town": {"Canary": 1}}}
    more = {name: value for name, value in masks.items() if name in {field.name for field in fields}}
    try:
        shown = repr(options(**{**required, **more}))
    except (AegisError, TypeError):
        return  # it takes no table
    assert shown.startswith(f"{options.__name__}(")
    assert "Canary" not in shown


def test_options_show_what_was_given() -> None:
    assert repr(Advise("clinic.csv", label="health", generate=3)) == (
        "Advise(data='clinic.csv', label='health', generate=3)"
    )


def test_every_word_of_the_help_is_described() -> None:
    commands: Any = typer.main.get_command(app)
    assert [name for name, command in commands.commands.items() if not command.help] == []


@pytest.mark.parametrize("name", DECLARED)
def test_every_command_prints_json(name: str) -> None:
    flags = {flag for parameter in _typed(name).params for flag in parameter.opts}
    assert "--json" in flags


@pytest.mark.parametrize("name", DECLARED)
def test_the_terminal_has_the_declared_names_and_defaults(name: str) -> None:
    made = DECLARED[name]
    parameters = {parameter.name: parameter for parameter in _typed(name).params}
    assert set(parameters) - {"help", "json"} == {field.name for field in _terminal(made)}
    for field in _terminal(made):
        parameter = parameters[field.name]
        assert parameter.required == field.required
        assert parameter.help, f"{field.flag} says nothing"
        if not field.many and not field.required:
            assert parameter.default == field.default


@pytest.mark.parametrize("name", LIBRARY)
def test_python_has_the_same_function_with_the_same_names_and_defaults(name: str) -> None:
    made = LIBRARY[name]
    public = made.run.partition(":")[2]
    words = name.replace(" ", "_").replace("-", "_")
    # a room of that name stands in the way of aegis.measures, say
    assert public in (words, f"list_{words}"), f"aegis {name} is called aegis.{words} or aegis.list_{words} in Python"
    assert public in aegis.__all__, f"add {public} to src/aegis/__init__.py: for type checkers, and to _HOMES"
    function: Any = getattr(aegis, public)
    assert isinstance(function, Operation), f"put @operation({made.options.__name__}) above {made.run}"
    assert function.run is made.operation()
    assert function.options is made.options
    signature = inspect.signature(function)
    assert set(signature.parameters) == {field.name for field in fields_of(made.options)}
    for field in fields_of(made.options):
        parameter = signature.parameters[field.name]
        assert field.required == (parameter.default is parameter.empty)
        assert field.required or parameter.default == field.default
        by_position = parameter.kind is not parameter.KEYWORD_ONLY
        assert by_position == isinstance(field.option, Argument), f"{field.name} by position"
        assert parameter.kind is not parameter.VAR_KEYWORD
        assert f"\n    {field.name}: {field.option.help}" in (function.__doc__ or "")


@pytest.mark.parametrize("name", DECLARED)
def test_the_reference_page_names_every_option(name: str) -> None:
    heading = f"\n## aegis {name}\n"
    assert heading in REFERENCE, "run python docs/reference/generate.py and commit what changes"
    section = REFERENCE.split(heading, 1)[1].split("\n## ", 1)[0]
    for field in _terminal(DECLARED[name]):
        shown = field.name.upper() if isinstance(field.option, Argument) else field.flag
        assert f"`{shown}`" in section, f"{shown} is not in the reference of {name}: run docs/reference/generate.py"


# What an operation does not use cannot be given


Aegis = Callable[..., Any]


def test_a_measure_beside_tables_is_refused_and_nothing_is_written(aegis: Aegis, tmp_path: Path) -> None:
    table = tmp_path / "x.csv"
    table.write_text("age,ill\n1,0\n2,1\n", encoding="utf-8")
    report, best = tmp_path / "r.html", tmp_path / "s.yaml"
    asked = ("--tables", table, "--measure", "nonsense", "--report", report, "--save", best)
    answer = aegis("advise", table, "--label", "ill", *asked)
    assert answer.status == 2
    assert answer.err.startswith("error: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.csv"]


def test_a_reference_without_a_measure_is_refused(aegis: Aegis, clinic: Path) -> None:
    answer = aegis("advise", clinic / "clinic.csv", "--generate", "3", "--reference", "per-configuration")
    assert answer.status == 2
    assert "--reference" in answer.err
    assert "--measure" in answer.err


@pytest.mark.parametrize("asked", [("--paper", "II"), ("--measure", "g3", "--reference", "nearest-linf")])
def test_the_papers_ways_rank_from_the_command_line(aegis: Aegis, tmp_path: Path, asked: tuple[str, ...]) -> None:
    table = tmp_path / "x.csv"
    table.write_text("age,ill\n" + "".join(f"{20 + i % 9},{i % 2}\n" for i in range(60)), encoding="utf-8")
    answer = aegis("advise", table, "--label", "ill", "--generate", "3", *asked, "--json")
    assert answer.status == 0, answer.err
    ranking = json.loads(answer.out)
    assert ranking["measure"] == "g3"
    assert ranking["reference"] == ("per-configuration" if asked[0] == "--paper" else "nearest-linf")


def test_what_the_paper_fixes_is_refused_beside_it(aegis: Aegis, clinic: Path) -> None:
    answer = aegis("advise", clinic / "clinic.csv", "--label", "health", "--paper", "I", "--rounding", "none")
    assert answer.status == 2
    assert "--paper fixes" in answer.err
    assert "--rounding" in answer.err


@pytest.mark.parametrize("command", ["check", "release"])
def test_hierarchies_that_nothing_uses_are_refused(aegis: Aegis, clinic: Path, tmp_path: Path, command: str) -> None:
    table, policy = tmp_path / "x.csv", tmp_path / "policy.yaml"
    table.write_text("gender,ill\n" + "f,0\nm,1\n" * 5, encoding="utf-8")
    policy.write_text("quasi_identifying: [gender]\nk: 2\n", encoding="utf-8")
    out = ("--insensitive", "rest", "--out", tmp_path / "out.csv") if command == "release" else ()
    asked = (command, table, "--policy", policy, *out)
    answer = aegis(*asked, "--hierarchies", clinic / "hierarchies")
    assert answer.status == 2
    assert "--hierarchies" in answer.err
    assert aegis(*asked).status == 0


def test_overwriting_nothing_is_refused(clinic: Path) -> None:
    from aegis.errors import OptionError

    with pytest.raises(OptionError, match="--overwrite"):
        aegis.generate(clinic / "clinic.csv", count=2, overwrite=True)


def test_two_outputs_are_two_files_whether_or_not_files_may_be_replaced() -> None:
    for overwrite in (False, True):
        with pytest.raises(OutputError, match="a name of its own"):
            Apply(data="x.csv", config="masks.yaml", out="a.csv", fitted="folder/../a.csv", overwrite=overwrite)
