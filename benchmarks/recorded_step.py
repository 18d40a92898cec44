"""Steps of fine-tuning on a GPU: recorded and replayed, or launched kernel by kernel, in two memory layouts.

    PYTHONPATH=benchmarks python benchmarks/recorded_step.py
    PYTHONPATH=benchmarks python benchmarks/recorded_step.py --nets resnet50:224 vit_base_patch16_224:224

Networks are timm's with random weights; the images are noise, 64 per step. A first short training sets up the device.
All steps of the second training are timed, the first three of which are never replayed.
"""

import argparse
from contextlib import AbstractContextManager, nullcontext
from itertools import repeat
from typing import Any
from unittest.mock import patch

import timm
import torch
from torch import nn

from machine import describe, timed
from unseen.probes.finetuning import train as finetune
from unseen.probes.finetuning.protocol import FinetuneProtocol

BATCH, CLASSES = 64, 10
NETS = (
    "tf_efficientnet_lite0:64",
    "tf_efficientnet_lite0:224",
    "resnet50:224",
    "convnext_tiny:224",
    "vit_small_patch16_224:224",
)

MOVE = nn.Module.to


def as_it_is(module: nn.Module, *arguments: Any, **options: Any) -> nn.Module:
    """`nn.Module.to` that leaves the layout alone."""
    return module if "memory_format" in options else MOVE(module, *arguments, **options)


def milliseconds(name: str, size: int, steps: int, device: torch.device, *, recorded: bool, last: bool) -> float:
    """Mean time of a step in a training of `steps`."""
    network = timm.create_model(name, pretrained=False, num_classes=0)
    dimension: Any = network.num_features
    model = finetune.with_head(network, dimension, CLASSES, seed=0)
    images = torch.randn(BATCH, size, size, 3, device=device).permute(0, 3, 1, 2)
    images = images if last else images.contiguous()
    labels = torch.arange(BATCH) % CLASSES

    def train(count: int) -> None:
        protocol = FinetuneProtocol("timed", count, BATCH, rate=1e-3, decay=1e-4)
        finetune.finetune(model, lambda _: repeat((images, labels)), protocol, device=device, every=count)

    replay: AbstractContextManager[object] = nullcontext()
    if not recorded:
        replay = patch.object(finetune, "Replay", lambda function, *_: function)
    layout: AbstractContextManager[object] = nullcontext() if last else patch.object(nn.Module, "to", as_it_is)
    with replay, layout:
        train(4)
        return 1000 * timed(lambda: train(steps), device) / steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nets", nargs="*", default=NETS, help="NAME:SIZE, a timm model and its image size")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    device = torch.device(options.device)
    print(f"{describe(device)}; milliseconds a step\n")
    print("| network, pixels | step by step | recorded | ratio | usual layout of images, step by step | recorded |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for net in options.nets:
        name, _, size = net.partition(":")
        plain, ours, *usual = (
            milliseconds(name, int(size), options.steps, device, recorded=recorded, last=last)
            for last in (True, False)
            for recorded in (False, True)
        )
        print(f"| {name}, {size} | {plain:.1f} | {ours:.1f} | {plain / ours:.1f}× | {usual[0]:.1f} | {usual[1]:.1f} |")


if __name__ == "__main__":
    main()
