"""The anonymizers by name; other packages may add theirs through the entry points ``aegis.anonymizers``."""

from __future__ import annotations

from aegis.anonymizers.estimator import Anonymizer
from aegis.anonymizers.k_member import KMember
from aegis.anonymizers.mdav import MDAV
from aegis.anonymizers.mo_obam import MOOBAM
from aegis.errors import AnonymizerError
from aegis.registry import Registry

ANONYMIZERS: Registry[type[Anonymizer]] = Registry("anonymizers", noun="anonymizer", error=AnonymizerError)
ANONYMIZERS.add("mo-obam", MOOBAM)
ANONYMIZERS.add("mdav", MDAV)
ANONYMIZERS.add("k-member", KMember)
