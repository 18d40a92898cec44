"""The probe `attentive` on patches in memory: what it is trained and chosen on, and what it keeps."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from unseen.errors import UserError
from unseen.probes.attentive.choose import choose_attentive
from unseen.probes.attentive.choose import test_scores as scores_of
from unseen.probes.attentive.data import LabelledImages
from unseen.probes.attentive.pictures import different_queries, shown_images
from unseen.probes.attentive.protocol import AttentiveProtocol
from unseen.probes.attentive.train import fit_attentive
from unseen.probes.by_name.attentive import Attentive
from unseen.probes.patches.class_probe import ClassPatches
from unseen.probes.probe import ProbeData, ValidationData
from unseen.probes.protocol import Setting
from unseen.probes.samples import SamplesPerClass
from unseen.probes.sampling import draw_shots, split_validation, stream
from unseen.probes.units import ScoredImages

QUICK = AttentiveProtocol(rates=(1.0, 10.0), decays=(0.0,), batch=16, least_steps=6)
PROBE = Attentive(queries=2, epochs=1, protocol=QUICK)
WIDTH, PATCHES, CLASSES = 4, 6, 3


def images(count: int, seed: int) -> tuple[Tensor, Tensor]:
    """(n, P·d) patches with the class in one dimension of all, and labels."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.arange(count) % CLASSES
    X = torch.randn(count, PATCHES, WIDTH, generator=generator)
    X[torch.arange(count), :, y] += 2
    return X.flatten(1), y


def patches(folder: Path, *, train: int = 30, own: bool, several: bool = False) -> ClassPatches:
    (X, y), (X_val, y_val), (X_test, y_test) = images(train, 0), images(12, 1), images(9, 2)
    y, y_val, y_test = ((torch.nn.functional.one_hot(each).bool() if several else each) for each in (y, y_val, y_test))
    held = ValidationData(X_val.numpy(), y_val) if own else None
    data = ProbeData(X.numpy(), y, X_test.numpy(), y_test, CLASSES, validation=held)
    tested = ScoredImages.unlabelled("abc", 9) if several else ScoredImages.labelled("abc", y_test.numpy())
    return ClassPatches(
        data, (2, 3), "abc", tested, [f"image {row}" for row in range(9)],
        lambda row: np.full((20, 30, 3), row, np.uint8), lambda setting: folder / str(setting.seed),
        "map-11-point" if several else "top1",
    )  # fmt: skip


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("shots", [None, 4])
def test_it_is_chosen_on_validation_images_or_on_a_drawn_fifth(tmp_path: Path, own: bool, shots: int | None) -> None:
    cell = patches(tmp_path, own=own)
    [fit] = PROBE.fit(cell, [Setting(shots, 3)])
    assert PROBE.protocol.queries == 32
    y = torch.as_tensor(cell.data.y_train)
    index = torch.arange(30) if shots is None else draw_shots(y, shots, stream(3, 3))
    if own:
        parts = index, torch.arange(30, 42)
    else:
        kept, rest = split_validation(y[index], 0.2, stream(3, 0))
        parts = index[kept], index[rest]
    (X, _), (X_val, y_val), (X_test, y_test) = images(30, 0), images(12, 1), images(9, 2)
    rows, cpu = [X.numpy(), X_val.numpy()], torch.device("cpu")
    every = LabelledImages.of(rows, PATCHES, torch.cat([y, y_val]), cpu, torch.float32)
    few = index if own and shots else None
    chosen = choose_attentive(every, parts, CLASSES, "top1", PROBE.used, seed=3, final=few)
    known = PROBE.samples(cell.data, shots)
    assert known == SamplesPerClass.of_labels(torch.cat([y, y_val])[torch.cat(parts) if few is None else few])
    used = torch.cat(parts) if few is None else few
    alone = fit_attentive(every, used, CLASSES, [chosen.setting], PROBE.used, stream(3, 4))
    tested = LabelledImages.of([X_test.numpy()], PATCHES, y_test, cpu, torch.float32)
    hits = scores_of(chosen.stack, tested).argmax(dim=1) == y_test
    assert torch.equal(scores_of(alone, tested).argmax(dim=1) == y_test, hits)
    assert dict(fit.values) == {"top1": pytest.approx(float(hits.float().mean()))}
    assert (fit.details["rate"], fit.details["decay"]) == chosen.setting
    assert fit.details["validation"] == list(chosen.validation)
    assert fit.units is not None
    assert fit.units.arrays["correct"].tolist() == hits.tolist()
    assert {path.name for path in (tmp_path / "3").iterdir()} == {each["file"] for each in fit.details["pictures"]}


def test_images_with_several_classes_are_scored_by_class(tmp_path: Path) -> None:
    for own in (True, False):
        [fit] = PROBE.fit(patches(tmp_path, own=own, several=True), [Setting(None, 0)])
        assert fit.units is not None
        precision = fit.units.arrays["average_precision"]
        assert dict(fit.values) == {"map-11-point": pytest.approx(precision.mean())}


def test_one_image_per_class_leaves_none_to_choose_on(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="single training image"):
        [*PROBE.fit(patches(tmp_path, train=3, own=False), [Setting(None, 0)])]


def test_features_that_are_too_large_end_in_a_sentence(tmp_path: Path) -> None:
    cell = patches(tmp_path, own=True)
    np.asarray(cell.data.X_train)[:] = 1e30
    with pytest.raises(UserError, match="diverged"):
        [*PROBE.fit(cell, [Setting(None, 0)])]


def test_pictures_are_spread_over_right_and_wrong_images() -> None:
    right = np.array([True] * 9 + [False] * 2)
    assert shown_images(right) == [0, 3, 5, 8, 9, 10]
    assert shown_images(np.zeros(1, bool)) == [0]


def test_the_queries_that_differ_most_are_found() -> None:
    """The farthest from the mean first, then always the one farthest from those that were chosen."""
    maps = np.zeros((2, 5, 3))
    maps[:, 1, 0], maps[:, 2, 1], maps[:, 4, 0] = 1.0, 0.9, 0.99
    assert different_queries(maps, 3) == [2, 1, 0]  # the last is like the second, and the fourth like the first
    assert len(different_queries(maps[:, :2])) == 2


def test_validation_images_only_choose_with_few_shots(tmp_path: Path) -> None:
    """Other validation images change nothing if there is a single setting to choose, unless all images are used."""
    one = Attentive(queries=2, epochs=1, protocol=replace(QUICK, rates=(10.0,), least_steps=40))
    cell = patches(tmp_path, train=6, own=True)
    held = cell.data.validation
    assert held is not None
    turned = replace(cell, data=replace(cell.data, validation=replace(held, y=(held.y + 1) % CLASSES)))
    for shots in (1, None):
        [fit], [other] = (list(one.fit(each, [Setting(shots, 0)])) for each in (cell, turned))
        assert fit.units is not None
        assert other.units is not None
        same = np.array_equal(fit.units.arrays["correct"], other.units.arrays["correct"])
        assert same == (shots is not None)
