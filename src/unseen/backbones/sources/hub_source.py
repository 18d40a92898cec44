"""Backbones of torch.hub: `hub:facebookresearch/dino:dino_vits16`, or `hub:path/to/folder:model` with a hubconf.py.

A hub repository is code that is executed. A folder is the user's own; a repository on GitHub must already be trusted
(torch.hub keeps a list). The preprocessing is not specified by torch.hub: 224 pixels, bicubic, and ImageNet's mean and
standard deviation are assumed. If that is wrong, use a Python file (`path/to/file.py:function`).
"""

import ast
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from unseen.backbones.backbone import RANDOM
from unseen.backbones.network import Network, Request, Source, downloading, refuse_checkpoint
from unseen.backbones.pooling import layout_of
from unseen.backbones.sources.torchvision_source import remove_classifier
from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError, did_you_mean

HUB = cast("Any", torch.hub)  # torch.hub has no type annotations


def hub_network(request: Request) -> Network:
    refuse_checkpoint(request)
    repository, _, entry = request.name.rpartition(":")
    if not repository or not entry:
        raise UserError(f"{request.id}: expected hub:owner/repository:model or hub:folder:model")
    local = Path(repository).is_dir()
    if local and not (Path(repository) / "hubconf.py").is_file():
        raise UserError(f"{request.id}: no hubconf.py in {repository}")
    if not local:
        _check_trust(request, repository)
    place: dict[str, Any] = {"source": "local"} if local else {"source": "github", "trust_repo": True}
    with downloading(request.id, "run it once where there is a network and copy the folder ~/.cache/torch/hub here"):
        model = _build(request, repository, entry, place)
    if not isinstance(model, nn.Module):
        raise UserError(f"{request.id}: gives {type(model).__name__}, not a torch module")
    classifier = remove_classifier(model)
    size = request.size or Transform().size
    return Network(
        module=model,
        weights=RANDOM if request.random else "as the hub gives them",
        transform=Transform(size=size, resize=size),
        layer="penultimate" if classifier else "output",
        layout=layout_of(model),
        notes=(
            "torch.hub does not say how images are prepared: bicubic, ImageNet's mean and deviation are assumed",
            *([f"its last layer, {classifier}, was taken off"] if classifier else []),
        ),
    )


def _check_trust(request: Request, repository: str) -> None:
    """Accept only repositories on torch.hub's list of trusted ones; otherwise it would ask on the terminal."""
    owner, _, rest = repository.partition("/")
    name = rest.split(":")[0]
    if not owner or not name or "/" in name:
        raise UserError(f"{request.id}: {repository} is neither a folder nor an owner/repository on GitHub")
    listed = Path(torch.hub.get_dir()) / "trusted_list"
    trusted = listed.read_text().split() if listed.is_file() else []
    if f"{owner}_{name}" not in trusted:
        raise UserError(
            f"{request.id}: its code would run here; if you trust {repository}, run once: "
            f"python -c \"import torch; torch.hub.list('{repository}', trust_repo=True)\""
        )


def _build(request: Request, repository: str, entry: str, place: dict[str, Any]) -> object:
    """The model, with `pretrained` set if it has that argument; hub entries differ in their defaults."""
    try:
        try:
            return HUB.load(repository, entry, pretrained=not request.random, **place)
        except TypeError as error:
            if "pretrained" not in str(error):
                raise
        if not request.random:
            return HUB.load(repository, entry, **place)
    except OSError:
        raise
    except Exception as error:
        if "Cannot find callable" in str(error):
            known = _entries(Path(repository)) if place["source"] == "local" else HUB.list(repository, trust_repo=True)
            hint = did_you_mean(entry, known) or f"; it has {', '.join(known)}"
            raise UserError(f"{request.id}: {repository} has no such model{hint}") from None
        raise UserError(f"{request.id}: its code fails with {type(error).__name__}: {error}") from error
    raise UserError(f"{request.id}: has no random weights, because it takes no argument 'pretrained'")


def _entries(folder: Path) -> list[str]:
    """Functions that a hubconf.py defines or imports by name."""
    names: list[str] = []
    for statement in ast.parse((folder / "hubconf.py").read_text()).body:
        if isinstance(statement, ast.FunctionDef):
            names.append(statement.name)
        elif isinstance(statement, ast.ImportFrom):
            names.extend(alias.asname or alias.name for alias in statement.names)
    return [name for name in names if not name.startswith("_")]


SOURCE = Source("hub", hub_network)
