"""How much of the protocol a demo runs."""

from dataclasses import dataclass

from unseen.images.drawings import TRAINING_DRAWINGS
from unseen.probes.protocol import COG_V2, COG_V2_SHORT, LogisticProtocol
from unseen.probes.samples import searchable
from unseen.studies.probing import SHOTS


@dataclass(frozen=True)
class Form:
    """A protocol, its settings, and the sentence about it on the page."""

    protocol: LogisticProtocol
    shots: tuple[int | None, ...]
    seeds: tuple[int, ...]
    notice: str


SHORT = Form(
    COG_V2_SHORT,
    (1, 4, 16, None),
    (0, 1, 2),
    "A short form of the protocol: 3 seeds, 10 trials of 30 epochs (the first 5 evenly spread), 4 settings of shots.",
)
FULL = Form(
    COG_V2,
    tuple(n for n in SHOTS if n is None or n <= searchable(TRAINING_DRAWINGS, COG_V2.validation)),
    (0, 1, 2, 3, 4),
    "The whole protocol, with as many shots as 80 training drawings per concept allow.",
)
