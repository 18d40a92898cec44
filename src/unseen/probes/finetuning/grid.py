"""The fine-tuning grid of `ericsson-2021`: the settings tried, and the choice among them.

Ericsson, Gouk & Hospedales 2021, "How well do self-supervised models transfer?", appendix A.2: 5000 steps of 64 images
by SGD with Nesterov momentum .9, with a cosine learning rate decreasing to 0, for 4 learning rates, 5 weight decays and
2 augmentations. The best on validation data is trained again on training and validation data together and scored on
test data by the data set's own metric.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log10
from typing import Literal

from unseen.errors import UserError
from unseen.probes.finetuning.protocol import Augment, FinetuneProtocol

STEPS, BATCH = 5000, 64
RATES = (1e-4, 1e-1, 4)
DECAYS = (1e-6, 1e-3, 4)
"""Smallest and largest value, and their number, log-spaced."""
AUGMENTS: tuple[Augment, ...] = ("crop+flip", "centre")
SETTINGS = RATES[2] * (DECAYS[2] + 1) * len(AUGMENTS)
Edge = Literal["lowest rate", "highest rate", "strongest decay"]


@dataclass(frozen=True)
class FinetuneGrid:
    """A search over the grid; every field can change a number.

    Attributes:
        name: `ericsson-2021`, or `ericsson-2021-short` with fewer trials or steps than the paper's.
        trials: number of settings tried, the first of `settings`.
        steps, batch: of each training.
        bins: bins of the expected calibration error.
    """

    name: str
    trials: int
    steps: int
    batch: int = BATCH
    bins: int = 15

    @property
    def settings(self) -> tuple[FinetuneProtocol, ...]:
        """The settings in the order in which they are tried.

        Any four in a row have every rate, the first 20 have every rate with every decay, and all 40 are the whole grid:
        in round j, the setting of rate r has decay (j + r) mod 5 and augmentation (j + r) mod 2, and since 2 and 5 are
        coprime, ten rounds contain every pair once.
        """
        rates, decays = log_spaced(*RATES), (0.0, *log_spaced(*DECAYS))
        chosen = []
        for trial in range(self.trials):
            j, r = divmod(trial, len(rates))
            decay, augment = decays[(j + r) % len(decays)], AUGMENTS[(j + r) % len(AUGMENTS)]
            chosen.append(
                FinetuneProtocol("finetune-trial", self.steps, self.batch, rates[r], decay / rates[r], augment=augment)
            )
        return tuple(chosen)

    @property
    def short(self) -> str:
        """A sentence on how the search is shorter than the paper's; empty if it is not."""
        if self.name == "ericsson-2021":
            return ""
        return (
            f"Fine-tuning was cut short ({self.name}): {self.trials} of {SETTINGS} settings, {self.steps:,} of "
            f"{STEPS:,} steps each; the whole protocol gives other scores."
        )


def finetune_grid(*, trials: int = SETTINGS, steps: int = STEPS, batch: int = BATCH) -> FinetuneGrid:
    """The paper's search, or a shorter one under a different name."""
    if not 1 <= trials <= SETTINGS:
        raise UserError(f"the grid of fine-tuning has {SETTINGS} settings: try 1 to {SETTINGS} of them, not {trials}")
    if not 1 <= steps <= STEPS:
        raise UserError(f"the protocol trains for {STEPS} steps: take 1 to {STEPS} of them, not {steps}")
    whole = (trials, steps, batch) == (SETTINGS, STEPS, BATCH)
    return FinetuneGrid("ericsson-2021" if whole else "ericsson-2021-short", trials, steps, batch)


def log_spaced(least: float, greatest: float, count: int) -> tuple[float, ...]:
    """Log-spaced numbers, in order; powers of ten are exact."""
    first, last = log10(least), log10(greatest)
    return tuple(float(f"{10 ** (first + (last - first) * place / (count - 1)):.12g}") for place in range(count))


def ranked_trials(validation: Sequence[float | None]) -> list[int]:
    """Indices by decreasing score, with ties in order; None marks a diverged training, which is left out."""
    known = [place for place, value in enumerate(validation) if value is not None]
    if not known:
        raise UserError(
            f"all {len(validation)} trainings diverged, so there is none to choose; try more settings (the key "
            "trials), or look at the backbone's preprocessing"
        )
    return sorted(known, key=lambda place: (-(validation[place] or 0), place))


def at_edges(setting: FinetuneProtocol) -> list[Edge]:
    """The ends of the grid at which a setting lies: there may be better ones beyond. A decay of 0 is not an end."""
    rates = log_spaced(*RATES)
    edges: list[Edge] = []
    if setting.rate in {rates[0], rates[-1]}:
        edges.append("lowest rate" if setting.rate == rates[0] else "highest rate")
    if setting.decay == log_spaced(*DECAYS)[-1] / setting.rate:
        edges.append("strongest decay")
    return edges


ERICSSON_2021 = finetune_grid()
"""The search of the paper."""
