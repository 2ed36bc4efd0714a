"""What the MO-OBAM paper prints: Tables IVa, Va, VIIa, VIIb and VIIIa as numbers.

Of Tables IVb, Vb, VI, VIIc, VIIIb, IX and X no numbers are at hand: the sections on them hold what the text says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

KS = (5, 10, 15, 20)
THRESHOLDS = ("0.05", "0.075", "0.1")
MODELS = {
    "DT": "decision-tree",
    "LR": "logistic-regression",
    "NB": "naive-bayes",
    "NN": "neural-network",
    "RF": "random-forest",
    "SVM": "svm",
}
"""The paper's names of its models, and ours."""


FIGURES = {
    "classes": ("classes", ""),
    "loss": ("information loss", ""),
    **{f"linkage {tau}": (f"people at linkage risk at {tau}", "people") for tau in THRESHOLDS},
    "homogeneity": ("people whose secret is certain", "people"),
}
"""The figures of a row of Table IV or V, in words and with their unit."""


def figure_of(row: Mapping[str, Any], figure: str) -> Any:
    """A figure of a row: ``classes``, ``loss``, ``homogeneity``, or ``linkage`` with a threshold.

    >>> figure_of({"linkage": [9, 5, 1]}, "linkage 0.075")
    5
    """
    name, _, threshold = figure.partition(" ")
    return row[name][THRESHOLDS.index(threshold)] if threshold else row[name]


