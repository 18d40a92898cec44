"""The optimisers of `FinetuneProtocol` and `AdamWProtocol`."""

import torch
from torch import Tensor, nn

from unseen.probes.finetuning.protocol import AdamWProtocol, FinetuneProtocol


def make_optimiser(model: nn.Module, protocol: FinetuneProtocol, rate: Tensor, *, fused: bool) -> torch.optim.Optimizer:
    """The optimiser; a fused one lets the device skip a step with non-finite gradients.

    Args:
        rate: () the learning rate, read at every step.
    """
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if isinstance(protocol, AdamWProtocol):
        return _adamw(parameters, protocol, rate, fused=fused)
    return _sgd(parameters, protocol, rate, fused=fused)


def _sgd(parameters: list[nn.Parameter], protocol: FinetuneProtocol, rate: Tensor, *, fused: bool) -> torch.optim.SGD:
    optimiser = torch.optim.SGD(
        parameters,
        lr=rate,
        momentum=protocol.momentum,
        weight_decay=protocol.decay,
        nesterov=protocol.nesterov and protocol.momentum > 0,
        fused=fused,
    )
    if protocol.momentum > 0:
        for parameter in parameters:  # if the first step is skipped, a fused optimiser would keep uninitialised memory
            optimiser.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
    return optimiser


def _adamw(parameters: list[nn.Parameter], protocol: AdamWProtocol, rate: Tensor, *, fused: bool) -> torch.optim.AdamW:
    groups = [
        {"params": [each for each in parameters if each.ndim < 2], "weight_decay": 0.0},
        {"params": [each for each in parameters if each.ndim >= 2], "weight_decay": protocol.decay},
    ]
    return torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=rate,
        betas=(protocol.beta1, protocol.beta2),
        eps=protocol.epsilon,
        foreach=False if not fused else None,  # otherwise a tensor rate is refused
        fused=fused,
        capturable=fused,  # so that a step can be recorded
    )
