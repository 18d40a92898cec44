"""Probe the networks of the drawing pool on every level of the drawings, and store the results per drawing.

    python -m drawing_pool.probe_pool NETWORKS.npz POOL.npz [--features FOLDER]

Run it with `scripts` and `src` on the path, after `drawing_pool.train_pool`. The probe is ridge regression on
normalised features, with the penalty of the highest leave-one-out accuracy on the training drawings: it has no seeds
and takes less than a second. All networks take about ten minutes on one CPU core.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from drawing_pool.networks import network, setups
from unseen.backbones.tiny_cnn import TinyCNN
from unseen.data.concepts.drawing_levels import OWN, SEEN, drawing_domains, drawings
from unseen.data.concepts.drawings import TRAINING_DRAWINGS
from unseen.files import atomic_write
from unseen.probes.ridge import leave_one_out, ridge
from unseen.reading.arrays import read_npz

PENALTIES = tuple(10.0**power for power in range(-4, 3))
TRAINED_ON = 40
"""Training drawings of each concept, the first of 80: most of the time goes into their features."""
Split = tuple[Tensor, Tensor]


def main() -> None:
    """Probe every network of a file."""
    parser = argparse.ArgumentParser(description="Probe the drawing pool.")
    parser.add_argument("networks", type=Path, help="weights, from drawing_pool.train_pool")
    parser.add_argument("out", type=Path, help="file for the results (.npz)")
    parser.add_argument("--features", type=Path, help="folder to keep the features in, one file per network")
    args = parser.parse_args()

    weights = read_npz(args.networks)
    names = dict.fromkeys(name.partition("/")[0] for name in weights)
    chosen = [setup for setup in setups() if setup.name in names]
    levels = {name: wnids for name, wnids in drawing_domains(OWN).items() if name != SEEN}
    hits = []
    for number, setup in enumerate(chosen, start=1):
        made, start = network(setup), f"{setup.name}/"
        state = {name.removeprefix(start): weights[name] for name in weights if name.startswith(start)}
        made.load_state_dict({name: torch.from_numpy(array) for name, array in state.items()})
        splits = {name: features_of(made.eval(), wnids) for name, wnids in levels.items()}
        hits.append(np.stack([hits_of(*each) for each in splits.values()]))
        if args.features:
            keep_features(args.features / f"{setup.name}.npz", splits)
        accuracies = " ".join(f"{100 * level.mean():.1f}" for level in hits[-1])
        print(f"{number} of {len(chosen)}: {setup.name} {accuracies}", flush=True)
    about = {
        "networks": [asdict(setup) for setup in chosen],
        "levels": {name: list(wnids) for name, wnids in levels.items()},
    }
    with atomic_write(args.out) as file:
        packed = np.packbits(np.stack(hits), axis=-1)  # (networks, levels, test drawings / 8, rounded up)
        np.savez_compressed(file, hits=packed, drawings=hits[0].shape[-1], about=json.dumps(about))


@torch.inference_mode()
def features_of(made: TinyCNN, wnids: Sequence[str]) -> tuple[Split, Split]:
    """Normalised features and labels of the training and of the test drawings of some concepts."""

    def split(name: str) -> Split:
        pixels, labels = drawings(wnids, name)
        if name == "train":
            kept = np.arange(len(labels)) % TRAINING_DRAWINGS < TRAINED_ON
            pixels, labels = pixels[kept], labels[kept]
        ink = torch.from_numpy(pixels[:, None]).float() / 255
        X = torch.cat([made(part) for part in torch.split(ink, 100)])
        return torch.nn.functional.normalize(X), torch.from_numpy(labels)

    return split("train"), split("test")


def hits_of(train: Split, test: Split) -> NDArray[np.bool_]:
    """Whether each test sample is classified correctly by the probe."""
    X, y = train
    model = ridge(X, y, PENALTIES)
    accuracies = leave_one_out(model, X, y).accuracies
    assert accuracies is not None
    right: NDArray[np.bool_] = (model.predict(test[0], int(accuracies.argmax())).argmax(dim=1) == test[1]).numpy()
    return right


def keep_features(path: Path, splits: dict[str, tuple[Split, Split]]) -> None:
    """Write the features in half precision, as `LEVEL/train` and `LEVEL/test`."""
    sides = {
        f"{name}/{side}": split[0]
        for name, both in splits.items()
        for side, split in zip(("train", "test"), both, strict=True)
    }
    with atomic_write(path) as file:
        np.savez(file, **{name: X.half().numpy() for name, X in sides.items()})  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
