"""`unseen.concepts`: the study of concept generalization, on images or on features that are there."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from unseen.api.backbones import loaded_backbones, names_of
from unseen.api.progress import bars
from unseen.api.run import Run
from unseen.errors import UserError
from unseen.extras import naming_extras
from unseen.files import check_writable
from unseen.ontology.levels import Levels
from unseen.runs.shots import Shots

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
    """How well backbones do on concepts they have seen, and on levels of concepts they have not.

    Extracts the features that are missing, runs the probes that are missing, and adds both to what `out` has already.

    Args:
        backbone: one or several, by `unseen.load_backbone` or by their ids. With `features`, names of those whose
            features to take; may be left out where there is only one.
        out: folder of the run.
        images: those of the levels: ImageNet-21K, or what the levels are of.
        imagenet_1k: images of the seen concepts: a folder with `train` and `val`, or the tar files of ImageNet-1K.
        features: instead of images, a folder with one folder per domain, as `unseen extract --levels` makes them, or
            with your own `train` and `test` features in each.
        levels: what the domains l1, l2, … are: by `unseen.levels` or `unseen.build_levels`, the name of a published
            set, a CSV file, a measure of similarity, or "random"; or a TOML or CSV file of your own data, which says
            which classes are seen, which are in which domain, and where their images are.
        domains: some of them, for instance ["l1", "l5"]; by default the seen domain and all levels.
        shots: training samples per concept: a number, "all" or a list; by default those of the paper.
        seeds: how many.
        protocol: "cog-v2"; "cog-v2-pruned", in which trials that are behind stop early; or "cog-v2-short" for a quick
            look.
        sequential: one trial of the search at a time, as in the paper.
        extended: names of further probes, such as ["knn", "ridge"]; ["all"] for those of the paper's first version:
            pca, mlp, kmeans and geometry.
        probe: further probes of your own, each the path of a Python file, which runs, or an object of a class that a
            file defines; names do too.
        metric: Python files with metrics of your own, for probes that give scores of classes.
        seen: name of the domain of seen concepts, for levels of your own.
        splits: file of `unseen levels splits` that says which images train and test.
        variant: "class-balanced" takes 732 training images per concept.
        on_missing: "report" goes on without concepts that have too few images.
        regroup: whether the features are of the same concepts in other levels, and are grouped anew.
        truth: classes of a flat validation set of ImageNet-1K.
        vectors: file of word vectors, for levels="cosine".
        preprocessing: "published" resizes and crops as in ImageNet-CoG, "own" as the backbone's authors do.
        device, precision, batch, on_error, fast, exif, decode: of the extraction, as for `unseen.extract`.
        ignore_disk: start although the disk seems too small for the features.
        workers: processes to decode images and to run probes in. Scripts that ask for several need the usual
            `if __name__ == "__main__"`.
        devices: "all" GPUs of this machine, or some of them, as [0, 1]: jobs are spread over them, one process each. By
            default the first.
        executor: "ray" runs jobs on a Ray cluster, and `ray_address` says which; by default the running one, or else a
            local one.
        part: (k, n) does the k-th of n parts of the jobs, and leaves the rest to other calls with the same `out`.
        dry_run: return the plan, with what it takes, and do nothing.
        progress: whether to show bars in a terminal or a notebook.

    Returns:
        The run, with `.scores()`, `.summary()`, `.compare("a", "b")`, `.plan()` and `.report("page.html")`.

    Example:
        >>> run = unseen.concepts(net, images="fall11_whole.tar", imagenet_1k="ILSVRC2012", out="run/")
        >>> run = unseen.concepts(features="features/", levels="cog-v2", out="run/", seeds=1)
        >>> run.report("page.html")
    """
    from unseen.features.settings import extraction_settings
    from unseen.runs.machine import chosen_means
    from unseen.runs.parts import checked_part
    from unseen.studies.concepts.chosen import asked_of, choose_levels, known_draw, with_names
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
            levels if isinstance(levels, Levels) else str(levels), vectors=_path(vectors), seen=seen,
            images=_path(images), tell=watch.tell,
        )  # fmt: skip
        further, own = chosen_code(probe, metric, watch.tell)
        asked = asked_of(
            chosen, domains=domains, shots=shots, seeds=seeds, protocol=protocol, sequential=sequential,
            variant=variant, draw=known_draw(features=features is not None, splits=_path(splits)),
            extended=with_names(extended, further), own=own,
        )  # fmt: skip
        if features is not None:
            request = request_of_features(asked, Path(features), names, regroup=regroup)
        else:
            if not names:
                raise UserError("say which backbone, or give its features (features=)")
            settings = extraction_settings(
                device, precision, batch, workers, on_error, fast=fast, exif=exif, decode=decode, part=share
            )
            loaded = loaded_backbones(backbone, settings.device, published=preprocessing == "published")
            places = ImagePlaces(
                None if images is None else str(images), _path(imagenet_1k), _path(truth), _path(splits), variant,
                on_missing,
            )  # fmt: skip
            request = request_of_images(asked, chosen, places, loaded, settings, watch)
        if dry_run:
            return plan_study(request, folder, means=means)
        run_study(request, folder, means=means, watch=watch, ignore_disk=ignore_disk, part=share)
    return Run(folder)


def _path(place: Place | None) -> Path | None:
    return None if place is None else Path(place)
