"""The trade-off between what the authorised party and the adversaries learn, as a curve that was audited."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from aegis._version import __version__
from aegis.candidates.sanitizers.attackers import available
from aegis.candidates.sanitizers.checkpoint import check_checkpoint
from aegis.candidates.sanitizers.curve import Curve
from aegis.candidates.sanitizers.finite import binary_problem
from aegis.candidates.sanitizers.finite_curve import finite_curve
from aegis.candidates.sanitizers.gaussian import (
    GaussianProblem,
    coalition_problem,
    gaussian_problem,
    paper_problem,
    problem_from_json,
)
from aegis.candidates.sanitizers.gaussian_curve import gaussian_curve
from aegis.candidates.sanitizers.paper_binary import paper_binary_curve
from aegis.candidates.sanitizers.paper_gaussian import paper_curve
from aegis.candidates.sanitizers.symbol_settings import SymbolSettings
from aegis.candidates.sanitizers.training_settings import TrainingSettings
from aegis.data.output import check_free
from aegis.errors import MissingExtraError, SanitizerError
from aegis.report.curve_report import render_curve
from aegis.report.page import write_page

Progress = Callable[[str, int, int], None]
PRESETS = ("paper", "coalition")
TRAININGS = {"gaussian": ("ours", "paper"), "binary": ("ours", "network", "paper")}
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

    ``training`` "paper" repeats the paper's experiment to the letter instead: its networks, its distortions, its choice
    of trials; with ``preset`` "paper" on its own law. ``checkpoint`` is a file that our training continues from and
    leaves its state in after every epoch.
    """
    target = _free(report, overwrite=overwrite)
    problem = _gaussian(covariance, preset, coalition=coalition)
    attackers = known_attackers(attackers)
    if checkpoint is not None:
        check_checkpoint(Path(checkpoint))
    _need_jax(trials)
    settings = TrainingSettings(patience=patience)
    if steps is not None:
        if steps < 1:
            raise SanitizerError("training needs at least one step")
        epochs = min(settings.epochs, steps)
        settings = replace(settings, steps=epochs * max(1, round(steps / epochs)), epochs=epochs)
    _known_training(training, "gaussian", trials)
    if training == "paper":
        if exposure_capped or patience is not None or checkpoint is not None:
            raise SanitizerError(
                "the paper's training knows neither a cap on exposure nor patience nor checkpoints; leave them out"
            )
        epochs = 100 if steps is None else max(1, round(steps / 50))  # fifty steps see the 10,000 rows once
        curve = paper_curve(
            problem,
            points=points,
            trials=trials,
            epochs=epochs,
            attackers=attackers,
            seed=seed,
            progress=progress,
        )
        return _shown(curve, target, covariance, f"preset {preset}, trained as in the paper", overwrite=overwrite)
    curve = gaussian_curve(
        problem,
        points=points,
        trials=trials,
        exposure_capped=exposure_capped,
        settings=settings,
        checkpoint=None if checkpoint is None else Path(checkpoint),
        attackers=attackers,
        seed=seed,
        progress=progress,
    )
    return _shown(curve, target, covariance, f"preset {preset}", overwrite=overwrite)


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
    symbol tried and weighted; "paper" repeats the paper's experiment to the letter. What is not given of the law is
    the paper's.
    """
    target = _free(report, overwrite=overwrite)
    law = _bits(p, qy, qz, preset)
    problem = binary_problem(**law)
    if symbols is not None and not 2 <= symbols <= 8:
        raise SanitizerError("a release of a bit has between 2 and 8 symbols; more than 3 gain nothing")
    attackers = known_attackers(attackers)
    _need_jax(trials)
    _known_training(training, "binary", trials)
    if epochs is not None and (training == "ours" or epochs < 1):
        raise SanitizerError("'--epochs' is at least 1, and for networks: use it with --training network or paper")
    source = f"p = {law['p']:g}, q_Y = {law['qy']:g}, q_Z = {', '.join(f'{q:g}' for q in law['qz'])}"
    if training == "paper":
        if symbols != 2:
            raise SanitizerError("the paper's training releases a bit; leave --symbols at 2")
        curve = paper_binary_curve(
            problem,
            points=points,
            trials=trials,
            settings=SymbolSettings.paper(epochs=epochs or 1000),
            attackers=attackers,
            seed=seed,
            progress=progress,
        )
        source += ", trained as in the paper"
    else:
        curve = finite_curve(
            problem,
            points=points,
            trials=trials,
            symbols=symbols,
            networks=None if training == "ours" else SymbolSettings(epochs=epochs or 300),
            attackers=attackers,
            seed=seed,
            progress=progress,
        )
    if target is not None:
        write_page(target, render_curve(curve, source=source, version=__version__), overwrite=overwrite)
    return curve


def _bits(p: float | None, qy: float | None, qz: Sequence[float] | None, preset: str | None) -> dict[str, Any]:
    given = {name: value for name, value in (("p", p), ("qy", qy), ("qz", qz or None)) if value is not None}
    if preset is not None:
        if preset != "paper":
            raise SanitizerError(f"there is no preset called {preset!r} for a bit; use paper")
        if given:
            raise SanitizerError("the preset holds p, qy and qz; give either the preset or those")
    return {**PAPER_BITS, **given}


def _known_training(training: str, kind: str, trials: int) -> None:
    if training not in TRAININGS[kind]:
        raise SanitizerError(f"there is no training called {training!r}; use {' or '.join(TRAININGS[kind])}")
    if training != "ours" and trials < 1:
        raise SanitizerError("this training needs at least one trial; give --trials 1 or more")


def _shown(curve: Curve, target: Path | None, covariance: str | Path | None, source: str, *, overwrite: bool) -> Curve:
    if target is not None:
        named = source if covariance is None else Path(covariance).name
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
