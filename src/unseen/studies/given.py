"""What a study is run with on this machine: never a part of the study itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.data.core.open_dataset import OpenDataset
from unseen.studies.places import Places

if TYPE_CHECKING:
    from unseen.backbones.backbone import Backbone


@dataclass(frozen=True)
class FeatureFiles:
    """A user's own features in files, which say nothing of where they come from.

    Attributes:
        backbone, dataset: their names in tables.
        places: the file or store of each split.
    """

    backbone: str
    dataset: str
    places: Mapping[str, Path]


@dataclass(frozen=True, eq=False)
class Given:
    """What a study is run with.

    Attributes:
        places: where its images are.
        features: features that are used instead of images: a folder with one folder per data set, or files.
        backbones: backbones that were loaded in Python, besides those of the study.
        datasets: data sets that were opened in Python, besides those of the study.
        allow_code: whether files that the study names may be executed.
    """

    places: Places = field(default_factory=Places)
    features: Path | FeatureFiles | None = None
    backbones: "Sequence[Backbone]" = ()
    datasets: Sequence[OpenDataset] = ()
    allow_code: bool = False
