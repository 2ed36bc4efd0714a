"""One thread for matrix products: those of a race are small, and threads that wait for the next cost more than they do.

A library of matrix products keeps a thread per core spinning for some hundredths of a second after each product, which
is processor time that nobody uses; how a sum is divided among threads also decides its last digits.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from threadpoolctl import threadpool_limits


def one_thread() -> AbstractContextManager[object]:
    """While this is entered, matrix products run in the thread that asks for them."""
    return threadpool_limits(limits=1, user_api="blas")
