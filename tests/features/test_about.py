"""What feature stores say of themselves: by this version, by earlier ones, and by other tools."""

from dataclasses import asdict, fields
from typing import Any

import pytest

from unseen.backbones.backbone import Spec
from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError
from unseen.features.about import BackboneAbout, DamagedImage, StoreAbout

SPEC = Spec("timm:x", "x.in1k", "penultimate", "avg", 8, 1000, Transform(256, 292), "d" * 64)


def test_all_fields_of_a_specification_come_back() -> None:
    about = BackboneAbout.of(SPEC)
    assert [each.name for each in fields(BackboneAbout)] == [each.name for each in fields(Spec)]
    assert asdict(about) == asdict(SPEC)
    stored = {"backbone": asdict(SPEC), "precision": "half", "fast": True, "decode": "gpu", "split": "val", "key": "k"}
    assert StoreAbout.of(stored) == StoreAbout(about, precision="half", fast=True, decode="gpu", split="val", key="k")


@pytest.mark.parametrize(
    ("stored", "about"),
    [
        ({}, StoreAbout()),
        # The demo's: other names, and a transform in words.
        (
            {"backbone": {"name": "simclr", "transform": "28 pixels", "weights_sha256": "a" * 64}},
            StoreAbout(BackboneAbout(id="simclr", digest="a" * 64)),
        ),
        # Before there were decoders, splits on their own, BGR and squashed images.
        (
            {
                "backbone": {"id": "timm:x", "weights": "x.in1k", "transform": {"size": 224, "resize": None}},
                "source": {"split": "train"},
                "fast": False,
                "damaged": [{"id": "a.png", "reason": "truncated"}],
            },
            StoreAbout(
                BackboneAbout("timm:x", "x.in1k", transform=Transform(resize=None)), split="train", fast=False,
                decode="cpu", damaged=(DamagedImage("a.png", "truncated"),),
            ),
        ),
    ],
)  # fmt: skip
def test_what_is_missing_or_has_an_older_name_is_read(stored: dict[str, Any], about: StoreAbout) -> None:
    assert StoreAbout.of(stored) == about


def test_a_value_of_another_type_is_refused() -> None:
    with pytest.raises(UserError, match="dimension"):
        StoreAbout.of({"backbone": {"id": "timm:x", "dimension": "many"}})
