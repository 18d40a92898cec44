"""What a reader of a run must be told before its scores: codes with arguments in `run.json`, sentences on pages.

A code is a key of `SENTENCES`; its arguments fill the gaps. Notices are told apart by their fields, never by their
sentences, so that a sentence can be put better without any run having to be made again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Argument = str | int | float
SENTENCES = {
    "told": "{text}",
    "left-out": "Left out: {text}.",
    "unfinished": "This run is not finished: {left} of {jobs} jobs have no result yet.",
    "short-protocol": "A short form of the protocol ({protocol}): {trials} trials of {epochs} epochs.",
    "few-images": (
        "A concept of {of} has {images} training images: with {shots} shots it takes part with as many as it can."
    ),
    "short-search": (
        "A short form of the protocol ({protocol}): {trials} trials of {epochs} epochs, the first {starts} spread "
        "evenly."
    ),
    "pruned-search": (
        "The protocol is {protocol}: of {trials} trials of {epochs} epochs, the best {cuts} (later where an epoch has "
        "fewer than {many} steps; all where it has fewer than {least}). The final fit is that of the whole protocol."
    ),
    "short-training": "A short form of the protocol ({protocol}): {steps} steps of training.",
    "simple-pyramid": (
        "Beyond the paper, which has ResNets only: {backbone} has maps of one resolution, of which a simple feature "
        "pyramid (Li et al. 2022) makes four. It sees images of at most {size} pixels."
    ),
    "plain-map": (
        "Beyond the paper, which has ResNets only: {backbone} cannot be dilated, and its last map is read at stride 8. "
        "It sees images of at most {size} pixels."
    ),
    "other-last-stage": (
        "Beyond the paper, which has ResNets only: the last stage of {backbone}, which trains in its frozen detector, "
        "is all that its map of stride 32 depends on and that of stride 16 does not."
    ),
    "other-dilation": (
        "Beyond the paper, which has ResNets only: {backbone} is dilated to stride 8 as the paper's ResNets are."
    ),
    "coarse-grid": (
        "Saliency with masks of {mask} × {mask} pixels, {stride} apart, not the paper's 10 × 10, 1 apart: diffusion "
        "differs from that of the whole protocol, more so with coarser grids."
    ),
    "short-inversion": (
        "Images are reconstructed in {steps} steps instead of the paper's 3000: errors are higher than those of the "
        "whole protocol."
    ),
    "no-lpips": (
        "Perceptual distances by {network} are left out: its weights are neither in the folder of --lpips-weights nor "
        "among PyTorch's downloads. {advice}"
    ),
    "small-for-lpips": (
        "Perceptual distances by {network} are left out for images of {size} pixels: it takes {least} or more."
    ),
    "few-samples": "A class has {samples} training samples: with {shots} shots it takes part with as many as it can.",
    "blurred-faces": (
        "ImageNet-1K is the release with blurred faces: its scores are not those of the release that published models "
        "were scored on (they lost 0.9 points on average in the paper's appendix E)."
    ),
    "temperature-on-test-data": (
        "Temperatures are fitted on test data, as in the public code: calibration errors after scaling are better than "
        "a user would see."
    ),
    "no-episodes": "{title}: no {settings} episodes, as it has {reason}.",
    "test-in-training": (
        "{title}: {images} of {of} test images are among those that are learned from, so scores on it are too good."
    ),
    "other-size": "{backbone} saw images of {size} pixels; the published models saw {published}.",
}


@dataclass(frozen=True)
class Notice:
    """One thing to tell.

    Attributes:
        code: what it is, a key of `SENTENCES`.
        arguments: the numbers and names in it.
        domain: the domain or data set that it is about, if one: what a later part of a run has to say of that domain
            takes the place of what an earlier part said.
        runs: of several runs together, those that say it, where not all do.
    """

    code: str
    arguments: tuple[tuple[str, Argument], ...] = ()
    domain: str = ""
    runs: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        return SENTENCES[self.code].format(**dict(self.arguments))

    @property
    def text(self) -> str:
        """What somebody else said, where the notice is that."""
        return str(dict(self.arguments).get("text", ""))


def notice(code: str, domain: str = "", **arguments: Argument) -> Notice:
    """A notice with its arguments by name."""
    return Notice(code, tuple(sorted(arguments.items())), domain)


def cuts_text(epochs: Sequence[object], survivors: Sequence[object]) -> str:
    """`12 go on after 10 epochs and 4 after 30`."""
    first, *others = zip(survivors, epochs, strict=True)
    rest = "".join(f" and {trials} after {epoch}" for trials, epoch in others)
    return f"{first[0]} go on after {first[1]} epochs{rest}"


def told(text: str) -> Notice:
    """A sentence that somebody else made."""
    return notice("told", text=text)


def left_out(domain: str, text: str) -> Notice:
    """Of a domain or data set that was asked for and cannot be used; the text says which and why."""
    return notice("left-out", domain, text=text)


def unfinished(left: int, jobs: int) -> list[Notice]:
    """Of a run some of whose jobs have no result; nothing where all have one."""
    return [notice("unfinished", left=left, jobs=jobs)] if left else []


def extended(old: Iterable[Notice], new: Sequence[Notice], domains: Iterable[str]) -> list[Notice]:
    """What two parts of a run tell, each notice once.

    Args:
        domains: those of the newer part: what the older part tells about them is left out.
    """
    known = {*domains}
    kept = [each for each in old if not (each.domain and each.domain in known)]
    return [*dict.fromkeys([*kept, *new])]


def joint(runs: Sequence[tuple[str, Sequence[Notice]]]) -> list[Notice]:
    """What several runs tell, each notice once, with the names of those that tell it where not all do."""
    by: dict[Notice, list[str]] = {}
    for name, notices in runs:
        for each in notices:
            by.setdefault(each, []).append(name)
    return [
        each if len(names) == len(runs) else Notice(each.code, each.arguments, each.domain, tuple(names))
        for each, names in by.items()
    ]


def notice_text(notices: Iterable[Notice]) -> str:
    """All notices as one text, those of the same runs together behind the names of these."""
    by_runs: dict[tuple[str, ...], list[str]] = {}
    for each in notices:
        by_runs.setdefault(each.runs, []).append(each.sentence)
    return " ".join(
        f"{', '.join(runs)}: {' '.join(sentences)}" if runs else " ".join(sentences)
        for runs, sentences in by_runs.items()
    )
