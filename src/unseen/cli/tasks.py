"""`unseen tasks`: the study of transfer to other tasks."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unseen.cli.choices import choose, one_of
from unseen.cli.ls.datasets import dataset_names
from unseen.cli.modes import chosen_mode, refuse_options
from unseen.cli.option_groups import BackboneOptions, ExtractionOptions, MachineOptions, with_groups
from unseen.cli.options import BACKBONES, IMAGES, STUDY, DryRunOption, OwnMetricsOption, OwnProbesOption, PartOption
from unseen.cli.output import note, track
from unseen.cli.running import WorkersOption
from unseen.cli.task_results import carry_out
from unseen.cli.watching import dry_run
from unseen.errors import UserError
from unseen.files import check_writable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from unseen.features.settings import Settings
    from unseen.studies.study import Request
    from unseen.studies.tasks.opened import Asked
    from unseen.studies.tasks.plan import TaskProbes
    from unseen.studies.tasks.request import TaskRequest

FINETUNING, DENSE, BY_IMAGE = "With --finetune", "With --dense", "With --saliency and --invert"
PROTOCOLS = ("ericsson-2021", "ericsson-2021-exact")
CONVERGE = ("chosen", "all")
BOTH = (
    "out", "backbone", "images", "datasets", "checkpoint", "pool", "layer", "size", "weights", "name", "normalize",
    "device", "workers", "only_plan", "devices", "executor", "ray_address", "part",
)  # fmt: skip
MODES = {
    "": (
        *BOTH, "probe", "metric", "features", "limit", "protocol", "converge", "imagenet_top1", "precision", "batch",
        "on_error", "fast", "exif", "decode", "ignore_disk",
    ),
    "--finetune": (*BOTH, "finetune", "trials", "steps", "seed"),
    "--dense": (
        *BOTH, "dense", "probes", "patches", "precision", "batch", "on_error", "fast", "exif", "decode", "ignore_disk",
    ),
    "--dense --finetune": (*BOTH, "dense", "finetune", "steps", "scale", "seed"),
    "--invert": (
        *BOTH, "invert", "examples", "imagenet_top1", "precision", "batch", "exif", "steps", "seed", "sigmoid",
        "lpips_weights",
    ),
    "--saliency": (*BOTH, "saliency", "grid", "examples", "imagenet_top1", "precision", "batch", "exif"),
}  # fmt: skip
"""Mode of the command → its options."""


@with_groups
def tasks(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="Folder of the run.")],
    *,
    finetune: Annotated[
        bool,
        typer.Option("--finetune", help="Fine-tune the whole backbone on each data set instead of probing features."),
    ] = False,
    dense: Annotated[
        bool,
        typer.Option(
            "--dense",
            help="Dense tasks: probe patch features. With --finetune, train detectors and dense heads.",
        ),
    ] = False,
    saliency: Annotated[
        bool,
        typer.Option("--saliency", help="Occlusion maps: which parts of an image the features depend on."),
    ] = False,
    invert: Annotated[
        bool,
        typer.Option("--invert", help="Reconstruct images from their features, and compare them with the originals."),
    ] = False,
    workers: WorkersOption = None,
    only_plan: DryRunOption = False,
    machine: MachineOptions,
    part: PartOption = "1/1",
    datasets: Annotated[
        list[str] | None,
        typer.Option(
            help="Data sets: names from unseen ls datasets, folders with train and test, or TOML files. Default: "
            "all that are found; with --saliency and --invert, the demo's drawings.",
            rich_help_panel=STUDY,
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            help="Use at most this many images per class and split (always the same ones), for a quick look.",
            rich_help_panel=STUDY,
        ),
    ] = None,
    protocol: Annotated[
        str,
        one_of(
            *PROTOCOLS,
            help="Our protocol, or the exact iterations and temperature of the authors' code.",
            rich_help_panel=STUDY,
        ),
    ] = "ericsson-2021",
    converge: Annotated[
        str | None,
        one_of(
            *CONVERGE,
            help="Linear fits to run until convergence: that of the chosen penalty, or all 45 (slow).",
            rich_help_panel=STUDY,
        ),
    ] = None,
    imagenet_top1: Annotated[
        list[float] | None,
        typer.Option(
            help="ImageNet accuracy in percent, to correlate with; one per --backbone.", rich_help_panel=STUDY
        ),
    ] = None,
    probe: OwnProbesOption = None,
    metric: OwnMetricsOption = None,
    images: Annotated[
        Path | None,
        typer.Option(
            help="Folder that contains the data sets (unseen doctor --images checks it). With --saliency or --invert "
            "and without --datasets, a folder of images.",
            rich_help_panel=IMAGES,
        ),
    ] = None,
    features: Annotated[
        Path | None,
        typer.Option(help="Features instead of images: one folder per data set.", rich_help_panel=IMAGES),
    ] = None,
    backbone: Annotated[
        list[str] | None,
        typer.Option(
            help="Backbone id, such as timm:resnet50. All backbones share one pass over the images.",
            rich_help_panel=BACKBONES,
        ),
    ] = None,
    loading: BackboneOptions,
    extraction: ExtractionOptions,
    trials: Annotated[
        int, typer.Option(help="Number of settings to try, of the grid of 40.", rich_help_panel=FINETUNING)
    ] = 40,
    steps: Annotated[
        int | None,
        typer.Option(
            help="Training steps. Default: the protocol's (5000; --dense has its own). With --invert, steps per "
            "reconstruction (default 3000).",
            rich_help_panel=FINETUNING,
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            min=0,
            max=2**31 - 1,
            help="Seed of initial weights, image order and augmentation; results of an earlier seed are replaced. "
            "With --invert, seed of the noise and the initial weights.",
            rich_help_panel=FINETUNING,
        ),
    ] = 0,
    probes: Annotated[
        list[str] | None,
        typer.Option(help="Probe: patch-linear or patch-context. Default: both.", rich_help_panel=DENSE),
    ] = None,
    patches: Annotated[
        str,
        typer.Option(
            metavar="N",
            help="Patches per training image to extract and train on, at the same random positions, or all. Test "
            "images keep all their patches.",
            rich_help_panel=DENSE,
        ),
    ] = "all",
    scale: Annotated[
        float, typer.Option(help="Scale of the training images, at most 1, for a quick look.", rich_help_panel=DENSE)
    ] = 1.0,
    grid: Annotated[
        str | None,
        typer.Option(
            help="Mask size and stride in pixels: 10/1 as in the paper (54,289 forward passes per 224 × 224 image), "
            "or 10/2, 8/4, 16/8 (13,456, 3,249, 841 passes). Default: 10/2.",
            rich_help_panel=BY_IMAGE,
        ),
    ] = None,
    examples: Annotated[
        int | None,
        typer.Option(
            help="Number of images per data set. Default: 1 per data set, 8 drawings, or all images of a folder.",
            rich_help_panel=BY_IMAGE,
        ),
    ] = None,
    sigmoid: Annotated[
        bool,
        typer.Option(
            "--sigmoid",
            help="With --invert, end the reconstruction network in a sigmoid instead of clamping.",
            rich_help_panel=BY_IMAGE,
        ),
    ] = False,
    lpips_weights: Annotated[
        Path | None,
        typer.Option(
            help="With --invert, folder with the weights of AlexNet, VGG-16 or SqueezeNet for perceptual distances. "
            "Default: PyTorch's download folder.",
            rich_help_panel=BY_IMAGE,
        ),
    ] = None,
) -> None:
    """Measure how well backbones transfer to other tasks: linear probes, few-shot episodes, calibration.

    Prints the plan with time, memory and disk estimates, extracts missing features, runs missing probes and writes a
    report. Data sets that are not found are listed and skipped. Run it again with other data sets or backbones to add
    them to the same run. If it is interrupted, the same command resumes.

    With --finetune, the whole backbone is trained: 40 settings are compared on validation images, and the best one is
    trained again and scored on test images. With fewer settings or steps, scores are labelled ericsson-2021-short.

    With --dense, patch features are probed for segmentation, surface normals and depth. With --dense --finetune, heads
    and detectors are trained as in Ericsson et al.

    With --saliency, occlusion maps show which parts of single images the features depend on, and how spread out they
    are. With --invert, images are reconstructed from the last spatial map and compared with the originals.
    """
    asked = {"--finetune": finetune, "--dense": dense, "--saliency": saliency, "--invert": invert}
    both = dense and finetune and not (saliency or invert)
    mode = "--dense --finetune" if both else chosen_mode(asked)
    refuse_options(context, MODES, mode)
    if not mode and not backbone and features is None:  # before PyTorch is imported
        raise UserError("no backbone was given; name one (--backbone), or give its features (--features)")
    from unseen.runs.parts import parse_part

    check_writable(out)
    ids, share = backbone or [], parse_part(part)
    means = machine.means(workers, every_gpu=extraction.device is None)
    settings = partial(extraction.settings, means.workers, share)
    request: Request
    if dense:
        probing, training = (probes, patches), (steps, scale, seed)
        request = _dense(datasets, images, ids, loading, extraction, settings, finetune, probing, training)
    elif saliency:
        from unseen.studies.tasks.by_image.requested import AskedImages, saliency_request

        one_process = extraction.settings(0)
        load = partial(loading.load, ids, "published", one_process.device)
        looked_at = AskedImages(dataset_names(datasets), images, examples, load, imagenet_top1 or [])
        request = saliency_request(looked_at, one_process, grid=grid, batch=extraction.batch)
    elif invert:
        percents, how = imagenet_top1 or [], (steps, seed, sigmoid, lpips_weights)
        request = _inversion(datasets, images, examples, ids, loading, extraction, percents, *how)
    elif finetune:
        from unseen.studies.tasks.finetune_request import FinetuneRequest

        names = dataset_names(datasets)
        if not ids or not names:
            raise UserError("--finetune needs --backbone and --datasets")
        load, device = partial(loading.load, ids, "published", "cpu"), extraction.device
        request = FinetuneRequest.of(names, images, load, device, trials=trials, steps=steps, seed=seed)
    else:
        from unseen.probes.many_shot import task_protocol
        from unseen.studies.tasks.plan import task_probes

        names, percents = dataset_names(datasets), imagenet_top1 or []
        chosen = task_protocol(choose("--protocol", protocol, PROTOCOLS), converge)
        fitted = task_probes(chosen, probe or [], metric or [], note)
        request = _probing(names, images, features, limit, ids, loading, settings, fitted, percents)
    if only_plan:
        return dry_run(request, out, means, share)
    return carry_out(request, out, means, share, ignore_disk=extraction.ignore_disk)


def _inversion(
    datasets: "Sequence[str] | None",
    images: Path | None,
    examples: int | None,
    ids: "Sequence[str]",
    loading: BackboneOptions,
    extraction: ExtractionOptions,
    percents: "Sequence[float]",
    steps: int | None,
    seed: int,
    sigmoid: bool,
    lpips_weights: Path | None,
) -> "Request":
    from unseen.studies.tasks.by_image.requested import AskedImages, inversion_request

    settings = replace(extraction, precision=extraction.precision or "single").settings(0)
    load = partial(loading.load, ids, "published", settings.device, patches=True)
    asked = AskedImages(dataset_names(datasets), images, examples, load, percents)
    return inversion_request(
        asked, settings, steps=steps, sigmoid=sigmoid, seed=seed, batch=extraction.batch, lpips_weights=lpips_weights
    )


def _dense(
    datasets: "Sequence[str] | None",
    images: Path | None,
    ids: "Sequence[str]",
    loading: BackboneOptions,
    extraction: ExtractionOptions,
    make_settings: "Callable[[], Settings]",
    finetune: bool,
    probing: "tuple[Sequence[str] | None, str]",
    training: tuple[int | None, float, int],
) -> "Request":
    from unseen.studies.tasks.dense_opened import asked_dense
    from unseen.studies.tasks.dense_request import dense_probing, dense_training

    names = asked_dense(datasets, track) if datasets is not None else []
    settings = None if finetune else make_settings()
    if not ids:
        raise UserError("no backbone was given; name one (--backbone)")
    if settings is None:
        loaded = loading.load(ids, "own", "cpu")
        steps, scale, seed = training
        return dense_training(names, images, loaded, extraction.device, steps=steps, scale=scale, seed=seed)
    loaded = loading.load(ids, "own", settings.device, patches=True)
    probes, patches = probing
    return dense_probing(names, images, loaded, settings, probes or [], patches)


def _probing(
    names: "Sequence[Asked]",
    images: Path | None,
    features: Path | None,
    limit: int | None,
    ids: "Sequence[str]",
    loading: BackboneOptions,
    make_settings: "Callable[[], Settings]",
    probes: "TaskProbes",
    percents: "Sequence[float]",
) -> "TaskRequest":
    from unseen.studies.tasks.features import find_task_features
    from unseen.studies.tasks.request import TaskRequest, request_of_images, top1_shares

    top1 = top1_shares(ids, percents)  # mistakes are reported before data are opened
    if features is not None:
        if images is not None:
            raise UserError("give images (--images) or features (--features), not both")
        if limit is not None:
            raise UserError("--limit applies to images, not to features (--features)")
        return TaskRequest(find_task_features(features, names, ids), probes, top1)
    settings = make_settings()
    load = partial(loading.load, ids, "published", settings.device)
    return request_of_images(names, images, load, settings, probes, limit=limit, percents=percents)
