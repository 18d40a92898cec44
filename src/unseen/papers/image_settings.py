"""The settings of analyses of single images, from the last columns of Table 9 of Ericsson et al. 2021."""

from collections.abc import Mapping

PRINTED: Mapping[str, tuple[str, str]] = {
    "attention": ("saliency", "diffusion"),
    "alexnet": ("inversion", "lpips-alexnet"),
    "vgg": ("inversion", "lpips-vgg"),
    "squeezenet": ("inversion", "lpips-squeezenet"),
    "red": ("inversion", "colour-red"),
    "green": ("inversion", "colour-green"),
    "blue": ("inversion", "colour-blue"),
}
"""The name of a setting in the paper's table → probe and metric."""
TITLES: Mapping[str, str] = {
    "diffusion": "Attentive diffusion",
    "lpips-alexnet": "Perceptual distance, AlexNet",
    "lpips-vgg": "Perceptual distance, VGG",
    "lpips-squeezenet": "Perceptual distance, SqueezeNet",
    "colour-red": "Colour error, red",
    "colour-green": "Colour error, green",
    "colour-blue": "Colour error, blue",
}
IMAGE_SETTINGS: Mapping[str, tuple[str, str]] = {
    f"{probe}-{metric}": (probe, metric) for probe, metric in PRINTED.values()
}
"""Setting → probe and metric."""
AS_LOGITS = ("lpips-alexnet", "lpips-vgg", "lpips-squeezenet")
"""Metrics that the paper correlates as logits (A.7) although they have no upper bound; no printed value is above 1."""


def image_title(setting: str) -> str:
    """Title of such a setting on a page."""
    return TITLES[IMAGE_SETTINGS[setting][1]]
