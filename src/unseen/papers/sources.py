"""The sources of the published numbers: paper, table numbers, units, and the meaning of each column."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class PrintedTable:
    """One table of a paper, or several with the same layout.

    Attributes:
        numbers: as the paper numbers them.
        unit: unit of the values, as printed.
        values: how many numbers it has, counting a mean with its deviation as one.
    """

    numbers: tuple[int, ...]
    what: str
    unit: str
    values: int


@dataclass(frozen=True)
class Source:
    """A paper whose tables are in `data/NAME.csv`.

    Attributes:
        reference: authors, title and venue.
        link: a permanent page.
        columns: name → meaning, in the order of the table.
    """

    name: str
    reference: str
    link: str
    tables: tuple[PrintedTable, ...]
    columns: Mapping[str, str]

    @property
    def values(self) -> int:
        return sum(table.values for table in self.tables)


_DOMAIN = "in1k for the seen concepts, l1 to l5 for the levels"
_SHOTS = "training images per concept, as text; all for all of them"

COG_V2 = Source(
    name="cog-v2",
    reference="Sariyildiz, Kalantidis, Larlus, Alahari: Concept Generalization in Visual Representation Learning, "
    "ICCV 2021, with its supplement",
    link="https://arxiv.org/abs/2012.05649",
    tables=(PrintedTable((5, 6, 7, 8, 9, 10), "linear classifiers on few and on all images", "percent", 1674),),
    columns={
        "model": "the name in the catalogue of backbones",
        "domain": _DOMAIN,
        "shots": _SHOTS,
        "mean": "top-1 accuracy, over five seeds",
        "deviation": "over the seeds",
    },
)
COG_V1 = Source(
    name="cog-v1",
    reference="Sariyildiz, Kalantidis, Larlus, Alahari: Concept Generalization in Visual Representation Learning, "
    "first version, HAL hal-03110632v1, January 2021, with its supplement",
    link="https://inria.hal.science/hal-03110632v1",
    tables=(
        PrintedTable((2,), "linear classifiers on all images", "percent", 42),
        PrintedTable((3,), "the same, and what two hidden layers change", "percent, and percent of it", 126),
        PrintedTable((4,), "linear classifiers on few images", "percent", 378),
        PrintedTable((5,), "linear classifiers on principal components", "percent", 294),
        PrintedTable((6,), "clusters against concepts", "share", 168),
    ),
    columns={
        "table": "its number in the paper",
        "model": "the name that cog-v2 gives it",
        "domain": _DOMAIN,
        "probe": "logistic, mlp, mlp-linear (the same without activations), or kmeans",
        "shots": _SHOTS,
        "components": "principal components kept; missing where there was no PCA",
        "metric": "top1 in percent; gain, 100 × (mlp − logistic) / logistic; purity, ami, nmi, ari in [0, 1]",
        "value": "mean over five seeds",
    },
)
ERICSSON_2021 = Source(
    name="ericsson-2021",
    reference="Ericsson, Gouk, Hospedales: How Well Do Self-Supervised Models Transfer?, CVPR 2021, with its appendix",
    link="https://arxiv.org/abs/2011.13377",
    tables=(
        PrintedTable((1,), "accuracy on ImageNet, linear probes, fine-tuning", "percent", 350),
        PrintedTable((2,), "few-shot episodes, 20 images of each of 5 classes", "percent", 140),
        PrintedTable((3,), "few-shot episodes on other kinds of images, 20", "percent", 56),
        PrintedTable((4,), "detection with frozen and with fine-tuned backbones", "percent", 84),
        PrintedTable((5,), "surface normals and segmentation", "each metric has its own", 98),
        PrintedTable((6,), "few-shot episodes, 5 images of each of 5 classes", "percent", 140),
        PrintedTable((7,), "few-shot episodes, 50 images of each of 5 classes", "percent", 98),
        PrintedTable((8,), "few-shot episodes on other kinds of images, 5 and 50", "percent", 112),
        PrintedTable((9,), "calibration, reconstruction and attention", "each metric has its own", 165),
    ),
    columns={
        "table": "its number in the paper",
        "model": "the name in the catalogue; missing for a correlation over the 14 models",
        "dataset": "missing where the number is a mean over several",
        "setting": "linear, finetune, 5-shot, 20-shot, 50-shot, detection-frozen, detection-finetune, normals, "
        "segmentation; for Table 9 what was measured, such as linear-unscaled or alexnet",
        "metric": "top1 on ImageNet, accuracy (each data set's own metric), AP, AP50, AP75, within-… (pixels within so "
        "many degrees), pixel-accuracy and ece in percent; mean and median angles in degrees; miou in [0, 1]; lpips, "
        "squared-error of a colour channel (0 to 255), diffusion in percent; correlation-… for how it goes with "
        "accuracy on ImageNet",
        "value": "as printed",
        "interval": "half of the 95% interval over 600 episodes; missing where there is none",
    },
)
SHI_2023 = Source(
    name="shi-2023",
    reference="Shi, Carlini, Balashankar, Schmidt, Hsieh, Beutel, Qin: Effective Robustness against Natural "
    "Distribution Shifts for Models with Different Training Data, NeurIPS 2023",
    link="https://arxiv.org/abs/2302.01381",
    tables=(
        PrintedTable((1,), "how well the lines fit, CIFAR-10 and ImageNet", "R² in [0, 1], error in percent", 12),
        PrintedTable((2,), "effective robustness, CIFAR-10 and ImageNet", "percent", 24),
        PrintedTable((3,), "how well the lines fit, YFCC and LAION", "R² in [0, 1], error in percent", 32),
        PrintedTable((4, 5), "effective robustness, YFCC and LAION", "percent", 60),
        PrintedTable((6, 7), "models that were not used for the fit", "percent", 160),
    ),
    columns={
        "table": "its number in the paper",
        "pool": "what else than ImageNet the models were trained on: cifar10, yfcc or laion",
        "models": "the group of models, named by their training data or method; all for a fit to all of the pool",
        "count": "how many models; missing where the table does not say",
        "testset": "out of distribution, or average over those of the group",
        "evaluation": "single-id or multi-id: which accuracies predict the one that is expected",
        "metric": "r2; mae and effective-robustness in percent",
        "value": "as printed",
        "deviation": "over the models; missing where there is none",
    },
)

TABLES: Mapping[str, Source] = {source.name: source for source in (COG_V2, COG_V1, ERICSSON_2021, SHI_2023)}
