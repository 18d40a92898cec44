"""The probe `dinov2-linear`: the linear evaluation of DINOv2."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from unseen.backbones.vector_parts import VectorPart
from unseen.errors import look_up
from unseen.probes.by_name.logistic import usual_products
from unseen.probes.job import Fit
from unseen.probes.probe import Numbers, Probe, ProbeData, Size
from unseen.probes.protocol import Setting
from unseen.probes.sgd.grid_protocol import PROTOCOLS, GridProtocol, Range, ranges_of, read_ranges, whole
from unseen.probes.units import hit_units
from unseen.reading.keys import key

if TYPE_CHECKING:
    from torch import Tensor

    from unseen.probes.dinov2_linear import Classifier, Diverged, Grid
    from unseen.probes.vectors import Vectors

SCORE = 4e-9
"""Seconds of a CPU thread per score and step besides products: exponentials, sums, the passes over weights."""
STEP_ON_GPU = 1.5e-4
"""Seconds of a step on a GPU that launching its kernels takes at least."""
WEIGHT_ON_GPU = 9e-12
"""Seconds per weight and step on a GPU besides products: 20 bytes, and its share of scores (H200)."""


@dataclass(frozen=True)
class DINOv2Linear(Probe):
    """Linear classifiers on up to four inputs with 13 learning rates each; the best on validation data is reported.

    Features are not normalised; see `unseen.probes.dinov2_linear`. Besides the best classifier of all, every input has
    a row with its own best one.
    """

    name: ClassVar[str] = "dinov2-linear"
    title: ClassVar[str] = "linear classifiers on 4 inputs with 13 learning rates, chosen on validation data (DINOv2)"
    citation: ClassVar[str] = "Oquab et al. 2023, DINOv2"
    purpose: ClassVar[str] = "the numbers of DINOv2's linear evaluation"
    validation: ClassVar[Literal["chooses", "joins"]] = "chooses"
    random: ClassVar[bool] = True
    trains_at_random: ClassVar[bool] = True
    scored: ClassVar[bool] = True
    keeps_units: ClassVar[bool] = True
    metrics: ClassVar[tuple[str, ...]] = ("top1", "top5")
    protocol: str | GridProtocol = key(
        "dinov2-linear", "12,500 steps of 1024 images, 13 learning rates", choices=tuple(PROTOCOLS), hint=str
    )
    steps: int | None = key(None, "training steps; unset: the protocol's", least=1, identity=False)
    inputs: tuple[str, ...] = key((), "inputs such as cls1=0:384; unset: DINOv2's, or all columns")
    products: str | None = key(None, "number type of products; unset: 16 bits on a GPU", choices=("float32", "float16"))

    @property
    def protocol_name(self) -> str:
        return self.grid.name

    @property
    def resolved(self) -> "DINOv2Linear":
        return replace(self, protocol=self.grid, steps=None)

    @property
    def grid(self) -> GridProtocol:
        """The protocol, with the requested number of steps."""
        found = self.protocol
        if isinstance(found, str):
            found = look_up(PROTOCOLS, found, "protocol", f" of {self.name}")
        return found if self.steps is None else found.of_steps(self.steps)

    def with_protocol(self, protocol: Any) -> "DINOv2Linear":
        return replace(self, protocol=protocol).resolved

    def usual(self, *, gpu: bool | None = None) -> Mapping[str, Any]:
        products = {} if gpu is None else {"products": usual_products(gpu)}
        return {"steps": self.grid.steps, **products}

    def planned(self, vectors: "Vectors", *, gpu: bool = False) -> "Sequence[DINOv2Linear]":
        inputs = tuple(each.text for each in self.ranges(vectors.parts, vectors.dimension))
        return (replace(self.resolved, inputs=inputs, products=self.products or usual_products(gpu)),)

    def ranges(self, parts: Sequence[VectorPart], dimension: int) -> tuple[Range, ...]:
        """The inputs: as set, else those that features record, else the whole vector."""
        return read_ranges(self.inputs, dimension) or ranges_of(parts) or whole(dimension)

    def remarks(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """That images are not augmented, where the choice is made, and that the training is short, if so."""
        yield "dinov2-on-features", {"protocol": self.grid.name}
        if self.grid.name.endswith("-short"):
            yield "short-training", {"protocol": self.grid.name, "steps": self.grid.steps}

    def data_notices(self, vectors: "Vectors", named: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """That features do not have the four inputs of DINOv2."""
        if not self.inputs and len(found := ranges_of(vectors.parts)) < 4:
            names = " and ".join(each.name for each in found) or "the whole vector"
            yield "fewer-inputs", {"probe": self.name, "backbone": vectors.backbone or "your backbone", "names": names}

    def fit(self, data: ProbeData, settings: Sequence[Setting]) -> Iterator[Fit]:
        for setting in settings:
            found = self._grid_of(data, setting)
            rates = {each.input.name: each.rate for each in found.classifiers}
            names = [each.name for each in self.ranges(data.parts, data.X_train.shape[1])]
            about = {"chosen": [rates.get(name) for name in names], "products": found.products}
            yield self._fit(self.name, found.best, setting, about)
            if len(names) > 1:
                for each in found.classifiers:
                    yield self._fit(f"{self.name}-{each.input.name}", each, setting, {})
                for lost in found.diverged:
                    yield self._without_values(lost, setting)

    def _without_values(self, lost: "Diverged", setting: Setting) -> Fit:
        """What is kept of an input on which no classifier is finite."""
        tried = {"validation": list(lost.validation), "diverged": lost.validation.count(None)}
        details = {"input": lost.input.name, "rate": None, "edge": None, **tried}
        return Fit(f"{self.name}-{lost.input.name}", setting.shots, setting.seed, (), details)

    def _fit(self, variant: str, found: "Classifier", setting: Setting, about: Mapping[str, Any]) -> Fit:
        details = {
            "input": found.input.name,
            "rate": found.rate,
            "edge": found.edge,
            "validation": list(found.validation),
            "diverged": found.validation.count(None),
            **about,
        }
        values = (("top1", found.top1), ("top5", found.top5))
        return Fit(variant, setting.shots, setting.seed, values, details, units=hit_units(found.hits))

    def variants(self, data: ProbeData) -> int:
        inputs = len(self.ranges(data.parts, data.X_train.shape[1]))
        return inputs + 1 if inputs > 1 else 1

    def test_scores(
        self, data: ProbeData, setting: Setting, kept: Mapping[str, Any]
    ) -> "Iterator[tuple[str, Tensor]] | None":
        """Logits of the chosen classifiers, which are trained again, without the others."""
        import torch

        from unseen.probes.correctness import linear_scores

        if "chosen" not in kept:
            kept = next(self.fit(data, [setting])).details
        # An input without a classifier is trained again too, because all draw from one stream of random numbers.
        found = self._grid_of(data, setting, [[rate or self.grid.rates[0]] for rate in kept["chosen"]])
        names = [each.name for each in self.ranges(data.parts, data.X_train.shape[1])]
        sound = {name for name, rate in zip(names, kept["chosen"], strict=True) if rate is not None}
        X, dtype = data.test_rows(), getattr(torch, found.products)
        scores = {
            each.input.name: torch.cat([*linear_scores(X[:, each.input.columns].to(dtype), each.weights, each.bias)])
            for each in found.classifiers
            if each.input.name in sound
        }
        every = [(f"{self.name}-{name}", logits) for name, logits in scores.items()] if len(names) > 1 else []
        return iter([(self.name, scores[kept["input"]]), *every])

    def _grid_of(self, data: ProbeData, setting: Setting, rates: "Sequence[Sequence[float]] | None" = None) -> "Grid":
        import torch

        from unseen.probes.dinov2_linear import dinov2_linear

        drawn, held = data.drawn(setting), data.validation
        products = self.products or usual_products(data.device.startswith("cuda"))
        return dinov2_linear(
            (drawn.X_train, drawn.y_train),
            (data.X_test, data.y_test),
            self.ranges(data.parts, data.X_train.shape[1]),
            validation=None if held is None else (held.X, held.y),
            protocol=self.grid,
            seed=setting.seed,
            device=data.device,
            products=getattr(torch, products),
            rates=rates,
        )

    def _widths(self, size: Size) -> list[int]:
        """Dimensions of the inputs; those of DINOv2 if they are not known."""
        if not self.inputs:
            fifth = size.dimension / 5
            return [round(number * fifth) for number in (1, 2, 4, 5)]
        return [each.width for each in read_ranges(self.inputs, size.dimension)]

    def flops(self, size: Size, setting: Setting) -> float:
        """Two products in every step, and one in scoring; the number of steps does not depend on the data."""
        grid = self.grid
        weights = sum(self._widths(size)) * size.classes * len(grid.rates)
        return weights * (4.0 * grid.batch * grid.steps + 2.0 * grid.validation * size.rows)

    def memory(self, size: Size, *, gpu: bool = False) -> int:
        """Bytes of the features, each with a 1 for the bias, and of what `grid_bytes` counts."""
        from unseen.probes.sgd.grid import grid_bytes
        from unseen.probes.sgd.kernels.layout import padded
        from unseen.probes.sgd.rows import ALIGNED

        grid, item = self.grid, 2 if (self.products or usual_products(gpu)) == "float16" else 4
        wide = padded(size.dimension + 1, ALIGNED if item == 2 else 1)
        widths = self._widths(size)
        training = grid_bytes(widths, len(grid.rates), size.classes, wide, grid.batch, item=item, gpu=gpu)
        return size.rows * wide * item + training

    def multiplies(self, *, gpu: bool = False) -> Numbers:
        return "float16" if (self.products or usual_products(gpu)) == "float16" else "float32"

    def timed_product(self, size: Size, *, gpu: bool = False) -> tuple[int, int, int]:
        """The product of a step on a CPU; on a GPU, one that takes long enough to be timed."""
        if gpu:
            return super().timed_product(size, gpu=gpu)
        widths = self._widths(size)
        return self.grid.batch, round(sum(widths) / len(widths)), len(self.grid.rates) * size.classes

    def seconds(self, size: Size, setting: Setting, rate: float, *, gpu: bool = False) -> float:
        grid, widths = self.grid, self._widths(size)
        scores = len(grid.rates) * size.classes * len(widths) * grid.batch
        weights = len(grid.rates) * size.classes * sum(widths)
        products = self.flops(size, setting) / rate
        if gpu:
            return max(products + grid.steps * WEIGHT_ON_GPU * weights, grid.steps * STEP_ON_GPU)
        return products + grid.steps * SCORE * scores


PROBE = DINOv2Linear
