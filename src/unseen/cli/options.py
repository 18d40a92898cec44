"""Options that several commands share, grouped by the panels of the help text."""

from pathlib import Path
from typing import Annotated

import typer

from unseen.cli.choices import one_of

STUDY, IMAGES, BACKBONES, EXTRACTION = "Study", "Images and features", "Backbones", "Extraction"
MACHINES = "Several GPUs or machines"

ExportOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER", help="Also write all tables of the page as CSV and LaTeX, and all figures as SVG and PNG."
    ),
]

# Concepts, probes and metrics.
VectorsOption = Annotated[
    Path | None, typer.Option("--vectors", help="File of word vectors, for --levels cosine.", rich_help_panel=STUDY)
]
DomainsOption = Annotated[
    list[str] | None,
    typer.Option("--domains", help="Domains to use, such as in1k,l1,l5. Default: all.", rich_help_panel=STUDY),
]
SeenOption = Annotated[
    str | None,
    typer.Option(
        "--seen",
        help="Name of the domain of seen concepts, for levels from a CSV file. Default: in1k.",
        rich_help_panel=STUDY,
    ),
]
VariantOption = Annotated[
    str,
    one_of(
        "plain",
        "class-balanced",
        help="Training images per concept: up to 1300 (plain) or exactly 732 (class-balanced).",
        rich_help_panel=STUDY,
    ),
]

OwnProbesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--probe",
        help="Further probe: a name from unseen ls probes, or a Python file, which is executed.",
        rich_help_panel=STUDY,
    ),
]
OwnMetricsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        help="Further metric: a Python file, which is executed. Applied to probes that output class scores.",
        rich_help_panel=STUDY,
    ),
]

# Images and splits.
ImageNet1kOption = Annotated[
    Path | None,
    typer.Option(
        "--imagenet-1k",
        help="Images of the seen concepts (ImageNet-1K or your own): a folder with train and val, or tar files.",
        rich_help_panel=IMAGES,
    ),
]
SplitsOption = Annotated[
    Path | None,
    typer.Option(
        "--splits", help="Training and test images: a file from `unseen levels splits`.", rich_help_panel=IMAGES
    ),
]
TruthOption = Annotated[
    Path | None,
    typer.Option(
        "--truth", help="File with the classes of a validation folder that has no subfolders.", rich_help_panel=IMAGES
    ),
]
MissingOption = Annotated[
    str,
    one_of(
        "fail",
        "report",
        help="If a concept has too few images: stop (fail), or continue without it and list it (report).",
        rich_help_panel=IMAGES,
    ),
]

# Backbones.
CheckpointOption = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint", help="File of weights for a timm or torchvision architecture.", rich_help_panel=BACKBONES
    ),
]
PoolOption = Annotated[
    str | None,
    one_of(
        "avg",
        "cls",
        "cls+avg",
        "none",
        help="Pooling of the last layer. Default: the backbone's own.",
        rich_help_panel=BACKBONES,
    ),
]
LayerOption = Annotated[
    str | None,
    typer.Option(
        "--layer", help="Module to take features from, by its dotted name: layer3.5.", rich_help_panel=BACKBONES
    ),
]
SizeOption = Annotated[
    int | None,
    typer.Option("--size", help="Input size in pixels. Default: the backbone's own.", rich_help_panel=BACKBONES),
]
WeightsOption = Annotated[
    str,
    one_of(
        "pretrained", "random", help="Pretrained weights, or a randomly initialised network.", rich_help_panel=BACKBONES
    ),
]
NamesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--name",
        help="Name of the backbone in tables; one per --backbone, in the same order.",
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
        help="Mean and standard deviation that pixels are normalised with. Default: the backbone's own. Give one for "
        "all backbones, or one per --backbone.",
        rich_help_panel=BACKBONES,
    ),
]
PreprocessingOption = Annotated[
    str,
    one_of(
        "published",
        "own",
        help="Preprocessing of ImageNet-CoG (published), or the backbone's own.",
        rich_help_panel=BACKBONES,
    ),
]

# Extraction.
DeviceOption = Annotated[
    str | None,
    typer.Option(
        "--device", help="Device: cpu, cuda or cuda:1. Default: a GPU if available.", rich_help_panel=EXTRACTION
    ),
]
StudyDeviceOption = Annotated[
    str | None,
    typer.Option(
        "--device",
        help="Device for extraction: cpu, cuda or cuda:1. Default: a GPU if available. "
        "Probes always use the first visible GPU.",
        rich_help_panel=EXTRACTION,
    ),
]
PrecisionOption = Annotated[
    str | None,
    one_of(
        "half",
        "bfloat",
        "single",
        help="Floating-point precision of the backbone. Default: half on a GPU, otherwise single.",
        rich_help_panel=EXTRACTION,
    ),
]
BatchOption = Annotated[int, typer.Option("--batch", help="Images per batch.", rich_help_panel=EXTRACTION)]
OnErrorOption = Annotated[
    str,
    one_of(
        "fail",
        "report",
        help="If an image is damaged: stop (fail), or continue without it and list it (report).",
        rich_help_panel=EXTRACTION,
    ),
]
IgnoreDiskOption = Annotated[
    bool,
    typer.Option(
        "--ignore-disk",
        help="Start even if the disk has too little space for the features.",
        rich_help_panel=EXTRACTION,
    ),
]
FastOption = Annotated[
    bool,
    typer.Option(
        "--fast",
        help="Faster preprocessing: decode JPEGs on the GPU if it has a decoder, otherwise resize with PyTorch, "
        "which changes pixels by one or two grey levels.",
        rich_help_panel=EXTRACTION,
    ),
]
DecodeOption = Annotated[
    str | None,
    one_of(
        "cpu",
        "gpu",
        help="Device that decodes JPEGs. Default: cpu; with --fast, gpu if it has a JPEG decoder.",
        rich_help_panel=EXTRACTION,
    ),
]
ExifOption = Annotated[
    bool,
    typer.Option("--exif", help="Rotate images according to their EXIF orientation.", rich_help_panel=EXTRACTION),
]
DecodersOption = Annotated[
    int | None,
    typer.Option(
        "--workers", help="Processes that decode images; 0 decodes in the main process. Default: one per CPU core."
    ),
]

# GPUs and machines.
DevicesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--devices",
        help="GPUs to use, one process each: 0,1,3 or all (the default). Without a GPU, cpu,cpu starts two processes.",
        rich_help_panel=MACHINES,
    ),
]
ExecutorOption = Annotated[
    str | None,
    typer.Option(
        "--executor",
        help="How jobs are run: here, processes, devices, grouped, or ray (a Ray cluster; needs the package ray). "
        "Default: chosen by the hardware.",
        rich_help_panel=MACHINES,
    ),
]
RayAddressOption = Annotated[
    str | None,
    typer.Option(
        "--ray-address",
        help="Address of the Ray cluster. Default: a running cluster, otherwise a local one.",
        rich_help_panel=MACHINES,
    ),
]
PartOption = Annotated[
    str,
    typer.Option(
        "--part",
        help="Do one part of the work, for job arrays: 2/4 is the second of four parts.",
        rich_help_panel=MACHINES,
    ),
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Print the plan with time, memory and disk estimates, and stop.")
]
