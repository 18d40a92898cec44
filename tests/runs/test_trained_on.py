"""Whether a data set is among the training data of a backbone."""

import pytest

from unseen.backbones.training_data import is_imagenet_1k, same_data
from unseen.runs.data import Backbone, Domain


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
