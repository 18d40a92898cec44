"""What a page across axes is made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from unseen.studies.axes.together import Axes


@dataclass(frozen=True)
class SharedModel:
    """A model that two papers measured.

    Attributes:
        name, other: what ImageNet-CoG and what Ericsson et al. call it.
        weights: the file, or its name in the source, that both name.
        differs: what is not the same in how they used it; empty where nothing is known to be.
    """

    name: str
    other: str
    weights: str
    differs: str = ""


@dataclass(frozen=True)
class AxesPage:
    """Everything on the page.

    Attributes:
        models: the published ones among the backbones.
        notices: sentences at the top: axes that are missing, backbones left out.
        provenance: label → text.
    """

    axes: Axes
    models: Sequence[SharedModel] = ()
    notices: Sequence[str] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)
