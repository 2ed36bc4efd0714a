"""MDAV against the compiled loop of sdcMicro, in one run: ``python benchmarks/microaggregation_mdav_rival.py LIBRARY``.

A minute. LIBRARY is a shared library with

    void mdav(const double *data, double *result, int *group, int rows, int columns, double missing, int k, int old)

over column-major doubles: the body of sdcMicro's src/Mdav.h compiled with ``g++ -O2``, its R matrix replaced by a plain
one (which spares it R's bounds checks). That source is under the LGPL and no part of this project. Both are given the
same columns, categories as label numbers divided by their variance, which is the only metric sdcMicro's loop knows.
"""

from __future__ import annotations

import ctypes
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np

from _result import write
from aegis.arrays import Floats, Ints
from aegis.candidates.clusters.information_loss import centers_of, information_loss
from aegis.candidates.clusters.mdav import MDAV
from aegis.candidates.clusters.records import Records
from microaggregation_data import adult

REPEATS = 3
HAD = {
    "CRAN": "not reachable from this machine, so install.packages('sdcMicro') is not possible",
    "Debian": "apt-cache search sdcmicro: nothing; R and Rcpp are packaged, sdcMicro is not",
    "PyPI": "no sdcmicro; microaggregation 0.1.9 and microagg1d give optimal classes of one ordered variable, no MDAV; "
    "anonypy and pycanon have no MDAV",
    "npm": "no package of that name",
    "source": "src/Mdav.h of the public repository sdcTools/sdcMicro could be read: its loop is what is timed here",
}


def rival(library: ctypes.CDLL, columns: Floats, k: int) -> tuple[Ints, float]:
    """Classes and CPU seconds of the rival (both run on one core)."""
    data = np.asfortranarray(columns)
    result = np.zeros_like(data, order="F")
    group = np.full(len(data), -1, dtype=np.int32)
    pointers = [each.ctypes.data_as(ctypes.c_void_p) for each in (data, result, group)]
    began = time.process_time()
    library.mdav(*pointers, len(data), data.shape[1], ctypes.c_double(-9999.0), k, 0)
    return group.astype(np.int64), time.process_time() - began


def case(name: str, library: ctypes.CDLL, records: Records, k: int) -> dict[str, Any]:
    """Alternating runs, the best of each; ours with reading off its own risks and loss, theirs without."""
    columns = np.column_stack([records.numeric, records.categorical.astype(np.float64)])
    theirs, ours = [], []
    for _ in range(REPEATS):
        group, seconds = rival(library, columns, k)
        theirs.append(seconds)
        began = time.process_time()
        fitted = MDAV(k=k, metric="z-scored labels").fit(records)
        ours.append(time.process_time() - began)
    found = {
        "case": name,
        "rows": len(records),
        "columns": columns.shape[1],
        "k": k,
        "aegis_cpu_seconds": round(min(ours), 3),
        "sdcmicro_loop_cpu_seconds": round(min(theirs), 3),
        "times_as_fast": round(min(theirs) / min(ours), 1),
        "aegis_loss": fitted.result_.information_loss,
        "sdcmicro_loop_loss": information_loss(records, centers_of(records, group).rows(group)),
        "aegis_smallest_class": fitted.result_.smallest_class,
        "sdcmicro_loop_smallest_class": int(np.bincount(group).min()),
    }
    print(found, flush=True)
    return found


def main() -> None:
    """Adult as it is, and as many records of which no two are equal: the worst case for collapsing tuples."""
    library = ctypes.CDLL(sys.argv[1])
    records = adult()
    rng = np.random.default_rng(0)
    distinct = Records.from_arrays(numeric=rng.normal(size=(len(records), 4)))
    MDAV(k=5).fit(replace(records))  # compile outside the clock
    cases = [case(f"Adult, k = {k}", library, records, k) for k in (5, 20)]
    cases.append(case("as many normal numbers, all tuples distinct", library, distinct, 5))
    sys.argv[1:] = ["LIBRARY"]
    write("microaggregation_mdav_rival", {"seed": 0, "how_sdcmicro_can_be_had_here": HAD, "cases": cases})


if __name__ == "__main__":
    main()
