"""Train the networks of the drawing pool and store their weights.

    python -m drawing_pool.train_pool NETWORKS.npz [--device cuda] [--workers 8] [--epochs-scale 1] [--only simclr]

Run it with `scripts` and `src` on the path; `drawing_pool.probe_pool` then measures the networks. All 48 take 2.4
minutes on one H200 with 12 workers. On a CPU, --epochs-scale 0.05 trains weaker networks.
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import multiprocessing

from drawing_pool.networks import Setup, setups, trained
from unseen.demo.train import seen_images
from unseen.device import default_device
from unseen.files import atomic_write


def main() -> None:
    """Train the pool, or a part of it."""
    parser = argparse.ArgumentParser(description="Train the drawing pool.")
    parser.add_argument("out", type=Path, help="file for the weights (.npz)")
    parser.add_argument("--device", default=default_device().type)
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--epochs-scale", type=float, default=1.0, help="factor on the epochs of every network")
    parser.add_argument("--only", default="", help="train only networks with this text in their name")
    args = parser.parse_args()

    chosen = [setup for setup in setups() if args.only in setup.name]
    weights: dict[str, NDArray[np.float16]] = {}
    with multiprocessing.get_context("spawn").Pool(args.workers) as pool:  # CUDA cannot be forked
        tasks = [(setup, args.device, args.epochs_scale) for setup in chosen]
        for number, part in enumerate(pool.imap(weights_of, tasks), start=1):
            weights |= part
            print(f"{number} of {len(chosen)}", flush=True)
    with atomic_write(args.out) as file:
        np.savez(file, **weights)  # type: ignore[arg-type]


def weights_of(task: tuple[Setup, str, float]) -> dict[str, NDArray[np.float16]]:
    """The weights of a trained network in half precision, under `NETWORK/NAME`."""
    setup, device, epochs_scale = task
    torch.set_num_threads(1)
    images, labels = seen_images()
    network = trained(setup, images.to(device), labels.to(device), epochs_scale=epochs_scale)
    return {f"{setup.name}/{name}": tensor.half().cpu().numpy() for name, tensor in network.state_dict().items()}


if __name__ == "__main__":
    main()
