"""Rank three ways of masking a pandas table, and keep the best."""

from __future__ import annotations

import pandas as pd

import aegis
from aegis.library.clinic import columns

patients = pd.DataFrame(columns(2_000)).astype({"age": int, "visits": int})
candidates = [
    aegis.Configuration.of(
        "decades", {"age": {"bucketize": {"width": 10}}, "zip": {"star_trailing": {"characters": 3}}}
    ),
    aegis.Configuration.of("halves", {"age": {"bucketize": {"quantiles": 2}}, "zip": "suppress"}),
    aegis.Configuration.of("hidden", {"age": "suppress", "zip": "suppress", "gender": "suppress"}),
]
roles = aegis.Roles(label="health", identifying=("patient",), quasi_identifying=("age", "zip", "gender"))

advice = aegis.advise(patients, roles=roles, configs=candidates)
print(advice.headline)
for place in advice.ranking:
    print(place.rank, place.configuration, f"accuracy {place.performance:.1%}", "; ".join(place.reasons))
