"""The contents of a page across axes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from unseen.analyses.axes.together import Axes


@dataclass(frozen=True)
class SharedModel:
    """A model that two papers measured.

    Attributes:
        name, other: its name in ImageNet-CoG and in Ericsson et al.
        weights: the file of weights that both name, or its name in the source.
        differs: known differences in how they used it; empty if there are none.
    """

    name: str
    other: str
    weights: str
    differs: str = ""


@dataclass(frozen=True)
class AxesPage:
    """The contents of the page.

    Attributes:
        models: the published models among the backbones.
        notices: sentences at the top about missing axes and skipped backbones.
        provenance: label → text.
    """

    axes: Axes
    models: Sequence[SharedModel] = ()
    notices: Sequence[str] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)
