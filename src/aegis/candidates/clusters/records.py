"""What an anonymizer is given: quasi-identifiers (numbers, categories) and sensitive attributes, checked and coded.

In place of records it takes a data frame and gives one back: every column is a quasi-identifier, as scikit-learn
gives X.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from importlib import import_module
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aegis.arrays import Flags, Floats, Ints
from aegis.counts.disclosure_rule import may_name
from aegis.errors import AnonymizerError, DataError, MissingExtraError, RoleError

Missing = Literal["refuse", "category"]
UNSEEN = -1
"""The code of a category that was not among the fitted ones: it is as far from each of them as any other."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Records:
    """Rows to be clustered. Build one with `Records.from_columns` or `Records.from_arrays`.

    >>> Records.from_columns({"age": [18, 19], "sex": ["f", "m"], "ill": ["a", "b"]},
    ...                      quasi_identifiers=["age", "sex"], sensitive=["ill"])
    Records(rows=2, numeric=('age',), categorical=('sex',), sensitive=('ill',))
    """

    numeric: Floats
    categorical: Ints
    sensitive: Ints
    numeric_names: tuple[str, ...]
    categorical_names: tuple[str, ...]
    sensitive_names: tuple[str, ...]
    categories: tuple[NDArray[Any], ...]  # the values behind the codes, per categorical quasi-identifier
    quasi_identifiers: tuple[str, ...]  # in the order they were named
    sensitive_values: tuple[NDArray[Any], ...] = ()  # the values behind the codes, per sensitive attribute
    persons: Ints | None = None  # whose each record is, where several may belong to one person
    steps: Mapping[str, float] = field(default_factory=dict)  # centres of these numbers are multiples of so much

    def __post_init__(self) -> None:
        if not self.quasi_identifiers:
            raise RoleError("no quasi-identifier is named; name the columns an attacker could know")
        if len(self.numeric) < 2:
            raise AnonymizerError(
                f"a table of {len(self.numeric)} record(s) cannot be anonymized: a class needs at least two records"
            )

    def __len__(self) -> int:
        return len(self.numeric)

    def __repr__(self) -> str:
        return (
            f"Records(rows={len(self)}, numeric={self.numeric_names}, "
            f"categorical={self.categorical_names}, sensitive={self.sensitive_names})"
        )

    def with_rare_together(self, *, k: int, called: str) -> tuple[Records, dict[str, int]]:
        """The same records with one category in place of all that fewer than k people have, or fewer than may be
        named, and by column how many records that are: the centre of a class would name somebody's own value. A
        missing value names nobody.

        >>> records = Records.from_arrays(categorical=["a", "b", "b", "b", "b", "b", "c"])
        >>> together, rare = records.with_rare_together(k=2, called="*")
        >>> together.categories[0].tolist(), rare
        (['b', '*'], {'c0': 2})
        """
        codes, categories, rare_records = self.categorical.copy(), [], {}
        for place, (name, values) in enumerate(zip(self.categorical_names, self.categories, strict=True)):
            column = codes[:, place]
            whose = np.arange(len(self)) if self.persons is None else self.persons
            people = np.bincount(np.unique(np.column_stack([column, whose]), axis=0)[:, 0], minlength=len(values))
            is_value = np.array([value is not None for value in values], dtype=bool)
            few = ~may_name(people, at_least=k) & is_value
            rare = few | (values.astype(object) == called)
            new_code = np.where(rare, np.count_nonzero(~rare), np.cumsum(~rare) - 1)
            rare_records[name] = int(few[column].sum())
            if rare.any():
                texts = [value if value is None else str(value) for value in values[~rare]]
                categories.append(np.array([*texts, called], dtype=object))
                codes[:, place] = new_code[column]
            else:
                categories.append(values)
        rare_records = {name: records for name, records in rare_records.items() if records}
        return replace(self, categorical=codes, categories=tuple(categories)), rare_records

    @property
    def sensitive_levels(self) -> Ints:
        """How many values each sensitive attribute takes."""
        return np.array([len(np.unique(column)) for column in self.sensitive.T], dtype=np.int64)

    @classmethod
    def from_columns(
        cls,
        columns: Mapping[str, ArrayLike],
        *,
        quasi_identifiers: Sequence[str],
        sensitive: Sequence[str] = (),
        categorical: Collection[str] = (),
        missing: Missing = "refuse",
        persons: Ints | None = None,
        steps: Mapping[str, float] | None = None,
    ) -> Records:
        """Code named columns: numbers stay numbers, everything else and all of ``categorical`` become categories.

        A missing value (None or NaN) is refused; with ``missing="category"`` it counts as one more value of a
        categorical or sensitive attribute, while numbers must be complete in any case. ``persons`` says whose each
        record is, as a number: a class then has at least k people. Centres of the numbers that ``steps`` names are
        multiples of so much.
        """
        quasi, hidden = tuple(quasi_identifiers), tuple(sensitive)
        _check_roles(columns, quasi, hidden, categorical)
        arrays = {name: np.asarray(columns[name]) for name in (*quasi, *hidden)}
        if len({len(array) for array in arrays.values()}) > 1:
            raise DataError("the columns differ in length; give every column the same number of rows")
        numeric = [n for n in quasi if n not in categorical and _is_numeric(n, arrays[n])]
        coded = {n: _codes(n, arrays[n], missing) for n in (*quasi, *hidden) if n not in numeric}
        others = [n for n in quasi if n not in numeric]
        rows = len(arrays[quasi[0]]) if quasi else 0
        return cls(
            numeric=_stack([_numbers(n, arrays[n]) for n in numeric], rows, np.float64),
            categorical=_stack([coded[n][0] for n in others], rows, np.int64),
            sensitive=_stack([coded[n][0] for n in hidden], rows, np.int64),
            numeric_names=tuple(numeric),
            categorical_names=tuple(others),
            sensitive_names=hidden,
            categories=tuple(coded[n][1] for n in others),
            quasi_identifiers=quasi,
            sensitive_values=tuple(coded[n][1] for n in hidden),
            persons=persons,
            steps=dict(steps or {}),
        )

    @classmethod
    def from_arrays(
        cls,
        *,
        numeric: ArrayLike | None = None,
        categorical: ArrayLike | None = None,
        sensitive: ArrayLike | None = None,
    ) -> Records:
        """Name the columns of matrices ``n0…``, ``c0…`` and ``s0…``."""
        columns: dict[str, ArrayLike] = {}
        names: list[list[str]] = []
        for letter, matrix in (("n", numeric), ("c", categorical), ("s", sensitive)):
            array = np.empty((0, 0)) if matrix is None else np.asarray(matrix)
            array = array[:, None] if array.ndim == 1 else array
            names.append([f"{letter}{i}" for i in range(array.shape[1])])
            columns |= dict(zip(names[-1], array.T, strict=True))
        return cls.from_columns(
            columns, quasi_identifiers=names[0] + names[1], sensitive=names[2], categorical=names[1]
        )


