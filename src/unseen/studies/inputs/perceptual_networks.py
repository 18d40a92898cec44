"""The networks of perceptual distances whose weights are on this machine."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from unseen.metrics.lpips import TRUNKS, Trunk
from unseen.metrics.lpips_trunks import TITLES, load_trunk
from unseen.runs.notices import Notice, notice

METRICS = {"alex": "lpips-alexnet", "vgg": "lpips-vgg", "squeeze": "lpips-squeezenet"}
DOWNLOADS = {"alex": "alexnet", "vgg": "vgg16", "squeeze": "squeezenet1_1"}
"""Their names in torchvision."""


def perceptual_networks(folder: Path | None, device: str) -> tuple[Mapping[str, Trunk], Sequence[Notice]]:
    """The networks by their metrics, and a notice about each that has no weights here.

    Args:
        folder: folder with the weights; None for PyTorch's download folder.
    """
    found, absent = dict[str, Trunk](), list[Notice]()
    for name in TRUNKS:
        trunk = load_trunk(name, folder, device=device)
        if trunk is not None:
            found[METRICS[name]] = trunk
        else:
            advice = f"torchvision.models.{DOWNLOADS[name]}(weights='DEFAULT') in Python downloads them."
            absent.append(notice("no-lpips", network=TITLES[name], advice=advice))
    return found, absent
