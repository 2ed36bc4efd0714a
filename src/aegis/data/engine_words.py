"""What is said to an engine and by it: names and texts as SQL writes them, and what it raises as an error of ours.

Nothing in a name or text is taken for SQL. An engine's messages may quote data, and Ctrl-C is nobody's data at fault.
"""

from __future__ import annotations

from aegis.errors import AegisError


def in_our_words(error: Exception, ours: AegisError) -> BaseException:
    """What is raised ``from None`` where an engine raised ``error``: ``ours``, which quotes nothing of it.

    An error that is one of ours already stays as it is, and an engine's own way of saying Ctrl-C is an interruption.
    """
    if isinstance(error, AegisError):
        return error
    return KeyboardInterrupt() if is_interruption(error) else ours


def is_interruption(error: BaseException) -> bool:
    """Whether an engine's error means that somebody interrupted the query.

    >>> is_interruption(RuntimeError("Query interrupted")), is_interruption(ValueError("no column interrupted"))
    (True, False)
    """
    seen: BaseException | None = error
    while seen is not None:
        if "Interrupt" in type(seen).__name__:  # KeyboardInterrupt itself, and DuckDB's InterruptException
            return True
        # Other errors may quote names or data, so only the bare error of DuckDB's Python binding is read.
        if type(seen) is RuntimeError and "interrupt" in str(seen).lower():
            return True
        seen = seen.__cause__ or seen.__context__
    return False


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
