"""The masks behind a certificate that names labels only: for its provider, from the ledger that has the release."""

from __future__ import annotations

from aegis.errors import DataError, LedgerError
from aegis.library.shown_columns import configuration_of
from aegis.masking.configuration import Configuration
from aegis.masking.configuration_file import LABELS_ID, certified_configuration
from aegis.releases.certificate import Certificate
from aegis.releases.ledger import read_ledger
from aegis.releases.table_register import registered_tables


def masks_behind(certificate: Certificate, *, file: str) -> Configuration:
    """What a release was made by, value by value; raises where only its provider could say and nobody here is that."""
    stated, named = certified_configuration(certificate.content), certificate.content["configuration"]
    if LABELS_ID not in named:
        return stated
    for table in registered_tables():
        try:
            left = read_ledger(table.ledger).releases.values()
        except LedgerError:
            continue  # whoever releases that table is told; here another one is looked for
        for leaving in left:
            if leaving.file_sha256 == certificate.file_sha256:
                configuration = configuration_of(leaving)
                if configuration is not None and configuration.id == named["id"]:
                    return configuration
    raise DataError(
        f"the certificate of {file} names what its masks wrote and not what they made of each value, and no ledger of "
        "yours has the release; give the masks with --config"
    )