def _check_roles(
    columns: Mapping[str, ArrayLike], quasi: tuple[str, ...], hidden: tuple[str, ...], categorical: Collection[str]
) -> None:
    for name in (*quasi, *hidden, *categorical):
        if name not in columns:
            raise RoleError(f"there is no column {name!r}; the columns are {', '.join(map(str, columns))}")
    both = [name for name in quasi if name in hidden]
    if both:
        raise RoleError(f"{both[0]!r} is both a quasi-identifier and sensitive; give it one role")
    if len(set(quasi)) < len(quasi) or len(set(hidden)) < len(hidden):
        raise RoleError("a column is named twice in the same role; name it once")


def _stack(parts: list[NDArray[Any]], rows: int, kind: type) -> NDArray[Any]:
    return np.ascontiguousarray(np.column_stack(parts), dtype=kind) if parts else np.empty((rows, 0), dtype=kind)


def _absent(array: NDArray[Any]) -> Flags:
    if array.dtype.kind == "f":
        return np.isnan(array)
    if array.dtype.kind in "mM":
        return np.isnat(array)
    if array.dtype.kind != "O":
        return np.zeros(len(array), dtype=bool)
    # NaN is the one value that differs from itself
    return np.fromiter((v is None or v != v for v in array), dtype=bool, count=len(array))


def _is_numeric(name: str, array: NDArray[Any]) -> bool:
    """Numbers by type; text that is mostly numbers was read wrongly, and guessing would hide it."""
    if array.dtype.kind in "iuf":
        return True
    if array.dtype.kind == "b":
        return False
    present = array[~_absent(array)]
    if array.dtype.kind == "O" and all(isinstance(v, int | float | Decimal | np.number) for v in present):
        return len(present) > 0 and not all(isinstance(v, bool | np.bool_) for v in present)
    parsed = sum(_parses(v) for v in present)
    if parsed and 2 * parsed >= len(present):
        raise AnonymizerError(
            f"column {name!r} holds text, but {parsed} of its {len(array)} cells read as numbers: "
            "convert it to numbers and clean the rest, or name it categorical (--categorical)"
        )
    return False


def _parses(value: object) -> bool:
    try:
        float(str(value))
    except ValueError:
        return False
    return True


def _numbers(name: str, array: NDArray[Any]) -> Floats:
    absent = int(_absent(array).sum())
    if absent:
        raise AnonymizerError(
            f"numeric column {name!r} misses {absent} of {len(array)} values: fill them or leave those rows out first"
        )
    numbers = array.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise AnonymizerError(f"numeric column {name!r} holds infinite values: replace them first")
    return numbers


def _codes(name: str, array: NDArray[Any], missing: Missing) -> tuple[Ints, NDArray[Any]]:
    absent = _absent(array)
    count = int(absent.sum())
    if count and missing == "refuse":
        raise AnonymizerError(
            f"column {name!r} misses {count} of {len(array)} values: fill them, leave those rows out, "
            "or let missing count as a category (missing='category')"
        )
    present = array[~absent]
    if present.dtype.kind == "O":  # mixed kinds do not sort by themselves
        present = present.astype(str) if len({type(v) for v in present}) > 1 else present
    values, inverse = np.unique(present, return_inverse=True)
    codes = np.full(len(array), len(values), dtype=np.int64)
    codes[~absent] = inverse
    if count:
        values = np.array([*values, None], dtype=object)
    return codes, values


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Tuples:
    """The distinct quasi-identifier tuples of a table, each with its number of records."""

    numeric: Floats
    categorical: Ints
    weight: Ints
    tuple_of: Ints  # per record

    def __len__(self) -> int:
        return len(self.weight)


