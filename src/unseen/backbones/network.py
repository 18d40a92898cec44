"""A request to a source of backbones, and the network it returns before layer and pooling are chosen."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from torch import nn

from unseen.backbones.backbone import RANDOM, Backbone, Pool
from unseen.backbones.checkpoint import load_checkpoint
from unseen.backbones.forward_pass import Call, Step
from unseen.backbones.pooling import PLAIN, Layout
from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError, setting


@dataclass(frozen=True)
class Request:
    """A requested backbone.

    Attributes:
        id: as given, for error messages.
        name: the id without its source.
        random: untrained weights instead of pretrained ones.
        size: side of the images, if other than the authors'.
        checkpoint: file with weights for the architecture.
        normalise: a name of `NORMALISATIONS`, if other than the authors'.
    """

    id: str
    name: str
    random: bool = False
    size: int | None = None
    checkpoint: Path | None = None
    normalise: str | None = None


call = Call()
"""The network's own output."""


@dataclass(frozen=True, eq=False)
class Network:
    """A network without its classifier, and what its source knows about it.

    Attributes:
        module: the module that layer names refer to.
        weights, layer, pool: see `Spec`; the layer and the pooling of `vector`.
        vector: images → the authors' features, (b, d).
        positions: images → what `vector` pools, (b, n, c) or (b, c, h, w), if the source knows it.
        spatial: images → the last map or patch tokens, if they differ from `positions`.
        after_pool: name of the module that the network applies after pooling.
        parameters: number of parameters, if they cannot be counted from the module.
        run: how the whole network is run for the features of a module.
        graph: its layers, if they are not modules.
    """

    module: nn.Module
    weights: str
    transform: Transform
    layer: str = "penultimate"
    pool: Pool = "none"
    vector: Step = call
    positions: Step | None = None
    spatial: Step | None = None
    after_pool: str | None = None
    layout: Layout = PLAIN
    parameters: int | None = None
    notes: tuple[str, ...] = ()
    run: Call = call
    graph: "Graph | None" = None

    def at(self, layer: str) -> "Network":
        """The network for a layer, as its graph gives it; itself if its layers are modules."""
        return replace(self.graph.at(layer), transform=self.transform) if self.graph else self


@dataclass(frozen=True, eq=False)
class Graph:
    """The layers of a network that does not consist of modules.

    Attributes:
        outputs: those that it gives as outputs, in order.
        layers: the names of all.
        at: the network for a layer, whose output its `vector` gives.
    """

    outputs: tuple[str, ...]
    layers: tuple[str, ...]
    at: Callable[[str], Network]


@dataclass(frozen=True)
class Source:
    """A source of backbones; a module of `unseen.backbones.sources` defines it as `SOURCE`, and an
    entry point in the group `unseen.backbones` of another package names it.

    Attributes:
        name: the part of an id before the colon.
        load: builds the network.
        packages: the packages that it needs.
    """

    name: str
    load: Callable[[Request], Network | Backbone]
    packages: tuple[str, ...] = ()


def fill(model: nn.Module, request: Request, tag: str, heads: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Load the requested checkpoint, if any; returns (identifier of the weights, sentences for the user).

    Args:
        tag: tag of the model's present weights if they are pretrained; they determine the transform.
        heads: names of the classifier that was removed from the model.
    """
    if request.random:
        return RANDOM, ()
    if request.checkpoint is None:
        return tag, ()
    report = load_checkpoint(model, request.checkpoint, heads=heads)
    how = (
        f", normalised by {request.normalise}"
        if request.normalise
        else f" ({setting('backbone.normalize')} changes it)"
    )
    images = f"a checkpoint does not specify the preprocessing: images are preprocessed as for {tag}{how}"
    return f"sha256:{report.sha256}", (report.sentence(), images)


def refuse_checkpoint(request: Request) -> None:
    if request.checkpoint is not None:
        raise UserError(
            f"{request.id}: a checkpoint can only be loaded into an architecture of timm: or torchvision:; "
            "for another network write a Python file that loads it (path/to/file.py:function)"
        )


@contextmanager
def downloading(name: str, advice: str) -> Iterator[None]:
    """Turns a failed download, and whatever libraries raise around it, into one sentence that ends with `advice`."""
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # libraries print every retry and omitted key; we report these ourselves
    try:
        yield
    except (OSError, RuntimeError) as error:
        reason = " ".join(str(error).split()).split(". ")[0].rstrip(".")[:200]
        raise UserError(f"{name}: its weights could not be loaded ({reason}); {advice}") from None
    finally:
        logging.disable(level)
