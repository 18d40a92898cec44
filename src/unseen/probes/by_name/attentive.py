"""The probe `attentive`: learned queries pool the patches of an image for a linear classifier (Efficient Probing)."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, cast

from unseen.errors import UserError
from unseen.probes.attentive.protocol import ATTENTIVE, AttentiveProtocol
from unseen.probes.job import Fit
from unseen.probes.patches.class_probe import ClassPatches, ClassPatchProbe
from unseen.probes.patches.patch_probe import Demand, PatchSize, Sample
from unseen.probes.probe import ProbeData, samples_with_validation
from unseen.probes.protocol import Setting
from unseen.probes.samples import SamplesPerClass
from unseen.reading.keys import key

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from unseen.probes.attentive.data import LabelledImages
    from unseen.probes.attentive.stack import AttentiveStack
    from unseen.probes.many_shot import Metric

SAMPLED_IMAGES, SAMPLED_ON_GPU = 16, 1_024
"""Images of a timed step."""


@dataclass(frozen=True)
class Attentive(ClassPatchProbe):
    """Attention pooling of patches and a linear classifier, trained together; see `unseen.probes.attentive`.

    Its learning rate and weight decay are chosen on the data set's own validation images, or on a fifth of the training
    images that is drawn for it; the chosen setting is then trained again on both. A few shots are all that it is
    trained on: the data set's own validation images then only choose.
    """

    name: ClassVar[str] = "attentive"
    title: ClassVar[str] = "learned queries pool patch features for a linear classifier (Efficient Probing)"
    citation: ClassVar[str] = "Psomas et al. 2025, Attention, Please"
    purpose: ClassVar[str] = "patch features, or a masked-image model"
    scored: ClassVar[bool] = False
    metrics: ClassVar[tuple[str, ...]] = ("top1", "mean-per-class", "map-11-point")
    queries: int = key(ATTENTIVE.queries, "learned queries; must divide the width of patches", least=1, identity=False)
    epochs: int = key(ATTENTIVE.epochs, "passes over the training images", least=1, identity=False)
    protocol: AttentiveProtocol = ATTENTIVE

    @property
    def used(self) -> AttentiveProtocol:
        """The protocol with the settings of the user."""
        return replace(self.protocol, queries=self.queries, epochs=self.epochs)

    @property
    def protocol_name(self) -> str:
        return self.protocol.name

    @property
    def resolved(self) -> "Attentive":
        return replace(self, protocol=self.used)

    @property
    def described(self) -> dict[str, Any]:
        return super(Attentive, replace(self, protocol=self.used)).described

    def refuse_width(self, channels: int, named: str) -> None:
        from unseen.probes.attentive.train import refuse_queries

        refuse_queries(channels, self.queries, named)

    def arithmetic(self, *, gpu: bool = False) -> str:
        return "float16" if gpu else ""

    def fit(self, data: ClassPatches, settings: Sequence[Setting]) -> Iterator[Fit]:  # type: ignore[override]
        from unseen.probes.attentive.choose import choose_attentive
        from unseen.probes.attentive.choose import test_scores as scores_of
        from unseen.probes.many_shot import Labels, metric_value
        from unseen.probes.units import class_units

        images, tested = _images(data, keep=data.fits(self.demand(data.size, _item(data))))
        metric = cast("Metric", data.metric)
        for setting in settings:
            held, parts = data.data.validation, _parts(data, setting, self.used.validation)
            chosen = choose_attentive(
                images, parts, data.data.classes, metric, self.used,
                seed=setting.seed, ignored=None if held is None else held.ignored,
                final=None if held is None or setting.shots is None else parts[0],
            )  # fmt: skip
            scores = scores_of(chosen.stack, tested).float().cpu()
            labels = Labels(tested.Y, data.data.ignored)
            rate, decay = chosen.setting
            details = {
                "rate": rate, "decay": decay, "validation": list(chosen.validation), "edge": chosen.edge,
                "pictures": list(_pictures(chosen.stack, data, tested, scores, setting)),
            }  # fmt: skip
            values = ((metric, metric_value(scores, labels, metric)),)
            units = class_units(scores, labels, data.tested)
            yield Fit(self.name, setting.shots, setting.seed, values, details, units=units)

    def samples(self, data: ProbeData, shots: int | None) -> SamplesPerClass | None:
        return samples_with_validation(data) if shots is None else super().samples(data, shots)

    def demand(self, size: PatchSize, item: int) -> Demand:
        from unseen.probes.attentive.train import demand

        return demand(size, self.used, item)

    def samples_of_work(self, size: PatchSize, device: "torch.device") -> Iterator[Sample]:
        """Gradients of a few images and an update, of all settings and of one; and reading, if features do not fit."""
        import torch

        from unseen.features.device_memory import free_bytes
        from unseen.probes.attentive.lars import Lars
        from unseen.probes.attentive.stack import AttentiveStack, Shape
        from unseen.probes.patches.rows import sample_reading

        gpu, protocol = device.type == "cuda", self.used
        batch = min(protocol.batch, size.images)
        few = min(batch, SAMPLED_ON_GPU if gpu else SAMPLED_IMAGES)
        X = torch.rand(few, size.positions, size.channels, device=device, dtype=torch.float16 if gpu else torch.float32)
        Y = torch.arange(few, device=device) % size.codes
        trained = round((1 - protocol.validation) * size.images), size.images
        steps = [protocol.steps(images) for images in trained]
        for settings, number in zip((protocol.settings, protocol.settings[:1]), steps, strict=True):
            shape = Shape(len(settings), protocol.queries, size.channels, size.codes)
            stack = AttentiveStack.drawn(shape, torch.Generator().manual_seed(0), device, torch.float32)
            optimiser = Lars(stack.parameters, settings, scale=1.0, momentum=protocol.momentum, trust=protocol.trust)
            yield partial(stack.step, X, Y, several=False), number * batch / few
            yield partial(optimiser.step, stack.parameters, 0.0), float(number)
        if gpu and not self.demand(size, 2).fits(free_bytes(device)):
            yield sample_reading(size.positions * size.channels, few, device), sum(steps) * batch / few


def _item(data: ClassPatches) -> int:
    """Bytes of a number on the device."""
    return 2 if data.data.device.startswith("cuda") and data.data.X_test.dtype == "float16" else 4


def _images(data: ClassPatches, *, keep: bool) -> "tuple[LabelledImages, LabelledImages]":
    """Training images followed by those for validation, and test images; the former stay on the device if they fit."""
    import torch

    from unseen.features.store import Shards
    from unseen.probes.attentive.data import LabelledImages

    def parts(X: Any) -> list[Any]:
        return list(X.parts) if isinstance(X, Shards) else [X]

    device, dtype = torch.device(data.data.device), torch.float16 if _item(data) == 2 else torch.float32
    held = data.data.validation
    X = [*parts(data.data.X_train), *([] if held is None else parts(held.X))]
    y = data.data.y_train if held is None else torch.cat([data.data.y_train, held.y.to(data.data.y_train)])
    images = LabelledImages.of(X, data.positions, y.cpu(), device, dtype)
    tested = LabelledImages.of(parts(data.data.X_test), data.positions, data.data.y_test.cpu(), device, dtype)
    return images.on_device() if keep else images, tested


def _parts(data: ClassPatches, setting: Setting, share: float) -> "tuple[Tensor, Tensor]":
    """The images to train on, and those to choose on: the data set's own, or a part that is drawn by the seed."""
    import torch

    from unseen.probes.sampling import draw_shots, split_validation, stream

    y, held = data.data.y_train.cpu(), data.data.validation
    index = torch.arange(len(y))
    if setting.shots is not None:
        index = draw_shots(y, setting.shots, stream(setting.seed, 3))
    if held is not None:
        return index, torch.arange(len(y), len(y) + len(held.X))
    if y.ndim == 2:
        order = torch.randperm(len(index), generator=stream(setting.seed, 0))
        kept, rest = order[round(share * len(order)) :], order[: round(share * len(order))]
    else:
        kept, rest = split_validation(y[index], share, stream(setting.seed, 0))
    if len(rest) == 0:
        raise UserError("every class has a single training image, so none is left to choose the learning rate on")
    return index[kept], index[rest]


def _pictures(
    stack: "AttentiveStack", data: ClassPatches, tested: "LabelledImages", scores: "Tensor", setting: Setting
) -> Iterator[dict[str, Any]]:
    """Draw where the probe looks in some test images."""
    import torch

    from unseen.probes.attentive.pictures import (
        AttentionPicture,
        attention_panels,
        draw_attention,
        names_of,
        picture_files,
        shown_images,
    )

    chosen, Y = scores.argmax(dim=1), tested.Y
    right = (Y[torch.arange(len(Y)), chosen] if tested.several else chosen == Y).bool()
    rows = shown_images(right.numpy())
    [batch] = tested.batches(iter([torch.tensor(rows)]))
    queries, panels = attention_panels(stack.attention(batch.X).mT.float().cpu().numpy())
    for row, maps, path in zip(rows, panels, picture_files(len(rows), data.folder(setting)), strict=True):
        draw_attention(data.pixels(row), maps, data.grid, path)
        truth = names_of(Y[row].tolist(), data.classes)
        picture = AttentionPicture(
            path.name, data.ids[row], truth, data.classes[int(chosen[row])], bool(right[row]), tuple(queries)
        )
        yield asdict(picture)


PROBE = Attentive
