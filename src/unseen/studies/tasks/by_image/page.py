"""The analyses of single images on a page of the task study."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.papers.image_settings import TITLES
from unseen.runs.data import RunData
from unseen.runs.results import Result
from unseen.runs.scores import result_scores
from unseen.studies.tasks.by_image.kept import BY_IMAGE, read_kept
from unseen.studies.tasks.comparisons import is_by_image


@dataclass(frozen=True)
class ImageResult:
    """An analysis of a backbone on a set of images.

    Attributes:
        probe, protocol: name of the analysis, such as `saliency`, and its settings.
        domain, title: name and title of the set of images.
        images: ids of the images.
        values: metric → one number per image.
        means: metric → mean over images.
        folder: folder of the stored arrays; None if unknown.
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
    for result in filter(is_by_image, results):
        if "inversion" in result.job:  # perceptual distances of the reconstructions of another job
            later.append(result)
        else:
            found[result.key] = _result(result, titles, folders.get(result.key))
    for result in later:
        first = found.get(result.job["inversion"])
        if first is not None:
            more = _result(result, titles, None)
            values, means = {**first.values, **more.values}, {**first.means, **more.means}
            found[result.job["inversion"]] = replace(first, values=values, means=means)
    return [replace(each, values={m: each.values[m] for m in TITLES if m in each.values}) for each in found.values()]


def _result(result: Result, titles: Mapping[str, str], run: Path | None) -> ImageResult:
    scores = list(result_scores(result))  # refuses a damaged result
    job, by_image = result.job, result.values["by_image"]
    if any(not isinstance(value, float) for of in by_image.values() for value in of):
        raise UserError(f"the result {result.key}.json is damaged; delete the file and run again")
    return ImageResult(
        backbone=job["backbone"],
        probe=scores[0].probe,
        protocol=job["protocol"],
        domain=job["domain"],
        title=titles.get(job["domain"], job["domain"]),
        images=[str(name) for name in result.values["images"]],
        values=by_image,
        means={score.metric: score.value for score in scores},
        precision=str(job["precision"]),
        folder=None if run is None else run / BY_IMAGE / result.key,
    )
