"""The first ranking as a conversation: what is in the table, what its columns are, what must hold, what is tried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aegis.commands import terminal
from aegis.commands.fields import STRENGTHS
from aegis.commands.start import (
    Questions,
    Start,
    ask_label_bins,
    ask_policy,
    ask_roles,
    may_save,
    show_columns,
)
from aegis.counts.profile import profile
from aegis.data.dataset import Dataset
from aegis.data.schema import Roles
from aegis.data.yaml_text import dump
from aegis.errors import PolicyNotSatisfiedError
from aegis.library.advise import advise
from aegis.library.opening import open_table
from aegis.operation import operation
from aegis.privacy.policy import Policy
from aegis.ranking.ranking import Ranking

_ROLE_WORDS = (
    "[bold]identifying[/bold] names a person · [bold]quasi_identifying[/bold] could single one out "
    "together with others · [bold]sensitive[/bold] must not be learned about a person · "
    "[bold]insensitive[/bold] is neither"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """What the conversation came to; ``none_passed`` says that the policy let no candidate through."""

    ranking: Ranking
    roles: Roles
    policy: Mapping[str, Any]
    label_bins: int | None
    candidates: int
    strength: str
    none_passed: bool
    roles_file: Path
    policy_file: Path
    saved: tuple[Path, ...]


@operation(Start)
def start(options: Start) -> Started:
    """Ask for roles, a policy and candidates, each with a suggestion, and rank them."""
    questions = Questions(options.yes)
    talk = terminal.talk()

    talk.print("1 · What is in the table", style="bold")
    dataset = open_table(options.data, options)
    columns = profile(dataset)
    show_columns(columns)

    talk.print("\n2 · Which part each column plays", style="bold")
    talk.print(_ROLE_WORDS, markup=True)
    roles = ask_roles(columns, questions)
    assert roles.label is not None
    label_bins = ask_label_bins(columns, roles.label, questions)

    talk.print("\n3 · What a release must satisfy", style="bold")
    policy = ask_policy(roles, questions)
    folder = Path(options.data).parent if "://" not in options.data else Path()
    roles_file, policy_file = (folder / f"{dataset.name}.{what}.yaml" for what in ("roles", "policy"))
    wanted = [path for path in (roles_file, policy_file) if may_save(path, questions, options.overwrite)]

    talk.print("\n4 · Candidates", style="bold")
    candidates = questions.number("How many maskings shall be tried?", 40, least=1)
    strength = questions.choice("How strong?", list(STRENGTHS), "mixed")

    talk.print("\n5 · Ranking", style="bold")
    judged_by = Policy.from_mapping(policy) if roles.quasi_identifying else None

    def ranked(policy: Policy | None) -> Ranking:
        opened: Dataset = dataset.with_roles(roles)
        with terminal.progress("counting") as progress:
            return advise(
                opened,
                generate=candidates,
                strength=strength,
                label_bins=label_bins,
                policy=policy,
                seed=options.seed,
                progress=progress,
                report=options.report,
                overwrite=options.overwrite,
            )

    none_passed = False
    try:
        ranking = ranked(judged_by)
    except PolicyNotSatisfiedError:
        none_passed = True
        talk.print(f"None of the {candidates} satisfies the policy; this is their ranking without it.")
        ranking = ranked(None)
    # Answers that led to no ranking are not worth keeping: a label that is none would fail again.
    for path in wanted:
        path.write_text(dump(roles.to_mapping() if path == roles_file else policy), encoding="utf-8")
    return Started(
        ranking=ranking,
        roles=roles,
        policy=policy,
        label_bins=label_bins,
        candidates=candidates,
        strength=strength,
        none_passed=none_passed,
        roles_file=roles_file,
        policy_file=policy_file,
        saved=tuple(wanted),
    )
