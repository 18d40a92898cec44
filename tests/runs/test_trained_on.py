"""Whether a data set is among the training data of a backbone."""

import pytest

from unseen.backbones.training_data import is_imagenet_1k, resembled, same_data
from unseen.data.registry import DATASETS
from unseen.runs.data import Backbone, Domain, Origin
from unseen.studies.record import training_notices


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("cifar10", "CIFAR-10", True), ("CUB-200-2011", "cub_200 2011", True), ("cifar10", "cifar100", False),
        ("imagenet-1k", "imagenet-v2", False), ("Größe", "GRÖSSE", True),
    ],
)  # fmt: skip
def test_names_are_compared_by_letters_and_digits(one: str, other: str, same: bool) -> None:
    assert same_data(one, other) is same


def test_data_that_are_meant_to_be_known_are_not_asked_about() -> None:
    backbone = Backbone("b", "yours", training_data=["cifar10", "imagenet-1k", "in1k", "Describable Textures"])
    assert backbone.was_trained_on(Domain("cifar10", "CIFAR-10", axis="tasks"))
    assert backbone.was_trained_on(Domain("dtd", "Describable textures", axis="tasks"))
    assert backbone.was_trained_on(Domain("cifar10", "x", axis="shifts", shifted=True))
    assert not backbone.was_trained_on(Domain("imagenet", "ImageNet-1K", axis="shifts", shifted=False))
    assert not backbone.was_trained_on(Domain("in1k", "IN-1K", seen=True))
    assert not Backbone("b", "yours").was_trained_on(Domain("cifar10", "x", axis="tasks"))
    assert [is_imagenet_1k(name) for name in ("ImageNet-1K", "in1k", "imagenet-21k")] == [True, True, False]


@pytest.mark.parametrize(
    ("said", "dataset", "known"),
    [
        ("cifar100", "vtab-1k-cifar100", True), ("VTAB-1k cifar100", "cifar100", True),
        ("eurosat", "eurosat-split", True), ("eurosat-split", "eurosat", True), ("EuroSAT", "vtab-1k-eurosat", True),
        ("clevr", "clevr-count", True), ("clevr-count", "vtab-1k-clevr-distance", True),
        ("dSprites", "dsprites-location", True), ("smallnorb-azimuth", "smallnorb-elevation", True),
        ("KITTI", "kitti-distance", True), ("pcam", "vtab-1k-patch-camelyon", True), ("flowers102", "flowers", True),
        ("nyuv2-depth", "nyuv2-normals", True), ("voc2007", "voc-detection", True),
        ("voc2007", "voc-segmentation", False), ("cifar10", "vtab-1k-cifar100", False),
        ("inaturalist-2018", "inaturalist-2019", False), ("lvd-142m", "cifar10", False),
    ],
)  # fmt: skip
def test_samples_and_other_tasks_are_of_the_same_images(said: str, dataset: str, known: bool) -> None:
    backbone = Backbone("b", "yours", training_data=[said])
    assert backbone.was_trained_on(Domain(dataset, DATASETS[dataset].title, axis="tasks")) is known


def test_a_merged_data_set_keeps_its_name() -> None:
    renamed = Domain("pets (second)", "pets (second)", axis="tasks", origin=Origin("pets", "second"))
    assert Backbone("b", "yours", training_data=["pets"]).was_trained_on(renamed)


def test_names_that_may_be_mistakes() -> None:
    free = ["lvd-142m", "imagenet-21k", "imagenet-22k", "laion-400m", "web", "unknown", "places365", "MyPets", "coco"]
    assert [resembled(name) for name in [*free, "cifar10", "CIFAR 100", "pcam", "ILSVRC2012"]] == [()] * 13
    assert resembled("cifra10")[0] == "cifar10"
    assert (resembled("flower"), resembled("resisc-54")[0]) == (("flowers",), "resisc45")
    backbones = [Backbone("b", "yours", training_data=["cifra10", "lvd-142m", "pcam", "flower"])]
    notices = training_notices(backbones, [Domain("flower", "my flowers", axis="tasks")])
    assert [(each.code, dict(each.arguments).get("data", "")) for each in notices] == [
        ("trained-on", ""), ("training-data-unknown", "cifra10")
    ]  # fmt: skip
