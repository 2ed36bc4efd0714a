"""``aegis push``: what leaves a provider's machine: counts, certificates and masked tables, never rows."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from aegis.catalog.commands import catalog_options
from aegis.commands import options, terminal
from aegis.errors import GuaranteeError, RoleError
from aegis.masking.plural import count

if TYPE_CHECKING:
    from aegis.catalog.client.client import Client
    from aegis.catalog.records import Release
    from aegis.data.dataset import Dataset

app = typer.Typer(help="Push a product, configurations, a summary or a release to a catalog.")

Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until the catalog has measured the release again.")]


@app.command("product")
def product(
    data: options.Data,
    policy: Annotated[Path, typer.Option("--policy", help="The policy file (YAML).")],
    name: Annotated[str | None, typer.Option("--name", help="Its name (default: the data's).")] = None,
    title: Annotated[str | None, typer.Option("--title", help="Its title (default: the name).")] = None,
    description: Annotated[str, typer.Option("--description", help="What it is, for people.")] = "",
    publish: Annotated[bool, typer.Option("--publish", help="Show it to everybody at once.")] = False,
    label: options.Label = None,
    identifying: options.Identifying = "",
    quasi: options.Quasi = "",
    sensitive: options.Sensitive = "",
    insensitive: options.Insensitive = "",
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    missing: options.Missing = None,
    table: options.Table = None,
    engine: options.Engine = None,
    url: catalog_options.Url = catalog_options.DEFAULT_URL,
    token_file: catalog_options.TokenFile = None,
    json: options.Json = False,
) -> None:
    """Register a data product: the columns, kinds and roles of a table, and the policy. Its rows stay here."""
    from aegis.data.engine import open_dataset
    from aegis.library.judging import read_policy

    rules = read_policy(policy)
    given = options.roles(identifying=identifying, quasi=quasi, sensitive=sensitive, insensitive=insensitive)
    reading = options.reading(delimiter=delimiter, encoding=encoding, missing=missing, table=table, engine=engine)
    dataset = open_dataset(data, **reading)
    roles = dataset.roles.overridden_by(given)
    columns = columns_of(dataset.with_roles(roles), label=label or roles.label)
    called = name or dataset.name
    with catalog_options.client(url, token_file) as catalog:
        made = catalog.register(
            called,
            title=title or called,
            description=description,
            columns=columns,
            label=label or roles.label,
            policy=rules.to_mapping(),
        )
        if publish:
            made = catalog.publish(made.name)
    if json:
        terminal.print_json(
            {
                "id": made.id,
                "name": made.name,
                "state": made.state,
                "columns": [asdict(column) for column in made.columns],
            }
        )
        return
    terminal.out().print(f"{made.name}: {count(len(made.columns), 'column')}, {made.state}", soft_wrap=True)
    terminal.next_step(f"aegis push summary FOLDER --product {made.name}")


@app.command("configurations")
def configurations(
    source: Annotated[Path, typer.Argument(help="A configuration file, or a folder of them (YAML or JSON).")],
    product: catalog_options.Product,
    hierarchies: options.Hierarchies = None,
    url: catalog_options.Url = catalog_options.DEFAULT_URL,
    token_file: catalog_options.TokenFile = None,
    json: options.Json = False,
) -> None:
    """Propose masking configurations for a product."""
    from aegis.library.proposals import find_hierarchies
    from aegis.masking.configuration_file import load_configurations, many_to_mapping

    # They travel with their hierarchies: the catalog has no folder to look them up in.
    loaded = load_configurations(source, hierarchies=find_hierarchies(hierarchies, source))
    with catalog_options.client(url, token_file) as catalog:
        found = catalog.propose(product, many_to_mapping(loaded))
    if json:
        listed = [{"id": each.id, "name": each.name, "content_id": each.content_id} for each in found]
        terminal.print_json({"configurations": listed})
        return
    rows = [[each.name, each.content_id, "; ".join(f"{c}: {d}" for c, d in each.described.items())] for each in found]
    terminal.out().print(terminal.table("", ["configuration", "content", "masks"], rows))


@app.command("summary")
def summary(
    folder: Annotated[Path, typer.Argument(help="The folder that aegis summarize wrote.")],
    product: catalog_options.Product,
    url: catalog_options.Url = catalog_options.DEFAULT_URL,
    token_file: catalog_options.TokenFile = None,
    json: options.Json = False,
) -> None:
    """Push a summary: counts that configurations are ranked by. It is read and checked here before it leaves."""
    from aegis.counts.folder import read_summary

    read_summary(folder)
    with catalog_options.client(url, token_file) as catalog:
        made = catalog.push_summary(product, folder)
    if json:
        terminal.print_json({"id": made.id, "level": made.level, "rows": made.rows, "digest": made.digest})
        return
    terminal.out().print(f"{product}: {count(made.rows, 'row')} counted, level {made.level}", soft_wrap=True)


@app.command("release")
def release(
    file: Annotated[Path, typer.Argument(help="The released .csv or .parquet file.")],
    product: catalog_options.Product,
    certificate: Annotated[
        Path | None, typer.Option("--certificate", help="Its certificate (default: the one beside it).")
    ] = None,
    request: Annotated[
        str | None, typer.Option("--request", help="The id of the approved request that it fulfils.")
    ] = None,
    wait: Wait = True,
    url: catalog_options.Url = catalog_options.DEFAULT_URL,
    token_file: catalog_options.TokenFile = None,
    json: options.Json = False,
) -> int:
    """Push a masked table with its certificate; the catalog measures it again before anybody can download it."""
    from aegis.releases.certificate import certificate_paths, read_certificate

    beside = certificate or certificate_paths(file)[0]
    read_certificate(beside)
    with catalog_options.client(url, token_file) as catalog:
        made = catalog.push_release(product, file, beside, request_id=request)
        if wait and made.job_id is not None:
            made = _measured(catalog, made)
    if json:
        terminal.print_json({"id": made.id, "state": made.state, "reason": made.reason, "digest": made.digest})
        return 0 if made.state in {"verified", "received"} else 1
    if made.state == "refused":
        raise GuaranteeError(f"the catalog refused the release: {made.reason}")
    said = "verified" if made.state == "verified" else "received; the catalog measures it again"
    terminal.out().print(Text.assemble((f"{said}: ", "bold green"), made.file_name), soft_wrap=True)
    terminal.next_step(f"aegis pull {made.id}")
    return 0


def _measured(catalog: Client, made: Release) -> Release:
    assert made.job_id is not None
    with terminal.progress("measuring") as update:
        catalog.wait(made.job_id, progress=lambda job: update(round(100 * job.progress), 100, job.stage))
    return catalog.release(made.id)


def columns_of(dataset: Dataset, *, label: str | None) -> list[dict[str, Any]]:
    """The columns as a catalog registers them; every one needs a role, for nothing is guessed."""
    without = [
        column.name for column in dataset.schema if dataset.roles.get(column.name) is None and column.name != label
    ]
    if without:
        raise RoleError(
            f"column {without[0]!r} has no role; list it in the .roles.yaml beside the data, or with --identifying, "
            "--quasi, --sensitive or --insensitive"
        )
    return [
        {
            "name": column.name,
            "kind": column.kind.value,
            "role": _role(dataset, column.name, label),
        }
        for column in dataset.schema
    ]


def _role(dataset: Dataset, column: str, label: str | None) -> str:
    if column == label:
        return "sensitive" if column in dataset.roles.sensitive else "label"
    return dataset.roles[column].value
