"""``aegis masks`` and ``aegis measures``: what there is to choose from."""

from __future__ import annotations

from aegis.cli import options, terminal


def masks(json: options.Json = False) -> None:
    """List the masks with their parameters and an example."""
    from aegis.masking.catalogue import catalogue

    rows = catalogue()
    if json:
        terminal.print_json({"masks": [row.to_json() for row in rows]})
        return
    terminal.out().print(
        terminal.table(
            "Masks",
            ["name", "parameters", "fits", "example", "what it does"],
            [
                [
                    row.name,
                    ", ".join(row.parameters),
                    ", ".join(row.kinds),
                    " → ".join(row.example) if any(row.example) else "",
                    row.summary,
                ]
                for row in rows
            ],
        )
    )


def measures(json: options.Json = False) -> None:
    """List the measures of utility with what is known of them."""
    from aegis.utility.measure import MEASURES

    known = [measure for _, measure in MEASURES.items()]
    if json:
        terminal.print_json(
            {
                "measures": [
                    {
                        "name": m.name,
                        "unit": m.unit,
                        "higher_is_better": m.higher_is_better,
                        "bounds": [m.lower, m.upper],
                        "invariant": m.invariant,
                        "monotone": m.monotone,
                        "reference": m.reference,
                        "summary": m.summary,
                    }
                    for m in known
                ]
            }
        )
        return
    terminal.out().print(
        terminal.table(
            "Measures",
            ["name", "unit", "better", "monotone", "what it says"],
            [
                [m.name, m.unit, "higher" if m.higher_is_better else "lower", "yes" if m.monotone else "no", m.summary]
                for m in known
            ],
        )
    )
