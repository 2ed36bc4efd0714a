"""Names and texts as SQL writes them, so that nothing in them is taken for SQL."""

from __future__ import annotations


def quoted_name(name: str, *, spark: bool = False) -> str:
    """The name of a column or table.

    >>> print(quoted_name('a "b" c'), quoted_name("a b", spark=True))
    "a ""b"" c" `a b`
    """
    mark = "`" if spark else '"'
    return mark + name.replace(mark, 2 * mark) + mark


def quoted_text(text: str, *, spark: bool = False) -> str:
    """A text; in Spark a backslash means something within one.

    >>> print(quoted_text("O'Hara"), quoted_text("O'Hara", spark=True))
    'O''Hara' 'O\\'Hara'
    """
    if spark:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return "'" + text.replace("'", "''") + "'"
