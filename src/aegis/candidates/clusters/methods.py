"""The anonymizers by name; other packages may add theirs through the entry points ``aegis.candidates.clusters``."""

from __future__ import annotations

from aegis.candidates.clusters.estimator import Anonymizer
from aegis.candidates.clusters.k_member import KMember
from aegis.candidates.clusters.mdav import MDAV
from aegis.candidates.clusters.mo_obam import MOOBAM
from aegis.errors import AnonymizerError
from aegis.registry import Registry

ANONYMIZERS: Registry[type[Anonymizer]] = Registry("anonymizers", noun="anonymizer", error=AnonymizerError)
ANONYMIZERS.add("mo-obam", MOOBAM)
ANONYMIZERS.add("mdav", MDAV)
ANONYMIZERS.add("k-member", KMember)