Scores = tuple[float, ...]
"""Mean F1 in the order of `MODELS`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of Table IV or V; ``homogeneity`` is None where the cell cannot be read.

    Nobody at risk at 0.05 is nobody at 0.075 and 0.1: such cells are zero also where they cannot be read.
    """

    classes: int
    loss: float
    linkage: tuple[int, int, int]
    homogeneity: int | None = None

    @property
    def cells(self) -> list[tuple[str, str, str, float]]:
        """The cells that can be read: the name of the figure, its words, its unit, and what is printed."""
        return [
            (name, words, unit, value)
            for name, (words, unit) in FIGURES.items()
            if (value := figure_of(asdict(self), name)) is not None
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """The rows of one data set by method and k, and the mean F1 scores in the order of `MODELS`."""

    table: str
    baseline: Row
    mdav: dict[int, Row]
    zheng: dict[int, Row]
    mo_obam: dict[int, Row]
    f1_table: str
    f1_baseline: Scores
    f1_many: dict[int, Scores]  # by k, with many classes and λ = 0.0001
    f1_four: dict[int, Scores]  # by k, with four classes and λ = 1
    f1_mdav: dict[int, Scores] = field(default_factory=dict)  # Table VIIIa, by k
    f1_zheng: dict[int, Scores] = field(default_factory=dict)
    worse_many: dict[str, tuple[int, ...]]  # models that the text calls worse than the original, with the k
    worse_four: dict[str, tuple[int, ...]]


GERMAN = Printed(
    table="Table IVa",
    baseline=Row(classes=310, loss=0.0, linkage=(959, 828, 698), homogeneity=275),
    mdav={
        5: Row(classes=149, loss=0.0166, linkage=(940, 790, 570), homogeneity=50),
        10: Row(classes=90, loss=0.0255, linkage=(810, 810, 0), homogeneity=0),
        15: Row(classes=63, loss=0.0408, linkage=(885, 0, 0)),
        20: Row(classes=49, loss=0.0545, linkage=(0, 0, 0)),
    },
    zheng={
        5: Row(classes=191, loss=0.0061, linkage=(899, 778, 532), homogeneity=0),
        10: Row(classes=101, loss=0.0106, linkage=(860, 860, 0)),
        15: Row(classes=67, loss=0.0141, linkage=(820, 10, 0)),
        20: Row(classes=51, loss=0.0164, linkage=(0, 0, 0)),
    },
    mo_obam={
        5: Row(classes=30, loss=0.0147, linkage=(148, 63, 29), homogeneity=10),
        10: Row(classes=30, loss=0.0153, linkage=(118, 71, 22)),
        15: Row(classes=30, loss=0.0153, linkage=(106, 40, 40)),
        20: Row(classes=30, loss=0.0148, linkage=(125, 57, 31)),
    },
    f1_table="Table VIIa",
    f1_baseline=(0.7702, 0.8124, 0.7938, 0.7109, 0.8381, 0.8266),
    f1_many={
        5: (0.7708, 0.8079, 0.7901, 0.7210, 0.8396, 0.8273),
        10: (0.7683, 0.8049, 0.7928, 0.7208, 0.8400, 0.8244),
        15: (0.7690, 0.8038, 0.7960, 0.7156, 0.8341, 0.8245),
        20: (0.7699, 0.8073, 0.7939, 0.7239, 0.8373, 0.8265),
    },
    f1_four={
        5: (0.7701, 0.8123, 0.7910, 0.7153, 0.8382, 0.8239),
        10: (0.7714, 0.8077, 0.7863, 0.7148, 0.8398, 0.8251),
        15: (0.7698, 0.8090, 0.7923, 0.7218, 0.8387, 0.8241),
        20: (0.7696, 0.8057, 0.7878, 0.7189, 0.8351, 0.8264),
    },
    f1_mdav={
        5: (0.7690, 0.8156, 0.7934, 0.7147, 0.8412, 0.8252),
        10: (0.7707, 0.8129, 0.7903, 0.7047, 0.8428, 0.8252),
        15: (0.7719, 0.8146, 0.7912, 0.7086, 0.8381, 0.8257),
        20: (0.7703, 0.8123, 0.7916, 0.7108, 0.8361, 0.8262),
    },
    f1_zheng={
        5: (0.7704, 0.8121, 0.7950, 0.7227, 0.8390, 0.8235),
        10: (0.7700, 0.8094, 0.7972, 0.7170, 0.8376, 0.8244),
        15: (0.7693, 0.8085, 0.7938, 0.7167, 0.8373, 0.8284),
        20: (0.7659, 0.8072, 0.7943, 0.7172, 0.8384, 0.8256),
    },
    worse_many={"LR": (10, 15)},
    worse_four={"LR": (20,)},
)

ADULT = Printed(
    table="Table Va",
    baseline=Row(classes=1900, loss=0.0, linkage=(6506, 4906, 3910), homogeneity=634),
    mdav={
        5: Row(classes=1232, loss=0.0010, linkage=(5925, 4590, 3050), homogeneity=5),
        10: Row(classes=930, loss=0.0022, linkage=(5080, 5080, 0), homogeneity=0),
        15: Row(classes=774, loss=0.0034, linkage=(4167, 0, 0), homogeneity=0),
        20: Row(classes=673, loss=0.0045, linkage=(0, 0, 0), homogeneity=0),
    },
    zheng={
        5: Row(classes=1066, loss=0.0006, linkage=(5077, 3680, 2280), homogeneity=0),
        10: Row(classes=895, loss=0.0013, linkage=(4770, 4770, 0)),
        15: Row(classes=779, loss=0.0019, linkage=(4084, 0, 0)),
        20: Row(classes=733, loss=0.0025, linkage=(0, 0, 0), homogeneity=0),
    },
    mo_obam={k: Row(classes=100, loss=0.0116, linkage=(103, 69, 47), homogeneity=3 if k == 5 else None) for k in KS},
    f1_table="Table VIIb",
    f1_baseline=(0.6203, 0.4052, 0.4183, 0.3475, 0.6787, 0.2757),
    f1_many={
        5: (0.6202, 0.4077, 0.4192, 0.3481, 0.6684, 0.2729),
        10: (0.6203, 0.4076, 0.4190, 0.3495, 0.6695, 0.2746),
        15: (0.6203, 0.4052, 0.4190, 0.3477, 0.6674, 0.2741),
        20: (0.6203, 0.4073, 0.4197, 0.3478, 0.6688, 0.2746),
    },
    f1_four={
        5: (0.6186, 0.4014, 0.4193, 0.3566, 0.6600, 0.2727),
        10: (0.6194, 0.4022, 0.4189, 0.3492, 0.6607, 0.2743),
        15: (0.6180, 0.4011, 0.4196, 0.3530, 0.6608, 0.2741),
        20: (0.6183, 0.4002, 0.4182, 0.3504, 0.6603, 0.2746),
    },
    worse_many={"RF": KS},
    worse_four={"DT": KS, "LR": KS, "RF": KS},
)
