"""The chapter of the Aegis paper: Table 2, Figures 1 and 5 to 11."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from aegis_papers.aegis_choices import SEEDS
from aegis_papers.aegis_data import MASKS, SOURCES, TWICE_UP_TO, tables
from aegis_papers.aegis_effectiveness import fig_5_effectiveness, fig_5_efficiency
from aegis_papers.aegis_figure_6 import fig_6
from aegis_papers.aegis_k_anonymous import NODES, SUPPRESSED
from aegis_papers.aegis_reconstruction import fig_7, fig_10
from aegis_papers.aegis_robustness import fig_9
from aegis_papers.aegis_scale import fig_11
from aegis_papers.aegis_spread import fig_1
from aegis_papers.aegis_summaries import fig_8
from aegis_papers.aegis_table import OTHER_FILES, table_2
from aegis_papers.reproduction import Reproduction, Section, Verdict, incomparable
from aegis_papers.setting import Setting

CHOICES = {
    "configurations": f"50 a data set, made at random by our generator ({', '.join(MASKS)}), the same for all "
    "experiments; the paper's own are not published. How strongly they mask was found by matching what the paper "
    "prints of training on every one of them: "
    + "; ".join(f"{source.title} {source.strength}" for source in SOURCES)
    + ". Heavy masks of Air Quality lie where the paper's accuracies do (53 to 84 % with logistic regression). On "
    "Income heavy masks end at .815 with SGD where the paper's best has .85; masks as strong or weak as they come "
    "reach it. That the best accuracies agree is in part this choice.",
    "5-anonymous configurations": "the 25 best of automatic hierarchies and the 25 best of free cuts that our search "
    f"finds among {NODES:,} each, with up to {100 * SUPPRESSED:g} % of the records suppressed and with none. The "
    "losses depend on this family more than on anything else: Fig. 6b has all four parts apart.",
    "Air Quality": "rounded to whole numbers, because Table 2 describes it so.",
    "hotel data": "another file of the same shape: what is measured on it stands beside the printed values and is not "
    "compared with them. The numbers of the row and of the user are not attributes.",
    "models": "logistic regression, SVM with a Gaussian kernel, random forest, naive Bayes and SGD, with scaled "
    "numbers, one-hot categories and intervals as their middles; the paper names the models only.",
    "rows": "all of them, as in the paper: 70 to 30, once; twice where a table has at most "
    f"{TWICE_UP_TO:,} rows, the mean of both. An SVM is solved on distinct records with their numbers as weights, "
    "which is the same program; where time is compared (Fig. 5a–c) every record counts.",
    "random choices": f"rounding and sampling are repeated {SEEDS} times; accuracies are means over the draws.",
    "the same": "within the digits printed, 3 points of accuracy, 1.5 points of loss; inside a range that the paper "
    "gives; where a way draws, between the least and the largest of its draws.",
    "time": "CPU seconds, those of models on one thread. Seconds of two programs on two machines are shown and not "
    "judged; which is faster, and how time grows, is.",
}
ANOTHER_FILE = "Not the paper's file, which is not public: shown, and not compared."
_DEAREST = "Fig. 6"  # its networks take longer than everything else together, and come last


def reproduce(setting: Setting) -> Reproduction:
    """Repeat the experiments, section by section."""
    data = tables(setting)
    steps: list[tuple[str, Callable[[], Section]]] = [
        ("Table 2", lambda: table_2(setting, data)),
        ("Fig. 1", lambda: fig_1(setting, data)),
        ("Fig. 5a–c", lambda: fig_5_efficiency(setting, data)),
        ("Fig. 5d–f", lambda: fig_5_effectiveness(setting, data)),
        ("Fig. 6", lambda: fig_6(setting, data)),
        ("Fig. 7", lambda: fig_7(setting, data)),
        ("Fig. 8", lambda: fig_8(setting, data)),
        ("Fig. 9", lambda: fig_9(setting, data)),
        ("Fig. 10", lambda: fig_10(setting)),
        ("Fig. 11", lambda: fig_11(setting)),
    ]
    finished: dict[str, Section] = {}
    for done, (name, step) in enumerate(sorted(steps, key=lambda named: named[0] == _DEAREST)):
        setting.progress(done, len(steps), name)
        finished[name] = setting.timed(step)
    setting.progress(len(steps), len(steps), "done")
    sections = [without_verdict_on_other_files(finished[name]) for name, _ in steps]
    if setting.quick:
        sections = [incomparable(section, why="A quick run, on a small clinic.") for section in sections]
    return Reproduction(
        paper="Aegis",
        title="Aegis: choosing masking configurations for machine learning without training",
        sections=tuple(sections),
        choices=CHOICES,
        seed=setting.seed,
        quick=setting.quick,
    )


def without_verdict_on_other_files(section: Section) -> Section:
    """The same section; what was measured on a table whose own file is not public gets no verdict."""
    titles = tuple(source.title for source in SOURCES if source.name in OTHER_FILES)
    return replace(
        section,
        claims=tuple(
            replace(
                claim,
                verdict=Verdict.NOT_COMPARABLE,
                test=None,
                why=claim.why if ANOTHER_FILE in claim.why else f"{ANOTHER_FILE} {claim.why}".strip(),
            )
            if claim.what.startswith(titles)
            else claim
            for claim in section.claims
        ),
    )
