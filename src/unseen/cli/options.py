"""Options that several commands share, in the panels that help shows them in."""

from pathlib import Path
from typing import Annotated

import typer

from unseen.cli.choices import one_of

STUDY, IMAGES, BACKBONES, EXTRACTION = "Study", "Images and features", "Backbones", "Extraction"
MACHINES = "Several GPUs or machines"

# What is measured.
VectorsOption = Annotated[
    Path | None, typer.Option("--vectors", help="Word vectors, for --levels cosine.", rich_help_panel=STUDY)
]
DomainsOption = Annotated[
    str | None,
    typer.Option("--domains", help="Some of them, with commas: in1k,l1,l5. By default all.", rich_help_panel=STUDY),
]
SeenOption = Annotated[
    str | None,
    typer.Option(
        "--seen",
        help="Name of the domain of seen concepts, with a levels CSV. By default in1k.",
        rich_help_panel=STUDY,
    ),
]
VariantOption = Annotated[
    str,
    one_of("plain", "class-balanced", help="Balanced: 732 training images per concept.", rich_help_panel=STUDY),
]

OwnProbesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--probe",
        help="Also this probe: a Python file of your own, which runs; for unseen concepts also a name.",
        rich_help_panel=STUDY,
    ),
]
OwnMetricsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        help="Also this metric, in a Python file of your own, which runs; of probes that give scores of classes.",
        rich_help_panel=STUDY,
    ),
]

# Where images are, and how they are drawn.
ImageNet1kOption = Annotated[
    Path | None,
    typer.Option(
        "--imagenet-1k",
        help="Images of the seen concepts, ImageNet-1K or your own: a folder with train and val, or its tar files.",
        rich_help_panel=IMAGES,
    ),
]
SplitsOption = Annotated[
    Path | None,
    typer.Option(
        "--splits", help="Which images train and test: a file of `unseen levels splits`.", rich_help_panel=IMAGES
    ),
]
TruthOption = Annotated[
    Path | None, typer.Option("--truth", help="Classes of a flat validation set.", rich_help_panel=IMAGES)
]
MissingOption = Annotated[
    str,
    one_of(
        "fail",
        "report",
        help="What to do about concepts without enough images: report goes on without them.",
        rich_help_panel=IMAGES,
    ),
]

# Which backbone, and what of it.
CheckpointOption = Annotated[
    Path | None,
    typer.Option("--checkpoint", help="Weights for an architecture of timm or torchvision.", rich_help_panel=BACKBONES),
]
PoolOption = Annotated[
    str | None,
    one_of("avg", "cls", "cls+avg", "none", help="Instead of its own pooling.", rich_help_panel=BACKBONES),
]
LayerOption = Annotated[
    str | None,
    typer.Option("--layer", help="Module to take features from, by its dotted name.", rich_help_panel=BACKBONES),
]
SizeOption = Annotated[
    int | None,
    typer.Option("--size", help="Side of the images in pixels, instead of its own.", rich_help_panel=BACKBONES),
]
WeightsOption = Annotated[
    str, one_of("pretrained", "random", help="Random: an untrained network.", rich_help_panel=BACKBONES)
]
NamesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--name",
        help="What to call a backbone in tables; one for each --backbone, in their order.",
        rich_help_panel=BACKBONES,
    ),
]
NormalizeOption = Annotated[
    list[str] | None,
    one_of(
        "imagenet",
        "none",
        "half",
        "clip",
        help="What is subtracted from pixels and what they are divided by, instead of the backbone's own; one for "
        "all, or one for each --backbone.",
        rich_help_panel=BACKBONES,
    ),
]
PreprocessingOption = Annotated[
    str, one_of("published", "own", help="As in ImageNet-CoG, or the backbone's own.", rich_help_panel=BACKBONES)
]

# How features are extracted.
DeviceOption = Annotated[
    str | None,
    typer.Option("--device", help="cpu, cuda or cuda:1; a GPU where there is one.", rich_help_panel=EXTRACTION),
]
StudyDeviceOption = Annotated[
    str | None,
    typer.Option(
        "--device",
        help="Where features are extracted: cpu, cuda or cuda:1; a GPU where there is one. "
        "Probes run on the first GPU that is visible (CUDA_VISIBLE_DEVICES).",
        rich_help_panel=EXTRACTION,
    ),
]
PrecisionOption = Annotated[
    str | None,
    one_of("half", "bfloat", "single", help="By default half on a GPU, otherwise single.", rich_help_panel=EXTRACTION),
]
BatchOption = Annotated[int, typer.Option("--batch", help="Images per batch.", rich_help_panel=EXTRACTION)]
OnErrorOption = Annotated[
    str,
    one_of(
        "fail",
        "report",
        help="What to do about damaged images: report goes on without them.",
        rich_help_panel=EXTRACTION,
    ),
]
IgnoreDiskOption = Annotated[
    bool,
    typer.Option(
        "--ignore-disk",
        help="Start although the disk has too little space for the features.",
        rich_help_panel=EXTRACTION,
    ),
]
FastOption = Annotated[
    bool,
    typer.Option(
        "--fast",
        help="Decode on a GPU that has a decoder of JPEGs; else resize by PyTorch: pixels differ by a grey level.",
        rich_help_panel=EXTRACTION,
    ),
]
DecodeOption = Annotated[
    str | None,
    one_of(
        "cpu",
        "gpu",
        help="What decodes JPEGs: by default the CPU, and with --fast a GPU that has a decoder.",
        rich_help_panel=EXTRACTION,
    ),
]
ExifOption = Annotated[
    bool,
    typer.Option("--exif", help="Turn images as their EXIF orientation says.", rich_help_panel=EXTRACTION),
]
DecodersOption = Annotated[
    int | None, typer.Option("--workers", help="Processes that decode, or 0; by default one per core.")
]

# Where jobs run.
DevicesOption = Annotated[
    str | None,
    typer.Option(
        "--devices",
        help="GPUs of this machine to spread jobs over, one process each: 0,1,3 or all, which is the default; "
        "without a GPU, cpu,cpu for two processes.",
        rich_help_panel=MACHINES,
    ),
]
ExecutorOption = Annotated[
    str | None,
    typer.Option("--executor", help="ray: run jobs on a Ray cluster (extra ray).", rich_help_panel=MACHINES),
]
RayAddressOption = Annotated[
    str | None,
    typer.Option(
        "--ray-address",
        help="Address of the cluster; by default the running one, or else a local one.",
        rich_help_panel=MACHINES,
    ),
]
PartOption = Annotated[
    str,
    typer.Option(
        "--part",
        help="2/4: do the second of four parts, and leave the rest to other commands, as in a job array.",
        rich_help_panel=MACHINES,
    ),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Show the plan and what it takes, and stop.")]
