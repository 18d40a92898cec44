"""`unseen.tasks`: the study of transfer to other tasks."""

from collections.abc import Callable, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from unseen.api.run import Run
from unseen.errors import UserError
from unseen.extras import naming_extras
from unseen.studies.backbones import loaded_backbones, names_of
from unseen.studies.progress_bars import bars

if TYPE_CHECKING:
    from unseen.backbones.backbone import Backbone
    from unseen.features.settings import Decode, Precision, Settings
    from unseen.images.open_dataset import OpenDataset
    from unseen.studies.own_code import AskedProbe
    from unseen.studies.study import Plan, Request
    from unseen.studies.tasks.dense_opened import AskedDense
    from unseen.studies.tasks.opened import Asked
    from unseen.studies.tasks.plan import TaskProbes
    from unseen.studies.tasks.request import TaskRequest

    AskedFor = str | PathLike[str] | OpenDataset

BATCH, TRIALS = 128, 40
USES = {
    "": ("probe", "metric", "exif"),
    "finetune": ("trials", "steps"),
    "dense": ("probes", "patches", "exif"),
    "dense+finetune": ("steps", "scale"),
    "saliency": ("grid", "examples", "exif"),
    "invert": ("steps", "sigmoid", "examples", "lpips_weights", "exif"),
}
"""The arguments that only some kinds of work use, by kind."""


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
    probes: str | Sequence[str] = (),
    patches: int | Literal["all"] = "all",
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
    """Measure how well backbones transfer to other tasks (Ericsson et al. 2021).

    By default, linear probes, few-shot episodes and calibration on classification data sets; see `finetune`, `dense`,
    `saliency` and `invert` for the other kinds of work. Only missing features are extracted and only missing jobs are
    run, so an interrupted call resumes when it is repeated.

    Args:
        backbone: one or several ids, or backbones loaded with `unseen.load_backbone`; several share one pass over the
            images. With `features`, the names of the backbones to use; by default all.
        out: folder of the run.
        images: folder that contains the data sets; not needed for those that come with a package.
        features: instead of images, a folder with one folder per data set, such as `out/features` of a run, or with
            your own `train`, `val` and `test` features in each.
        datasets: names listed by `unseen ls datasets`, paths of your own data (folders with `train` and `test`, or TOML
            files: docs/own-data.md), or data sets opened with `unseen.open_dataset`. By default all listed data sets
            that exist in `images`.
        limit: for a quick look, the largest number of images per class in every split.
        protocol: "ericsson-2021", or "ericsson-2021-exact" for the iterations and the temperature of the authors' code.
        converge: which fits of a linear probe are run to their optimum: "chosen" for the fit with the selected ℓ2
            constant, or "all" fits of the grid, which takes at least ten times as long. By default that of the
            protocol, which is "chosen" for "ericsson-2021".
        imagenet_top1: ImageNet accuracy of each backbone in percent, to correlate with the scores.
        probe: additional probes of your own: paths of Python files (which are executed) or objects of classes defined
            in a file. They are fitted to the training and validation features of data sets with fixed splits.
        metric: Python files with metrics of your own, for the linear probe and your probes that return class scores.
        finetune: train the whole backbone on each data set instead of probing its features. The setting with the best
            validation score is trained again and scored on the test images.
        trials: in fine-tuning, how many of the protocol's 40 settings are tried.
        steps: in fine-tuning, training steps per setting; by default those of the protocol. In inversion, steps per
            reconstruction; by default 3000.
        seed: in fine-tuning, seed of the new layer, the order of images and their augmentation; results of another seed
            are replaced. In inversion, seed of the noise and the initial weights.
        dense: tasks with maps (segmentation, surface normals, depth) with probes on patch features. With `finetune`,
            also detection, by training detectors and heads for maps. Unless they are fine-tuned, backbones loaded with
            `unseen.load_backbone` need `patches=True`.
        probes: probes of dense tasks, "patch-linear" and "patch-context"; by default both.
        patches: for these probes, the number of patches of each training image that are extracted and trained on, at
            the same random positions of all images; by default "all". Test images always have all their patches.
        scale: in dense fine-tuning, factor by which the sides of images are scaled, for a quick look.
        saliency: instead, compute attention maps of single images by occlusion, and how diffuse they are. Images are
            taken from `datasets`, or from `images` alone, a folder of images; by default drawings.
        grid: in saliency, mask and stride in pixels: "10/1" as in the paper; "10/2" (the default), "8/4" and "16/8" are
            cheaper.
        examples: in saliency and inversion, number of images per data set or folder; by default 1 per data set, 8
            drawings, or all images of a folder.
        invert: instead, reconstruct single images, chosen as for saliency, from their last spatial map with a deep
            image prior, and compare them with the originals. Backbones loaded with `unseen.load_backbone` need
            `patches=True`.
        sigmoid: in inversion, end in a sigmoid instead of clamping.
        lpips_weights: in inversion, a folder with the weights of AlexNet, VGG-16 or SqueezeNet for perceptual
            distances; by default the files that PyTorch has downloaded.
        device, precision, batch, on_error, fast, exif, decode: options of the extraction, as in `unseen.extract`.
        ignore_disk: start even if the disk seems too small for the features.
        workers: number of processes that decode images and run probes. A script that uses several needs the usual
            `if __name__ == "__main__":`.
        devices: "all" GPUs of this machine, or a list such as [0, 1]; jobs are distributed over them, one process per
            GPU. By default the first.
        executor: "ray" runs jobs on a Ray cluster.
        ray_address: address of the Ray cluster; by default the running one, or else a local one.
        part: (k, n) runs the k-th of n parts of the jobs; other calls with the same `out` run the others.
        progress: show a progress bar in a terminal or a notebook.
        dry_run: return the plan, with estimated time and disk space, without running anything.

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
    names, labelled = _requested_sets(datasets, dense=dense)
    percents = [imagenet_top1] if isinstance(imagenet_top1, int | float) else imagenet_top1 or ()
    probes = [probes] if isinstance(probes, str) else probes
    place = None if images is None else Path(images)
    called = names_of(backbone)
    load = partial(loaded_backbones, backbone)
    extracting = partial(extraction_settings, device, precision, batch or BATCH)
    mode = "saliency" if saliency else "invert" if invert else "dense" if dense else "finetune" if finetune else ""
    _refuse_unused(
        mode + ("+finetune" if mode == "dense" and finetune else ""),
        grid=grid, examples=examples, steps=steps, sigmoid=sigmoid, probes=tuple(probes),
        patches=None if patches == "all" else patches,
        lpips_weights=lpips_weights, scale=None if scale == 1 else scale, trials=None if trials == TRIALS else trials,
        probe=probe, metric=metric, exif=exif,
    )  # fmt: skip
    request: Request
    if saliency:
        wrong = {"dense": dense, "finetune": finetune, "invert": invert}
        _refuse("saliency needs images", **wrong, features=features, limit=limit)
        settings = extracting(0, "fail", exif=exif)
        looked_at = AskedImages(names, place, examples, partial(load, settings.device), percents)
        request = saliency_request(looked_at, settings, grid=grid, batch=batch)
    elif invert:
        _refuse("inversion needs images", dense=dense, finetune=finetune, features=features, limit=limit)
        settings = extraction_settings(device, precision or "single", batch or BATCH, 0, "fail", exif=exif)
        looked_at = AskedImages(names, place, examples, partial(load, settings.device, patches=True), percents)
        weights = None if lpips_weights is None else Path(lpips_weights)
        request = inversion_request(
            looked_at, settings, steps=steps, sigmoid=sigmoid, seed=seed, batch=batch, lpips_weights=weights
        )
    elif dense:
        _refuse(
            "dense tasks need the images of whole data sets", features=features, limit=limit, imagenet_top1=percents
        )
        settings = extracting(workers, on_error, fast=fast, exif=exif, decode=decode, part=share)
        training = (device, steps, scale, seed)
        request = _dense(labelled, place, load, settings, called, finetune, (probes, patches), training)
    elif finetune:
        _refuse(
            "fine-tuning needs the images of whole data sets", features=features, limit=limit, imagenet_top1=percents
        )
        request = _finetuning(names, place, partial(load, "cpu"), called, device, trials, steps, seed)
    else:
        settings = extracting(workers, on_error, fast=fast, exif=exif, decode=decode, part=share)
        source = (place, None if features is None else Path(features), limit)
        fitted = _probes(protocol, converge, probe, metric)
        request = _probing(names, source, partial(load, settings.device), settings, called, fitted, percents)
    folder = Path(out)
    if dry_run:
        return plan_study(request, folder, means=means)
    with bars(show=progress) as watch:
        run_study(request, folder, means=means, watch=watch, ignore_disk=ignore_disk, part=share)
    return Run(folder)


def _requested_sets(
    datasets: "AskedFor | Sequence[AskedFor] | None", *, dense: bool
) -> "tuple[list[Asked], list[AskedDense]]":
    """The requested data sets: those with classes, and those with boxes or maps."""
    from unseen.images.open_dataset import OpenDataset
    from unseen.studies.tasks.dense_opened import asked_dense
    from unseen.studies.tasks.opened import asked_datasets

    one = isinstance(datasets, str | PathLike | OpenDataset)
    requested = cast("Sequence[AskedFor]", [datasets] if one else datasets or ())
    if dense:
        with_maps = [each for each in requested if not isinstance(each, OpenDataset) or each.dataset.dense]
        if len(with_maps) < len(requested):
            raise UserError(
                "a data set with classes was given, but dense tasks need boxes or maps; leave out dense=True"
            )
        return [], asked_dense(with_maps)
    with_classes = [each for each in requested if not isinstance(each, OpenDataset) or not each.dataset.dense]
    if len(with_classes) < len(requested):
        raise UserError("a data set with boxes or maps was given; use dense=True")
    return asked_datasets(with_classes), []


def _probes(
    protocol: str,
    converge: str | None,
    probe: "AskedProbe | Sequence[AskedProbe]",
    metric: "str | PathLike[str] | Sequence[str | PathLike[str]]",
) -> "TaskProbes":
    from unseen.probes.many_shot import task_protocol
    from unseen.studies.tasks.plan import task_probes

    with bars(show=False) as watch:
        return task_probes(task_protocol(protocol, converge), probe, metric, watch.tell)


def _refuse(what: str, **given: object) -> None:
    """Refuse arguments that cannot be combined with the requested kind of work."""
    wrong = [name for name, value in given.items() if value is not None and value is not False and value != ()]
    if wrong:
        raise UserError(f"{what}: leave out {' and '.join(wrong)}")


def _refuse_unused(kind: str, **given: object) -> None:
    """Refuse arguments that would otherwise be silently ignored."""
    what = f"with {kind.replace('+', ' and ')}" if kind else "without finetune, dense, saliency or invert"
    _refuse(f"not used {what}", **{name: value for name, value in given.items() if name not in USES[kind]})


def _dense(
    names: "Sequence[AskedDense]",
    place: Path | None,
    load: "Callable[..., Sequence[Backbone]]",
    settings: "Settings",
    called: "Sequence[str]",
    finetune: bool,
    probing: "tuple[Sequence[str], int | str]",
    training: "tuple[str | None, int | None, float, int]",
) -> "Request":
    from unseen.studies.tasks.dense_request import dense_probing, dense_training

    if not called:
        raise UserError("no backbone was given; name one (backbone=)")
    if not finetune:
        return dense_probing(names, place, load(settings.device, published=False, patches=True), settings, *probing)
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
) -> "Request":
    from unseen.studies.tasks.finetune_request import FinetuneRequest

    if not names or not called:
        raise UserError("give the backbone to fine-tune (backbone=) and the data sets (datasets=)")
    if not 0 <= seed < 2**31:
        raise UserError(f"seed must be from 0 to {2**31 - 1}, not {seed}")
    return FinetuneRequest.of(names, place, load, device, trials=trials, steps=steps, seed=seed)


def _probing(
    names: "Sequence[Asked]",
    source: "tuple[Path | None, Path | None, int | None]",
    load: "Callable[[], Sequence[Backbone]]",
    settings: "Settings",
    called: "Sequence[str]",
    probes: "TaskProbes",
    percents: "Sequence[float]",
) -> "TaskRequest":
    from unseen.studies.tasks.features import find_task_features
    from unseen.studies.tasks.request import TaskRequest, request_of_images, top1_shares

    images, features, limit = source
    if features is not None and (images is not None or limit is not None):
        raise UserError("features are used unchanged: leave out images and limit")
    if features is None and not called:
        raise UserError("no backbone was given; name one (backbone=), or give its features (features=)")
    if features is None:
        return request_of_images(names, images, load, settings, probes, limit=limit, percents=percents)
    return TaskRequest(find_task_features(features, names, called), probes, top1_shares(called, percents))
