"""Attentive probes of several settings side by side: their values, and the gradients of their losses.

For an image with patches x_p of width d, a probe has m queries q_j, a matrix V of values cut into m slices V_j of d/m
rows, and a classifier W, b (Efficient Probing, Psomas et al., arXiv 2506.10178):

    a_jp = softmax_p(q_j · x_p / √d),    u_j = Σ_p a_jp x_p,    h = [V_1 u_1, …, V_m u_m],    W BN(h) + b.

The authors apply V to every patch before pooling. Pooling is linear, so V_j is applied once to the pooled patch u_j
instead: Σ_p a_jp V_j x_p = V_j u_j. That takes 2d² instead of 2Pd² flops per image and setting, and its gradient needs
no values of single patches either: with g = ∂L/∂h, ∂L/∂V_j = Σ g_j u_jᵀ, and since Σ_p a_jp ∂L/∂a_jp = g_j · h_j,

    ∂L/∂s_jp = a_jp ((V_jᵀ g_j) · x_p − g_j · h_j),    ∂L/∂q_j = Σ_p ∂L/∂s_jp x_p / √d.

K settings share the patches. A step on b images of P patches takes 8·b·P·d·K·m flops for attention, 6·b·d²·K for
values and 6·b·d·c·K for c classes, and reads the b·P·d features four times: for scores, pooling, and the gradients of
both. A loop over settings with values of patches takes K·(8·b·P·d·m + 4·b·P·d²), of which the second part is d/2m times
the first (12 for d = 768, m = 32), and reads the features 5K times.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from math import sqrt
from typing import NamedTuple

import torch
from torch import Generator, Tensor

from unseen.probes.products import wide_product

EPSILON, RUNNING = 1e-6, 0.1
"""Of batch norm: what is added to variances, and the weight of a batch in running statistics."""
QUERY_DEVIATION = 0.02


class Shape(NamedTuple):
    """Number of settings, of queries, of dimensions of a patch, and of classes."""

    settings: int
    queries: int
    channels: int
    classes: int

    @property
    def slice(self) -> int:
        """Dimensions that a query pools."""
        return self.channels // self.queries


@dataclass(frozen=True, eq=False)
class Parameters:
    """What is learned, or its gradients; every tensor has one entry per setting first.

    Attributes:
        queries: (K, m, d).
        values: (K, m, d/m, d), the rows of the map of values by query.
        weights, bias: (K, c, d) and (K, c), of the classifier.
    """

    queries: Tensor
    values: Tensor
    weights: Tensor
    bias: Tensor

    @property
    def every(self) -> Iterator[Tensor]:
        yield from (getattr(self, each.name) for each in fields(self))


@dataclass(frozen=True, eq=False)
class AttentiveStack:
    """K attentive probes.

    Attributes:
        mean, variance: (K, d) running statistics of pooled features.
    """

    parameters: Parameters
    mean: Tensor
    variance: Tensor

    @classmethod
    def drawn(cls, shape: Shape, generator: Generator, device: torch.device, dtype: torch.dtype) -> "AttentiveStack":
        """All settings begin alike: queries from N(0, 0.02²), the linear maps uniform in ±1/√d, as PyTorch's are."""
        settings, queries, channels, classes = shape

        def uniform(*size: int) -> Tensor:
            return (2 * torch.rand(size, generator=generator, dtype=torch.float64) - 1) / sqrt(channels)

        first = (
            QUERY_DEVIATION * torch.randn(queries, channels, generator=generator, dtype=torch.float64),
            uniform(queries, shape.slice, channels),
            uniform(classes, channels),
            uniform(classes),
        )
        alike = (each.expand(settings, *each.shape).to(device, dtype, copy=True) for each in first)
        mean = torch.zeros(settings, channels, device=device, dtype=dtype)
        return cls(Parameters(*(each.contiguous() for each in alike)), mean, torch.ones_like(mean))

    @property
    def shape(self) -> Shape:
        settings, queries, channels = self.parameters.queries.shape
        return Shape(settings, queries, channels, self.parameters.bias.shape[1])

    def only(self, place: int) -> "AttentiveStack":
        """The stack with only one of them."""
        one = slice(place, place + 1)
        return AttentiveStack(
            Parameters(*(each[one] for each in self.parameters.every)), self.mean[one], self.variance[one]
        )

    def attention(self, X: Tensor) -> Tensor:
        """(b, P, K·m) attention of all queries of all settings to the patches of images (b, P, d)."""
        queries = (self.parameters.queries.flatten(0, 1) / sqrt(X.shape[2])).to(X.dtype)
        return (X.flatten(0, 1) @ queries.T).view(*X.shape[:2], -1).softmax(dim=1)

    def pooled(self, U: Tensor) -> Tensor:
        """(K, b, d) features of images from their pooled patches (b, K·m, d)."""
        K, m, d, _ = self.shape
        values = self.parameters.values.flatten(0, 1).to(U.dtype)
        slices = torch.bmm(U.transpose(0, 1), values.mT)
        return slices.view(K, m, len(U), -1).permute(0, 2, 1, 3).reshape(K, len(U), d).to(self.mean.dtype)

    def logits(self, X: Tensor) -> Tensor:
        """(K, b, c) logits of images (b, P, d), with the running statistics."""
        h = self.pooled(torch.bmm(self.attention(X).mT, X))
        z = (h - self.mean[:, None]) / (self.variance[:, None] + EPSILON).sqrt()
        return self._classified(z, X.dtype)

    def _classified(self, z: Tensor, dtype: torch.dtype) -> Tensor:
        weights = self.parameters.weights.to(dtype)
        return wide_products(z.to(dtype), weights.mT, z.dtype) + self.parameters.bias[:, None]

    def step(self, X: Tensor, Y: Tensor, *, several: bool, at_once: int = 0) -> tuple[Tensor, Parameters]:
        """(K,) losses on a batch and their gradients; the running statistics are updated.

        Products have 16-bit factors if the features do; their gradients are scaled to at most 1 meanwhile.

        Args:
            X: (b, P, d) features.
            Y: (b,) classes, or (b, c) 1 for each class that an image shows and 0 for others.
            several: whether images have several classes, each with a logistic loss, instead of one softmax.
            at_once: images whose attention is held at a time; with fewer than b, it is computed twice. 0 for all.
        """
        pieces = torch.split(X, at_once or len(X))
        kept, parts = list[tuple[Tensor, Tensor]](), list[Tensor]()
        for piece in pieces:
            attended = self._attended(piece)
            parts.append(self.pooled(attended[1]))
            kept = [attended] if len(pieces) == 1 else []
        h = torch.cat(parts, dim=1)
        loss, G, weights, bias = self._head(h, Y, X.dtype, several=several)
        most = G.abs().amax(dim=(1, 2), keepdim=True).clamp_min(torch.finfo(G.dtype).tiny)
        G = G / most
        queries, values = (torch.zeros_like(each).flatten(0, 1) for each in (self.queries, self.values))
        start = 0
        for number, piece in enumerate(pieces):
            rows = slice(start, start + len(piece))
            A, U = kept[number] if kept else self._attended(piece)
            self._add_gradients(piece, A, U, G[:, rows], h[:, rows], queries, values)
            start += len(piece)
        scale = most[:, :, 0]
        return loss, Parameters(
            queries.view_as(self.queries) * scale[..., None] / sqrt(X.shape[2]),
            values.view_as(self.values) * scale[..., None, None], weights, bias,
        )  # fmt: skip

    @property
    def queries(self) -> Tensor:
        return self.parameters.queries

    @property
    def values(self) -> Tensor:
        return self.parameters.values

    def _attended(self, X: Tensor) -> tuple[Tensor, Tensor]:
        """(b, P, K·m) attention and (b, K·m, d) pooled patches."""
        A = self.attention(X)
        return A, torch.bmm(A.mT, X)

    def _head(
        self, h: Tensor, Y: Tensor, dtype: torch.dtype, *, several: bool
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Losses (K,), and gradients of pooled features (K, b, d), weights and bias: batch norm and the classifier."""
        b = h.shape[1]
        mean, variance = h.mean(dim=1, keepdim=True), h.var(dim=1, correction=0, keepdim=True)
        deviation = (variance + EPSILON).sqrt()
        z = (h - mean) / deviation
        logits = self._classified(z, dtype)
        loss, error = _losses(logits, Y, several=several)
        self.mean.lerp_(mean[:, 0], RUNNING)
        self.variance.lerp_(variance[:, 0] * (b / max(1, b - 1)), RUNNING)
        # Errors are of the sum over images, so that 16-bit factors are not tiny, and are divided by b afterwards.
        small = error.to(dtype)
        weights = wide_products(small.mT, z.to(dtype), z.dtype) / b
        G = wide_products(small, self.parameters.weights.to(dtype), z.dtype) / b
        G = (G - G.mean(dim=1, keepdim=True) - z * (G * z).mean(dim=1, keepdim=True)) / deviation
        return loss, G, weights, error.mean(dim=1)

    def _add_gradients(
        self, X: Tensor, A: Tensor, U: Tensor, G: Tensor, h: Tensor, queries: Tensor, values: Tensor
    ) -> None:
        """Add the gradients (K·m, d) and (K·m, d/m, d) of some images, from those of their pooled features."""
        K, m, _, _ = self.shape
        g, own = (each.view(K, len(X), m, -1).transpose(1, 2).flatten(0, 1) for each in (G, h))
        offset = (g * own).sum(dim=2).T.to(X.dtype)
        g = g.to(X.dtype)
        values += wide_products(g.mT, U.transpose(0, 1), values.dtype)
        pulled = torch.bmm(g, self.values.flatten(0, 1).to(X.dtype)).transpose(0, 1)
        scores = torch.bmm(X, pulled.mT).sub_(offset[:, None]).mul_(A)
        # One product over all patches, not one per image: few numbers come of many, which a GPU divides by itself.
        factors = scores.flatten(0, 1).T, X.flatten(0, 1)
        queries += factors[0] @ factors[1] if X.dtype == queries.dtype else wide_product(*factors).to(queries.dtype)


def _losses(logits: Tensor, Y: Tensor, *, several: bool) -> tuple[Tensor, Tensor]:
    """(K,) mean losses over images, and (K, b, c) gradients of the sum over images."""
    if several:
        shown = Y.to(logits.dtype).expand_as(logits)
        each = torch.nn.functional.binary_cross_entropy_with_logits(logits, shown, reduction="none")
        return each.mean(dim=(1, 2)), (logits.sigmoid() - shown) / logits.shape[2]
    chosen = Y.expand(len(logits), -1)[..., None]
    logs = logits.log_softmax(dim=2)
    error = logs.exp().scatter_add_(2, chosen, -torch.ones_like(logs[..., :1]))
    return -logs.gather(2, chosen)[..., 0].mean(dim=1), error


def wide_products(A: Tensor, B: Tensor, dtype: torch.dtype) -> Tensor:
    """(k, n, m) A @ B in `dtype`, also for 16-bit factors, which a GPU sums in 32 bits."""
    if A.dtype == dtype:
        return torch.bmm(A, B)
    return torch.bmm(A, B, out_dtype=dtype) if A.is_cuda else torch.bmm(A.to(dtype), B.to(dtype))
