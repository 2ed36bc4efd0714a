"""The trade-off between what the authorised party and the adversaries learn, as a curve that was audited."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from aegis._version import __version__
from aegis.candidates.sanitizers.attackers import available
from aegis.candidates.sanitizers.checkpoint import check_checkpoint
from aegis.candidates.sanitizers.curve import Curve
from aegis.candidates.sanitizers.finite import binary_problem
from aegis.candidates.sanitizers.gaussian import (
    GaussianProblem,
    coalition_problem,
    gaussian_problem,
    paper_problem,
    problem_from_json,
)
from aegis.candidates.sanitizers.trainings import training_for
from aegis.data.output import check_free
from aegis.errors import MissingExtraError, SanitizerError
from aegis.progress import Progress
from aegis.report.curve_report import render_curve
from aegis.report.page import write_page

PRESETS = ("paper", "coalition")
PAPER_BITS = {"p": 0.54, "qy": 0.2, "qz": (0.44,)}
ATTACKERS = ("network", "trees", "neighbours")


def curve_of_gaussian(
    covariance: str | Path | None = None,
    *,
    preset: str | None = None,
    points: int = 30,
    trials: int = 15,
    coalition: bool = False,
    exposure_capped: bool = False,
    training: str = "ours",
    steps: int | None = None,
    patience: int | None = None,
    checkpoint: str | Path | None = None,
    attackers: Sequence[str] | None = None,
    seed: int = 0,
    report: str | Path | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Curve:
    """The audited curve of a joint normal law, read from a JSON file or taken from a preset.

    ``training`` is a name in `TRAININGS`; "paper", which the package aegis-papers brings, repeats the paper's
    experiment to the letter. ``checkpoint`` is a file that our training continues from and leaves its state in after
    every epoch.
    """
    target = _free(report, overwrite=overwrite)
    problem = _gaussian(covariance, preset, coalition=coalition)
    attackers = known_attackers(attackers)
    if checkpoint is not None:
        check_checkpoint(Path(checkpoint))
    way = training_for(training, "gaussian")
    asked = {
        "exposure_capped": exposure_capped,
        "steps": steps,
        "patience": patience,
        "checkpoint": None if checkpoint is None else Path(checkpoint),
    }
    options = way.options(asked, trials=trials)
    _need_jax(trials)
    assert way.gaussian is not None
    curve = way.gaussian(
        problem, points=points, trials=trials, attackers=attackers, seed=seed, progress=progress, **options
    )
    source = Path(covariance).name if covariance is not None else f"preset {preset}"
    return _shown(curve, target, source, training, overwrite=overwrite)


def curve_of_binary(
    *,
    p: float | None = None,
    qy: float | None = None,
    qz: Sequence[float] | None = None,
    preset: str | None = None,
    points: int = 30,
    trials: int = 15,
    symbols: int | None = 2,
    training: str = "ours",
    epochs: int | None = None,
    attackers: Sequence[str] | None = None,
    seed: int = 0,
    report: str | Path | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Curve:
    """The audited curve of one private bit that everybody sees through a channel of their own.

    ``training`` "ours" climbs the exact losses of the law; "network" learns from 10,000 rows by Algorithm 1, every
    symbol tried and weighted; "paper", which the package aegis-papers brings, repeats the paper's experiment. What is
    not given of the law is the paper's.
    """
    target = _free(report, overwrite=overwrite)
    law = _bits(p, qy, qz, preset)
    problem = binary_problem(**law)
    if symbols is not None and not 2 <= symbols <= 8:
        raise SanitizerError("a release of a bit has between 2 and 8 symbols; more than 3 gain nothing")
    if epochs is not None and epochs < 1:
        raise SanitizerError("'--epochs' is at least 1")
    attackers = known_attackers(attackers)
    way = training_for(training, "binary")
    options = way.options({"symbols": symbols, "epochs": epochs}, trials=trials)
    _need_jax(trials)
    assert way.binary is not None
    curve = way.binary(
        problem, points=points, trials=trials, attackers=attackers, seed=seed, progress=progress, **options
    )
    source = f"p = {law['p']:g}, q_Y = {law['qy']:g}, q_Z = {', '.join(f'{q:g}' for q in law['qz'])}"
    return _shown(curve, target, source, training, overwrite=overwrite)


def _bits(p: float | None, qy: float | None, qz: Sequence[float] | None, preset: str | None) -> dict[str, Any]:
    given = {name: value for name, value in (("p", p), ("qy", qy), ("qz", qz or None)) if value is not None}
    if preset is not None:
        if preset != "paper":
            raise SanitizerError(f"there is no preset called {preset!r} for a bit; use paper")
        if given:
            raise SanitizerError("the preset holds p, qy and qz; give either the preset or those")
    return {**PAPER_BITS, **given}


def _shown(curve: Curve, target: Path | None, source: str, training: str, *, overwrite: bool) -> Curve:
    if target is not None:
        named = source if training == "ours" else f"{source}, training: {training}"
        write_page(target, render_curve(curve, source=named, version=__version__), overwrite=overwrite)
    return curve


def known_attackers(names: Sequence[str] | None) -> tuple[str, ...] | None:
    """The attackers that were named, or None for all that are installed."""
    if not names:
        return None
    absent = [name for name in names if name not in ATTACKERS]
    if absent:
        raise SanitizerError(f"there is no attacker called {absent[0]!r}; use {', '.join(ATTACKERS)}")
    if len(available(names)) < len(set(names)):
        raise MissingExtraError(feature="this attacker", extra="sanitize,evaluate")
    return tuple(dict.fromkeys(names))


def _free(report: str | Path | None, *, overwrite: bool) -> Path | None:
    if report is None:
        return None
    check_free(Path(report), overwrite=overwrite)
    if find_spec("jinja2") is None:
        raise MissingExtraError(feature="the report", extra="report")
    return Path(report)


def _need_jax(trials: int) -> None:
    # said before anything is computed, not after a minute
    if trials > 0 and find_spec("jax") is None:
        raise MissingExtraError(feature="training a sanitizer", extra="sanitize")


def _gaussian(covariance: str | Path | None, preset: str | None, *, coalition: bool) -> GaussianProblem:
    if (covariance is None) == (preset is None):
        raise SanitizerError("give either a covariance file (--covariance) or a preset (--preset paper)")
    if preset is not None:
        if preset not in PRESETS:
            raise SanitizerError(f"there is no preset called {preset!r}; use {' or '.join(PRESETS)}")
        if preset == "coalition":
            return coalition_problem()
        paper = paper_problem()
        if not coalition:
            return paper
        return gaussian_problem(paper.covariance, mean=paper.mean, adversaries=paper.adversaries, coalition=True)
    path = Path(str(covariance))
    try:
        document: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SanitizerError(f"there is no covariance file {path}; check the path") from None
    except (OSError, UnicodeDecodeError, ValueError):
        raise SanitizerError(f"{path.name} cannot be read as JSON; give {{'covariance': [[…], …]}}") from None
    if isinstance(document, list):
        document = {"covariance": document}
    if not isinstance(document, dict):
        raise SanitizerError(f"{path.name} holds no covariance; give {{'covariance': [[…], …]}}")
    return problem_from_json(document, coalition=coalition)
