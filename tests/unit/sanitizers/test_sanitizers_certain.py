"""A release that determines too many records is refused with what was sure without it and how much more may be."""

from __future__ import annotations

import numpy as np
import pytest

from aegis.candidates.sanitizers.audited_column import refuse_certain
from aegis.candidates.sanitizers.posterior import Certainty
from aegis.errors import VerificationError


def sure(share: float, *by_value: float) -> Certainty:
    return Certainty(certain=share, by_value=by_value, epsilons=(), pinned=(), loss=0.1)


def test_the_refusal_says_what_was_sure_before_and_how_much_more_may_be() -> None:
    codes = np.repeat([0, 1], 50)
    refuse_certain("x", [sure(0.1, 0.1, 0.1)], [sure(0.105, 0.14, 0.07)], codes=codes)
    with pytest.raises(VerificationError, match=r"14\.9 % of the records for adversary 2, .* sure of 13\.0 % without"):
        refuse_certain("x", [sure(0.1), sure(0.13)], [sure(0.1), sure(0.149)], codes=None)
    with pytest.raises(VerificationError, match=r"30\.0 % of the records with one value .* at most 5 points more"):
        refuse_certain("x", [sure(0.1, 0.2, 0.1)], [sure(0.1, 0.2, 0.3)], codes=codes)
    refuse_certain("x", [sure(0.1, 0.2, 0.1)], [sure(0.1, 0.2, 0.3)], codes=np.repeat([0, 1], [99, 1]))
