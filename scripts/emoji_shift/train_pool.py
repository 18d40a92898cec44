"""Train the networks of the pool, and store their weights and predictions.

    python -m emoji_shift.train_pool PICTURES.npz OUT_DIR [--device cuda] [--workers 14] [--minutes 8] [--skip FILE]

Run it with `scripts` on the path; it needs only PyTorch and NumPy. It writes OUT_DIR/pool-N.npz, with the weights in
half precision and the predicted classes of every test image, and OUT_DIR/models.json. After `--minutes` it begins no
further model; a call with another OUT_DIR and `--skip models.json` trains the others.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import multiprocessing

from emoji_shift.setups import Setup, setups
from emoji_shift.training import Pictures, predictions, train

PART = 14 * 2**20
"""Bytes of a file of the pool, about."""
Arrays = dict[str, NDArray[Any]]
_state: dict[str, Any] = {}


def main() -> None:
    """Train what is missing of the pool."""
    parser = argparse.ArgumentParser(description="Train the pool of emoji and drawings.")
    parser.add_argument("pictures", type=Path, help="arrays, from emoji_shift.render")
    parser.add_argument("out", type=Path, help="folder for pool-N.npz")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--minutes", type=float, default=8, help="time after which no further model is begun")
    parser.add_argument("--skip", type=Path, help="models.json that an earlier call wrote: models to leave out")
    parser.add_argument("--steps-scale", type=float, default=1, help="factor on the training steps")
    parser.add_argument("--only", default="", help="train only models with this text in their name")
    parser.add_argument("--most", type=int, help="train at most so many models")
    parser.add_argument("--eager", action="store_true", help="do not capture steps as CUDA graphs")
    args = parser.parse_args()

    begun = time.monotonic()
    skipped = json.loads(args.skip.read_text()) if args.skip else []
    numbered = list(enumerate(setups()))
    chosen = [(number, each) for number, each in numbered if args.only in each.name and each.name not in skipped]
    done = dict[str, Arrays]()
    tasks = [(number, each, args.steps_scale, not args.eager) for number, each in chosen[: args.most]]
    deadline = time.time() + 60 * args.minutes
    context = multiprocessing.get_context("spawn")  # CUDA cannot be forked
    with context.Pool(args.workers, _begin, (args.pictures, args.device, deadline)) as pool:
        for count, (setup, arrays, seconds) in enumerate(pool.imap_unordered(_train, tasks), start=1):
            if arrays:
                done[setup.name] = arrays
                now = time.monotonic() - begun
                print(f"{now:.0f} s: {count} of {len(tasks)}: {setup.name}, {seconds:.1f} s", flush=True)
            if count % 30 == 0:
                write_pool(args.out, done)
    write_pool(args.out, done)
    print(f"{len(done) + len(skipped)} of {len(numbered)} models after {time.monotonic() - begun:.0f} s")


def write_pool(folder: Path, models: dict[str, Arrays]) -> None:
    """Store models in files of about `PART` bytes, under `NUMBER/NAME`; the names of models are in `models.json`."""
    folder.mkdir(parents=True, exist_ok=True)
    parts: list[Arrays] = [{}]
    size = 0
    for number, arrays in enumerate(models.values()):
        own = sum(array.nbytes for array in arrays.values())
        if size and size + own > PART:
            parts.append({})
            size = 0
        parts[-1] |= {f"{number}/{name}": array for name, array in arrays.items()}
        size += own
    for number, part in enumerate(parts):
        np.savez(folder / f"pool-{number}.npz", **part)  # type: ignore[arg-type]
    (folder / "models.json").write_text(json.dumps(list(models), indent=0))


def read_pool(folder: Path) -> dict[str, Arrays]:
    """Model → its arrays, of all files of a folder."""
    names = json.loads((folder / "models.json").read_text())
    models: dict[str, Arrays] = {name: {} for name in names}
    for path in sorted(folder.glob("pool-*.npz")):
        with np.load(path, allow_pickle=False) as stored:
            for key in stored.files:
                number, _, name = key.partition("/")
                models[names[int(number)]][name] = stored[key]
    return models


def _begin(pictures: Path, device: str, deadline: float) -> None:
    """Load the pictures into a process, once."""
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")
    with np.load(pictures, allow_pickle=False) as stored:
        arrays = dict(stored)
    tests = {name: array for name, array in arrays.items() if name.startswith(("id_", "ood_")) and array.ndim == 4}
    _state.update(data=Pictures.of(arrays, device), tests=tests, deadline=deadline)


def _train(task: tuple[int, Setup, float, bool]) -> tuple[Setup, Arrays, float]:
    """A model's arrays and seconds; none if it is too late to begin."""
    number, setup, scale, graphs = task
    begun = time.time()
    if begun > _state["deadline"]:
        return setup, {}, 0.0
    steps = max(2, round(setup.steps * scale))
    encoder, weights, biases = train(setup, _state["data"], seed=number, steps=steps, graphs=graphs)
    arrays: Arrays = {f"state/{name}": tensor.cpu().numpy() for name, tensor in encoder.state_dict().items()}
    arrays = {name: array.astype(np.float16) if array.dtype == np.float32 else array for name, array in arrays.items()}
    arrays |= {"weights": weights.half().cpu().numpy(), "biases": biases.half().cpu().numpy()}
    for name, pictures in _state["tests"].items():
        arrays[f"predicted/{name}"] = predictions(encoder, weights, biases, pictures)
    return setup, arrays, time.time() - begun


if __name__ == "__main__":
    main()
