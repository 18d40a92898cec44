"""What a study is run with on this machine: never a part of the study itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.data.core.open_dataset import OpenDataset
from unseen.errors import UserError
from unseen.studies.places import Places

if TYPE_CHECKING:
    from unseen.backbones.backbone import Backbone


Place = str | PathLike[str]
Data = Place | OpenDataset | Mapping[str, Place] | Sequence[OpenDataset] | None
"""The images that are given in Python: a folder, places by name, or data sets that are open."""


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

    @classmethod
    def in_python(
        cls, data: Data, features: Place | None, backbones: "Sequence[Backbone]" = (), *, allow_code: bool = False
    ) -> "Given":
        """What a call in Python gives."""
        if features is not None and data is not None:
            raise UserError("give images (data=) or features (features=), not both")
        if features is not None and not isinstance(features, str | PathLike):
            raise UserError(
                f"features: {features!r:.60} is not a folder with one folder per data set; for arrays or files of "
                "single splits, use unseen.probe"
            )
        folder = None if features is None else Path(features)
        if data is None or isinstance(data, str | PathLike | Mapping):
            return cls(Places.of(data), folder, backbones, allow_code=allow_code)
        every = [data] if isinstance(data, OpenDataset) else list(data)
        wrong = next((each for each in every if not isinstance(each, OpenDataset)), None)
        if wrong is not None:
            what = "is not a data set opened with unseen.open_dataset, a folder or a mapping"
            raise UserError(f"data: {wrong!r:.60} {what}")
        return cls(Places(), folder, backbones, every, allow_code=allow_code)
