"""A process that is told to stop in the very moment in which it waits."""

from __future__ import annotations

import signal

import pytest

from aegis.catalog.server.supervisor import StopSignal


def test_a_handler_may_set_it_in_the_middle_of_a_wait() -> None:
    stop = StopSignal()
    before = signal.signal(signal.SIGALRM, lambda *_: stop.set())
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        assert stop.wait(60.0)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert stop.is_set()
    assert stop.wait(60.0)  # for everybody who waits after it, too


def test_it_takes_no_lock_that_the_waiting_thread_may_hold() -> None:
    """With an event this would not come back: the handler finds the lock taken by whom it interrupted."""
    stop = StopSignal()
    with stop._cond:  # type: ignore[attr-defined]  # the lock of an event, as its wait holds it for a moment
        stop.set()
        assert stop.is_set()
        assert stop.wait(0.0)


def test_it_is_for_good() -> None:
    stop = StopSignal()
    assert not stop.wait(0.0)
    with pytest.raises(NotImplementedError):
        stop.clear()
