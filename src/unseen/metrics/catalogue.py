"""Metadata of each metric: which direction is better, and its range."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Metric:
    """Metadata of a metric.

    Attributes:
        higher_is_better: None if neither direction is better; backbones are then neither ranked nor compared by it.
        lower, upper: bounds of its values; None if there is no bound, or none is known.
        unit: `share` of a whole (printed as percent), `degrees`, `metres`, or `score` for a number without a unit.
    """

    name: str
    higher_is_better: bool | None
    lower: float | None
    upper: float | None
    unit: str

    @property
    def bounded(self) -> bool:
        """Whether values can be put on a logit scale; angles are compared directly (Ericsson et al. 2021, A.7)."""
        return self.lower is not None and self.upper is not None and self.unit != "degrees"

    @property
    def range(self) -> str:
        """Its bounds, for a reader."""
        lower = "−∞" if self.lower is None else f"{self.lower:g}"
        return f"{lower} to {'∞' if self.upper is None else f'{self.upper:g}'}"

    @property
    def range_and_direction(self) -> str:
        """Its bounds and direction, for a reader."""
        if self.higher_is_better is None:
            return f"{self.range}, neither direction is better"
        return f"{self.range}, {'higher' if self.higher_is_better else 'lower'} is better"

    @property
    def ranks_high(self) -> bool:
        """Whether higher is better, of a metric by which backbones may be ranked at all."""
        if self.higher_is_better is None:
            raise ValueError(f"neither direction of {self.name} is better")
        return self.higher_is_better

    @property
    def facts(self) -> "Metric":
        """These fields without those of subclasses, as jobs and results store them."""
        lower, upper = (None if bound is None else float(bound) for bound in (self.lower, self.upper))
        return Metric(self.name, self.higher_is_better, lower, upper, self.unit)

    def position(self, value: float) -> float:
        """Where a value lies between two bounds: 0 at the lower, 1 at the upper."""
        if self.lower is None or self.upper is None:
            raise ValueError(f"{self.name} has no two bounds")
        return (value - self.lower) / (self.upper - self.lower)

    def allows(self, value: float, rounding: float = 0.0) -> bool:
        """Whether a value is within the bounds, up to an error of rounding."""
        above = self.lower is None or value >= self.lower - rounding
        return above and (self.upper is None or value <= self.upper + rounding)


SAME_CLASS = ("map-at-r", "recall-at-1", "map")
"""Metrics of retrieval of images of the same class."""
DIFFICULTIES, FIRST_RANKS = ("medium", "hard", "easy"), (1, 5, 10)
REVISITED = tuple(
    f"{name}-{difficulty}"
    for name in ("map", *(f"precision-at-{k}" for k in FIRST_RANKS))
    for difficulty in DIFFICULTIES
)
"""Metrics of revisited Oxford and Paris, each under its three protocols."""
METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        metric.name: metric
        for metric in (
            Metric("top1", higher_is_better=True, lower=0, upper=1, unit="share"),
            Metric("top5", higher_is_better=True, lower=0, upper=1, unit="share"),
            Metric("mean-per-class", higher_is_better=True, lower=0, upper=1, unit="share"),
            Metric("map-11-point", higher_is_better=True, lower=0, upper=1, unit="share"),
            Metric("purity", higher_is_better=True, lower=0, upper=1, unit="share"),
            # Chance is 0; −0.544 occurs with five points, and we know of no proof of a lower bound.
            Metric("ami", higher_is_better=True, lower=None, upper=1, unit="score"),
            Metric("nmi", higher_is_better=True, lower=0, upper=1, unit="score"),
            # Chance is 0; −½ is attained by two halves crossed with two halves.
            Metric("ari", higher_is_better=True, lower=-0.5, upper=1, unit="score"),
            # Squared distances of unit vectors. It is 0 if all images have the same features, so less is not better.
            Metric("alignment", higher_is_better=None, lower=0, upper=4, unit="score"),
            # With its sign flipped. The mean squared distance of n unit vectors is at most 2n/(n − 1), which bounds
            # uniformity (t = 2) by 4n/(n − 1): 8 for two opposite points, 4 for many.
            Metric("uniformity", higher_is_better=None, lower=0, upper=8, unit="score"),
            # Spectra of features: all depend on the numbers of images and dimensions, and none is a quality.
            # RankMe adds ε to every share, so it can exceed the number of dimensions by a little.
            Metric("rankme", higher_is_better=None, lower=0, upper=None, unit="score"),
            Metric("alpha-req", higher_is_better=None, lower=0, upper=None, unit="score"),
            Metric("participation-ratio", higher_is_better=None, lower=1, upper=None, unit="score"),
            Metric("two-nn-dimension", higher_is_better=None, lower=0, upper=None, unit="score"),
            Metric("ece", higher_is_better=False, lower=0, upper=1, unit="share"),
            # Detection: PASCAL VOC's as Ericsson et al. 2021 average it, and COCO's.
            Metric("ap", higher_is_better=True, lower=0, upper=1, unit="share"),
            Metric("ap50", higher_is_better=True, lower=0, upper=1, unit="share"),
            Metric("ap75", higher_is_better=True, lower=0, upper=1, unit="share"),
            Metric("coco-ap", higher_is_better=True, lower=0, upper=1, unit="share"),
            Metric("coco-ap50", higher_is_better=True, lower=0, upper=1, unit="share"),
            Metric("coco-ap75", higher_is_better=True, lower=0, upper=1, unit="share"),
            Metric("miou", higher_is_better=True, lower=0, upper=1, unit="share"),
            Metric("pixel-accuracy", higher_is_better=True, lower=0, upper=1, unit="share"),
            # Surface normals: angles to the true ones, and pixels within some degrees.
            Metric("angle-mean", higher_is_better=False, lower=0, upper=180, unit="degrees"),
            Metric("angle-median", higher_is_better=False, lower=0, upper=180, unit="degrees"),
            Metric("within-11.25", higher_is_better=True, lower=0, upper=1, unit="share"),
            Metric("within-22.5", higher_is_better=True, lower=0, upper=1, unit="share"),
            Metric("within-30", higher_is_better=True, lower=0, upper=1, unit="share"),
            Metric("depth-rmse", higher_is_better=False, lower=0, upper=None, unit="metres"),
            Metric("delta1", higher_is_better=True, lower=0, upper=1, unit="share"),
            # Share of pixels above the mean of an attention map: more is wider, not better (Ericsson et al. 2021, Table
            # 9).
            Metric("diffusion", higher_is_better=True, lower=0, upper=1, unit="share"),
            # Reconstructions beside originals: perceptual distances by network, squared errors of channels in 0 … 255.
            Metric("lpips-alexnet", higher_is_better=False, lower=0, upper=None, unit="score"),
            Metric("lpips-vgg", higher_is_better=False, lower=0, upper=None, unit="score"),
            Metric("lpips-squeezenet", higher_is_better=False, lower=0, upper=None, unit="score"),
            Metric("colour-red", higher_is_better=False, lower=0, upper=None, unit="score"),
            Metric("colour-green", higher_is_better=False, lower=0, upper=None, unit="score"),
            Metric("colour-blue", higher_is_better=False, lower=0, upper=None, unit="score"),
            # After temperature scaling.
            Metric("scaled-ece", higher_is_better=False, lower=0, upper=1, unit="share"),
            # Retrieval of images of the same class (Musgrave et al. 2020); revisited Oxford and Paris (Radenović et al.
            # 2018).
            *(
                Metric(name, higher_is_better=True, lower=0, upper=1, unit="share")
                for name in (*SAME_CLASS, *REVISITED)
            ),
            # A difference of accuracies, for which a logit scale makes no sense.
            Metric("effective-robustness", higher_is_better=True, lower=None, upper=None, unit="share"),
        )
    }
)
"""Metrics by name, as in the `metric` of a score."""
