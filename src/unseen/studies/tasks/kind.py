"""What the task study has to know of a kind of task: classification is one, boxes or maps would be others.

Everything else of the study is the same for all kinds, and knows nothing of labels or of the shape of features: opening
data sets, extracting, planning, estimating, running, resuming, recording.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.backbones.backbone import Spec
from unseen.features.settings import Settings
from unseen.images.datasets.dataset import Dataset
from unseen.images.datasets.open_dataset import OpenDataset
from unseen.probes.many_shot import ManyShotProtocol
from unseen.runs.notices import Notice
from unseen.runs.task_work import TaskJob

if TYPE_CHECKING:
    from unseen.studies.tasks.features import TaskFeatures


@dataclass(frozen=True)
class TaskKind:
    """One kind of task; a file in `unseen.studies.tasks.kinds` has it as `KIND`.

    Attributes:
        settings: how features are extracted, from how the user asked for it: of whole images, or of their patches.
        expect: features of a data set by a backbone, under a name, that are still to be made.
        describe: features that are there: whose, of which data set, and where those of each split are. Features that
            nothing can be learned from are a user's error.
        jobs: everything that is measured on some features.
        skipped: what cannot be measured on features of these sizes, once for each data set.
        flops: multiplications and additions of a job on its features.
        product: sides (m, k, n) of the product of matrices that jobs on some features spend their time in; timed for
            estimates.
    """

    settings: Callable[[Settings], Settings]
    expect: "Callable[[OpenDataset, Spec, str], TaskFeatures]"
    describe: "Callable[[str, Dataset, Mapping[str, Path]], TaskFeatures]"
    jobs: "Callable[[TaskFeatures, ManyShotProtocol], Sequence[TaskJob]]"
    skipped: "Callable[[TaskFeatures], Sequence[Notice]]"
    flops: "Callable[[TaskJob, TaskFeatures], float]"
    product: "Callable[[TaskFeatures], tuple[int, int, int]]"
