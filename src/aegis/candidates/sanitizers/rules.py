"""Reconstruction rules y ↦ guess: the only thing a symbol of a finite release can mean to the authorised party."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rules = NDArray[np.int64]
RULE_LIMIT = 4096


def useful_rules(channel: Floats, cost: Floats, *, most: int = RULE_LIMIT) -> tuple[Rules, bool]:
    """Rules y ↦ guess worth a symbol, and whether they are all of them.

    For two private values only threshold rules in the likelihood ratio can be best. Otherwise every rule is listed
    while they are at ``most`` so many; beyond that, those that are best for one of many posteriors.
    """
    size, guesses = cost.shape
    outcomes = channel.shape[1]
    if guesses**outcomes <= most and not (size == 2 and outcomes > 3):
        return np.array(list(itertools.product(range(guesses), repeat=outcomes)), dtype=np.int64), True
    if size == 2:
        # the best guess changes only where two guesses tie, so between neighbouring ties one posterior tells the rule
        joint_costs = cost[None, :, :] * channel.T[:, :, None]
        ties = [0.0, 1.0]
        for a, b in itertools.combinations(range(guesses), 2):
            gap = joint_costs[:, :, a] - joint_costs[:, :, b]
            slope = gap[:, 1] - gap[:, 0]
            with np.errstate(divide="ignore", invalid="ignore"):
                ties += [t for t in -gap[:, 0] / slope if 0 < t < 1]
        points = np.unique(ties)
        middle = (points[1:] + points[:-1]) / 2
        posteriors = np.stack([1 - middle, middle], axis=1)
        exact = True
    else:
        posteriors = np.random.default_rng(0).dirichlet(np.full(size, 0.5), size=20_000)
        exact = False
    costs = np.einsum("tx,xy,xg->tyg", posteriors, channel, cost)
    rules, used = np.unique(costs.argmin(axis=2), axis=0, return_counts=True)
    if len(rules) > most:
        rules = rules[np.argsort(-used, kind="stable")[:most]]
        exact = False
    # a symbol for each guess, whatever y says, keeps every distortion within reach
    constant = np.repeat(np.arange(guesses)[:, None], outcomes, axis=1)
    rules = np.unique(np.vstack([rules, constant]), axis=0)
    return rules.astype(np.int64), exact
