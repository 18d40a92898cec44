"""Planning and running studies in tests: a study by name or a new one, with some keys changed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unseen.backbones.backbone import Backbone
from unseen.data.core.open_dataset import OpenDataset
from unseen.runs.data import RunData
from unseen.runs.means import ALONE, Means
from unseen.runs.parts import WHOLE, Part
from unseen.studies.backbones import named_in_python
from unseen.studies.given import FeatureFiles, Given
from unseen.studies.places import Places
from unseen.studies.plan import Plan
from unseen.studies.run import plan_study, run_study
from unseen.studies.study import Study
from unseen.studies.toml import find_study
from unseen.studies.watch import Watch

Nets = Sequence[Backbone | str]


def study_of(name: str = "", **keys: Any) -> Study:
    """A shipped study, or without a name an empty one, with other values of keys; see `Study.replace`."""
    return (find_study(name) if name else Study(name="test")).replace(**keys)


def given_of(
    study: Study,
    backbones: Nets = (),
    datasets: Sequence[OpenDataset] = (),
    data: Any = None,
    features: Path | FeatureFiles | None = None,
) -> tuple[Study, Given]:
    """A study and what it is run with; backbones are ids, or loaded ones."""
    study, loaded = named_in_python(study, backbones)
    return study, Given(Places.of(data), features, loaded, datasets, allow_code=True)


def run_of(
    study: Study,
    out: Path,
    backbones: Nets = (),
    *,
    datasets: Sequence[OpenDataset] = (),
    data: Any = None,
    features: Path | FeatureFiles | None = None,
    means: Means = ALONE,
    watch: Watch | None = None,
    part: Part = WHOLE,
    replacing: bool = False,
) -> RunData:
    """The run of a study in a folder.

    Args:
        datasets: data sets that were opened before.
        data: folder of all data, or places by name.
        features: used instead of images.
    """
    study, given = given_of(study, backbones, datasets, data, features)
    return run_study(study, given, out, means=means, watch=watch, part=part, replacing=replacing)


def plan_of(
    study: Study,
    out: Path,
    backbones: Nets = (),
    *,
    datasets: Sequence[OpenDataset] = (),
    data: Any = None,
    features: Path | FeatureFiles | None = None,
    means: Means = ALONE,
) -> Plan:
    """The plan of a study in a folder; nothing is run."""
    study, given = given_of(study, backbones, datasets, data, features)
    return plan_study(study, given, out, means=means)
