"""The in-context probe on patch features: nearest neighbours among labelled patches, without training.

After Hummingbird (Balažević et al. 2023): a memory of ℓ2-normalised training patches with their shares of codes; a
patch gets the mean of the shares of its k nearest ones, weighted by softmax(cosine / temperature).
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from unseen.errors import UserError

BLOCK_BYTES, MOST_KEYS = 1 << 29, 1 << 21
"""Number of similarities computed at a time, and of keys."""
GROUP = 256
"""Number of keys per group whose largest similarity is found first."""


@dataclass(frozen=True)
class ContextProtocol:
    """How labels are looked up.

    Attributes:
        memory: maximum number of patches; of more, a fixed draw is used.
    """

    name: str = "patch-context"
    neighbours: int = 30
    temperature: float = 0.02
    memory: int = 10_240_000


PATCH_CONTEXT = ContextProtocol()


@dataclass(frozen=True, eq=False)
class Memory:
    """Labelled patches: (m, d) unit vectors, and (m, c) shares of codes."""

    keys: Tensor
    shares: Tensor

    @classmethod
    def of(cls, X: Tensor, Y: Tensor, protocol: ContextProtocol = PATCH_CONTEXT) -> "Memory":
        """From features (n, d) and pixel counts of codes (n, c); patches without a label are left out."""
        pixels = Y.sum(dim=1, dtype=torch.float32)
        places = torch.nonzero(pixels > 0).flatten()
        if not len(places):
            raise UserError("no patch of the training images has a label")
        if len(places) > protocol.memory:
            drawn = torch.randperm(len(places), generator=torch.Generator().manual_seed(0))[: protocol.memory]
            places = places[drawn.sort().values.to(places.device)]
        shares = (Y[places].float() / pixels[places, None]).to(X.dtype)
        return cls(torch.nn.functional.normalize(X[places].float(), dim=1).to(X.dtype), shares)


def look_up(memory: Memory, X: Tensor, protocol: ContextProtocol = PATCH_CONTEXT) -> Tensor:
    """(n, c) shares of codes for features (n, d), block by block; the memory may be of any size.

    Similarities to a block of the memory are one product; its best are merged with the best so far.
    """
    queries = torch.nn.functional.normalize(X.float(), dim=1).to(memory.keys.dtype)
    k = min(protocol.neighbours, len(memory.keys))
    width = min(len(memory.keys), MOST_KEYS)
    height = max(1, BLOCK_BYTES // (queries.element_size() * width))
    shares = []
    for part in torch.split(queries, height):
        best, place = _nearest(part, memory.keys[:width], k)
        for start in range(width, len(memory.keys), width):
            more, near = _nearest(part, memory.keys[start : start + width], k)
            best, chosen = torch.cat((best, more), dim=1).topk(k, dim=1)
            place = torch.cat((place, near + start), dim=1).gather(1, chosen)
        weights = torch.softmax(best.float() / protocol.temperature, dim=1)
        shares.append(torch.einsum("nk,nkc->nc", weights, memory.shares[place].float()))
    return torch.cat(shares)


def _nearest(queries: Tensor, keys: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """(n, k) largest products of queries with keys (or as many as there are keys), and the indices of these keys.

    The k largest of a row are in the k groups of keys with the largest maxima: these are found in one cheap pass over
    the products, and only k groups are sorted instead of all keys.
    """
    products = queries @ keys.T
    k, groups = min(k, len(keys)), len(keys) // GROUP
    if groups <= k:
        best, place = products.topk(k, dim=1)
        return best, place
    whole = products[:, : groups * GROUP].reshape(len(queries), groups, GROUP)
    rest = products[:, groups * GROUP :]
    chosen = whole.amax(dim=2).topk(k, dim=1).indices
    candidates = whole.gather(1, chosen[:, :, None].expand(-1, -1, GROUP)).flatten(1)
    offsets = torch.arange(GROUP, device=keys.device)
    places = (chosen[:, :, None] * GROUP + offsets).flatten(1)
    last = torch.arange(groups * GROUP, len(keys), device=keys.device).expand(len(queries), -1)
    best, order = torch.cat((candidates, rest), dim=1).topk(k, dim=1)
    return best, torch.cat((places, last), dim=1).gather(1, order)
