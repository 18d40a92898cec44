"""Training of one model on arrays, on any device; it needs only PyTorch and NumPy.

A batch takes a fixed share of its pictures from the emoji and the others from the drawings, with replacement. On a GPU,
where small networks wait for kernels to be launched, one training step is captured as a CUDA graph and replayed.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from torch import Tensor, nn

from emoji_shift.networks import ImageText, image_encoder, projected
from emoji_shift.setups import Setup

BATCH = 256
RATE, DECAY, SMOOTHING = 2e-3, 0.05, 0.05
WARM_UP = 0.1
ROTATION, SCALES, SHIFT, JITTER = 12.0, (0.8, 1.2), 2.0, 0.15
FAMILIES = {"noto": (0,), "fluent": (1,)}
"""Training set → numbers of the families of its emoji; all of them for the others."""
Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Pictures:
    """The arrays of `emoji_shift.pictures` that train, on a device."""

    emoji: Tensor
    emoji_labels: Tensor
    families: Tensor
    emoji_texts: Tensor
    drawings: Tensor
    drawing_labels: Tensor
    drawing_texts: Tensor
    class_texts: Tensor
    words: int

    @staticmethod
    def of(arrays: Arrays, device: str) -> "Pictures":
        """Those of a file, moved to a device."""

        def tensor(name: str) -> Tensor:
            return torch.from_numpy(arrays[name]).to(device)

        return Pictures(
            tensor("train_emoji"), tensor("train_emoji_label"), tensor("train_emoji_family"), tensor("emoji_texts"),
            tensor("train_drawings"), tensor("train_drawings_label"), tensor("drawing_texts"), tensor("class_texts"),
            len(arrays["words"]),
        )  # fmt: skip

    @property
    def classes(self) -> int:
        return len(self.class_texts)


@dataclass(frozen=True)
class Sampler:
    """Draws batches for a setup: pictures as floats with white as 0, their labels and a caption of each."""

    data: Pictures
    setup: Setup
    emoji: Tensor
    drawings: Tensor

    @staticmethod
    def of(data: Pictures, setup: Setup) -> "Sampler":
        """The same images for every network; those of a smaller ratio are among those of a larger one."""
        families = FAMILIES.get(setup.data, (0, 1, 2))
        known = torch.isin(data.families.cpu(), torch.tensor(families)).nonzero().flatten()
        random = torch.Generator().manual_seed(0)
        device = data.emoji.device

        def part(rows: Tensor) -> Tensor:
            order = rows[torch.randperm(len(rows), generator=random)]
            return order[: max(1, round(setup.ratio * len(rows)))].to(device)

        return Sampler(data, setup, part(known), part(torch.arange(len(data.drawings))))

    def __call__(self) -> tuple[Tensor, Tensor, Tensor]:
        device, many = self.data.emoji.device, round(BATCH * self.setup.share)
        images, labels, texts = list[Tensor](), list[Tensor](), list[Tensor]()
        if many:
            rows = self.emoji[torch.randint(len(self.emoji), (many,), device=device)]
            emoji = self.data.emoji[rows].permute(0, 3, 1, 2).float() / 255 - 1
            if self.setup.change == "grey":
                grey = torch.rand(many, 1, 1, 1, device=device) < 0.5
                emoji = torch.where(grey, emoji.mean(dim=1, keepdim=True), emoji)
            texts.append(_one_of(self.data.emoji_texts[rows]))
            images.append(emoji)
            labels.append(self.data.emoji_labels[rows])
        if many < BATCH:
            rows = self.drawings[torch.randint(len(self.drawings), (BATCH - many,), device=device)]
            drawn = F.pad(self.data.drawings[rows].float() / 255 - 1, (2, 2, 2, 2))[:, None].repeat(1, 3, 1, 1)
            labels.append(self.data.drawing_labels[rows])
            texts.append(_one_of(self.data.drawing_texts[labels[-1]]))
            images.append(drawn)
        made = augment(torch.cat(images))
        if self.setup.change == "colour":
            ink, ground = torch.rand(2, len(made), 3, 1, 1, device=device)
            made = made.clamp(-1, 0) * (ground - ink) + ground - 1
        return made, torch.cat(labels), torch.cat(texts)


def train(setup: Setup, data: Pictures, *, seed: int, steps: int, graphs: bool) -> tuple[nn.Module, Tensor, Tensor]:
    """A trained encoder of pictures in evaluation mode, and the weights (classes, d) and biases of its classifier.

    The classifier of an image–text model is made of the texts of the classes; its features have to be normalised.
    """
    device = data.emoji.device
    torch.manual_seed(seed)
    model: nn.Module
    if setup.captions:
        model = ImageText(projected(setup.network), data.words).to(device)
    else:
        encoder = image_encoder(setup.network)
        model = nn.Sequential(encoder, nn.Linear(int(encoder.dimension), data.classes)).to(device)  # type: ignore[arg-type]
    draw = Sampler.of(data, setup)
    rate = torch.tensor(RATE, device=device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=DECAY, capturable=device.type == "cuda")

    def step() -> None:
        images, labels, texts = draw()
        loss = contrast(model, images, texts) if isinstance(model, ImageText) else classify(model, images, labels)
        optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        optimizer.step()

    replay = captured(step) if graphs and device.type == "cuda" else step
    for number in range(steps):
        done = number / steps
        rise = min(1.0, done / WARM_UP)
        rate.fill_(RATE * rise * 0.5 * (1 + math.cos(math.pi * done)) + 1e-6)
        replay()
    model.eval()
    for tensor in [*model.parameters(), *model.buffers()]:
        if tensor.is_floating_point():
            tensor.data.copy_(tensor.data.half())  # as it is stored
    with torch.no_grad():
        if isinstance(model, ImageText):
            count, sentences, words = data.class_texts.shape
            features = F.normalize(model.text(data.class_texts.view(-1, words)), dim=1).view(count, sentences, -1)
            weights = F.normalize(features.mean(dim=1), dim=1) * model.logit_scale.clamp(max=4.6).exp()
            return model.image, weights.half().float(), torch.zeros(count, device=device)
        encoder, head = model.children()
        assert isinstance(head, nn.Linear)
        return encoder, head.weight.detach(), head.bias.detach()


def classify(model: nn.Module, images: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy with smoothed labels."""
    return F.cross_entropy(model(images), labels, label_smoothing=SMOOTHING)


