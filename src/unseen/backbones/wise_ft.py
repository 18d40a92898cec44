"""WiSE-FT: interpolation between a zero-shot classifier and its fine-tuned version.

Weights are interpolated elementwise, θ(α) = (1 − α)·θ₀ + α·θ₁, for image tower and class embeddings (Wortsman et al.
2022, Robust fine-tuning of zero-shot models). Shi et al. evaluate α = 0.5.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from unseen.backbones.checkpoint import read_checkpoint
from unseen.errors import UserError
from unseen.files import atomic_write

State = Mapping[str, Tensor]


def interpolate(zero: State, fine: State, alpha: float) -> dict[str, Tensor]:
    """The state (1 − α)·zero + α·fine, in the dtypes of `zero`; sums are in float64.

    Integer tensors (counters, positions) cannot be interpolated: those of `zero` are kept.
    """
    _check_share(alpha)
    different = sorted(set(zero) ^ set(fine))
    if different:
        raise UserError(f"the checkpoints differ by {len(different)} tensors, the first {different[0]}")
    odd = next((key for key in zero if zero[key].shape != fine[key].shape), None)
    if odd is not None:
        shapes = f"{tuple(zero[odd].shape)} and {tuple(fine[odd].shape)}"
        raise UserError(f"{odd} has the shapes {shapes} in the checkpoints; are they of the same network?")
    return {key: _between(tensor, fine[key], alpha) for key, tensor in zero.items()}


def write_interpolations(zero: Path, fine: Path, alphas: Sequence[float], folder: Path) -> list[Path]:
    """Write `alpha-0.5.safetensors` and so on, checkpoints that classifiers can load; returns the files in order."""
    from safetensors.torch import save

    files = [folder / f"alpha-{alpha:g}.safetensors" for alpha in alphas]
    if len(set(files)) < len(files) or not files:
        raise UserError("give every α once, and at least one; they are told apart by six digits")
    for alpha in alphas:  # before the first file is written
        _check_share(alpha)
    ends = _state(zero), _state(fine)
    for alpha, file in zip(alphas, files, strict=True):
        try:
            state = interpolate(*ends, alpha)
        except UserError as error:
            raise UserError(f"{zero} and {fine}: {error}") from None
        with atomic_write(file) as handle:
            handle.write(save(state))
    return files


def write_state(file: Path, state: State) -> None:
    """Store a classifier's state as an endpoint of an interpolation."""
    from safetensors.torch import save

    with atomic_write(file) as handle:
        handle.write(save({key: tensor.detach().cpu().contiguous() for key, tensor in state.items()}))


def _check_share(alpha: float) -> None:
    if not 0 <= alpha <= 1:
        raise UserError(f"α = {alpha:g}: α must be between 0 and 1")


def _between(zero: Tensor, fine: Tensor, alpha: float) -> Tensor:
    if not zero.is_floating_point():
        return zero.contiguous()
    return torch.lerp(zero.double(), fine.double(), alpha).to(zero.dtype).contiguous()


def _state(path: Path) -> State:
    contents = read_checkpoint(path)
    inner = contents.get("state_dict", contents.get("model", contents))
    tensors = {key: value for key, value in inner.items() if isinstance(value, Tensor)} if inner else {}
    if not tensors:
        raise UserError(f"{path}: contains no tensors, nor under state_dict or model")
    return tensors
