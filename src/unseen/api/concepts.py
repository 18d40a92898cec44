"""`unseen.concepts`: the study of concept generalization, on images or on extracted features."""

from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from unseen.api.run import Run
from unseen.errors import UserError
from unseen.extras import naming_extras
from unseen.files import check_writable
from unseen.ontology.levels import Levels
from unseen.runs.shots import Shots
from unseen.studies.backbones import loaded_backbones, names_of
from unseen.studies.progress_bars import bars

if TYPE_CHECKING:
    from unseen.backbones.backbone import Backbone
    from unseen.features.settings import Decode, Precision
    from unseen.studies.own_code import AskedProbe
    from unseen.studies.study import Plan

Place = str | PathLike[str]


@naming_extras()
def concepts(
    backbone: "Backbone | str | Sequence[Backbone | str]" = (),
    *,
    out: Place,
    images: Place | None = None,
    imagenet_1k: Place | None = None,
    features: Place | None = None,
    levels: Levels | Place = "cog-v2",
    domains: Sequence[str] | None = None,
    shots: Shots = None,
    seeds: int = 5,
    protocol: str = "cog-v2",
    sequential: bool = False,
    extended: Sequence[str] | None = None,
    probe: "AskedProbe | Sequence[AskedProbe]" = (),
    metric: "Place | Sequence[Place]" = (),
    seen: str | None = None,
    splits: Place | None = None,
    variant: Literal["plain", "class-balanced"] = "plain",
    on_missing: Literal["fail", "report"] = "fail",
    regroup: bool = False,
    truth: Place | None = None,
    vectors: Place | None = None,
    preprocessing: Literal["published", "own"] = "published",
    device: str | None = None,
    precision: "Precision | None" = None,
    batch: int = 128,
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
    dry_run: bool = False,
    progress: bool = True,
) -> "Run | Plan":
    """Measure how well backbones classify concepts they have seen and levels of concepts they have not (ImageNet-CoG).

    Only missing features are extracted and only missing jobs are run, so an interrupted call resumes when it is
    repeated, and a call with another backbone or domain adds it to the run.

    Args:
        backbone: one or several ids, or backbones loaded with `unseen.load_backbone`. With `features`, the names of
            the backbones to use; may be omitted if there is only one.
        out: folder of the run.
        images: images of the levels: ImageNet-21K, or the data set that your own levels were built for.
        imagenet_1k: images of the seen concepts: a folder with `train` and `val`, or the tar files of ImageNet-1K.
        features: instead of images, a folder with one folder per domain, written by `unseen extract --levels` or
            filled with your own `train` and `test` features. With `levels` of your own classes, a folder with `train`
            and `test` features of all classes is enough, because they are found by their names.
        levels: the domains l1, l2, …: the result of `unseen.levels` or `unseen.build_levels`, the name of a published
            set, a CSV file, a similarity measure, or "random"; or a TOML or CSV file of your own data that lists the
            seen classes, the classes of each domain and their images.
        domains: domains to run, for instance ["l1", "l5"]; by default the seen domain and all levels.
        shots: training samples per concept: a number, "all" or a list; by default those of the paper.
        seeds: number of seeds.
        protocol: "cog-v2"; "cog-v2-pruned", which stops unpromising trials early; or "cog-v2-short" for a quick look.
        sequential: run the trials of the hyper-parameter search one at a time, as in the paper.
        extended: names of additional probes, such as ["knn", "ridge"]; ["all"] for those of the paper's first version:
            pca, mlp, kmeans and geometry.
        probe: additional probes of your own: paths of Python files (which are executed) or objects of classes defined
            in a file. Names of built-in probes are accepted too.
        metric: Python files with metrics of your own, for probes that return class scores.
        seen: name of the domain of seen concepts, for your own levels.
        splits: file written by `unseen levels splits` that lists the training and test images; with `features`, those
            that the features were extracted from.
        variant: "class-balanced" uses 732 training images per concept.
        on_missing: "report" skips concepts with too few images instead of failing.
        regroup: the features are of the same concepts in other levels, and are regrouped into `levels`.
        truth: file with the classes of a flat ImageNet-1K validation set.
        vectors: file of word vectors, for levels="cosine".
        preprocessing: "published" resizes and crops as in ImageNet-CoG, "own" as the backbone's authors do.
        device, precision, batch, on_error, fast, exif, decode: options of the extraction, as in `unseen.extract`.
        ignore_disk: start even if the disk seems too small for the features.
        workers: number of processes that decode images and run probes. A script that uses several needs the usual
            `if __name__ == "__main__":`.
        devices: "all" GPUs of this machine, or a list such as [0, 1]; jobs are distributed over them, one process per
            GPU. By default the first.
        executor: "ray" runs jobs on a Ray cluster.
        ray_address: address of the Ray cluster; by default the running one, or else a local one.
        part: (k, n) runs the k-th of n parts of the jobs; other calls with the same `out` run the others.
        dry_run: return the plan, with estimated time and disk space, without running anything.
        progress: show progress bars in a terminal or a notebook.

    Returns:
        The run, with `.scores()`, `.summary()`, `.compare("a", "b")`, `.plan()` and `.report("page.html")`; with
        `dry_run`, the plan.

    Example:
        >>> run = unseen.concepts(net, images="fall11_whole.tar", imagenet_1k="ILSVRC2012", out="run/")
        >>> run = unseen.concepts(features="features/", levels="cog-v2", out="run/", seeds=1)
        >>> run.report("page.html")
    """
    from unseen.features.settings import extraction_settings
    from unseen.runs.machine import chosen_means
    from unseen.runs.parts import checked_part
    from unseen.studies.concepts.chosen import asked_of, choose_levels, with_names
    from unseen.studies.concepts.images import ImagePlaces
    from unseen.studies.concepts.request import request_of_features, request_of_images
    from unseen.studies.own_code import chosen_code
    from unseen.studies.study import plan_study, run_study

    means = chosen_means(workers, devices=devices, executor=executor, ray_address=ray_address)
    folder, share = Path(out), checked_part(part)
    check_writable(folder)
    names = names_of(backbone)
    if features is not None and (images is not None or imagenet_1k is not None):
        raise UserError("give images or features, not both")
    with bars(show=progress) as watch:
        chosen = choose_levels(
            levels if isinstance(levels, Levels) else fspath(levels), vectors=_path(vectors), seen=seen,
            images=_path(images), features=_path(features), tell=watch.tell,
        )  # fmt: skip
        further, own = chosen_code(probe, metric, watch.tell)
        asked = asked_of(
            chosen, domains=domains, shots=shots, seeds=seeds, protocol=protocol, sequential=sequential,
            variant=variant, extended=with_names(extended, further), own=own,
        )  # fmt: skip
        if features is not None:
            request = request_of_features(
                asked, Path(features), names, regroup=regroup, by_class=chosen.by_class, splits=_path(splits)
            )
        else:
            if not names:
                raise UserError("no backbone was given; name one (backbone=), or give its features (features=)")
            settings = extraction_settings(
                device, precision, batch, workers, on_error, fast=fast, exif=exif, decode=decode, part=share
            )
            loaded = loaded_backbones(backbone, settings.device, published=preprocessing == "published")
            places = ImagePlaces(
                None if images is None else fspath(images), _path(imagenet_1k), _path(truth), _path(splits), variant,
                on_missing,
            )  # fmt: skip
            request = request_of_images(asked, chosen, places, loaded, settings, watch)
        if dry_run:
            return plan_study(request, folder, means=means)
        run_study(request, folder, means=means, watch=watch, ignore_disk=ignore_disk, part=share)
    return Run(folder)


def _path(place: Place | None) -> Path | None:
    return None if place is None else Path(place)
