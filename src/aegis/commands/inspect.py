"""``aegis inspect``: what the columns of a table hold."""

from __future__ import annotations

from rich.text import Text

from aegis.commands import options, terminal
from aegis.masking.plural import count


def inspect(
    data: options.Data,
    json: options.Json = False,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    missing: options.Missing = None,
    table: options.Table = None,
    engine: options.Engine = None,
) -> None:
    """Show columns, kinds, distinct and missing values, and suggest roles. Shows no values."""
    from aegis.library.inspect import inspect as look

    seen = look(
        data,
        **options.reading(delimiter=delimiter, encoding=encoding, missing=missing, table=table, engine=engine),
    )
    if json:
        terminal.print_json(
            {
                "name": seen.name,
                "rows": seen.rows,
                "columns": [
                    {
                        "name": column.name,
                        "kind": column.kind.value,
                        "distinct": column.distinct,
                        "missing": column.missing,
                        "role": None if column.role is None else column.role.value,
                        "suggested_role": column.suggested.value,
                        "why": column.why,
                    }
                    for column in seen.columns
                ],
            }
        )
        return
    rows = [
        [
            column.name,
            column.kind.value,
            f"{column.distinct:,}",
            f"{column.missing:,}" if column.missing else "",
            column.role.value if column.role is not None else Text(f"{column.suggested.value}?", style="dim"),
            column.why if column.role is None else "as given",
        ]
        for column in seen.columns
    ]
    terminal.out().print(
        terminal.table(
            f"{seen.name}: {count(seen.rows, 'row')}",
            ["column", "kind", ("distinct", "right"), ("missing", "right"), "role", "why"],
            rows,
        )
    )
    label = next((c.name for c in seen.columns if (c.role or c.suggested).value == "label"), "COLUMN")
    again = options.data_words(data, table=table, engine=engine)
    empty = [c.name for c in seen.columns if not c.distinct and (c.role is None or c.role.value != "identifying")]
    left_out = f" --identifying {terminal.word(options.listed(empty))}" if empty else ""
    terminal.next_step(f"aegis advise {again} --label {terminal.word(label)}{left_out} --generate 50")
