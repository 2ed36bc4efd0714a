#!/bin/sh
# Every benchmark of microaggregation, one after the other: about 60 minutes on two cores with nothing else to do.
# figures 22, proof 18, large 2, entropy 2, sepsis 4, mdav 2, k-member 2, models 10. The comparison with sdcMicro's
# loop needs a library of its own: see microaggregation_mdav_rival.py.
set -e
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
for name in figures proof large entropy sepsis mdav k_member models; do
    "$python" "benchmarks/microaggregation_$name.py"
done
