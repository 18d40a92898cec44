"""`unseen.tasks`: the study of transfer to other tasks."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from unseen.api.backbones import loaded_backbones, names_of
from unseen.api.progress import bars
from unseen.api.run import Run
from unseen.errors import UserError
from unseen.extras import naming_extras

if TYPE_CHECKING:
    from unseen.backbones.backbone import Backbone
    from unseen.features.settings import Decode, Precision, Settings
    from unseen.images.datasets.open_dataset import OpenDataset
    from unseen.images.dense.dense_dataset import OpenDenseDataset
    from unseen.studies.own_code import AskedProbe, OwnCode
    from unseen.studies.study import Plan, Request
    from unseen.studies.tasks.dense_opened import AskedDense
    from unseen.studies.tasks.opened import Asked
    from unseen.studies.tasks.request import TaskRequest

    AskedFor = str | PathLike[str] | OpenDataset | OpenDenseDataset

BATCH, TRIALS = 128, 40
USES = {
    "": ("probe", "metric"),
    "finetune": ("trials", "steps"),
    "dense": ("probes",),
    "dense+finetune": ("steps", "scale"),
    "saliency": ("grid", "examples"),
    "invert": ("steps", "sigmoid", "examples", "lpips_weights"),
}
"""What each kind of work takes of the arguments that not all take."""


@naming_extras()
def tasks(
    backbone: "Backbone | str | Sequence[Backbone | str]" = (),
    *,
    out: str | PathLike[str],
    images: str | PathLike[str] | None = None,
    features: str | PathLike[str] | None = None,
    datasets: "AskedFor | Sequence[AskedFor] | None" = None,
    limit: int | None = None,
    protocol: str = "ericsson-2021",
    converge: Literal["chosen", "all"] | None = None,
    imagenet_top1: float | Sequence[float] | None = None,
    probe: "AskedProbe | Sequence[AskedProbe]" = (),
    metric: "str | PathLike[str] | Sequence[str | PathLike[str]]" = (),
    finetune: bool = False,
    trials: int = TRIALS,
    steps: int | None = None,
    seed: int = 0,
    dense: bool = False,
    probes: Sequence[str] = (),
    scale: float = 1.0,
    saliency: bool = False,
    grid: str | None = None,
    examples: int | None = None,
    invert: bool = False,
    sigmoid: bool = False,
    lpips_weights: str | PathLike[str] | None = None,
    device: str | None = None,
    precision: "Precision | None" = None,
    batch: int | None = None,
    on_error: Literal["fail", "report"] = "fail",
    fast: bool = False,
    exif: bool = False,
    decode: "Decode | None" = None,
    ignore_disk: bool = False,
    workers: int = 1,
    devices: str | Sequence[int | str] | None = None,
    executor: str | None = None,
    ray_address: str | None = None,
    part: tuple[int, int] = (1, 1),
    progress: bool = True,
    dry_run: bool = False,
) -> "Run | Plan":
    """How well backbones do on other classification tasks: linear probes, few-shot episodes, calibration.

    Features that `out` has already are not extracted again, and probes that it has are not run again. A call that was
    stopped continues when it is repeated.

    Args:
        backbone: by `unseen.load_backbone`, or an id; several share one pass over the images. With features, the names
            of those to take; may be left out for all.
        out: folder of the run.
        images: the folder that all data sets are below; not needed for those that come with packages.
        features: instead of images, a folder with one folder per data set, as `out/features` of a run, or with your own
            `train`, `val` and `test` features in each.
        datasets: names of data sets, of those that `unseen ls datasets` lists; places of your own (folders with `train`
            and `test`, or TOML files: docs/own-data.md); what `unseen.open_dataset` opened. By default all
            of the list that are there.
        limit: for a quick look, at most so many images of each class in every split.
        protocol: "ericsson-2021", or "ericsson-2021-exact" for the iterations and the temperature of the authors' code.
        converge: which fits of a linear probe go to their optimum: "chosen", that of the ℓ2 constant that is chosen, or
            "all" of the grid, which takes ten times as long and more; by default the protocol's own, "chosen" for
            "ericsson-2021".
        imagenet_top1: accuracy on ImageNet in percent, one for each backbone, to correlate with.
        probe: further probes of your own, each the path of a Python file, which runs, or an object of a class that a
            file defines; fitted to the training and validation features of data sets that are split.
        metric: Python files with metrics of your own, for the linear probe and those of yours that give scores.
        finetune: train the whole backbone on each data set, instead of probing its features: the best of some settings
            on validation images is trained again and scored on test images.
        trials, steps: in fine-tuning, how many of the protocol's 40 settings are tried, and the steps of each training;
            by default the protocol's. In inversion, the steps of each reconstruction, by default 3000.
        seed: in fine-tuning, of the new layer, the order of images and their augmentation; it takes the place of an
            earlier seed. In inversion, of the noise and the first weights.
        dense: tasks with maps (segmentation, surface normals, depth) by probes on the features of patches; with
            `finetune`, detection too, by training detectors and heads for maps. Backbones that are given loaded need
            `patches=True`, but for fine-tuning.
        probes: of dense tasks, "patch-linear" and "patch-context"; by default both.
        scale: in dense fine-tuning, of the sides of images, for a quick look.
        saliency: look at single images instead: attention maps by occlusion, and how diffuse they are. `datasets` are
            those to take images of, `images` alone is a folder of images; by default drawings.
        grid: of saliency, mask and stride in pixels: "10/1" is the paper's, "10/2" (the default), "8/4" and "16/8" are
            cheaper.
        examples: of saliency and inversion, how many images of each data set or folder; by default 1, 8 drawings, all
            of a folder.
        invert: reconstruct single images, chosen as for saliency, from their last spatial map by a deep image prior,
            and compare them with the originals. Backbones that are given loaded need `patches=True`.
        sigmoid: of inversion, end in a sigmoid instead of clamping.
        lpips_weights: of inversion, a folder with the weights of AlexNet, VGG-16 or SqueezeNet for perceptual
            distances; by default PyTorch's downloads.
        device, precision, batch, on_error, fast, exif, decode: how features are extracted, as in `unseen.extract`.
        ignore_disk: start although the disk has too little space for the features.
        workers: processes that decode images and run probes. Scripts that ask for several need the usual
            `if __name__ == "__main__"`.
        devices: "all" GPUs of this machine, or some of them, as [0, 1]: jobs are spread over them, one process each. By
            default the first.
        executor: "ray" runs jobs on a Ray cluster, and `ray_address` says which; by default the running one, or else a
            local one.
        part: (k, n) does the k-th of n parts of the jobs, and leaves the rest to other calls with the same `out`.
        progress: whether to show a bar in a terminal or a notebook.
        dry_run: only return what would be done and what that takes.

    Returns:
        The run, with `.scores()`, `.summary()` and `.report("page.html")`; with `dry_run`, the plan.

    Example:
        >>> run = unseen.tasks("timm:resnet50.a1_in1k", images="/data", datasets=["dtd", "pets"], out="run/")
        >>> run.report("page.html")
    """
    from unseen.features.settings import extraction_settings
    from unseen.runs.machine import chosen_means
    from unseen.runs.parts import checked_part
    from unseen.studies.study import plan_study, run_study
    from unseen.studies.tasks.by_image.requested import AskedImages, inversion_request, saliency_request

    means = chosen_means(workers, devices=devices, executor=executor, ray_address=ray_address)
    share = checked_part(part)
    names, labelled = _asked(datasets, dense=dense)
    percents = [imagenet_top1] if isinstance(imagenet_top1, int | float) else imagenet_top1 or ()
    place = None if images is None else Path(images)
    called = names_of(backbone)
    load = partial(loaded_backbones, backbone)
    extracting = partial(extraction_settings, device, precision, batch or BATCH)
    mode = "saliency" if saliency else "invert" if invert else "dense" if dense else "finetune" if finetune else ""
    _refuse_unused(
        mode + ("+finetune" if mode == "dense" and finetune else ""),
        grid=grid, examples=examples, steps=steps, sigmoid=sigmoid, probes=tuple(probes),
        lpips_weights=lpips_weights, scale=None if scale == 1 else scale, trials=None if trials == TRIALS else trials,
        probe=probe, metric=metric,
    )  # fmt: skip
    request: Request[Any]
    if saliency:
        wrong = {"dense": dense, "finetune": finetune, "invert": invert}
        _refuse("saliency is of images alone", **wrong, features=features, limit=limit)
        settings = extracting(0, "fail", exif=exif)
        looked_at = AskedImages(names, place, examples, partial(load, settings.device), percents)
        request = saliency_request(looked_at, settings, grid=grid, batch=batch)
    elif invert:
        _refuse("inversion is of images alone", dense=dense, finetune=finetune, features=features, limit=limit)
        settings = extraction_settings(device, precision or "single", batch or BATCH, 0, "fail", exif=exif)
        looked_at = AskedImages(names, place, examples, partial(load, settings.device, patches=True), percents)
        weights = None if lpips_weights is None else Path(lpips_weights)
        request = inversion_request(
            looked_at, settings, steps=steps, sigmoid=sigmoid, seed=seed, batch=batch, lpips_weights=weights
        )
    elif dense:
        _refuse("dense tasks take images of whole data sets", features=features, limit=limit, imagenet_top1=percents)
        settings = extracting(workers, on_error, fast=fast, exif=exif, decode=decode, part=share)
        request = _dense(labelled, place, load, settings, called, finetune, probes, (device, steps, scale, seed))
    elif finetune:
        _refuse("fine-tuning is of whole data sets", features=features, limit=limit, imagenet_top1=percents)
        request = _finetuning(names, place, partial(load, "cpu"), called, device, trials, steps, seed)
    else:
        settings = extracting(workers, on_error, fast=fast, exif=exif, decode=decode, part=share)
        source = (place, None if features is None else Path(features), limit)
        how = (protocol, converge)
        own = _own_code(probe, metric)
        plain = _probing(names, source, partial(load, settings.device), settings, called, how, percents)
        request = replace(plain, own=own)
    folder = Path(out)
    if dry_run:
        return plan_study(request, folder, means=means)
    with bars(show=progress) as watch:
        run_study(request, folder, means=means, watch=watch, ignore_disk=ignore_disk, part=share)
    return Run(folder)


def _asked(datasets: "AskedFor | Sequence[AskedFor] | None", *, dense: bool) -> "tuple[list[Asked], list[AskedDense]]":
    """Data sets with classes, or those with boxes or maps."""
    from unseen.images.datasets.open_dataset import OpenDataset
    from unseen.images.dense.dense_dataset import OpenDenseDataset
    from unseen.studies.tasks.dense_opened import asked_dense
    from unseen.studies.tasks.opened import asked_datasets

    one = isinstance(datasets, str | PathLike | OpenDataset | OpenDenseDataset)
    asked = cast("Sequence[AskedFor]", [datasets] if one else datasets or ())
    if dense:
        labelled = [each for each in asked if not isinstance(each, OpenDataset)]
        if len(labelled) < len(asked):
            raise UserError("a data set with classes was given for dense tasks, which are of boxes or maps")
        return [], asked_dense(labelled)
    words = [each for each in asked if not isinstance(each, OpenDenseDataset)]
    if len(words) < len(asked):
        raise UserError("a data set with boxes or maps was given; its tasks are dense ones, dense=True")
    return asked_datasets(words), []


def _own_code(
    probe: "AskedProbe | Sequence[AskedProbe]", metric: "str | PathLike[str] | Sequence[str | PathLike[str]]"
) -> "OwnCode":
    from unseen.studies.own_code import chosen_code

    with bars(show=False) as watch:
        names, own = chosen_code(probe, metric, watch.tell)
    if names:
        raise UserError(f"{names[0]}: the task study takes probes of your own, as Python files or objects")
    return own


def _refuse(what: str, **given: object) -> None:
    """Refuse arguments that do not go with what was asked for."""
    wrong = [name for name, value in given.items() if value is not None and value is not False and value != ()]
    if wrong:
        raise UserError(f"{what}: leave out {' and '.join(wrong)}")


def _refuse_unused(kind: str, **given: object) -> None:
    """Refuse arguments that would be ignored: whoever gives a grid of saliency to an inversion expects something."""
    what = f"with {kind.replace('+', ' and ')}" if kind else "without finetune, dense, saliency or invert"
    _refuse(f"not used {what}", **{name: value for name, value in given.items() if name not in USES[kind]})


def _dense(
    names: "Sequence[AskedDense]",
    place: Path | None,
    load: "Callable[..., Sequence[Backbone]]",
    settings: "Settings",
    called: "Sequence[str]",
    finetune: bool,
    probes: "Sequence[str]",
    training: "tuple[str | None, int | None, float, int]",
) -> "Request[Any]":
    from unseen.studies.tasks.dense_request import dense_probing, dense_training

    if not called:
        raise UserError("say which backbone")
    if not finetune:
        return dense_probing(names, place, load(settings.device, published=False, patches=True), settings, probes)
    device, steps, scale, seed = training
    return dense_training(names, place, load("cpu", published=False), device, steps=steps, scale=scale, seed=seed)


def _finetuning(
    names: "Sequence[Asked]",
    place: Path | None,
    load: "Callable[[], Sequence[Backbone]]",
    called: "Sequence[str]",
    device: str | None,
    trials: int,
    steps: int | None,
    seed: int,
) -> "Request[Any]":
    from unseen.studies.tasks.finetune_request import FinetuneRequest

    if not names or not called:
        raise UserError("say which backbone to fine-tune, and on which data sets (datasets=)")
    if not 0 <= seed < 2**31:
        raise UserError(f"seed is from 0 to {2**31 - 1}, not {seed}")
    return FinetuneRequest.of(names, place, load, device, trials=trials, steps=steps, seed=seed)


def _probing(
    names: "Sequence[Asked]",
    source: "tuple[Path | None, Path | None, int | None]",
    load: "Callable[[], Sequence[Backbone]]",
    settings: "Settings",
    called: "Sequence[str]",
    protocol: "tuple[str, str | None]",
    percents: "Sequence[float]",
) -> "TaskRequest":
    from unseen.probes.many_shot import task_protocol
    from unseen.studies.tasks.features import find_task_features
    from unseen.studies.tasks.request import TaskRequest, request_of_images, top1_shares

    images, features, limit = source
    if features is not None and (images is not None or limit is not None):
        raise UserError("features are taken as they are: leave out images and limit")
    if features is None and not called:
        raise UserError("say which backbone, or give its features (features=)")
    chosen = task_protocol(*protocol)
    if features is None:
        return request_of_images(names, images, load, settings, chosen, limit=limit, percents=percents)
    return TaskRequest(find_task_features(features, names, called), chosen, top1_shares(called, percents))
