"""JAX, or the sentence that says how to install it."""

from __future__ import annotations

from aegis.errors import MissingExtraError

try:
    import jax
    import jax.numpy as jnp
except ImportError:  # pragma: no cover - the suite runs with the extra
    raise MissingExtraError(feature="training a sanitizer", extra="sanitize") from None

__all__ = ["jax", "jnp"]
