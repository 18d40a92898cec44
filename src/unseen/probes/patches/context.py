"""The in-context probe on patch features: nearest neighbours among labelled patches, nothing is trained.

After Hummingbird (Balažević et al. 2023): a memory of ℓ2-normalised training patches with the shares of codes in them;
a patch gets the mean of its k nearest ones' shares, weighted by softmax(cosine / temperature).
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from unseen.errors import UserError

BLOCK_BYTES = 1 << 28
"""Of similarities at a time."""


@dataclass(frozen=True)
class ContextProtocol:
    """How labels are looked up.

    Attributes:
        memory: patches at most; of more, a fixed draw.
    """

    name: str = "patch-context"
    neighbours: int = 30
    temperature: float = 0.02
    memory: int = 10_240_000


PATCH_CONTEXT = ContextProtocol()


@dataclass(frozen=True, eq=False)
class Memory:
    """Labelled patches: (m, d) of length 1, and (m, c) shares of codes."""

    keys: Tensor
    shares: Tensor

    @classmethod
    def of(cls, X: Tensor, Y: Tensor, protocol: ContextProtocol = PATCH_CONTEXT) -> "Memory":
        """From features (n, d) and pixels of codes (n, c); patches without a label are left out."""
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

    Similarities to a block of the memory are one product; the best of it join the best so far.
    """
    queries = torch.nn.functional.normalize(X.float(), dim=1).to(memory.keys.dtype)
    k = min(protocol.neighbours, len(memory.keys))
    width = max(k, min(len(memory.keys), 1 << 18))
    height = max(1, BLOCK_BYTES // (4 * width))
    found = []
    for part in torch.split(queries, height):
        best, place = None, None
        for start in range(0, len(memory.keys), width):
            keys = memory.keys[start : start + width]
            similar, near = (part @ keys.T).float().topk(min(k, len(keys)), dim=1)
            near = near + start
            if best is not None and place is not None:
                similar, near = torch.cat((best, similar), dim=1), torch.cat((place, near), dim=1)
                similar, chosen = similar.topk(k, dim=1)
                near = near.gather(1, chosen)
            best, place = similar, near
        assert best is not None
        assert place is not None
        weights = torch.softmax(best / protocol.temperature, dim=1)
        found.append(torch.einsum("nk,nkc->nc", weights, memory.shares[place].float()))
    return torch.cat(found)
