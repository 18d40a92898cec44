"""What users set of the training of a pool, and of fine-tuning a zero-shot classifier."""

from dataclasses import dataclass
from typing import Literal

from unseen.reading.keys import key

Numbers = tuple[float, ...]
EVERY = 500
"""Steps between checkpoints."""
SENTENCE = "a photo of a {}."
"""The caption for CLIP models of an image with a class and no caption."""
STEPS, BATCH = 50_000, 512
RATES = (3e-5, 1e-4)


@dataclass(frozen=True)
class PoolKeys:
    """How the models of a pool are trained, for `unseen shifts pool`."""

    ratios: Numbers = key((), "shares of the images to train on; unset: 0.05, 0.1, 0.2, 0.3, 0.4, 0.5 and 1")
    shares: Numbers = key((), "mixtures λ, the share of the first set; unset: those of the paper")
    classes: str | None = key(
        None, "classes of the models: a list by name, or a CSV with class,name; unset: the labels of the data"
    )
    epochs: float | None = key(None, "epochs; unset: 90, or 32 for CLIP models", above=0)
    steps: int | None = key(None, "steps of each training, instead of epochs", least=1)
    batch: int | None = key(None, "batch size; unset: 256, or 2048 for CLIP models", least=1)
    rate: float | None = key(None, "learning rate; unset: 0.1, or 0.001 for CLIP models", above=0)
    decay: float | None = key(None, "weight decay; unset: 1e-4, or 0.1 for CLIP models", least=0)
    size: int | None = key(None, "side of the images in pixels; unset: the network's own", least=1)
    sentence: str = key(SENTENCE, "caption that CLIP models are given for an image with only a class")
    templates: str = key("openai", "prompts to score CLIP models with: openai, simple, photo, plain, or a file")
    seed: int = key(0, "seed of initial weights, sampling and the order of images", least=0)
    every: int = key(EVERY, "steps between checkpoints, from which an interrupted training resumes", least=1)


@dataclass(frozen=True)
class FinetuneKeys:
    """How a zero-shot classifier is fine-tuned, for `unseen shifts finetune`."""

    outputs: str = key("imagenet-1k", "classes of the classifier: imagenet-1k, cifar-10, or a CSV with class,name")
    templates: str = key("openai", "prompts of the zero-shot head: openai, simple, photo, plain, or a file")
    rates: Numbers = key(RATES, "learning rates; one training for each", above=0)
    steps: int = key(STEPS, "steps of each training", least=1)
    batch: int = key(BATCH, "batch size", least=1)
    weights: Literal["pretrained", "random"] = key("pretrained", "random for an untrained network")
    size: int | None = key(None, "side of the images in pixels; unset: the model's own", least=1)
    seed: int = key(0, "seed of the order of images and of augmentation", least=0)
    every: int = key(EVERY, "steps between checkpoints, from which an interrupted training resumes", least=1)
