"""CropDiseases: leaves of 14 crops, healthy or with one of 26 diseases; only the training part, as in CD-FSL."""

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.formats.class_folders import class_folders

DATASET = Dataset(
    name="cropdiseases",
    title="CropDiseases",
    classes=38,
    metric="top1",
    test=None,
    validation=None,
    few_shot="cd-fsl",
    counts={"all": 43_456},
    layouts=(Layout("plant-disease/dataset/train", (), class_folders),),
    get="Kaggle, saroz014/plant-disease: the folder dataset, below plant-disease",
    licence="CC BY-SA 3.0",
    citation="Mohanty et al. 2016, Using Deep Learning for Image-Based Plant Disease Detection",
    column=0,
)