def collapse(records: Records) -> Tuples:
    """Merge records that agree on every quasi-identifier.

    >>> records = Records.from_arrays(numeric=[[1.0], [2.0], [1.0]])
    >>> collapse(records).weight.tolist()
    [2, 1]
    """
    inverse = group_rows([*records.numeric.T, *records.categorical.T], rows=len(records))
    weight = np.bincount(inverse)
    first = np.full(len(weight), -1, dtype=np.int64)
    first[inverse[::-1]] = np.arange(len(inverse))[::-1]
    return Tuples(
        numeric=records.numeric[first],
        categorical=records.categorical[first],
        weight=weight.astype(np.int64),
        tuple_of=inverse,
    )


def group_rows(columns: Sequence[NDArray[Any]], *, rows: int) -> Ints:
    """Number the distinct rows of some columns 0, 1, 2, … in sorted order."""
    group = np.zeros(rows, dtype=np.int64)
    for column in columns:
        codes = np.unique(column, return_inverse=True)[1].astype(np.int64)
        group = group * (int(codes.max(initial=0)) + 1) + codes
        group = np.unique(group, return_inverse=True)[1].astype(np.int64)  # stay small: no overflow
    return group


def columns_by_name(table: Any) -> dict[str, list[Any]]:
    """The columns of a data frame, an Arrow table, a mapping or a two-dimensional array, whose columns are numbered."""
    if isinstance(table, Mapping):
        return {str(name): np.asarray(values, dtype=object).tolist() for name, values in table.items()}
    if hasattr(table, "column_names"):
        return {str(name): table[name].to_pylist() for name in table.column_names}
    if hasattr(table, "columns"):
        return {str(name): table[name].to_list() for name in table.columns}
    rows = np.asarray(table, dtype=object)
    if rows.ndim != 2:
        raise AnonymizerError("a table has rows and columns; give a DataFrame, a mapping or a two-dimensional array")
    return {f"x{at}": rows[:, at].tolist() for at in range(rows.shape[1])}


OUTPUTS = ("default", "pandas", "polars")
"""What scikit-learn's ``set_output`` may ask for; by default it is what was given."""


def in_kind_of(table: Any, columns: Mapping[str, NDArray[Any]], *, output: str = "default") -> Any:
    """Published columns as the kind of table that was given: pandas with its index, Polars or Arrow, or a mapping.

    With another ``output`` than the default as a frame of that package, whatever was given.
    """
    package, kind = type(table).__module__.partition(".")[0], type(table)
    if output not in ("default", package):
        try:
            package, kind = output, import_module(output).DataFrame
        except ImportError:
            raise MissingExtraError(feature=f"a data frame of {output}", extra=output) from None
        if output == "pandas":
            return kind(dict(columns))
    if package == "pandas":
        frame = kind(dict(columns), index=table.index)
        frame.columns = table.columns
        return frame
    values_by_name = {name: values.tolist() for name, values in columns.items()}
    if package == "polars":
        return kind(values_by_name)
    if package == "pyarrow":
        return kind.from_pydict(values_by_name)
    return dict(columns)


def records_of(table: Any) -> Records:
    """The rows of a table whose columns are all quasi-identifiers; a missing category is one more."""
    columns = columns_by_name(table)
    return Records.from_columns(columns, quasi_identifiers=tuple(columns), missing="category")


def records_like(table: Any, fitted: Records) -> Records:
    """Other rows of the same columns, coded as the fitted ones are."""
    columns = columns_by_name(table)
    if tuple(columns) != fitted.quasi_identifiers:
        raise AnonymizerError("these rows have other columns than the fitted ones; give the same in that order")
    fresh = Records.from_columns(
        columns, quasi_identifiers=fitted.quasi_identifiers, categorical=fitted.categorical_names, missing="category"
    )
    if fresh.numeric_names != fitted.numeric_names:
        raise AnonymizerError("a column of numbers holds something else in these rows; give the same kind of values")
    coded = np.empty_like(fresh.categorical)
    for at, (own, known) in enumerate(zip(fresh.categories, fitted.categories, strict=True)):
        place = {value: code for code, value in enumerate(known.tolist())}
        recoded = np.array([place.get(value, UNSEEN) for value in own.tolist()], dtype=np.int64)
        coded[:, at] = recoded[fresh.categorical[:, at]]
    return Records(
        numeric=fresh.numeric,
        categorical=coded,
        sensitive=fresh.sensitive,
        numeric_names=fitted.numeric_names,
        categorical_names=fitted.categorical_names,
        sensitive_names=(),
        categories=fitted.categories,
        quasi_identifiers=fitted.quasi_identifiers,
    )
