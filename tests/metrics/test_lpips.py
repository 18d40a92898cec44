"""LPIPS against its authors' package, on the same trunks and real photographs."""

import pickle
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from unseen.errors import UserError
from unseen.metrics.colour import colour_errors
from unseen.metrics.lpips import TRUNKS, Trunk, TrunkName, lpips
from unseen.metrics.lpips_trunks import VARIABLE, empty_trunk, load_trunk

Photographs = tuple[NDArray[np.uint8], NDArray[np.uint8]]


@pytest.fixture(scope="module")
def photographs() -> Photographs:
    """Two photographs, and a blurred and a noisy version of them."""
    foolbox = find_spec("foolbox")  # importing it takes seconds
    if foolbox is None or foolbox.origin is None:
        pytest.skip("foolbox is not installed")
    files = sorted((Path(foolbox.origin).parent / "data").glob("imagenet_*.jpg"))[:2]
    images = [Image.open(file).convert("RGB").resize((64, 64)) for file in files]
    first = np.stack([np.asarray(image) for image in images])
    blurred = np.asarray(images[0].resize((16, 16)).resize((64, 64)))
    noisy = first[1] + np.random.default_rng(0).integers(-40, 41, first[1].shape)
    return first, np.stack([blurred, noisy.clip(0, 255).astype(np.uint8)])


@pytest.fixture(autouse=True)
def no_weights_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither a cache nor a variable of whoever runs the tests."""
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "hub"))
    monkeypatch.delenv(VARIABLE, raising=False)


def reference(trunk: Trunk) -> Any:
    """The package's own distance, with the weights of our trunk; its own download and draw whole networks."""
    package = pytest.importorskip("lpips")
    with warnings.catch_warnings(), torch.device("meta"):
        warnings.simplefilter("ignore")
        found = package.LPIPS(net=trunk.name, pnet_rand=True, pretrained=False, verbose=False)
    found.to_empty(device="cpu")
    found.scaling_layer.load_state_dict(package.lpips.ScalingLayer().state_dict())
    file = Path(package.__file__).parent / f"weights/v0.1/{trunk.name}.pth"
    found.load_state_dict(torch.load(file, map_location="cpu", weights_only=True), strict=False)
    own = trunk.module.state_dict()
    found.net.load_state_dict({key: own[key.split(".", 1)[1]] for key in found.net.state_dict()})
    return found


def shown(pixels: NDArray[np.uint8]) -> Tensor:
    return torch.from_numpy(pixels).permute(0, 3, 1, 2) / 127.5 - 1


def expect_equal(trunk: Trunk, photographs: Photographs) -> NDArray[np.float32]:
    with torch.no_grad():
        expected: NDArray[np.float32] = reference(trunk)(*map(shown, photographs)).flatten().numpy()
    np.testing.assert_allclose(lpips(trunk, *photographs), expected, atol=1e-5, rtol=1e-5)
    return expected


@pytest.mark.parametrize("name", TRUNKS)
def test_equals_the_package_on_random_trunks(name: TrunkName, photographs: Photographs) -> None:
    torch.manual_seed(0)
    trunk = Trunk(name, empty_trunk(name).eval(), "")
    assert (expect_equal(trunk, photographs) > 1e-4).all()
    assert np.array_equal(lpips(trunk, photographs[0], photographs[0]), [0, 0])


@pytest.mark.parametrize("name", TRUNKS)
def test_equals_the_package_on_real_trunks(
    name: TrunkName, photographs: Photographs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    trunk = load_trunk(name)
    if trunk is None:
        pytest.skip(f"no weights of {name} in {VARIABLE} or PyTorch's cache")
    assert (expect_equal(trunk, photographs) > 0.05).all()


def test_convolutions_have_as_many_parameters_as_the_originals() -> None:
    """AlexNet: 23,296 + 307,392 + 663,936 + 884,992 + 590,080."""
    sizes = {name: sum(each.numel() for each in empty_trunk(name).parameters()) for name in TRUNKS}
    assert sizes == {"alex": 2_469_696, "vgg": 14_714_688, "squeeze": 722_496}


def test_weights_are_found_in_the_hub_and_in_a_named_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = {f"features.{key}": value for key, value in empty_trunk("squeeze").state_dict().items()}
    cache = tmp_path / "hub/hub/checkpoints"
    cache.mkdir(parents=True)
    assert load_trunk("squeeze") is None
    torch.save(weights | {"classifier.1.weight": torch.zeros(3)}, cache / "squeezenet1_1-b8a52dc0.pth")
    first = load_trunk("squeeze")
    assert first is not None
    torch.testing.assert_close(first.module[0].weight, weights["features.0.weight"])
    other = tmp_path / "mine/inner"
    other.mkdir(parents=True)
    torch.save(weights | {"features.0.bias": torch.ones(64)}, other / "squeezenet1_1.pth")
    named = load_trunk("squeeze", tmp_path / "mine")
    assert named is not None
    assert (named.module[0].bias == 1).all()
    assert named.digest != first.digest
    monkeypatch.setenv(VARIABLE, str(tmp_path / "mine"))
    again = load_trunk("squeeze")
    assert again is not None
    assert again.digest == named.digest


def test_weights_of_jax_are_read_without_running_the_pickle(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    shapes = [(11, 11, 3, 64), (5, 5, 64, 192), (3, 3, 192, 384), (3, 3, 384, 256), (3, 3, 256, 256)]
    arrays = {
        f"Conv_{place}": {
            "kernel": generator.normal(size=shape).astype(np.float32),
            "bias": generator.normal(size=shape[-1]).astype(np.float32),
        }
        for place, shape in enumerate(shapes)
    }
    (tmp_path / "alexnet.ckpt").write_bytes(pickle.dumps({"AlexNet_0": arrays}, protocol=2))
    trunk = load_trunk("alex", tmp_path)
    assert trunk is not None
    kernel = arrays["Conv_1"]["kernel"]
    np.testing.assert_array_equal(trunk.module[3].weight.numpy(), kernel.transpose(3, 2, 0, 1))
    np.testing.assert_array_equal(trunk.module[3].bias.numpy(), arrays["Conv_1"]["bias"])


@pytest.mark.parametrize("content", [b"", b"not weights", pickle.dumps({"AlexNet_0": {"Conv_0": {}}})])
@pytest.mark.parametrize("file", ["alexnet.ckpt", "alexnet-owt-7be5be79.pth"])
def test_damaged_weights_are_one_sentence(tmp_path: Path, file: str, content: bytes) -> None:
    (tmp_path / file).write_bytes(content)
    with pytest.raises(UserError, match=file):
        load_trunk("alex", tmp_path)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such folder"):
        load_trunk("alex", tmp_path / "none")


def test_colour_errors_by_channel() -> None:
    black = np.zeros((2, 2, 2, 3), np.uint8)
    other = black.copy()
    other[0, 0, 0] = (255, 10, 2)  # of one pixel in four
    other[1, :, :, 2] = 3
    np.testing.assert_array_equal(colour_errors(black, other), [[65_025 / 4, 25, 1], [0, 0, 9]])
    np.testing.assert_array_equal(colour_errors(other, black), colour_errors(black, other))
