"""Every error Aegis raises on purpose.

::

    AegisError                     exit  http
    ├── InputError                    2   422   what was given cannot be used as it is
    │   ├── OptionError                         an option that does not exist, is out of range or would not be used
    │   ├── DataError                           a file or table cannot be read, or holds nothing usable
    │   ├── RoleError                           a column is absent, or has no role or two
    │   ├── LabelError                          the label is absent, constant or continuous
    │   ├── MaskError                           a mask does not exist, is misconfigured, or does not fit the column
    │   ├── HierarchyError                      a hierarchy is malformed or misses values
    │   ├── ConfigurationError                  a configuration file is malformed
    │   ├── SummaryError                        a summary is malformed, contradictory or of a newer format
    │   ├── PolicyError                         a policy is malformed or names what does not exist
    │   ├── ProjectError                        a project file is malformed, or not as far as it is needed
    │   ├── MeasureError                        a measure, privacy model or reference does not exist or does not apply
    │   ├── AnonymizerError                     clustering parameters that no table of this kind can satisfy
    │   ├── SanitizerError                      a sanitizer's problem or model file that makes no sense
    │   ├── OtherLedgerError                    the rows are those of a table whose ledger is another one, or is missing
    │   └── OutputError                         the output exists already or cannot be written
    ├── MissingExtraError             2   501   an optional dependency is not installed
    ├── GuaranteeError                1   409   a promise cannot be kept, so nothing was written
    │   ├── PolicyNotSatisfiedError             the table does not satisfy the policy
    │   ├── VerificationError                   a certificate, a file or an audit contradicts what was claimed
    │   ├── LedgerError                         the ledger of releases was changed, is another table's, or has no room
    │   └── NotConvergedError                   an iteration stopped before its tolerance
    ├── ServiceError                  2   400   the catalog will not do what was asked
    │   ├── NotSignedInError              401   nobody is signed in, or the token is not valid
    │   ├── NotPermittedError             403   the role does not allow it
    │   ├── NotFoundError                 404   there is no such thing, or not for this person
    │   ├── RequestTimeoutError           408   the body of a request did not arrive, or too slowly
    │   ├── ConflictError                 409   the state of things does not allow it, or somebody was faster
    │   ├── TooLargeError                 413   more was sent than is accepted
    │   ├── TooManyAttemptsError          429   too many failed sign-ins, or too many requests at once
    │   ├── TooBusyError                  503   everything that takes long is taken; try again in a moment
    │   └── StorageFullError              507   there is no room, or no right to write, where files are kept
    └── EngineError                   2   502   the database refused or broke off
        ├── BrokenOffError                      in the middle; ``undone`` where nothing was written for certain
        └── StorageUnreachableError       503   the object store with the files does not answer

Each message is one sentence that says what is wrong and what to do. No message holds a cell value: messages name
columns, files, counts and line numbers only, and an error of an engine is raised ``from None`` because engines quote
the data in theirs.
"""

from __future__ import annotations

from typing import ClassVar


class AegisError(Exception):
    """The root: catch it to catch everything Aegis raises on purpose."""

    exit_status: ClassVar[int] = 2
    http_status: ClassVar[int] = 500


class InputError(AegisError):
    """What was given cannot be used as it is."""

    http_status: ClassVar[int] = 422


class OptionError(InputError):
    """An option that does not exist, is out of range, or would not be used as it was given."""


class DataError(InputError):
    """A file or table cannot be read, or holds nothing usable."""


class RoleError(InputError):
    """A column is absent, or has no role or two."""


class LabelError(InputError):
    """The label is absent, constant or continuous."""


class MaskError(InputError):
    """A mask does not exist, is misconfigured, or does not fit its column."""


class HierarchyError(InputError):
    """A hierarchy is malformed or misses values."""


class ConfigurationError(InputError):
    """A configuration file is malformed."""


class SummaryError(InputError):
    """A summary is malformed, contradictory or of a newer format."""


class PolicyError(InputError):
    """A policy is malformed or names what does not exist."""


class ProjectError(InputError):
    """A project file is malformed, or somebody left before what is needed of it was decided."""


class MeasureError(InputError):
    """A measure, privacy model or reference does not exist or does not apply."""


class AnonymizerError(InputError):
    """Clustering parameters that no table of this kind can satisfy."""


class SanitizerError(InputError):
    """A sanitizer's problem or model file makes no sense."""


class OtherLedgerError(InputError):
    """The rows are those of a table whose ledger is another one, or is missing."""


class OutputError(InputError):
    """The output exists already or cannot be written."""


class MissingExtraError(AegisError):
    """An optional dependency is not installed."""

    http_status: ClassVar[int] = 501

    def __init__(self, *, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an optional part of Aegis: pip install 'aegis-share[{extra}]'")


class GuaranteeError(AegisError):
    """A promise cannot be kept, so nothing was written."""

    exit_status: ClassVar[int] = 1
    http_status: ClassVar[int] = 409


class PolicyNotSatisfiedError(GuaranteeError):
    """The table does not satisfy the policy."""


class VerificationError(GuaranteeError):
    """A certificate, a file or an audit contradicts what was claimed."""


class LedgerError(GuaranteeError):
    """The ledger of releases was changed, belongs to another table, or has no room for what is asked."""


class NotConvergedError(GuaranteeError):
    """An iteration stopped before its tolerance."""


class EngineError(AegisError):
    """The database refused or broke off."""

    http_status: ClassVar[int] = 502


class BrokenOffError(EngineError):
    """The connection to the database ended in the middle.

    ``undone``: nothing was written for certain, so that the same may be tried again. Otherwise the end of the
    transaction was under way, and it may or may not have happened.
    """

    def __init__(self, message: str, *, undone: bool) -> None:
        super().__init__(message)
        self.undone = undone


class StorageUnreachableError(EngineError):
    """The object store where files are kept does not answer, or breaks off."""

    http_status: ClassVar[int] = 503


class ServiceError(AegisError):
    """The catalog will not do what was asked."""

    http_status: ClassVar[int] = 400


class NotSignedInError(ServiceError):
    """Nobody is signed in, or the token is not valid."""

    http_status: ClassVar[int] = 401


class NotPermittedError(ServiceError):
    """The role does not allow it."""

    http_status: ClassVar[int] = 403


class NotFoundError(ServiceError):
    """There is no such thing, or not for this person."""

    http_status: ClassVar[int] = 404


class RequestTimeoutError(ServiceError):
    """The body of a request did not arrive, or too slowly."""

    http_status: ClassVar[int] = 408


class ConflictError(ServiceError):
    """The state of things does not allow it, or somebody was faster."""

    http_status: ClassVar[int] = 409


class TooLargeError(ServiceError):
    """More was sent than is accepted."""

    http_status: ClassVar[int] = 413


class TooManyAttemptsError(ServiceError):
    """Too many failed sign-ins, or too many requests at once."""

    http_status: ClassVar[int] = 429

    def __init__(self, message: str, *, retry_after_seconds: int) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class TooBusyError(ServiceError):
    """Everything that takes long is taken; try again in a moment."""

    http_status: ClassVar[int] = 503
    retry_after_seconds: ClassVar[int] = 2


class StorageFullError(ServiceError):
    """There is no room, or no right to write, where files are kept."""

    http_status: ClassVar[int] = 507
