"""The analyses of single images on a page of the task study."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.analyses.tasks.data import is_by_image
from unseen.papers.image_settings import TITLES
from unseen.probes.perceptual import LPIPS
from unseen.runs.data import RunData
from unseen.runs.results import Result, reading_result
from unseen.runs.scores import result_scores
from unseen.studies.kept_images import BY_IMAGE, read_kept


@dataclass(frozen=True)
class ImageResult:
    """An analysis of a backbone on a set of images.

    Attributes:
        probe, protocol: name of the analysis, such as `saliency`, and its settings.
        domain, title: name and title of the set of images.
        images: ids of the images.
        values: metric → one number per image.
        means: metric → mean over images.
        folder: folder of the stored arrays, those of the first seed; None if unknown.
        seeds: number of seeds that the values are means over.
    """

    backbone: str
    probe: str
    protocol: Mapping[str, Any]
    domain: str
    title: str
    images: Sequence[str]
    values: Mapping[str, Sequence[float]]
    means: Mapping[str, float]
    precision: str
    folder: Path | None
    seeds: int = 1

    def arrays(self) -> Iterator[tuple[str, dict[str, NDArray[Any]]]]:
        """The id and the arrays of every image that has them, including its pixels (`image`)."""
        for place, name in enumerate(self.images):
            found = None if self.folder is None else read_kept(self.folder, place)
            if found is not None:
                yield name, found


def image_results(data: RunData, results: Sequence[Result], folders: Mapping[str, Path]) -> list[ImageResult]:
    """The analyses by backbone and set of images, in the order of the run.

    Args:
        folders: key of a result → the folder of its run.
    """
    titles = {domain.name: domain.title for domain in data.domains}
    found, later = dict[str, ImageResult](), list[Result]()
    for result in sorted(filter(is_by_image, results), key=lambda result: result.setting[1]):
        if result.is_of(LPIPS):  # perceptual distances of the reconstructions of another job
            later.append(result)
        else:
            found[result.key] = _result(result, data, titles, folders.get(result.key))
    for result in later:
        [of] = result.job["needs"]
        first = found.get(of)
        if first is not None:
            more = _result(result, data, titles, None)
            values, means = {**first.values, **more.values}, {**first.means, **more.means}
            found[of] = replace(first, values=values, means=means)
    by_seed: dict[tuple[str, str, str], list[ImageResult]] = {}
    for each in found.values():
        by_seed.setdefault((each.backbone, each.probe, each.domain), []).append(each)
    return [
        replace(each, values={m: each.values[m] for m in TITLES if m in each.values})
        for each in map(_mean_result, by_seed.values())
    ]


def _mean_result(seeds: Sequence[ImageResult]) -> ImageResult:
    """One result of a backbone on a set of images from those of its seeds: means by image."""
    first = seeds[0]
    if len(seeds) == 1:
        return first
    shared = [metric for metric in first.values if all(metric in each.values for each in seeds)]
    values = {metric: np.mean([each.values[metric] for each in seeds], axis=0).tolist() for metric in shared}
    means = {metric: float(np.mean(of)) for metric, of in values.items()}
    return replace(first, values=values, means=means, seeds=len(seeds))


def _result(result: Result, run: RunData, titles: Mapping[str, str], folder: Path | None) -> ImageResult:
    scores = list(result_scores(result, run))  # refuses a damaged result
    job = result.job
    with reading_result(result):
        by_image = {fit.values[0][0]: [float(value) for value in fit.details["by_image"]] for fit in result.fits}
        images = [str(name) for name in result.details["images"]]
        protocol = job["settings"]["protocol"]
    return ImageResult(
        backbone=job["backbone"],
        probe=scores[0].probe,
        protocol=protocol,
        domain=job["dataset"],
        title=titles.get(job["dataset"], job["dataset"]),
        images=images,
        values=by_image,
        means={score.metric: score.value for score in scores},
        precision=str(job["arithmetic"]),
        folder=None if folder is None else folder / BY_IMAGE / result.key,
    )
