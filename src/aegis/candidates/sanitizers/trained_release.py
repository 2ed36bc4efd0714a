"""From a trained privatizer to a release under the caps, exactly, and comparable with the program's.

What the networks found is which values share a symbol and how parties use it. Where the program fits, the probabilities
of these symbols, of one trial or of all together, are solved for (`refined`). Otherwise every row of the table is drawn
towards their common mean until each symbol satisfies each cap (silence satisfies all of them), and a blank is mixed in
until the distortion is spent. Either is judged under the same law and by the same figures as the program's release.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.sanitizers.capped_problem import CappedProblem
from aegis.candidates.sanitizers.cones import Cone
from aegis.candidates.sanitizers.refined_release import refined

Floats = NDArray[np.float64]
_STEPS = 24
_TOGETHER = 3  # trials whose symbols are put together
_REFINED = 60  # values up to which the probabilities are solved for


def under_caps(release: Floats, cone: Cone, prior: Floats) -> Floats:
    """The release with the smallest share of silence, on every symbol, that satisfies the caps."""
    mean = np.broadcast_to(prior @ release, release.shape)
    if bool(cone.inside(release.T).all()):
        return release
    near, far = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (near + far) / 2
        fits = bool(cone.inside(((1 - middle) * release + middle * mean).T).all())
        near, far = (near, middle) if fits else (middle, far)
    return np.asarray((1 - far) * release + far * mean)


def spent(release: Floats, problem: CappedProblem) -> Floats | None:
    """The release with a blank mixed in until the first group to reach its distortion does; None where it is beyond."""
    limits = [min(asked, left) for asked, left in zip(problem.distortions, problem.silent_distortions, strict=True)]

    def mixed(blank: float) -> Floats:
        return np.hstack([(1 - blank) * release, np.full((len(release), 1), blank)])

    def within(table: Floats) -> bool:
        return all(
            found <= limit * (1 + 1e-9) + 1e-12
            for found, limit in zip(problem.distortions_of(table), limits, strict=True)
        )

    if not within(release):
        return None
    near, far = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (near + far) / 2
        near, far = (middle, far) if within(mixed(middle)) else (near, middle)
    return mixed(near) if near > 0 else release


def best_trained(releases: Floats, problem: CappedProblem, cone: Cone) -> tuple[Floats, float] | None:
    """The best of several trained privatizers, under the caps and within the distortion, and its worst loss.

    Every trial is tried by itself and, where the program fits, the symbols of the best ones together: what one start
    did not find another may have.
    """
    tried = [spent(under_caps(release, cone, problem.law.prior), problem) for release in releases]
    if problem.law.size <= _REFINED:
        optima = [optimum for release in releases if (optimum := refined(problem, release)) is not None]
        best = sorted(optima, key=lambda optimum: -optimum.worst)[:_TOGETHER]
        if len(best) > 1:
            together = refined(problem, np.hstack([optimum.release for optimum in best]) / len(best))
            optima += [] if together is None else [together]
        tried += [optimum.release for optimum in optima]
    judged = [(release, min(problem.losses_of(release))) for release in tried if release is not None]
    return max(judged, key=lambda kept: kept[1], default=None)
