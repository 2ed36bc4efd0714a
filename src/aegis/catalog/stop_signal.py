"""A stop that a signal handler may set.

``threading.Event`` takes a lock to be set. A handler runs between two steps of the main thread, which may itself hold
that lock because it waits for the event: then it waits for ever, and the process cannot be ended politely any more.
"""

from __future__ import annotations

import queue
import threading


class StopSignal(threading.Event):
    """An event without a lock that a handler could find taken.

    >>> stop = StopSignal()
    >>> stop.wait(0.0)
    False
    >>> stop.set()
    >>> stop.wait(60.0), stop.is_set()
    (True, True)
    """

    def __init__(self) -> None:
        super().__init__()
        self._stopped = False
        self._wake: queue.SimpleQueue[None] = queue.SimpleQueue()  # whose put may interrupt its own get

    def is_set(self) -> bool:
        return self._stopped

    def set(self) -> None:
        self._stopped = True
        self._wake.put(None)

    def clear(self) -> None:
        raise NotImplementedError("a stop cannot be taken back")

    def wait(self, timeout: float | None = None) -> bool:
        """Until it is set, or for so many seconds; gives whether it is set."""
        if not self._stopped:
            try:
                self._wake.get(timeout=timeout)
            except queue.Empty:
                return self._stopped
            self._wake.put(None)  # for whoever else waits
        return True
