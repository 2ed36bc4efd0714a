"""``aegis push``: what leaves a provider's machine: counts, certificates and masked tables, never rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.text import Text

from aegis.catalog.commands.catalog_options import Product, RemoteCatalog, catalog_command, client
from aegis.commands import terminal
from aegis.commands.fields import Data, Hierarchies, Label, PathLike, PolicyLike, WithRoles, Working
from aegis.errors import ConflictError, GuaranteeError, OtherLedgerError, RoleError
from aegis.operation import Argument, Option, operation
from aegis.plural import count
from aegis.result import Result

if TYPE_CHECKING:
    from aegis.data.dataset import Dataset


@dataclass(frozen=True)
class PushProduct(RemoteCatalog, WithRoles):
    """Register a data product: the columns, kinds and roles of a table, and the policy. Its rows stay here."""

    data: Data
    _: KW_ONLY
    policy: Annotated[PolicyLike, Option("What must hold for every release (YAML).")]
    name: Annotated[str | None, Option("Its name (default: the data's).")] = None
    title: Annotated[str | None, Option("Its title (default: the name).")] = None
    description: Annotated[str, Option("What it is, for people.")] = ""
    tags: Annotated[Sequence[str], Option("Words to find it by, separated by commas.")] = ()
    publish: Annotated[bool, Option("Show it to everybody at once.")] = False
    label: Label = None


@dataclass(frozen=True)
class PushConfigurations(RemoteCatalog):
    """Propose masking configurations for a product."""

    configs: Annotated[PathLike, Argument("A configuration file, or a folder of them (YAML or JSON).")]
    _: KW_ONLY
    product: Product
    hierarchies: Hierarchies = None


@dataclass(frozen=True)
class PushSummary(RemoteCatalog):
    """Push a summary: counts that configurations are ranked by. It is read and checked here before it leaves."""

    folder: Annotated[PathLike, Argument("The folder that aegis summarize wrote.")]
    _: KW_ONLY
    product: Product


@dataclass(frozen=True)
class PushRelease(RemoteCatalog, Working):
    """Push a masked table with its certificate; the catalog measures it again before anybody can download it."""

    file: Annotated[PathLike, Argument("The released .csv or .parquet file.")]
    _: KW_ONLY
    product: Product
    certificate: Annotated[PathLike | None, Option("Its certificate (default: the one beside it).")] = None
    request: Annotated[str | None, Option("The id of the approved request that it fulfils.")] = None
    wait: Annotated[bool, Option("Wait until the catalog has measured the release again.")] = True


@dataclass(frozen=True)
class PushTogether(RemoteCatalog, WithRoles):
    """Judge here what the maskings of a product show together with earlier releases, and push the verdicts.

    Experts see them before they approve: what breaks the policy together is refused. Rows stay here.
    """

    data: Data
    _: KW_ONLY
    product: Product
    hierarchies: Hierarchies = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PushedTogether(Result):
    """How many sets of maskings were judged, and how many of them break the policy."""

    product: str
    judged: int
    broken: int

    @property
    def headline(self) -> str:
        """The numbers."""
        return (
            f"{self.product}: {count(self.judged, 'set')} of maskings judged together, {self.broken} break the policy"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredProduct(Result):
    """A product as the catalog has it now."""

    id: str
    name: str
    state: str
    columns: tuple[dict[str, Any], ...]

    @property
    def headline(self) -> str:
        """Its name, size and state."""
        return f"{self.name}: {count(len(self.columns), 'column')}, {self.state}"

    def table_rows(self) -> list[dict[str, Any]]:
        """Its columns."""
        return [dict(column) for column in self.columns]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedConfiguration:
    """A configuration as the catalog has it now; ``described`` says column by column what it does."""

    id: str
    name: str
    content_id: str
    described: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedConfigurations(Result):
    """Configurations that were proposed for a product."""

    configurations: tuple[ProposedConfiguration, ...]

    @property
    def headline(self) -> str:
        """How many."""
        return f"{count(len(self.configurations), 'configuration')} proposed"

    def table_rows(self) -> list[dict[str, Any]]:
        """One row for each."""
        return [
            {
                "configuration": proposed.name,
                "content": proposed.content_id,
                "masks": "; ".join(f"{column}: {text}" for column, text in proposed.described.items()),
            }
            for proposed in self.configurations
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class PushedSummary(Result):
    """A summary as the catalog has it now."""

    id: str
    product: str
    level: str
    rows: int
    digest: str

    @property
    def headline(self) -> str:
        """What it covers."""
        return f"{self.product}: {count(self.rows, 'row')} counted, level {self.level}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PushedRelease(Result):
    """A release as the catalog has it now; ``reason`` says why it was refused."""

    id: str
    state: str
    reason: str | None
    digest: str
    file_name: str

    @property
    def exit_status(self) -> int:
        """1 if the catalog refused it."""
        return 0 if self.state in {"verified", "received"} else 1

    @property
    def headline(self) -> str:
        """What became of it."""
        if self.state == "refused":
            return f"the catalog refused the release: {self.reason}"
        return (
            f"{'verified' if self.state == 'verified' else 'received; the catalog measures it again'}: {self.file_name}"
        )


@operation(PushProduct)
def push_product(options: PushProduct) -> RegisteredProduct:
    """Register the columns, kinds and roles of a table with a policy."""
    from aegis.catalog.records import record_of
    from aegis.library.tables.judging import read_policy
    from aegis.library.tables.opening import open_table

    policy = read_policy(options.policy)
    dataset = open_table(options.data, options)
    label = options.label or dataset.roles.label
    columns = columns_of(dataset, label=label)
    name = options.name or dataset.name
    with client(options) as catalog:
        product = catalog.register(
            name,
            title=options.title or name,
            description=options.description,
            columns=columns,
            label=label,
            policy=policy.to_mapping(),
            tags=options.tags,
        )
        if options.publish:
            product = catalog.publish(product.name)
    columns_now = tuple(asdict(column) for column in product.columns)
    return record_of(RegisteredProduct, product, state=product.state.value, columns=columns_now)


@operation(PushConfigurations)
def push_configurations(options: PushConfigurations) -> ProposedConfigurations:
    """Propose the configurations of a file or folder; they travel with their hierarchies."""
    from aegis.catalog.records import record_of
    from aegis.library.tables.opening import find_hierarchies
    from aegis.masking.configuration_file import load_configurations, many_to_mapping

    # The catalog has no folder to look hierarchies up in.
    source = Path(options.configs)
    loaded = load_configurations(source, hierarchies=find_hierarchies(options.hierarchies, source))
    with client(options) as catalog:
        proposed = catalog.propose(options.product, many_to_mapping(loaded))
    return ProposedConfigurations(
        configurations=tuple(record_of(ProposedConfiguration, configuration) for configuration in proposed)
    )


@operation(PushSummary)
def push_summary(options: PushSummary) -> PushedSummary:
    """Read and check a summary, then push it."""
    from aegis.catalog.records import record_of
    from aegis.counts.folder import read_summary

    folder = Path(options.folder)
    read_summary(folder)
    with client(options) as catalog:
        summary = catalog.push_summary(options.product, folder)
    return record_of(PushedSummary, summary, product=options.product)


@operation(PushTogether)
def push_together(options: PushTogether) -> PushedTogether:
    """Judge every masking of a product with earlier releases, and every two of them, on the rows; push the verdicts."""
    from aegis.catalog.client.joint_verdicts import judge_sets, sets_of
    from aegis.library.tables.opening import find_hierarchies, open_table
    from aegis.masking.configuration_file import configurations_from_mapping
    from aegis.privacy.policy import Policy

    hierarchies = find_hierarchies(options.hierarchies, options.data)
    with client(options) as catalog:
        product = catalog.product(options.product)
        if product.policy is None:
            raise ConflictError("the product has no policy to judge by; give it one first")
        policy = Policy.from_mapping(product.policy, where="the product's policy")
        pushed = {
            configuration.content_id: configurations_from_mapping(dict(configuration.content), name=configuration.name)[
                0
            ]
            for configuration in catalog.configurations(options.product)
        }
        sets = sets_of(catalog.ledger(options.product), pushed)
        if not sets:
            raise ConflictError("there are not two maskings to judge together; propose some first")
        verdicts = judge_sets(open_table(options.data, options), policy, pushed, sets, hierarchies=hierarchies)
        catalog.judge_together(options.product, policy_id=policy.id, verdicts=verdicts)
    broken = sum(not verdict.satisfied for verdict in verdicts)
    return PushedTogether(product=options.product, judged=len(verdicts), broken=broken)


@operation(PushRelease)
def push_release(options: PushRelease) -> PushedRelease:
    """Push a release with its certificate and, unless ``wait`` is off, wait for what the catalog measures."""
    from aegis.catalog.records import record_of
    from aegis.releases.certificate import certificate_paths, read_certificate

    file = Path(options.file)
    certificate = certificate_paths(file)[0] if options.certificate is None else Path(options.certificate)
    _check_judged(file, read_certificate(certificate).content)
    progress = options.progress
    with client(options) as catalog:
        release = catalog.push_release(options.product, file, certificate, request_id=options.request)
        if options.wait and release.job_id is not None:
            catalog.wait(
                release.job_id,
                progress=None if progress is None else lambda job: progress(round(100 * job.progress), 100, job.stage),
            )
            release = catalog.release(release.id)
    return record_of(PushedRelease, release, state=release.state.value)


def _check_judged(file: Path, content: Mapping[str, Any]) -> None:
    """Raise for a table that was made of another one's rows and certified alone: nobody judged it with earlier
    releases."""
    from aegis.data.schema import Roles
    from aegis.library.ledgers.recognition import known_as_made, made_elsewhere
    from aegis.library.tables.judging import open_written

    if "ledger" in content:
        return  # aegis release judged it, or somebody decided that it is judged alone
    written = open_written(file, named=file)
    identifying = tuple(name for name in content.get("roles", {}).get("identifying", ()) if name in written.schema)
    made = known_as_made(written, Roles(identifying=identifying))
    if made is not None:
        raise OtherLedgerError(f"nothing was pushed: {made_elsewhere(file.name, made)}")


@catalog_command("push product", PushProduct, run="aegis.catalog.commands.push:push_product")
def product_command(product: RegisteredProduct, options: PushProduct) -> None:
    """The product, and what is pushed next."""
    terminal.out().print(product.headline, soft_wrap=True)
    terminal.next_step(f"aegis push summary FOLDER --product {terminal.word(product.name)}")


@catalog_command("push configurations", PushConfigurations, run="aegis.catalog.commands.push:push_configurations")
def configurations_command(proposed: ProposedConfigurations, options: PushConfigurations) -> None:
    """What was proposed."""
    rows = [list(row.values()) for row in proposed.table_rows()]
    terminal.out().print(terminal.table("", ["configuration", "content", "masks"], rows))


@catalog_command("push summary", PushSummary, run="aegis.catalog.commands.push:push_summary")
def summary_command(summary: PushedSummary, options: PushSummary) -> None:
    """What it covers."""
    terminal.out().print(summary.headline, soft_wrap=True)


@catalog_command("push together", PushTogether, run="aegis.catalog.commands.push:push_together")
def together_command(pushed: PushedTogether, options: PushTogether) -> None:
    """What was judged."""
    terminal.out().print(pushed.headline, soft_wrap=True)


@catalog_command("push release", PushRelease, run="aegis.catalog.commands.push:push_release", working="measuring")
def release_command(release: PushedRelease, options: PushRelease) -> None:
    """What became of it; a refusal is an error."""
    if release.state == "refused":
        raise GuaranteeError(release.headline)
    state, _, name = release.headline.rpartition(": ")
    terminal.out().print(Text.assemble((f"{state}: ", "bold green"), name), soft_wrap=True)
    terminal.next_step(f"aegis pull {terminal.word(release.id)}")


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
        {"name": column.name, "kind": column.kind.value, "role": _role(dataset, column.name, label)}
        for column in dataset.schema
    ]


def _role(dataset: Dataset, column: str, label: str | None) -> str:
    if column == label:
        return "sensitive" if column in dataset.roles.sensitive else "label"
    return dataset.roles[column].value
