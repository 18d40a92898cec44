"""What a source of backbones is asked for, and what it gives before layer and pooling are chosen."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor, nn

from unseen.backbones.backbone import RANDOM, Pool
from unseen.backbones.checkpoint import load_checkpoint
from unseen.backbones.pooling import PLAIN, Layout
from unseen.errors import UserError
from unseen.images.transform import Transform

Step = Callable[[nn.Module, Tensor], Tensor]


@dataclass(frozen=True)
class Request:
    """A backbone that the user asked for.

    Attributes:
        id: as given, for error messages.
        name: the id without its source.
        random: untrained weights instead of pretrained ones.
        size: side of the images, where the user wants another than the authors'.
        checkpoint: file whose weights go into the architecture.
        normalise: a name of `NORMALISATIONS`, where the user wants other means and deviations than the authors'.
    """

    id: str
    name: str
    random: bool = False
    layer: str | None = None
    size: int | None = None
    checkpoint: Path | None = None
    normalise: str | None = None


def call(network: nn.Module, images: Tensor) -> Tensor:
    """The network's own output."""
    output: Tensor = network(images)
    return output


@dataclass(frozen=True, eq=False)
class Network:
    """A network without its classifier, and what its source knows of it.

    Attributes:
        module: what the names of layers refer to.
        weights, layer, pool: as in `Spec`; the layer and the pooling that `vector` has.
        vector: images → the features its authors mean, (b, d).
        positions: images → what `vector` pools, (b, n, c) or (b, c, h, w), where the source can tell.
        spatial: images → the last map or patch tokens, where that is not what `positions` gives.
        after_pool: name of the module that the network applies to what it has pooled.
        parameters: where they cannot be counted from the module.
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


def fill(model: nn.Module, request: Request, tag: str, heads: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Load the checkpoint that was asked for, if one was; (what identifies the weights, what to tell the user).

    Args:
        tag: of the weights that the model has already, where they are pretrained, and whose transform it gets.
        heads: names of the classifier that was taken off the model.
    """
    if request.random:
        return RANDOM, ()
    if request.checkpoint is None:
        return tag, ()
    report = load_checkpoint(model, request.checkpoint, heads=heads)
    how = f", normalised by {request.normalise}" if request.normalise else " (--normalize changes the normalisation)"
    images = f"a checkpoint does not say how images are prepared: they are prepared as for {tag}{how}"
    return f"sha256:{report.sha256}", (report.sentence(), images)


def refuse_checkpoint(request: Request) -> None:
    if request.checkpoint is not None:
        raise UserError(
            f"{request.id}: a checkpoint can only be loaded into an architecture of timm: or torchvision:; "
            "for another network write a Python file that loads it (path/to/file.py:function)"
        )


@contextmanager
def downloading(name: str, advice: str) -> Iterator[None]:
    """Turns a failed download, and what libraries raise around one, into one sentence that ends with `advice`."""
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # libraries print every retry, and what they leave out; that is ours to say
    try:
        yield
    except (OSError, RuntimeError) as error:
        reason = " ".join(str(error).split()).rstrip(".")[:200]
        raise UserError(f"{name}: its weights could not be loaded ({reason}); {advice}") from None
    finally:
        logging.disable(level)