def contrast(model: ImageText, images: Tensor, texts: Tensor) -> Tensor:
    """CLIP's loss; pictures that share a text are each as right as the others."""
    same = (texts[:, None] == texts[None]).all(dim=2).float()
    targets = same / same.sum(dim=1, keepdim=True)
    scores = model.similarities(images, texts)
    return (F.cross_entropy(scores, targets) + F.cross_entropy(scores.T, targets)) / 2


def captured(step: Callable[[], None]) -> Callable[[], None]:
    """A step as a CUDA graph; it is done three times before, on a stream of its own, as PyTorch requires."""
    side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def augment(images: Tensor) -> Tensor:
    """Pictures (n, 3, side, side) with white as 0, each turned, sized, moved, flipped and tinted."""
    count, side, device = len(images), images.shape[-1], images.device

    def uniform(low: float, high: float, *shape: int) -> Tensor:
        return torch.rand(count, *shape, device=device) * (high - low) + low

    angle = uniform(-ROTATION, ROTATION) * (math.pi / 180)
    scale = torch.exp(uniform(math.log(SCALES[0]), math.log(SCALES[1])))
    flip = 1 - 2 * (torch.rand(count, device=device) < 0.5).float()
    move = SHIFT * 2 / side
    cos, sin = torch.cos(angle) / scale, torch.sin(angle) / scale
    rows = [
        torch.stack([cos * flip, -sin, uniform(-move, move)], dim=1),
        torch.stack([sin * flip, cos, uniform(-move, move)], dim=1),
    ]
    grid = F.affine_grid(torch.stack(rows, dim=1), list(images.shape), align_corners=False)
    return F.grid_sample(images, grid, align_corners=False) * uniform(1 - JITTER, 1, 3, 1, 1)


def predictions(encoder: nn.Module, weights: Tensor, biases: Tensor, pictures: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Predicted class of each picture, without reduced precision; normalised features would give the same."""
    cuda, cudnn = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    found = list[Tensor]()
    with torch.no_grad():
        for part in torch.split(torch.from_numpy(pictures), 1000):
            features = encoder(part.to(weights.device).permute(0, 3, 1, 2).float() / 255 - 1)
            found.append((features @ weights.T + biases).argmax(dim=1).cpu())
    torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = cuda, cudnn
    return torch.cat(found).numpy().astype(np.uint8)


def _one_of(texts: Tensor) -> Tensor:
    """One text (n, words) of each row of (n, texts, words)."""
    row = torch.arange(len(texts), device=texts.device)
    return texts[row, torch.randint(texts.shape[1], (len(texts),), device=texts.device)]
