"""``--insensitive rest`` means the same to every command that takes roles as it does to `release`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from aegis.commands.advise import Advise
from aegis.data.schema import Role
from aegis.library.tables.opening import open_table

Aegis = Callable[..., Any]


def test_the_rest_is_whatever_has_no_other_role() -> None:
    table = pa.table({"age": [1, 2], "zip": [3, 4], "note": ["a", "b"], "y": ["u", "v"]})
    roles = open_table(table, Advise(table, label="y", quasi=("age",), insensitive=("rest",), generate=2)).roles
    assert roles.quasi_identifying == ("age",)
    assert roles.insensitive == ("zip", "note")
    assert roles.get("y") is None, "the label is no part of the rest"


def test_a_column_of_that_name_is_a_column() -> None:
    table = pa.table({"age": [1, 2], "rest": [3, 4], "y": ["u", "v"]})
    roles = open_table(table, Advise(table, label="y", insensitive=("rest",), generate=2)).roles
    assert roles.get("rest") is Role.INSENSITIVE
    assert roles.get("age") is None


def test_advise_takes_it_on_the_command_line(aegis: Aegis, tmp_path: Path) -> None:
    data, masks = tmp_path / "d.csv", tmp_path / "masks.yaml"
    data.write_text("age,note,y\n" + "1,a,u\n2,b,v\n" * 20, encoding="utf-8")
    masks.write_text("age: suppress\n", encoding="utf-8")
    given = ("--quasi", "age", "--insensitive", "rest", "--configs", masks, "--fast")
    answer = aegis("advise", data, "--label", "y", *given)
    assert answer.status == 0, answer.err
