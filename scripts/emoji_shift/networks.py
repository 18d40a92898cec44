"""The networks of the pool, in plain PyTorch: pictures to features, and words to features for image–text models."""

from collections.abc import Mapping
from typing import Final

import torch
from torch import Tensor, nn

WIDTHS: Final[Mapping[str, int]] = {"conv16": 16, "conv28": 28, "vit64": 64}
EMBEDDING = 128
"""Dimensions in which pictures and texts meet."""
MOST_SCALE = 4.6052
"""Largest logarithm of the scale of similarities: 100, as in CLIP."""


class Block(nn.Module):
    """Two 3 × 3 convolutions beside a 1 × 1 convolution."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(after)
        self.skip = nn.Conv2d(before, after, 1, stride, bias=False)

    def forward(self, maps: Tensor) -> Tensor:
        """(n, after, ·, ·) maps."""
        inner = torch.relu(self.norm1(self.conv1(maps)))
        made: Tensor = torch.relu(self.norm2(self.conv2(inner)) + self.skip(maps))
        return made


class ConvNet(nn.Sequential):
    """A residual network of seven layers: (n, 3, 32, 32) pictures with white as 0 to (n, 4 · width) features."""

    def __init__(self, width: int) -> None:
        super().__init__(
            nn.Conv2d(3, width, 4, 2, 1, bias=False),  # 16 × 16 from here
            nn.BatchNorm2d(width),
            nn.ReLU(),
            Block(width, width, 1),
            Block(width, 2 * width, 2),  # 8 × 8
            Block(2 * width, 4 * width, 2),  # 4 × 4
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )
        self.dimension = 4 * width


class Transformer(nn.Module):
    """Pre-norm transformer layers on tokens, and the mean of the tokens that count."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, 4, 2 * width, 0.0, "gelu", batch_first=True, norm_first=True)
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens: Tensor, absent: Tensor | None = None) -> Tensor:
        """(n, width) means of (n, t, width) tokens, without those that are absent (n, t)."""
        for layer in self.layers:
            tokens = layer(tokens, src_key_padding_mask=absent)
        tokens = self.norm(tokens)
        if absent is None:
            return tokens.mean(dim=1)
        there = (~absent).unsqueeze(2)
        return (tokens * there).sum(dim=1) / there.sum(dim=1)


class VisionTransformer(nn.Module):
    """A vision transformer on 64 patches of 4 × 4 pixels: (n, 3, 32, 32) pictures to (n, width) features."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, 4)
        self.places = nn.Parameter(0.02 * torch.randn(1, 64, width))
        self.encoder = Transformer(width, 4)
        self.dimension = width

    def forward(self, images: Tensor) -> Tensor:
        """Features of pictures."""
        features: Tensor = self.encoder(self.patches(images).flatten(2).transpose(1, 2) + self.places)
        return features


class TextEncoder(nn.Module):
    """A transformer of two layers on words: (n, t) numbers of words, 0 where there is none, to (n, 128)."""

    def __init__(self, words: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words + 1, EMBEDDING)
        self.places = nn.Parameter(0.02 * torch.randn(1, 16, EMBEDDING))
        self.encoder = Transformer(EMBEDDING, 2)

    def forward(self, texts: Tensor) -> Tensor:
        """Features of texts."""
        features: Tensor = self.encoder(self.words(texts) + self.places[:, : texts.shape[1]], texts == 0)
        return features


class ImageText(nn.Module):
    """An image encoder and a text encoder, trained so that a picture is nearest to its own text."""

    def __init__(self, image: nn.Module, words: int) -> None:
        super().__init__()
        self.image = image
        self.text = TextEncoder(words)
        self.logit_scale = nn.Parameter(torch.tensor(2.6593))  # 1 / 0.07, as in CLIP

    def similarities(self, images: Tensor, texts: Tensor) -> Tensor:
        """(n, m) similarities of n pictures and m texts, scaled."""
        image = nn.functional.normalize(self.image(images), dim=1)
        text = nn.functional.normalize(self.text(texts), dim=1)
        return self.logit_scale.clamp(max=MOST_SCALE).exp() * image @ text.T


def image_encoder(name: str) -> nn.Module:
    """An encoder of pictures by name; its attribute `dimension` is the number of its features."""
    return VisionTransformer(WIDTHS[name]) if name.startswith("vit") else ConvNet(WIDTHS[name])


def projected(name: str) -> nn.Sequential:
    """An encoder of pictures and the projection to where texts are."""
    encoder = image_encoder(name)
    return nn.Sequential(encoder, nn.Linear(int(encoder.dimension), EMBEDDING, bias=False))  # type: ignore[arg-type]
