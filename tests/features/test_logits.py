"""Stored logits: what is kept, what is not computed again, and what is refused."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from unseen.backbones.backbone import Backbone, Spec
from unseen.backbones.classifier import classifier
from unseen.data.core.arrays import ArrayImages, array_images
from unseen.data.core.decoding.transform import Transform
from unseen.data.core.manifest import whole
from unseen.errors import UserError
from unseen.features.extract import extract
from unseen.features.logits import logit_backbone, logit_settings, read_logits
from unseen.features.settings import Settings

SETTINGS = Settings(workers=0, shard_rows=4, batch=3)
CLASSES = ("cat", "deer", "dog", "owl")


class Linear(nn.Module):
    """Four logits from the means of three channels; counts the images that it saw."""

    def __init__(self, scale: float = 1.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(scale * torch.randn(4, 3, generator=torch.Generator().manual_seed(0)))
        self.seen, self.stop_after = 0, 10_000

    def forward(self, images: Tensor) -> Tensor:
        self.seen += len(images)
        if self.seen > self.stop_after:
            raise KeyboardInterrupt
        return images.mean(dim=(2, 3)) @ self.weight.T


def model(scale: float = 1.0, classes: tuple[str, ...] = CLASSES) -> tuple[Backbone, Linear]:
    module = Linear(scale)
    spec = Spec("file.py:linear", "none", "output", "none", 3, 0, Transform(8, 8, "bilinear"))
    found = classifier(module, spec, classes, weights="drawn")
    module.seen = 0
    return found, module


def photographs(number: int = 10) -> ArrayImages:
    rng = np.random.default_rng(1)
    pixels = rng.integers(0, 256, (number, 8, 8, 3), dtype=np.uint8)
    return array_images(pixels, [("cat", "owl", "frog")[n % 3] for n in range(number)])


def stored(found: Backbone, folder: Path, source: ArrayImages | None = None, settings: Settings = SETTINGS) -> Path:
    source = source or photographs()
    [store] = extract(
        source, whole(source, "emoji"), "emoji", [logit_backbone(found)], folder, logit_settings(settings)
    )
    return store


def test_differences_of_logits_are_kept_in_16_bits(tmp_path: Path) -> None:
    found, module = model()
    logits = read_logits(stored(found, tmp_path))
    values = np.asarray(logits.values[:])
    assert values.dtype == np.float16
    transform = found.spec.transform
    pixels = torch.from_numpy(photographs().pixels).float().permute(0, 3, 1, 2) / 255
    mean, std = (torch.tensor(numbers)[:, None, None] for numbers in (transform.mean, transform.std))
    exact = module((pixels - mean) / std).detach().numpy()
    np.testing.assert_allclose(values, exact - exact.max(axis=1, keepdims=True), rtol=2**-10, atol=1e-6)
    assert (values.max(axis=1) == 0).all()
    assert (logits.columns, logits.labels, len(logits)) == (CLASSES, ("cat", "frog", "owl"), 10)
    assert logits.image_labels == [("cat", "owl", "frog")[n % 3] for n in range(10)]


def test_logits_beyond_16_bits_keep_their_order(tmp_path: Path) -> None:
    """Logits around 10⁵ do not fit, and 16 bits hold no difference of 1 there; below the greatest they do."""
    found, module = model()

    class Far(nn.Module):
        def forward(self, images: Tensor) -> Tensor:
            return module(images) + 1e5

    far = replace(found, module=Far())
    near, shifted = (read_logits(stored(each, tmp_path / name)) for each, name in ((found, "near"), (far, "far")))
    np.testing.assert_array_equal(
        np.asarray(near.values[:]).argmax(axis=1), np.asarray(shifted.values[:]).argmax(axis=1)
    )


def test_done_is_not_done_again_and_the_name_tells_classes_apart(tmp_path: Path) -> None:
    found, module = model()
    first = stored(found, tmp_path)
    assert module.seen == 10 + 1  # one to count its operations
    assert stored(found, tmp_path) == first
    assert module.seen == 10 + 1
    assert stored(model(classes=("cat", "deer", "dog", "elk"))[0], tmp_path) != first
    assert stored(model(scale=2)[0], tmp_path) != first


def test_a_killed_run_goes_on_at_its_shard(tmp_path: Path) -> None:
    found, module = model()
    module.stop_after = 9  # in the third shard of 4, 4 and 2 images
    with pytest.raises(KeyboardInterrupt):
        stored(found, tmp_path / "killed")
    module.seen, module.stop_after = 0, 10_000
    went_on = stored(found, tmp_path / "killed")
    assert module.seen < 10
    unbroken = stored(model()[0], tmp_path / "unbroken")
    np.testing.assert_array_equal(read_logits(went_on).values[:], read_logits(unbroken).values[:])
    hashes = [json.loads((store / "manifest.json").read_text())["content_hash"] for store in (went_on, unbroken)]
    assert hashes[0] == hashes[1]


def test_a_changed_byte_is_noticed(tmp_path: Path) -> None:
    store = stored(model()[0], tmp_path)
    shard = store / "X-00000.npy"
    content = bytearray(shard.read_bytes())
    content[-1] ^= 1
    shard.write_bytes(content)
    with pytest.raises(UserError, match="does not match the manifest"):
        read_logits(store)


def test_features_are_not_logits(tmp_path: Path) -> None:
    found, _ = model()
    plain = replace(found, spec=replace(found.spec, layer="output"))
    with pytest.raises(UserError, match="gives features, not logits"):
        stored(plain, tmp_path)
    source = photographs()
    (store,) = extract(source, whole(source, "emoji"), "emoji", [plain], tmp_path, SETTINGS)
    with pytest.raises(UserError, match="contains features, not logits"):
        read_logits(store)


def test_damaged_images_are_counted(tmp_path: Path) -> None:
    from PIL import Image

    from unseen.data.core.folder import folder_images

    for number in range(3):
        place = tmp_path / f"images/cat/{number}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (9, 9), (number, 0, 0)).save(place)
    place.write_bytes(b"not an image")
    source = folder_images(tmp_path / "images")
    settings = replace(SETTINGS, on_error="report")
    logits = read_logits(stored(model()[0], tmp_path / "out", source, settings))
    assert (len(logits), logits.damaged) == (2, 1)
