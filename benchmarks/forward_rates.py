"""Time of an image on a GPU by network, and the share of the rate of a large matrix product that it reaches.

    PYTHONPATH=benchmarks python benchmarks/forward_rates.py --device cuda

The networks are torchvision's with random weights, in half precision and batches of 128, as in `unseen extract`; the
pixels are already on the device. docs/reference-rows.md estimates the hours of other networks from these rates.
"""

import argparse

import torch
from torch.utils.flop_counter import FlopCounterMode

from machine import describe, product_rate, timed
from unseen.backbones.load import load_backbone
from unseen.features.forward import features

NETWORKS = ("resnet50", "vit_b_16", "vit_l_16", "convnext_base", "convnext_large")
BATCH, REPEATS = 128, 20


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    given = parser.parse_args()
    device = torch.device(given.device)
    half = torch.float16 if device.type == "cuda" else torch.float32
    peak = product_rate(device, (8192, 8192, 8192) if device.type == "cuda" else (512, 512, 512), half)
    print(f"{describe(device)}; a large product: {peak / 1e12:.0f} TFLOP/s\n")
    print("| network, 224 pixels | GFLOP an image | µs an image | TFLOP/s | share of a product's |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name in NETWORKS:
        backbone = load_backbone(f"torchvision:{name}", weights="random", device=device)
        size = backbone.spec.transform.size
        pixels = torch.zeros(BATCH, size, size, 3, dtype=torch.uint8, device=device)
        with torch.inference_mode():
            torch.backends.mha.set_fastpath_enabled(False)  # whose one operation is not counted
            with FlopCounterMode(display=False) as counter:
                features(backbone, pixels[:1], "single")
            torch.backends.mha.set_fastpath_enabled(True)
            for _ in range(3):
                features(backbone, pixels, "half" if device.type == "cuda" else "single")
            seconds = timed(
                lambda: [features(backbone, pixels, "half") for _ in range(given.repeats)],  # noqa: B023
                device,
            )
        flops, each = counter.get_total_flops(), seconds / given.repeats / BATCH
        rate = flops / each
        print(f"| {name} | {flops / 1e9:.1f} | {1e6 * each:.0f} | {rate / 1e12:.0f} | {rate / peak:.0%} |")


if __name__ == "__main__":
    main()
