"""The anonymizers by name: what each does, which options it uses, and how it is made.

Other packages add theirs through entry points of the group ``aegis.anonymizers``, each naming a `Method`; ``aegis
anonymize``, ``compare`` and ``tune`` then offer it. This module imports none of the methods: a list of names is cheap.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from aegis.errors import AnonymizerError
from aegis.registry import Registry

if TYPE_CHECKING:
    from aegis.candidates.clusters.anonymizer import Anonymizer


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """Something that only some methods use: what it is called, and the value that asks for nothing."""

    words: str
    neutral: Any = None


OPTIONS: dict[str, Option] = {
    "l": Option(words="sensitive values (--l)", neutral=1),
    "classes": Option(words="a number of classes (--classes)"),
    "trade_off": Option(words="a trade-off (--trade-off)", neutral=0.0),
    "seconds": Option(words="a time limit (--seconds)"),
    "rounds": Option(words="a number of rounds (--rounds)"),
    "centroid": Option(words="another centre than the mean (--centroid)", neutral="mean"),
    "scale": Option(words="another scale than the columns' own (--scale)", neutral="raw"),
    "bound_share": Option(words="a share of the time for a lower bound"),
    "policy": Option(words="a policy (--policy)"),
    "hierarchies": Option(words="hierarchies (--hierarchies)"),
    "by_branch": Option(words="cuts between branches (--by-branch)", neutral=False),
    "label_weight": Option(words="a weight of the label (--label-weight)"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One anonymizer as people choose it.

    ``build`` is called with ``k``, ``seed`` and those options of ``uses`` that were asked for. Every method takes a
    seed; one without randomness makes the same table for each. One that ``recodes`` publishes intervals and sets
    instead of centres: it is fitted to counts, for a label, and what it made can be kept and applied to other rows.

    >>> ANONYMIZERS["mdav"].anonymizer(k=5, seconds=2.0)
    Traceback (most recent call last):
    aegis.errors.AnonymizerError: mdav does not use a time limit (--seconds); leave it out, or use mo-obam
    """

    name: str
    summary: str
    uses: frozenset[str]
    build: Callable[..., Anonymizer]
    recodes: bool = False

    def anonymizer(self, *, k: int | None, seed: int = 0, **asked: Any) -> Anonymizer:
        """The anonymizer with these options; one that this method does not use is refused in words."""
        self.check(asked)
        return self.build(
            k=k, seed=seed, **{option: value for option, value in asked.items() if is_asked(option, value)}
        )

    def check(self, asked: Mapping[str, Any]) -> None:
        """Raise for an option that is asked for and that this method does not use."""
        for option, value in asked.items():
            if is_asked(option, value) and option not in self.uses:
                raise AnonymizerError(f"{self.name} does not use {words(option)}; {_instead(option)}")


def is_asked(option: str, value: Any) -> bool:
    """Whether a value of an option asks for anything."""
    return value is not None and (option not in OPTIONS or value != OPTIONS[option].neutral)


def words(option: str) -> str:
    """An option as people know it."""
    return OPTIONS[option].words if option in OPTIONS else option


def users_of(*options: str) -> tuple[str, ...]:
    """The methods that use all of these options."""
    return tuple(name for name, method in ANONYMIZERS.items() if set(options) <= method.uses)


def check_methods(methods: Sequence[str], asked: Mapping[str, Any]) -> None:
    """Raise for a method that is named twice or does not exist, and for an option that none of them uses."""
    if len(set(methods)) < len(methods):
        raise AnonymizerError("a method is named twice; name it once")
    used = frozenset().union(*(ANONYMIZERS[method].uses for method in methods))
    for option, value in asked.items():
        if is_asked(option, value) and option not in used:
            users = " or ".join(users_of(option))
            raise AnonymizerError(
                f"none of {', '.join(methods)} uses {words(option)}; leave it out, or compare {users} too"
            )


def check_tunable(method: str) -> None:
    """Raise for a method whose classes and trade-off cannot be chosen."""
    tunable = users_of("classes", "trade_off")
    if ANONYMIZERS[method].name not in tunable:
        raise AnonymizerError(
            f"{method} chooses its classes itself, so only k could be tuned; use {' or '.join(tunable)}"
        )


def _instead(option: str) -> str:
    users = users_of(option)
    return f"leave it out, or use {_any_of(users)}" if users else "leave it out"


def _any_of(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _of(module: str, name: str, *, room: str = "clusters", draws: bool = True) -> Callable[..., Anonymizer]:
    """A builder that imports its class when it is first called: compiled loops take a second to load.

    A class that ``draws`` takes ``random_state``.
    """

    def build(*, seed: int, **options: Any) -> Anonymizer:
        made = getattr(import_module(f"aegis.candidates.{room}.{module}"), name)
        return made(random_state=seed, **options) if draws else made(**options)

    return build


ANONYMIZERS: Registry[Method] = Registry("anonymizers", noun="anonymizer", error=AnonymizerError)
for _method in (
    Method(
        name="mo-obam",
        summary="a search for classes that lose little and mix secrets well, with a bound on what is possible",
        uses=frozenset(
            {
                "l",
                "classes",
                "trade_off",
                "seconds",
                "rounds",
                "centroid",
                "scale",
                "bound_share",
                "policy",
                "label_weight",
            }
        ),
        build=_of("mo_obam", "MOOBAM"),
    ),
    Method(
        name="mdav",
        summary="classes of k to 2k − 1 records around the records farthest from the centre",
        uses=frozenset({"centroid", "scale"}),
        build=_of("mdav", "MDAV", draws=False),
    ),
    Method(
        name="k-member",
        summary="classes grown one at a time by the record that costs least",
        uses=frozenset({"l", "centroid", "scale"}),
        build=_of("k_member", "KMember"),
    ),
    Method(
        name="boxes",
        summary="local recoding: intervals and sets, cut where the label gains most as long as the policy holds",
        uses=frozenset({"l", "policy", "hierarchies", "by_branch", "label_weight"}),
        build=_of("estimator", "LocalRecoding", room="boxes"),
        recodes=True,
    ),
):
    ANONYMIZERS.add(_method.name, _method)
