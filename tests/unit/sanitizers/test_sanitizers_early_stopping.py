"""Training stops when nothing is gained any more, and not before."""

from __future__ import annotations

import numpy as np

from aegis.candidates.sanitizers.training_settings import Watch


def figures(loss: float, distortion: float = 1.0, trials: int = 2) -> tuple[np.ndarray, np.ndarray]:
    return np.full(trials, distortion), np.full((trials, 1), loss)


def test_it_waits_as_long_as_it_was_told() -> None:
    watch = Watch(np.ones(2), 3)
    assert [watch.tired(*figures(2.0)) for _ in range(5)] == [False, False, False, True, True]


def test_a_gain_of_one_trial_wakes_it() -> None:
    watch = Watch(np.ones(2), 2)
    assert not watch.tired(*figures(2.0))
    assert not watch.tired(*figures(2.0))
    assert not watch.tired(np.ones(2), np.array([[2.0], [2.1]]))
    assert not watch.tired(*figures(2.1))  # the other trial gains now
    assert not watch.tired(*figures(2.1))
    assert watch.tired(*figures(2.1))


def test_overspending_distortion_is_no_gain() -> None:
    watch = Watch(np.ones(2), 1)
    assert not watch.tired(*figures(2.0))
    assert watch.tired(*figures(2.2, distortion=1.1))


def test_without_patience_it_never_tires() -> None:
    watch = Watch(np.ones(2), None)
    assert not any(watch.tired(*figures(2.0)) for _ in range(50))
