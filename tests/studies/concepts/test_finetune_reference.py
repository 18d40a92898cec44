"""Fine-tuning a backbone on a domain's images, and what frozen features have relative to it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from unseen.backbones.backbone import Backbone, Spec
from unseen.errors import UserError
from unseen.features.fingerprint import names_and_pixels
from unseen.images.arrays import ArrayImages, array_images
from unseen.images.manifest import Manifest
from unseen.images.transform import Transform
from unseen.probes.finetuning.protocol import FinetuneProtocol
from unseen.runs.data import RunData
from unseen.runs.score import Score
from unseen.runs.scores import result_scores
from unseen.studies.concepts.finetune import (
    plan_reference,
    reference_protocol,
    relative_to_finetuned,
    run_reference,
)

PROTOCOL = FinetuneProtocol("quick", steps=40, batch=16, rate=0.05, decay=1e-4)


def backbone() -> Backbone:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    module.append(nn.Dropout(0.1))
    return Backbone(Spec("tiny", "seed 0", "output", "none", 8, 0, Transform(size=14, resize=14)), module)


def known(source: ArrayImages, manifest: Manifest) -> str:
    return names_and_pixels(source, manifest, ("train", "test"))


@pytest.fixture(scope="module")
def images() -> tuple[ArrayImages, Manifest]:
    """Three classes that differ in colour, with noise and of unequal sides."""
    rng = np.random.default_rng(0)
    labels = np.arange(3).repeat(20)
    pixels = rng.integers(0, 160, (60, 18, 22, 3))
    for channel in range(3):
        pixels[labels == channel, ..., channel] += 60
    source = array_images(pixels.astype(np.uint8), [f"n{label}" for label in labels])
    splits = ["test" if number % 4 == 0 else "train" for number in range(60)]
    return source, Manifest(source.entries, splits)


def test_it_learns_and_is_done_once(images: tuple[ArrayImages, Manifest], tmp_path: Path) -> None:
    source, manifest = images
    job = plan_reference(backbone(), "l1", known(source, manifest), PROTOCOL)
    steps: list[int] = []
    result = run_reference(job, backbone(), source, manifest, tmp_path / "results", every=10, watch=steps.append)
    assert steps == [10, 20, 30, 40]
    assert result.details["skipped"] == 0
    assert result.details["losses"][-1] < result.details["losses"][0]
    measured = dict(result.fits[0].values)
    assert measured["top1"] >= 0.8
    assert measured["top5"] == 1.0
    assert not (tmp_path / "checkpoints").exists() or not list((tmp_path / "checkpoints").iterdir())
    again = run_reference(job, backbone(), source, manifest, tmp_path / "results", watch=steps.append)
    assert again == result
    assert len(steps) == 4
    run = RunData("Fine-tuned", (), [], [], "tiny")
    assert [(score.probe, score.metric, score.value) for score in result_scores(result, run)] == [
        ("fine-tuned", "top1", measured["top1"]),
        ("fine-tuned", "top5", 1.0),
    ]


@pytest.mark.parametrize("augment", ["crop+flip", "centre"])
def test_interrupted_it_ends_the_same(images: tuple[ArrayImages, Manifest], tmp_path: Path, augment: str) -> None:
    source, manifest = images
    protocol = FinetuneProtocol("quick", steps=24, batch=16, rate=0.05, decay=0.0, augment=augment)
    job = plan_reference(backbone(), "l1", known(source, manifest), protocol)
    whole = run_reference(job, backbone(), source, manifest, tmp_path / "whole" / "results", every=6)

    def interrupt(step: int) -> None:
        if step == 18:
            raise KeyboardInterrupt

    folder = tmp_path / "stopped" / "results"
    with pytest.raises(KeyboardInterrupt):
        run_reference(job, backbone(), source, manifest, folder, every=6, watch=interrupt)
    rest: list[int] = []
    resumed = run_reference(job, backbone(), source, manifest, folder, every=6, watch=rest.append)
    assert rest == [18, 24]
    assert resumed.values == whole.values


def test_a_training_that_diverges_is_no_reference(images: tuple[ArrayImages, Manifest], tmp_path: Path) -> None:
    source, manifest = images
    for rate in (1e30, 1e10):
        job = plan_reference(backbone(), "l1", known(source, manifest), replace(PROTOCOL, rate=rate))
        with pytest.raises(UserError, match=r"tiny on l1: fine-tuning diverged at rate 1e\+\d0; use a smaller --rate"):
            run_reference(job, backbone(), source, manifest, tmp_path / "results", every=1)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_other_images_or_weights_are_refused(images: tuple[ArrayImages, Manifest], tmp_path: Path) -> None:
    source, manifest = images
    job = plan_reference(backbone(), "l1", known(source, manifest), PROTOCOL)
    fewer = Manifest(manifest.entries[:50], manifest.splits[:50])
    with pytest.raises(UserError, match="changed since this fine-tuning was planned"):
        run_reference(job, backbone(), source, fewer, tmp_path / "results")
    repainted = array_images(np.zeros((60, 18, 22, 3), np.uint8), [entry.label for entry in source.entries])
    assert Manifest(repainted.entries, manifest.splits).content_hash == manifest.content_hash
    with pytest.raises(UserError, match="changed since this fine-tuning was planned"):
        run_reference(job, backbone(), repainted, manifest, tmp_path / "results")
    whole = backbone()
    other = replace(whole, spec=replace(whole.spec, transform=replace(whole.spec.transform, interpolation="bilinear")))
    with pytest.raises(UserError, match="changed since this fine-tuning was planned"):
        run_reference(job, other, source, manifest, tmp_path / "results")
    one_sided = Manifest(source.entries, ["train"] * 59 + ["test"])
    job = plan_reference(backbone(), "l1", known(source, one_sided), PROTOCOL)
    with pytest.raises(UserError, match="each with images to train and to test on"):
        run_reference(job, backbone(), source, one_sided, tmp_path / "results")


def test_a_damaged_image_is_named(tmp_path: Path) -> None:
    from PIL import Image

    from unseen.images.folder import folder_images

    for label in ("a", "b"):
        (tmp_path / "images" / label).mkdir(parents=True)
        for number in range(4):
            Image.new("RGB", (20, 20), (number * 40, 0, 0)).save(tmp_path / "images" / label / f"{number}.png")
    (tmp_path / "images" / "b" / "2.png").write_bytes(b"not an image")
    source = folder_images(tmp_path / "images")
    manifest = Manifest(source.entries, ["train", "train", "train", "test"] * 2)
    job = plan_reference(backbone(), "l1", known(source, manifest), PROTOCOL)
    with pytest.raises(UserError, match=r"b/2\.png: not an image"):
        run_reference(job, backbone(), source, manifest, tmp_path / "results")


def test_the_reference_goes_through_the_images_as_often_as_asked() -> None:
    protocol = reference_protocol(1000, epochs=3, batch=64)
    assert protocol.steps == 47  # 3000 images in batches of 64 are 46.9
    with pytest.raises(UserError, match="at least one epoch"):
        reference_protocol(1000, epochs=0)


def test_relative_scores_are_differences_of_means() -> None:
    def score(domain: str, probe: str, seed: int, value: float, metric: str = "top1") -> Score:
        return Score("concepts", "p", "b", domain, probe, None, seed, metric, value)

    probes = [score("l1", "logistic", 0, 0.5), score("l1", "logistic", 1, 0.6), score("l2", "logistic", 0, 0.4)]
    probes += [score("l1", "logistic", 0, 0.9, "top5"), score("l1", "mlp", 0, 0.7)]
    table = relative_to_finetuned(probes, [score("l1", "fine-tuned", 0, 0.75), score("l5", "fine-tuned", 0, 0.7)])
    expected = pd.DataFrame(
        [["b", "l1", "all", 0.55, 0.75, -0.2]],
        columns=["backbone", "domain", "shots", "mean", "finetuned", "relative"],
    )
    pd.testing.assert_frame_equal(table.reset_index(drop=True), expected)


def test_everything_in_a_job_is_in_its_key(images: tuple[ArrayImages, Manifest]) -> None:
    whole, content = backbone(), known(*images)
    layer = replace(whole, spec=replace(whole.spec, layer="features.3"))
    named = replace(whole, name="another")
    job = plan_reference(whole, "l1", content, PROTOCOL)
    others = [
        plan_reference(whole, "l1", content, replace(PROTOCOL, rate=0.1)),
        plan_reference(layer, "l1", content, PROTOCOL),
        plan_reference(named, "l1", content, PROTOCOL),
        plan_reference(whole, "l2", content, PROTOCOL),
        plan_reference(whole, "l1", "other images", PROTOCOL),
        plan_reference(whole, "l1", content, PROTOCOL, seed=7),
        replace(job, arithmetic="float16"),
        replace(job, revision=99),
        replace(job, probe="another"),
    ]
    assert len({each.key for each in (job, *others)}) == 10
    assert plan_reference(backbone(), "l1", content, replace(PROTOCOL)).key == job.key
