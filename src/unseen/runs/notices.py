"""Notices for the reader of a run: codes with arguments in `run.json`, sentences on pages.

A code is a key of `SENTENCES`, and its arguments fill the placeholders; `{option:out}` and `{argument:out}` are named
as the user writes them (`unseen.errors`). Notices are compared by their fields and never
by their sentences, so a sentence can be rewritten without repeating any run.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from unseen.errors import argument, option
from unseen.text.words import joined

Argument = str | int | float
NOT_FOUND, DATASET = "not-found", "dataset"
"""The code of data sets that are not there, and the argument with their name."""
FAILED, NOT_LOGGED = "failed", "not-logged"
"""The codes of notices about one call, which a later call replaces: failures, and trackers that failed."""
SENTENCES = {
    "told": "{text}",
    "left-out": "Left out: {text}.",
    NOT_FOUND: "Not found, so left out: {dataset}. unseen doctor says what is expected where, and how to get it.",
    "not-fitted": "{title}: {reason}, so it has no scores there.",
    "unfinished": "This run is not finished: {left} of {jobs} jobs have no result yet.",
    FAILED: "Failed: {text}.",
    NOT_LOGGED: "{tracker} did not receive all scores: {reason}.",
    "short-protocol": "A short form of the protocol ({protocol}): {trials} trials of {epochs} epochs.",
    "few-images": ("A concept of {of} has only {images} training images: with {shots} shots, all of them are used."),
    "short-search": (
        "A short form of the protocol ({protocol}): {trials} trials of {epochs} epochs, the first {starts} evenly "
        "spaced."
    ),
    "pruned-search": (
        "The protocol is {protocol}: of {trials} trials of {epochs} epochs, the best {cuts} (later if an epoch has "
        "fewer than {many} steps; all if it has fewer than {least}). The final fit is that of the full protocol."
    ),
    "short-training": "A short form of the protocol ({protocol}): {steps} training steps.",
    "dinov2-on-features": (
        "Unlike in DINOv2's code, {protocol} trains on stored features of images without random crops and flips, and "
        "chooses among classifiers on validation images instead of the images it is tested on."
    ),
    "fewer-inputs": (
        "{probe} is trained on {names} of the features of {backbone}, not on the four inputs of DINOv2, which need "
        "backbone.layers=last-4 and backbone.pool=cls+avg, or columns that are named with inputs."
    ),
    "simple-pyramid": (
        "Beyond the paper, which has only ResNets: {backbone} has maps of one resolution, from which a simple feature "
        "pyramid (Li et al. 2022) makes four. It gets images of at most {size} pixels."
    ),
    "plain-map": (
        "Beyond the paper, which has only ResNets: {backbone} cannot be dilated, and its last map is resampled to "
        "stride 8. It gets images of at most {size} pixels."
    ),
    "other-last-stage": (
        "Beyond the paper, which has only ResNets: the last stage of {backbone}, which is trained in its frozen "
        "detector, consists of all layers that its map of stride 32 depends on and that of stride 16 does not."
    ),
    "other-dilation": (
        "Beyond the paper, which has only ResNets: {backbone} is dilated to stride 8 like the paper's ResNets."
    ),
    "coarse-grid": (
        "Saliency with masks of {mask} × {mask} pixels and stride {stride}, not the paper's 10 × 10 with stride 1: "
        "diffusion differs from that of the full protocol, more so with coarser grids."
    ),
    "short-inversion": (
        "Images are reconstructed in {steps} steps instead of the paper's 3000: errors are higher than those of the "
        "full protocol."
    ),
    "no-lpips": (
        "Perceptual distances with {network} are left out: its weights are neither in the folder of "
        "{argument:lpips-weights} nor among PyTorch's downloads. {advice}"
    ),
    "small-for-lpips": (
        "Perceptual distances with {network} are left out for images of {size} pixels: it needs at least {least}."
    ),
    "few-samples": "A class has only {samples} training samples: with {shots} shots, all of them are used.",
    "fewer-samples": (
        "With {shots} shots{on}, classes that have fewer training samples use all of theirs: the smallest has {fewest}."
    ),
    "few-for-search": (
        "With {shots} shots{on}, the trials of the search are trained on {left} samples of the smallest class, which "
        "has {fewest}: the others score the trials. The final fit has all shots."
    ),
    "skipped-shots": "{shots} shots are skipped{on}: no class has more than {most} training samples.",
    "skipped-episodes": (
        "{shots}-shot episodes are skipped{on}: they need {ways} classes of {needed} samples, and {enough} of "
        "{classes} classes have as many."
    ),
    "classes-not-drawn": (
        "{shots}-shot episodes{on} are drawn from {enough} of {classes} classes: the others have fewer than {needed} "
        "samples."
    ),
    "nothing-to-find": (
        "Retrieval is skipped{on}: none of its {classes} classes has two test images, so that no query finds another."
    ),
    "queries-skipped": (
        "Retrieval{on} leaves out {skipped} of {queries} queries: they are the only test images of their classes."
    ),
    "label-free": (
        "RankMe, α-ReQ, the participation ratio and the TwoNN dimension are no measures of quality, and no backbone is "
        "better by them: they depend on the number of images and on the number of dimensions. The authors of RankMe "
        "compare runs of one method with it, not different methods."
    ),
    "few-for-spectrum": (
        "There are fewer images than dimensions{on}: RankMe and the participation ratio are at most {images}, the "
        "number of images."
    ),
    "drawings": "The scores are about drawings: do not compare them with those of ImageNet-CoG.",
    "drawn-imagenet": (
        "The seen concepts are in ImageNet-1K, and a backbone trained on it knows them from photographs. For other "
        "backbones, the levels say little."
    ),
    "blurred-faces": (
        "ImageNet-1K is the release with blurred faces: its scores differ from those on the release that published "
        "models were scored on (they lost 0.9 points on average in the paper's appendix E)."
    ),
    "temperature-on-test-data": (
        "Temperatures are fitted on test data, as in the public code: calibration errors after scaling are too "
        "optimistic."
    ),
    "no-episodes": "{title}: no {settings} episodes, as it has {reason}.",
    "test-in-training": (
        "{title}: {images:,} of {of:,} test images are also training images, so its scores are too high."
    ),
    "untrained-classes": (
        "{title}: no training image shows {classes}, which test images show; this cannot be learned, and scores of 0 "
        "lower the mean."
    ),
    "classes-only-tested": (
        "{title}: no training or validation image is of {classes}. Their {images:,} of {of:,} test images stay in the "
        "score, and count as wrong."
    ),
    "features-read-again": (
        "{title}: the training features ({size}) do not fit into free GPU memory ({free}), so that every pass reads "
        "them from main memory or disk, which takes longer. At most {patches} patches per training image "
        "({option:patches}) would fit."
    ),
    "random-weights": "{backbone} has random weights: it was not trained.",
    "other-size": "{backbone} was given images of {size} pixels; the published models were given {published}.",
    "patches-of-layer": (
        "{backbone}: probes of patches use those of {layer}, and backbone.layers is {layers} for probes of vectors."
    ),
    "trained-on": "{backbone} was trained on {title}: scores there are no measure of transfer, and never best.",
    "training-data-unknown": (
        "{backbone} is declared to be trained on {data}, which is no data set here: if {nearest} is meant, correct it, "
        "since its scores there are taken for transfer."
    ),
}
BACKBONE = "backbone"
"""The argument with the name of a backbone."""
SEVERAL = {
    "fewer-inputs": (
        "{probe} is trained on {names} of the features of {backbone}, not on the four inputs of DINOv2, which need "
        "backbone.layers=last-4 and backbone.pool=cls+avg, or columns that are named with inputs."
    ),
    "simple-pyramid": (
        "Beyond the paper, which has only ResNets: {backbone} have maps of one resolution, from which a simple feature "
        "pyramid (Li et al. 2022) makes four. They get images of at most {size} pixels."
    ),
    "plain-map": (
        "Beyond the paper, which has only ResNets: {backbone} cannot be dilated, and their last maps are resampled to "
        "stride 8. They get images of at most {size} pixels."
    ),
    "other-last-stage": (
        "Beyond the paper, which has only ResNets: the last stages of {backbone}, which are trained in their frozen "
        "detectors, consist of all layers that their maps of stride 32 depend on and those of stride 16 do not."
    ),
    "other-dilation": (
        "Beyond the paper, which has only ResNets: {backbone} are dilated to stride 8 like the paper's ResNets."
    ),
    "random-weights": "{backbone} have random weights: they were not trained.",
    "other-size": "{backbone} were given images of {size} pixels; the published models were given {published}.",
    "patches-of-layer": (
        "{backbone}: probes of patches use those of their layer {layer}, and backbone.layers is {layers} for probes of "
        "vectors."
    ),
    "trained-on": "{backbone} were trained on {title}: scores there are no measure of transfer, and never best.",
    "training-data-unknown": (
        "{backbone} are declared to be trained on {data}, which is no data set here: if {nearest} is meant, correct "
        "it, since their scores there are taken for transfer."
    ),
}
"""Sentences about several backbones, by code."""
ON = "on"
"""The argument with the name of a data set as sentences have it, ` on dtd`; empty if there is only one."""
BEFORE = " on "
OF_DATASETS = {
    "skipped-shots": "{shots} shots are skipped{on}: no class has as many training samples.",
    "fewer-samples": "With {shots} shots{on}, classes that have fewer training samples use all of theirs.",
    "skipped-episodes": (
        "{shots}-shot episodes are skipped{on}: they need {ways} classes of {needed} samples, and fewer have as many."
    ),
    "classes-not-drawn": (
        "{shots}-shot episodes{on} are drawn from the classes that have {needed} samples, which others do not have."
    ),
    "nothing-to-find": ("Retrieval is skipped{on}: no class has two test images, so that no query finds another."),
    "few-for-spectrum": (
        "There are fewer images than dimensions{on}: RankMe and the participation ratio are at most the number of "
        "images."
    ),
}
"""Sentences about several data sets, by code, without the numbers of each."""


@dataclass(frozen=True)
class _Named:
    """Writes the name in a placeholder, `lpips-weights` in `{option:lpips-weights}`, by a function."""

    write: Callable[[str], str]

    def __format__(self, name: str) -> str:
        return self.write(name)


@dataclass(frozen=True)
class Notice:
    """One notice.

    Attributes:
        code: a key of `SENTENCES`.
        arguments: the numbers and names in its sentence.
        domain: the domain or data set that it is about, if any. The notices of a later part of a run about a domain
            replace those of an earlier part.
        runs: the runs that have the notice, if several runs are merged and not all have it.
    """

    code: str
    arguments: tuple[tuple[str, Argument], ...] = ()
    domain: str = ""
    runs: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        return _written(SENTENCES[self.code], dict(self.arguments))

    @property
    def text(self) -> str:
        """The text of a notice that has only text, or of a data set that was left out; otherwise empty."""
        return str(dict(self.arguments).get("text", ""))


def _written(template: str, arguments: Mapping[str, Argument]) -> str:
    return template.format(**arguments, option=_Named(option), argument=_Named(argument))


def notice_sentences(notices: Iterable[Notice]) -> list[str]:
    """The sentences of notices; one for all backbones, or all data sets, that have the same notice."""
    groups: dict[Notice, dict[str, Notice]] = {}
    for each in notices:
        key, template = _merged(each)
        name = str(dict(each.arguments).get(key, ""))
        said = tuple(pair for pair in each.arguments if pair[0] != key and f"{{{pair[0]}" in template)
        shared = replace(
            each, arguments=said if name else each.arguments, domain="" if name and key != BACKBONE else each.domain
        )
        groups.setdefault(shared, {})[name] = each
    sentences = []
    for shared, by_name in groups.items():
        [first, *more] = by_name.values()
        key, template = _merged(first)
        names = joined([name.removeprefix(BEFORE) for name in by_name])
        arguments = {**dict(shared.arguments), key: f"{BEFORE}{names}" if key == ON else names}
        sentences.append(_written(template, arguments) if more else first.sentence)
    return sentences


def _merged(each: Notice) -> tuple[str, str]:
    """The argument in which notices that share a sentence differ, empty if there is none, and that sentence."""
    if each.code in SEVERAL:
        return BACKBONE, SEVERAL[each.code]
    if each.code in OF_DATASETS:
        return ON, OF_DATASETS[each.code]
    return DATASET if each.code == NOT_FOUND else "", SENTENCES[each.code]


def notice(code: str, domain: str = "", **arguments: Argument) -> Notice:
    """A notice with its arguments by name."""
    return Notice(code, tuple(sorted(arguments.items())), domain)


def told(text: str) -> Notice:
    """A notice that consists of a given sentence."""
    return notice("told", text=text)


def left_out(domain: str, text: str) -> Notice:
    """A notice about a requested domain or data set that cannot be used; the text names it and the reason."""
    return notice("left-out", domain, text=text)


def not_found(domain: str) -> Notice:
    """A notice about one of many requested data sets that are not there."""
    return notice(NOT_FOUND, domain, **{DATASET: domain})


def unfinished(left: int, jobs: int) -> list[Notice]:
    """A notice about a run with missing results; none if there are none missing."""
    return [notice("unfinished", left=left, jobs=jobs)] if left else []


def failed(failures: Iterable[str]) -> list[Notice]:
    """A notice about each failure."""
    return [notice(FAILED, text=text.rstrip(".")) for text in failures]


def not_logged(reasons: Mapping[str, str]) -> list[Notice]:
    """A notice about each tracker that failed, with the reason."""
    return [notice(NOT_LOGGED, tracker=tracker, reason=reason) for tracker, reason in reasons.items()]


def extended(old: Iterable[Notice], new: Sequence[Notice], domains: Iterable[str]) -> list[Notice]:
    """The notices of two parts of a run, each once.

    Args:
        domains: the domains of the newer part; notices of the older part about them are dropped.
    """
    known = {*domains}
    kept = [each for each in old if not (each.domain and each.domain in known)]
    return [*dict.fromkeys([*kept, *new])]


def joint(runs: Sequence[tuple[str, Sequence[Notice]]]) -> list[Notice]:
    """The notices of several runs, each once, with the names of the runs that have it if not all do."""
    by: dict[Notice, list[str]] = {}
    for name, notices in runs:
        for each in notices:
            by.setdefault(each, []).append(name)
    return [
        each if len(names) == len(runs) else Notice(each.code, each.arguments, each.domain, tuple(names))
        for each, names in by.items()
    ]


def notice_text(notices: Iterable[Notice]) -> str:
    """All notices as one text, grouped by the runs that have them, whose names come first."""
    by_runs: dict[tuple[str, ...], list[Notice]] = {}
    for each in notices:
        by_runs.setdefault(each.runs, []).append(each)
    texts = {runs: " ".join(notice_sentences(of)) for runs, of in by_runs.items()}
    return " ".join(f"{', '.join(runs)}: {text}" if runs else text for runs, text in texts.items())
