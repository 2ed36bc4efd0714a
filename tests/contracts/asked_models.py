"""The ways in which a policy may ask for each privacy model, read off the rules that it declares.

Tests that want every registered model take them from here, so that a new one is in all of them by being registered.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any

import numpy as np

from aegis.privacy.model import MODELS, OneOf, Range, Rule

Rng = np.random.Generator
Make = Callable[[Rng], dict[str, Any]]


def drawn(rule: Rule, rng: Rng) -> Any:
    """A value that follows a rule, of a size that decides something on small tables."""
    assert isinstance(rule, Range)
    if rule.whole:
        return int(rng.integers(int(rule.low), int(rule.low) + 7))
    high = rule.high if math.isfinite(rule.high) else rule.low + 4
    return float(rng.uniform(rule.low + (0.02 if rule.above else 0), high))


def ways_to_use(name: str, *, of: tuple[str, ...]) -> list[tuple[str, Make]]:
    """For each choice of words, and with each number drawn or left at its default, a maker of random parameters.

    ``of`` are the sensitive attributes; a model about one is asked for of the first.
    """
    model = MODELS[name]
    items = fields(model)  # type: ignore[arg-type]  # every model is a dataclass
    options: dict[str, list[Any]] = {}
    for item in items:
        rule = model.rules.get(item.name)
        if item.name == "attribute":
            options[item.name] = [of[0]]
        elif item.name == "attributes":
            options[item.name] = list(dict.fromkeys([of, of[:1]]))
        elif isinstance(rule, OneOf):
            options[item.name] = list(rule.choices)
        else:
            assert isinstance(rule, Range), (
                f"{name} does not say what {item.name} may be: give it a rule (Range or OneOf) in `rules`"
            )
            options[item.name] = [rule] if item.default is MISSING else [item.default, rule]

    def maker(chosen: dict[str, Any]) -> Make:
        return lambda rng: {k: drawn(v, rng) if isinstance(v, Range) else v for k, v in chosen.items()}

    combinations = itertools.product(*options.values())
    return [(name, maker(dict(zip(options, values, strict=True)))) for values in combinations]
