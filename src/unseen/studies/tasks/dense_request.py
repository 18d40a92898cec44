"""Requests for dense tasks, from options of the command line or of Python."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from unseen.backbones.backbone import Backbone
from unseen.errors import UserError, did_you_mean, option
from unseen.features.settings import Settings
from unseen.probes.by_name import patch_probes
from unseen.probes.dense.protocols import DenseProtocol, shortened
from unseen.studies.study import Request
from unseen.studies.tasks.dense import DenseRequest
from unseen.studies.tasks.dense_opened import AskedDense, open_dense
from unseen.studies.tasks.dense_training import BY_KIND, DenseTrainingRequest
from unseen.studies.tasks.finetune_request import training_device

MAPS = ("classes", "normals", "depth")


def dense_probing(
    names: Sequence[AskedDense],
    root: Path | None,
    backbones: Sequence[Backbone],
    settings: Settings,
    probes: Sequence[str],
    patches: int | str = "all",
) -> Request:
    """Probes on patch features.

    Args:
        names: data sets; by default all that exist.
        probes: names of probes of patch features; by default all.
        patches: number of patches of each training image, or "all".
    """
    if patches != "all" and (not str(patches).isdecimal() or int(patches) < 1):
        raise UserError(f"the number of patches per training image must be at least 1, or all, not '{patches}'")
    known = patch_probes()
    wrong = next((name for name in probes if name not in known), None)
    if wrong is not None:
        hint = did_you_mean(wrong, known) or f"; choose from {', '.join(known)}"
        raise UserError(f"no patch probe '{wrong}'{hint}")
    opened = open_dense(names, root, MAPS)
    chosen = [probe() for name, probe in known.items() if not probes or name in probes]
    return DenseRequest(opened, backbones, settings, chosen, patches="all" if patches == "all" else int(patches))


def dense_training(
    names: Sequence[AskedDense],
    root: Path | None,
    backbones: Sequence[Backbone],
    device: str | None,
    *,
    steps: int | None,
    scale: float,
    seed: int,
) -> Request:
    """Training end to end; fewer steps or smaller images than in the paper make a short form.

    Args:
        scale: factor of the sides of images.
    """
    if not names:
        raise UserError(f"say on which data sets to train ({option('datasets')})")
    opened = open_dense(names, root, tuple(BY_KIND))
    return DenseTrainingRequest(opened, backbones, training_device(device), partial(_short, steps, scale), seed)


def _short(steps: int | None, scale: float, protocol: DenseProtocol) -> DenseProtocol:
    return shortened(protocol, protocol.steps if steps is None else steps, scale)
