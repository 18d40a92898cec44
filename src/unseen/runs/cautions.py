"""Reasons why comparing a backbone with others is not fair: codes with arguments in `run.json`, phrases on pages."""

from dataclasses import dataclass

from unseen.papers.leaderboard import OTHER_SIZE
from unseen.runs.notices import Argument

PHRASES = {
    "told": "{text}",
    "trained-with": "trained with {data}",
    "trained-with-imagenet-21k": "trained with ImageNet-21K, which contains the concepts of the levels",
    "trained-with-web": "trained with web data",
    "trained-with-unknown": "trained with unknown data: check that it saw only IN-1K",
    "image-size": "images of {size} pixels",
    "squashed": "preprocessing other than the paper's (both sides to {resize}, {interpolation})",
    "resized": "preprocessing other than the paper's (shortest side to {resize}, {interpolation})",
    "not-resized": "preprocessing other than the paper's (not resized)",
    "network-size": OTHER_SIZE,
    "layer": "features of the layer {layer}",
    "pooling": "pooling {pool}, not the class token",
    "blurred-faces": "IN-1K with blurred faces",
    "pruned-search": "protocol cog-v2-pruned, not the paper's: unpromising trials were stopped early",
    "own-draw": "own draw of test images",
    "unknown-images": "the images behind the features are not known",
    "similar-images": "slightly different numbers of images",
}


@dataclass(frozen=True)
class Caution:
    """One reason: `code` is a key of `PHRASES`, and `arguments` fill its placeholders."""

    code: str
    arguments: tuple[tuple[str, Argument], ...] = ()

    @property
    def text(self) -> str:
        return PHRASES[self.code].format(**dict(self.arguments))


def caution(code: str, **arguments: Argument) -> Caution:
    """A caution with its arguments by name."""
    return Caution(code, tuple(sorted(arguments.items())))
