"""``aegis sanitize``: release private columns to some and hide them from others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aegis.commands import options, terminal
from aegis.masking.plural import count

if TYPE_CHECKING:
    from aegis.library.sanitize import Sanitized

_FITTING = "Fitting a mechanism"


def sanitize(
    data: options.Data,
    out: Annotated[Path, typer.Option("--out", help="The .csv or .parquet file to write.")],
    private: Annotated[
        str, typer.Option("--private", help="The private columns, comma separated.", rich_help_panel=_FITTING)
    ] = "",
    authorized: Annotated[
        str,
        typer.Option(
            "--authorized", help="What the authorised party knows, comma separated.", rich_help_panel=_FITTING
        ),
    ] = "",
    adversary: Annotated[
        list[str] | None,
        typer.Option(
            "--adversary", help="What one adversary knows, comma separated; may be repeated.", rich_help_panel=_FITTING
        ),
    ] = None,
    distortion: Annotated[
        str,
        typer.Option(
            "--distortion",
            help="Mean squared error (a number) or share of wrong guesses (a category) of the authorised party; one, "
            "or one for each private column.",
            rich_help_panel=_FITTING,
        ),
    ] = "",
    model: Annotated[
        Path | None,
        typer.Option("--model", help="Where the mechanism is kept; without --private: the model to apply."),
    ] = None,
    family: Annotated[
        str,
        typer.Option(
            "--family",
            help="capped (exposes no more records than noise), free (any mean), noise.",
            rich_help_panel=_FITTING,
        ),
    ] = "capped",
    attackers: Annotated[
        str,
        typer.Option(
            "--attackers", help="Who attacks: network, trees, neighbours (default: all).", rich_help_panel=_FITTING
        ),
    ] = "",
    seed: Annotated[
        int | None,
        typer.Option("--seed", help="Repeat a run exactly. Whoever knows the seed can undo the noise: keep it secret."),
    ] = None,
    keep_names: Annotated[
        bool,
        typer.Option(
            "--keep-names", help="Call a release what the column was called: policies and advise then know it."
        ),
    ] = False,
    report: options.Report = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    missing: options.Missing = None,
    table: options.Table = None,
    engine: options.Engine = None,
) -> None:
    """Release private columns so that one party can use them and others cannot; or apply a saved model to new rows."""
    from aegis.errors import InputError
    from aegis.library.sanitize import sanitize as fit
    from aegis.library.sanitize import sanitize_again

    reading = options.reading(delimiter=delimiter, encoding=encoding, missing=missing, table=table, engine=engine)
    if not private:
        if authorized or adversary or distortion or report:
            raise InputError("name the private columns with --private to fit a mechanism; a model is applied without")
        if model is None:
            raise InputError("name the private columns with --private, or a model to apply with --model")
        done = sanitize_again(
            data, model=model, out=out, seed=seed, keep_names=keep_names, overwrite=overwrite, **reading
        )
    else:
        with terminal.progress("sanitizing") as bar:
            done = fit(
                data,
                private=options.names(private),
                authorized=options.names(authorized),
                adversaries=[options.names(one) for one in adversary or ()],
                distortion=_numbers(distortion),
                out=out,
                model=model,
                report=report,
                family=family,  # type: ignore[arg-type]  # checked there
                attackers=options.names(attackers),
                seed=seed,
                keep_names=keep_names,
                overwrite=overwrite,
                progress=bar,
                **reading,
            )
    if json:
        terminal.print_json(done.to_json())
        return
    _show(done)
    if report is not None:
        terminal.talk().print(f"report: {report}", soft_wrap=True)
    terminal.next_step(f"aegis check {out} --policy POLICY.yaml")


def _numbers(text: str) -> tuple[float, ...]:
    from aegis.errors import InputError

    try:
        given = tuple(float(part) for part in options.names(text))
    except ValueError:
        raise InputError("--distortion takes numbers separated by commas") from None
    if not given:
        raise InputError("say how much error the authorised party may have, with --distortion")
    return given


def _show(done: Sanitized) -> None:
    if not done.fitted:
        what = f"{', '.join(done.columns)} replaced by {', '.join(done.released)}"
        text = f"{count(done.rows, 'row')}: {what}; nothing audited"
        terminal.out().print(text, soft_wrap=True)
        return
    for one in done.fitted:
        audit, exposure = one.audit, one.audit.exposure
        rows = [["authorised", f"{one.max_distortion:.4g}", f"{audit.distortion.loss:.4g}", audit.distortion.attacker]]
        for number, (party, before) in enumerate(zip(audit.adversaries, one.saturation_losses, strict=True), start=1):
            rows.append([f"adversary {number}", f"{before:.4g}", f"{party.loss:.4g}", party.attacker])
        columns: list[str | tuple[str, str]] = ["error of", ("without", "right"), ("with", "right"), "best attacker"]
        title = f"{one.mechanism.column} ({one.method})"
        terminal.out().print(terminal.table(title, columns, rows))
        beside = exposure.reference_pinned_share
        than = "" if beside is None else f"; plain noise of this distortion: {100 * beside:.1f} %"
        terminal.out().print(
            f"records an adversary places within {exposure.epsilon:.3g}: {100 * exposure.pinned_share:.1f} %{than}"
            if beside is not None
            else f"records an adversary names correctly: {100 * exposure.pinned_share:.1f} %",
            soft_wrap=True,
        )
        for number, party in enumerate(audit.adversaries, start=1):
            if one.distortion < one.max_distortion and party.loss <= audit.distortion.loss:
                terminal.aside(
                    f"adversary {number} errs no more than the authorised party: the release of "
                    f"{one.mechanism.column} does not protect from it"
                )
        if one.distortion >= one.max_distortion:
            terminal.aside(
                f"the authorised party needs no release of {one.mechanism.column} for that distortion: it is silent"
            )
    terminal.aside(f"written in place of {', '.join(done.columns)}: {', '.join(done.released)}")
    if done.seeded:
        terminal.aside("the noise comes from the seed: whoever knows it can undo the release")
