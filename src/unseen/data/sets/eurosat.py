"""EuroSAT: 10 classes of land use and land cover from the Sentinel-2 satellite, in RGB."""

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.formats.class_folders import class_folders

DATASET = Dataset(
    name="eurosat",
    title="EuroSAT",
    classes=10,
    metric="top1",
    test=None,
    validation=None,
    few_shot="cd-fsl",
    counts={"all": 27_000},
    layouts=(Layout("eurosat/2750", (), class_folders),),
    get="Hugging Face, torchgeo/eurosat (torchvision's source): EuroSAT.zip, unpacked into the folder eurosat",
    licence="MIT",
    citation="Helber et al. 2019, EuroSAT: A Novel Dataset and Deep Learning Benchmark for Land Use",
    column=1,
)
