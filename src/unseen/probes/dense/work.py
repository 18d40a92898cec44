"""One training on images with boxes or maps, from the backbone to the scores."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from unseen.backbones.backbone import Backbone
from unseen.data.core.decoding.transform import Transform
from unseen.data.core.dense.labels import Labels, Map, Objects
from unseen.data.core.dense.pictures import KeptPicture, label_picture
from unseen.data.core.open_dataset import OpenDataset
from unseen.errors import UserError
from unseen.metrics.boxes import Detections
from unseen.metrics.detection import BoxMatches, best_f1_score, box_matches, coco_scores_of, voc_scores, voc_scores_of
from unseen.probes.dense.batches import TrainingImages, box_batches, map_batches
from unseen.probes.dense.bodies import body_with_maps
from unseen.probes.dense.finite import NotFiniteError
from unseen.probes.dense.predictors import detector_loss, map_loss, map_predictor, predicted_map
from unseen.probes.dense.protocols import DenseProtocol
from unseen.probes.dense.scaling import detector_image
from unseen.probes.dense.train import Trained, train_dense
from unseen.probes.job import Job, Pairs
from unseen.probes.patches.codes import ClassCodes, Codes, normal_codes
from unseen.probes.patches.scoring import MapScorer, best_and_worst, image_score, picture_name
from unseen.probes.units import ScoredImages, Units, smallest

CHECKS = 20
"""Steps between checks of the loss and saving of the state."""
CODED_NORMALS = 200_000


def train_and_score(
    job: Job,
    protocol: DenseProtocol,
    backbone: Backbone,
    data: OpenDataset,
    device: torch.device,
    *,
    checkpoint: Path | None = None,
    pictures: Path | None = None,
    every: int | None = None,
    watch: Callable[[int], None] = lambda _: None,
    test: bool = True,
) -> tuple[Pairs, dict[str, Any], Units | None]:
    """The values and the details of a training, and what is kept of each test image.

    Images with unusable labels are left out.

    Args:
        protocol: that of the job, or a shorter one, to measure how long its steps take.
        backbone: its module is modified.
        checkpoint: as in `train_dense`.
        pictures: folder for pictures of the predictions on a few test images.
        test: whether to score; without it, this only measures how long steps take.
    """
    numbers = sound_images(data, "train")
    if not numbers:
        raise UserError(f"{data.dataset.name}: no training image has labels that can be used")
    images = TrainingImages(data, numbers, backbone.spec.transform, protocol, job.seed)
    codes = None if data.dataset.kind == "boxes" else _codes(data, numbers)
    model = _network(protocol, job.seed, backbone, data, codes)
    stretch = every or max(protocol.steps // CHECKS, 1)
    trained = _trained(model, images, codes, job, protocol, device, checkpoint, stretch, watch)
    if not trained.finished:
        raise UserError(
            f"{job.backbone} on {job.dataset}: training diverged, as its losses or weights are not finite numbers; "
            "check the weights and the preprocessing of the backbone"
        )
    losses: dict[str, Any] = {"losses": list(trained.losses), "skipped": trained.skipped}
    if not test:
        return (), losses, None
    if codes is None:
        values, details, units = _score_boxes(model, data, backbone.spec.transform, job, device, pictures)
    else:
        values, details, units = _score_maps(model, data, codes, backbone, job, protocol, device, pictures)
    return values, losses | details, units


def sound_images(data: OpenDataset, split: str) -> list[int]:
    """The images of a split with usable labels."""
    return [number for number, _ in _labelled(data, split)]


def _labelled(data: OpenDataset, split: str) -> Iterator[tuple[int, Labels]]:
    for number in data.numbers(split):
        try:
            yield number, data.labels(number)
        except UserError:  # they are named among the run's notices
            continue


def _codes(data: OpenDataset, numbers: list[int]) -> Codes:
    if data.dataset.kind == "classes":
        return ClassCodes(data.dataset.classes)
    sample = [data.labels(number) for number in numbers[:: max(1, len(numbers) // 50)]]
    rows = np.concatenate([each.reshape(-1, 3) for each in sample if not isinstance(each, Objects)])
    known = rows[rows.any(axis=1)]
    return normal_codes(torch.from_numpy(np.ascontiguousarray(known[:: max(1, len(known) // CODED_NORMALS)])))


def _network(
    protocol: DenseProtocol, seed: int, backbone: Backbone, data: OpenDataset, codes: Codes | None
) -> nn.Module:
    trains = protocol.backbone in ("without-norms", "whole")
    if trains and not any(True for _ in backbone.module.parameters()):
        raise UserError(f"{backbone.spec.id}: has no weights that can be trained")
    if codes is not None:
        return map_predictor(backbone, codes.count, protocol, seed=seed)
    from unseen.probes.dense.detector import faster_rcnn

    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        detector: nn.Module = faster_rcnn(
            body_with_maps(backbone),
            data.dataset.classes,
            backbone.spec.transform,
            frozen=protocol.backbone == "last-stage",
            sides=protocol.sides,
            longest=protocol.longest,
        )
    return detector


def _trained(
    model: nn.Module,
    images: TrainingImages,
    codes: Codes | None,
    job: Job,
    protocol: DenseProtocol,
    device: torch.device,
    checkpoint: Path | None,
    every: int,
    watch: Callable[[int], None],
) -> Trained:
    told = partial(
        train_dense, model, protocol=protocol, device=device, seed=job.seed, every=every, checkpoint=checkpoint,
        identity=job.key, watch=watch,
    )  # fmt: skip
    if codes is not None:
        return told(batches=partial(map_batches, images, codes), loss=map_loss)
    from unseen.probes.dense.detector import as_targets

    return told(batches=partial(box_batches, images, partial(as_targets, device="cpu")), loss=detector_loss)


@contextmanager
def _finite(job: Job, data: OpenDataset, number: int) -> Iterator[None]:
    """Name the image whose predictions are not finite."""
    try:
        yield
    except NotFiniteError:
        raise UserError(
            f"{job.backbone} on {job.dataset}: the predictions for the test image {data.source.entries[number].id} are "
            "not finite numbers; check that image, and the weights and the preprocessing of the backbone"
        ) from None


@torch.inference_mode()
def _score_boxes(
    model: nn.Module,
    data: OpenDataset,
    transform: Transform,
    job: Job,
    device: torch.device,
    folder: Path | None,
) -> tuple[Pairs, dict[str, Any], Units]:
    from unseen.probes.dense.detector import as_detections

    model.eval()
    truth, detections, kept = list[Objects](), list[Detections](), list[int]()
    for number, objects in _labelled(data, "test"):
        assert isinstance(objects, Objects)
        image = detector_image(data.pixels(number), transform).to(device)
        with _finite(job, data, number), torch.autocast(device.type, torch.float16, enabled=device.type == "cuda"):
            [detected] = model([image])
        truth.append(objects)
        detections.append(as_detections(detected))
        kept.append(number)
    classes = data.dataset.classes
    matches = box_matches(truth, detections, classes)
    paper, coco = voc_scores_of(matches), coco_scores_of(matches)
    own = {
        place: voc_scores([true], [seen], classes).ap
        for place, (true, seen) in enumerate(zip(truth, detections, strict=True))
        if not true.ignored.all()
    }
    pictures, drawn_from = list[KeptPicture](), best_f1_score(truth, detections, classes)
    shown = best_and_worst([(score, place) for place, score in own.items()])
    for picture, place in enumerate(shown if folder else ()):
        sure = np.round(detections[place].scores, 3) >= drawn_from
        drawn = Objects.of(detections[place].boxes[sure], detections[place].classes[sure])
        assert folder is not None
        path, pixels = folder / picture_name(picture, len(shown)), data.pixels(kept[place])
        pictures.append(label_picture("boxes", pixels, truth[place], drawn, path, own[place]))
    values = [(name, getattr(paper, name)) for name in ("ap", "ap50", "ap75")]
    values += [(f"coco-{name}", getattr(coco, name)) for name in ("ap", "ap50", "ap75")]
    return (
        values,
        {
            "by_class": [None if np.isnan(value) else value for value in paper.by_class],
            "pictures": [asdict(each) for each in pictures],
            "drawn_from": drawn_from,
        },
        _box_units(matches, _scored_images(data, kept)),
    )


def _score_maps(
    model: nn.Module,
    data: OpenDataset,
    codes: Codes,
    backbone: Backbone,
    job: Job,
    protocol: DenseProtocol,
    device: torch.device,
    folder: Path | None,
) -> tuple[Pairs, dict[str, Any], Units]:
    scorer, own, scored = MapScorer(codes, keeps_units=True), dict[int, float](), list[int]()
    predict = partial(predicted_map, model, transform=backbone.spec.transform, protocol=protocol, device=device)
    for number, labels in _labelled(data, "test"):
        assert not isinstance(labels, Objects)
        with _finite(job, data, number):
            predicted = codes.decode(predict(data.pixels(number)))
        scorer.add_map(predicted, labels)
        scored.append(number)
        score = image_score(codes, predicted, labels)
        if score is not None:
            own[number] = score
    pictures = list[KeptPicture]()
    shown = best_and_worst([(score, number) for number, score in own.items()])
    for picture, number in enumerate(shown if folder else ()):
        labels, pixels = data.labels(number), data.pixels(number)
        drawn: Map = codes.decode(predict(pixels)).cpu().numpy()
        assert folder is not None
        path = folder / picture_name(picture, len(shown))
        pictures.append(label_picture(data.dataset.kind, pixels, labels, drawn, path, own[number]))
    by_class = [None if np.isnan(value) else value for value in scorer.class_iou]
    details = {"by_class": by_class, "pictures": [asdict(each) for each in pictures]}
    return scorer.scores(), details, scorer.units(_scored_images(data, scored))


def _scored_images(data: OpenDataset, numbers: list[int]) -> ScoredImages:
    names = [data.source.entries[number].id for number in numbers]
    return ScoredImages.unlabelled(data.classes, len(names), names)


def _box_units(matches: BoxMatches, images: ScoredImages) -> Units:
    assert matches.voc is not None
    assert matches.coco is not None
    image, label = np.nonzero(matches.objects)
    short = matches.score.astype(np.float32)
    arrays = {
        "shape": np.array(matches.objects.shape),
        "image": smallest(matches.image),
        "label": smallest(matches.label),
        "score": short if np.array_equal(short, matches.score) else matches.score,
        "voc": matches.voc,
        "coco": matches.coco,
        "object_image": smallest(image),
        "object_label": smallest(label),
        "objects": smallest(matches.objects[image, label]),
    }
    return Units("boxes", arrays, images)
