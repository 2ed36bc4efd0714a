"""Look at a table: what its columns hold and which roles they look like having."""

from __future__ import annotations

from aegis.commands.inspect import Inspect
from aegis.inspection.profile import Profile, profile
from aegis.library.tables.opening import open_table
from aegis.operation import operation


@operation(Inspect)
def inspect(options: Inspect) -> Profile:
    """Count rows, distinct and missing values of every column in one pass, and suggest a role for each.

    Example::

        aegis.inspect("clinic.csv")
    """
    return profile(open_table(options.data, options))
