"""The interface of a kind of task, such as classification.

Everything else in the study is the same for all kinds and independent of labels and of the shape of features: opening
data sets, extraction, planning, estimates, running, resuming, recording.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.backbones.backbone import Spec
from unseen.features.settings import Settings
from unseen.images.dataset import Dataset
from unseen.images.open_dataset import OpenDataset
from unseen.probes.many_shot import ManyShotProtocol
from unseen.runs.notices import Notice
from unseen.runs.task_work import TaskJob

if TYPE_CHECKING:
    from unseen.studies.tasks.features import TaskFeatures


@dataclass(frozen=True)
class TaskKind:
    """One kind of task; a file in `unseen.studies.tasks.kinds` defines it as `KIND`.

    Attributes:
        settings: maps the user's extraction settings to those of this kind: whole images, or patches.
        expect: describes missing features, from a data set, a backbone and its name.
        describe: describes existing features, from a backbone, a data set and the path of each split; unusable features
            are refused.
        jobs: all jobs on given features.
        skipped: notices about what cannot be measured on features of these sizes, once per data set.
        flops: multiplications and additions of a job on its features.
        product: shape (m, k, n) of the matrix product that dominates the jobs on given features; timed for estimates.
    """

    settings: Callable[[Settings], Settings]
    expect: "Callable[[OpenDataset, Spec, str], TaskFeatures]"
    describe: "Callable[[str, Dataset, Mapping[str, Path]], TaskFeatures]"
    jobs: "Callable[[TaskFeatures, ManyShotProtocol], Sequence[TaskJob]]"
    skipped: "Callable[[TaskFeatures], Sequence[Notice]]"
    flops: "Callable[[TaskJob, TaskFeatures], float]"
    product: "Callable[[TaskFeatures], tuple[int, int, int]]"
