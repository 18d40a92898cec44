"""Fine-tuning with one setting on the images of a domain: what it learns, resumes and refuses, and its jobs."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from unseen.backbones.backbone import Backbone, Spec
from unseen.data.core.arrays import array_images
from unseen.data.core.dataset import Dataset
from unseen.data.core.decoding.transform import Transform
from unseen.data.core.manifest import Manifest
from unseen.data.core.open_dataset import OpenDataset
from unseen.errors import UserError
from unseen.features.fingerprint import names_and_pixels
from unseen.probes.by_name.fine_tuned import FineTuned
from unseen.probes.finetuning import reference
from unseen.probes.finetuning.protocol import Augment, FinetuneProtocol, reference_protocol
from unseen.probes.finetuning.reference import reference_fit
from unseen.probes.image_cell import ImageCell, ImageInputs, Stepping
from unseen.probes.job import Fit, Job

PROTOCOL = FinetuneProtocol("quick", steps=40, batch=16, rate=0.05, decay=1e-4)


def backbone() -> Backbone:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    module.append(nn.Dropout(0.1))
    return Backbone(Spec("tiny", "seed 0", "output", "none", 8, 0, Transform(size=14, resize=14)), module)


@pytest.fixture(scope="module")
def images() -> OpenDataset:
    """Three classes that differ in colour, with noise and of unequal sides."""
    rng = np.random.default_rng(0)
    labels = np.arange(3).repeat(20)
    pixels = rng.integers(0, 160, (60, 18, 22, 3))
    for channel in range(3):
        pixels[labels == channel, ..., channel] += 60
    source = array_images(pixels.astype(np.uint8), [f"n{label}" for label in labels])
    splits = ["test" if number % 4 == 0 else "train" for number in range(60)]
    return OpenDataset(Dataset("l1", "L1", 3), source, Manifest(source.entries, splits))


def inputs(images: OpenDataset, model: Backbone, name: str = "l1", content: str | None = None) -> ImageInputs:
    if content is None:
        content = names_and_pixels(images.source, images.manifest, ("train", "test"))
    return ImageInputs(model, replace(images.dataset, name=name), content, images.rows, "float32")


def job_of(images: OpenDataset, protocol: FinetuneProtocol = PROTOCOL, seed: int = 0, **changes: str) -> Job:
    [job] = FineTuned(protocol).jobs(inputs(images, backbone(), **changes), [seed])
    return job


def fitted(
    images: OpenDataset, folder: Path, protocol: FinetuneProtocol = PROTOCOL, watch: Stepping | None = None
) -> Fit:
    job = job_of(images, protocol)

    def stepping(what: str, total: int) -> Stepping:
        assert (what, total) == ("l1, tiny", protocol.steps)
        return watch or (lambda step, detail="": None)

    cell = ImageCell(backbone(), images, {job.setting: job}, folder, torch.device("cpu"), stepping=stepping)
    return reference_fit(cell, job, protocol)


def test_it_learns(images: OpenDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "EVERY", 10)
    steps: list[int] = []
    fit = fitted(images, tmp_path, watch=lambda step, detail="": steps.append(step))
    assert steps == [10, 20, 30, 40]
    assert fit.details["skipped"] == 0
    assert fit.details["losses"][-1] < fit.details["losses"][0]
    measured = dict(fit.values)
    assert measured["top1"] >= 0.8
    assert measured["top5"] == 1.0


@pytest.mark.parametrize("augment", ["crop+flip", "centre"])
def test_interrupted_it_ends_the_same(
    images: OpenDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, augment: Augment
) -> None:
    monkeypatch.setattr(reference, "EVERY", 6)
    protocol = FinetuneProtocol("quick", steps=24, batch=16, rate=0.05, decay=0.0, augment=augment)
    whole = fitted(images, tmp_path / "whole", protocol)

    def interrupt(step: int, detail: str = "") -> None:
        if step == 18:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fitted(images, tmp_path / "stopped", protocol, interrupt)
    rest: list[int] = []
    resumed = fitted(images, tmp_path / "stopped", protocol, lambda step, detail="": rest.append(step))
    assert rest == [18, 24]
    assert resumed == whole


def test_a_training_that_diverges_is_no_reference(
    images: OpenDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reference, "EVERY", 1)
    for rate in (1e30, 1e10):
        with pytest.raises(UserError, match=r"tiny on l1: fine-tuning diverged at rate 1e\+\d0; use a smaller rate"):
            fitted(images, tmp_path, replace(PROTOCOL, rate=rate))
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_every_class_needs_images_on_both_sides(images: OpenDataset, tmp_path: Path) -> None:
    one_sided = replace(images, manifest=Manifest(images.source.entries, ["train"] * 59 + ["test"]))
    with pytest.raises(UserError, match="each with images to train and to test on"):
        fitted(one_sided, tmp_path)


def test_a_damaged_image_is_named(tmp_path: Path) -> None:
    from PIL import Image

    from unseen.data.core.folder import folder_images

    for label in ("a", "b"):
        (tmp_path / "images" / label).mkdir(parents=True)
        for number in range(4):
            Image.new("RGB", (20, 20), (number * 40, 0, 0)).save(tmp_path / "images" / label / f"{number}.png")
    (tmp_path / "images" / "b" / "2.png").write_bytes(b"not an image")
    source = folder_images(tmp_path / "images")
    manifest = Manifest(source.entries, ["train", "train", "train", "test"] * 2)
    with pytest.raises(UserError, match=r"b/2\.png: not an image"):
        fitted(OpenDataset(Dataset("l1", "L1", 2), source, manifest), tmp_path)


def test_the_reference_goes_through_the_images_as_often_as_asked(images: OpenDataset) -> None:
    protocol = reference_protocol(1000, epochs=3, batch=64)
    assert protocol.steps == 47  # 3000 images in batches of 64 are 46.9
    with pytest.raises(UserError, match="at least one epoch"):
        reference_protocol(1000, epochs=0)
    of_words = FineTuned("reference", epochs=3, batch=64, rate=0.2)
    [job] = of_words.jobs(inputs(images, backbone()), [0])
    assert job.fitted == FineTuned(reference_protocol(45, epochs=3, batch=64, rate=0.2))
    assert job.key == job_of(images, reference_protocol(45, epochs=3, batch=64, rate=0.2)).key


def test_everything_in_a_job_is_in_its_key(images: OpenDataset) -> None:
    whole, job = backbone(), job_of(images)
    layer = replace(whole, spec=replace(whole.spec, layer="features.3"))
    named = replace(whole, name="another")

    def of(model: Backbone) -> Job:
        [found] = FineTuned(PROTOCOL).jobs(inputs(images, model), [0])
        return found

    others: Sequence[Job] = [
        job_of(images, replace(PROTOCOL, rate=0.1)),
        of(layer),
        of(named),
        job_of(images, name="l2"),
        job_of(images, content="other images"),
        job_of(images, seed=7),
        replace(job, arithmetic="float16"),
        replace(job, revision=99),
        replace(job, probe="another"),
    ]
    assert len({each.key for each in (job, *others)}) == 10
    assert job_of(images, replace(PROTOCOL)).key == job.key
