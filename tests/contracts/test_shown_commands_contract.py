"""A command that is shown is pasted: whatever a program puts into one goes through the one function that quotes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import aegis

SOURCES = Path(aegis.__file__).parent
COMMAND = re.compile(r"\baegis [a-z]+ ")
QUOTING = {"word", "data_words", "label_words", "role_words", "count"}
NUMBERS = {"k", "classes", "seed", "trade_off", "diversity", "kind", "position"}
"""Attributes that hold a number or a word of our own."""


def quotes(expression: ast.expr, function: ast.AST) -> bool:
    """Whether what an expression gives is one word of a shell, or words of our own."""
    if isinstance(expression, ast.Constant):
        return True
    if isinstance(expression, ast.JoinedStr):
        parts = [part.value for part in expression.values if isinstance(part, ast.FormattedValue)]
        return all(quotes(part, function) for part in parts)
    if isinstance(expression, ast.IfExp):
        return quotes(expression.body, function) and quotes(expression.orelse, function)
    if isinstance(expression, ast.BinOp):
        return quotes(expression.left, function) and quotes(expression.right, function)
    if isinstance(expression, ast.List):
        return all(quotes(element, function) for element in expression.elts)
    if isinstance(expression, ast.Call):
        called = expression.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if name == "join":
            return quotes(expression.args[0], function)
        return name in QUOTING
    if isinstance(expression, ast.Attribute):
        return expression.attr in NUMBERS
    if isinstance(expression, ast.Name):
        given = [value for name, value in bound(function) if name == expression.id]
        return expression.id in NUMBERS or (bool(given) and all(quotes(value, function) for value in given))
    return False


def bound(function: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """What a function binds its names to; what it appends to a list counts too."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id, node.value
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    for name, value in zip(target.elts, node.value.elts, strict=True):
                        if isinstance(name, ast.Name):
                            yield name.id, value
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Attribute) and called.attr == "append" and isinstance(called.value, ast.Name):
            yield called.value.id, node.args[0]


def in_command(before: str) -> bool:
    """Whether what comes next stands in a command, and not in a sentence that names one."""
    start = list(COMMAND.finditer(before))
    if not start:
        return False
    words = before[start[-1].end() :].split()
    plain = [
        word for place, word in enumerate(words) if word.isalpha() and word.islower() and words[place - 1][:2] != "--"
    ]
    return len(plain) <= 1  # the second word of a command like ``push release``


def unquoted(path: Path) -> list[str]:
    """The places of a file where something gets into a command as it is."""
    text = path.read_text(encoding="utf-8")
    if not COMMAND.search(text):
        return []
    found = []
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for shown in ast.walk(function):
            if not isinstance(shown, ast.JoinedStr):
                continue
            before = ""
            for part in shown.values:
                if isinstance(part, ast.Constant):
                    before += str(part.value)
                elif isinstance(part, ast.FormattedValue):
                    if in_command(before) and not quotes(part.value, function):
                        found.append(f"{path.name}:{part.lineno}: {ast.unparse(part.value)}")
                    before += "X"
    return found


def test_everything_in_a_command_is_quoted() -> None:
    found = [place for path in sorted(SOURCES.rglob("*.py")) for place in unquoted(path)]
    assert not found, found


@pytest.mark.parametrize("shown", ["{path}", "{','.join(names)}", "{options.data}", "{word(a) + b}"])
def test_what_is_not_quoted_is_found(shown: str, tmp_path: Path) -> None:
    """The check above can fail."""
    file = tmp_path / "shown.py"
    file.write_text(f'def show(path, names, options, a, b):\n    print(f"aegis release {shown} --out x")\n')
    assert len(unquoted(file)) == 1
