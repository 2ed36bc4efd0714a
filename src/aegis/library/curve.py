"""The trade-off between what the authorised party and the adversaries learn, as a curve that was audited."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from aegis.candidates.sanitizers.attackers import available
from aegis.candidates.sanitizers.curve import Curve
from aegis.candidates.sanitizers.finite import binary_problem
from aegis.candidates.sanitizers.gaussian import (
    GaussianProblem,
    coalition_problem,
    gaussian_problem,
    paper_problem,
    problem_from_json,
)
from aegis.candidates.sanitizers.training_settings import check_checkpoint
from aegis.candidates.sanitizers.trainings import training_for
from aegis.commands.curve import CurveBinary, CurveGaussian, CurveOptions
from aegis.data.output import check_free
from aegis.errors import MissingExtraError, SanitizerError
from aegis.operation import operation
from aegis.report.curve_report import render_curve
from aegis.report.page import write_page

PAPER_BITS = {"p": 0.54, "qy": 0.2, "qz": (0.44,)}


@operation(CurveGaussian)
def curve_gaussian(options: CurveGaussian) -> Curve:
    """The audited curve of a joint normal law, read from a JSON file or taken from a preset.

    ``training`` is a name in `TRAININGS`; "paper", which the package aegis-papers brings, repeats the paper's
    experiment to the letter. ``checkpoint`` is a file that our training continues from and leaves its state in after
    every epoch.

    Example::

        aegis.curve_gaussian(preset="paper", points=1, trials=0, attackers=["neighbours"])
    """
    _check(options)
    if options.checkpoint is not None:
        check_checkpoint(Path(options.checkpoint))
    problem = _gaussian(options)
    training = training_for(options.training, "gaussian")
    assert training.gaussian is not None
    curve = training.gaussian(problem, **_common(options), **training.options(options.asked(), trials=options.trials))
    source = f"preset {options.preset}" if options.covariance is None else Path(options.covariance).name
    return _reported(curve, options, source, options.training)


@operation(CurveBinary)
def curve_binary(options: CurveBinary) -> Curve:
    """The audited curve of one private bit that everybody sees through a channel of their own.

    ``training`` "ours" climbs the exact losses of the law; "network" learns from 10,000 rows by Algorithm 1, every
    symbol tried and weighted; "paper", which the package aegis-papers brings, repeats the paper's experiment. What is
    not given of the law is the paper's.

    Example::

        aegis.curve_binary(points=1, trials=0, attackers=["neighbours"])
    """
    _check(options)
    parameters = {"p": options.p, "qy": options.qy, "qz": tuple(options.qz) or None}
    law: dict[str, Any] = {**PAPER_BITS, **{name: value for name, value in parameters.items() if value is not None}}
    training = training_for(options.training, "binary")
    assert training.binary is not None
    curve = training.binary(
        binary_problem(**law), **_common(options), **training.options(options.asked(), trials=options.trials)
    )
    source = f"p = {law['p']:g}, q_Y = {law['qy']:g}, q_Z = {', '.join(f'{q:g}' for q in law['qz'])}"
    return _reported(curve, options, source, options.training)


def _check(options: CurveOptions) -> None:
    """Say what is missing before anything is computed, not after a minute."""
    check_free(options.report, overwrite=options.overwrite)
    if options.report is not None and find_spec("jinja2") is None:
        raise MissingExtraError(feature="the report", extra="report")
    installed(options.attackers)
    if options.trials > 0 and find_spec("jax") is None:
        raise MissingExtraError(feature="training a sanitizer", extra="sanitize")


def _common(options: CurveOptions) -> dict[str, Any]:
    """What every training takes."""
    return {
        "points": options.points,
        "trials": options.trials,
        "attackers": installed(options.attackers),
        "seed": options.seed,
        "progress": options.progress,
    }


def _reported(curve: Curve, options: CurveOptions, source: str, training: str) -> Curve:
    if options.report is not None:
        named = source if training == "ours" else f"{source}, training: {training}"
        page = render_curve(curve, source=named)
        write_page(Path(options.report), page, overwrite=options.overwrite)
    return curve


def installed(attackers: Sequence[str]) -> tuple[str, ...] | None:
    """The attackers that were named, or None for all that are installed."""
    if not attackers:
        return None
    if len(available(attackers)) < len(set(attackers)):
        raise MissingExtraError(feature="this attacker", extra="sanitize,evaluate")
    return tuple(dict.fromkeys(attackers))


def _gaussian(options: CurveGaussian) -> GaussianProblem:
    if options.preset == "coalition":
        return coalition_problem()
    if options.covariance is None:
        paper = paper_problem()
        if not options.coalition:
            return paper
        return gaussian_problem(paper.covariance, mean=paper.mean, adversaries=paper.adversaries, coalition=True)
    path = Path(options.covariance)
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
    return problem_from_json(document, coalition=options.coalition)
