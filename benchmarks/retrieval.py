"""Exact retrieval: time and memory of all ranks of all relevant images, beside a plain loop in PyTorch.

    PYTHONPATH=src python benchmarks/retrieval.py --device cuda
    PYTHONPATH=src python benchmarks/retrieval.py --small

By default 50,000 queries search 1.28 million images of 1000 classes, with 768 dimensions: the probe `retrieval` with
ImageNet's validation images as queries and its training images as gallery. Features are drawn around one centre per
class, so that the relevant images are neither first nor anywhere. The plain loop takes blocks of queries, multiplies
them with the whole gallery, sorts every ranking (`argsort`) and computes the same measures; it is timed on a share of
the queries, on which the probe is timed too, and both are run on the same data in turns.
"""

import argparse
from collections.abc import Callable
from functools import partial

import torch
from torch import Generator, Tensor

from machine import describe, timed
from unseen.probes.by_name.retrieval import Retrieval
from unseen.probes.neighbours import Ties, nearest
from unseen.probes.probe import ProbeData
from unseen.probes.protocol import Setting

FULL = {"queries": 50_000, "gallery": 1_281_167, "dimensions": 768, "classes": 1000}
SMALL = {"queries": 2_000, "gallery": 20_000, "dimensions": 256, "classes": 100}
NAMES = ("map-at-r", "recall-at-1", "map")


def features(n: int, centres: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    """(n, d) unit rows around the centres of their classes, made in pieces to save memory."""
    device = centres.device
    generator = Generator(device).manual_seed(seed)
    y = torch.randint(len(centres), (n,), generator=generator, device=device)
    X = torch.empty(n, centres.shape[1], device=device)
    for start in range(0, n, 1 << 16):
        part = X[start : start + (1 << 16)].normal_(generator=generator)
        part.add_(centres[y[start : start + (1 << 16)]])
        part.div_(part.norm(dim=1, keepdim=True))
    return X, y


def probe_values(X: Tensor, y: Tensor, queries: Tensor, labels: Tensor, classes: int) -> dict[str, float]:
    data = ProbeData(X, y, queries, labels, classes, str(X.device))
    [fit] = Retrieval(gallery="train").fit(data, [Setting()])
    return dict(fit.values)


def plain_values(X: Tensor, y: Tensor, queries: Tensor, labels: Tensor, block: int) -> dict[str, float]:
    """A block of queries after another: the whole product, every ranking sorted."""
    totals = dict.fromkeys(NAMES, 0.0)
    sizes, places = y.bincount(), torch.arange(1, len(X) + 1, device=X.device)
    for start in range(0, len(queries), block):
        own = labels[start : start + block]
        order = (queries[start : start + block] @ X.T).argsort(dim=1, descending=True)
        hits = y[order] == own[:, None]
        del order
        precision = torch.where(hits, hits.cumsum(dim=1) / places, 0)
        counts = sizes[own]
        totals["map"] += float((precision.sum(dim=1, dtype=torch.float64) / counts).sum())
        precision.masked_fill_(places > counts[:, None], 0)
        totals["map-at-r"] += float((precision.sum(dim=1, dtype=torch.float64) / counts).sum())
        totals["recall-at-1"] += float(hits[:, 0].sum())
    return {name: total / len(queries) for name, total in totals.items()}


def measured(device: torch.device, run: Callable[[], object]) -> tuple[float, str]:
    """Seconds of a call, and the largest memory of the device beyond what was there before."""
    if device.type != "cuda":
        return timed(run, device), "–"
    before = torch.cuda.memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)
    seconds = timed(run, device)
    return seconds, f"{(torch.cuda.max_memory_allocated(device) - before) / 2**30:.1f} GiB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--small", action="store_true", help="2,000 queries among 20,000 × 256")
    parser.add_argument("--share", type=float, default=0.1, help="queries that the plain loop is timed on")
    parser.add_argument("--block", type=int, default=64, help="queries that the plain loop sorts at once")
    options = parser.parse_args()
    device = torch.device(options.device)
    if device.type == "cpu":
        torch.set_num_threads(1)
    size = SMALL if options.small else FULL
    centres = 0.25 * torch.randn(
        size["classes"], size["dimensions"], generator=Generator(device).manual_seed(0), device=device
    )
    X, y = features(size["gallery"], centres, 1)
    queries, labels = features(size["queries"], centres, 2)
    print(describe(device))
    print(f"{size['queries']:,} queries among {size['gallery']:,} × {size['dimensions']}, {size['classes']:,} classes")
    print(f"features: {4 * (X.numel() + queries.numel()) / 2**30:.1f} GiB; memory below is in addition to them")
    some = slice(0, max(1, round(options.share * len(queries))))
    probe_values(X, y, queries[:512], labels[:512], size["classes"])  # loads the kernels
    plain_values(X, y, queries[: options.block], labels[: options.block], options.block)

    values: dict[str, dict[str, float]] = {}

    def ours(part: slice) -> None:
        values["unseen"] = probe_values(X, y, queries[part], labels[part], size["classes"])

    def plain() -> None:
        values["plain loop"] = plain_values(X, y, queries[some], labels[some], options.block)

    took = {"unseen": measured(device, lambda: ours(some)), "plain loop": measured(device, plain)}
    print(f"\n{some.stop:,} queries:")
    for name, (seconds, memory) in took.items():
        shown = ", ".join(f"{metric} {value:.6f}" for metric, value in values[name].items())
        print(f"  {name}: {seconds:.2f} s, {memory}; {shown}")
    print(f"  ratio: {took['plain loop'][0] / took['unseen'][0]:.1f}×")
    apart = max(abs(values["unseen"][name] - values["plain loop"][name]) for name in NAMES)
    print(f"  largest difference of a measure: {apart:.1e}")
    seconds, memory = measured(device, lambda: ours(slice(None)))
    print(f"all {size['queries']:,} queries, unseen: {seconds:.2f} s, {memory}")
    block, k = slice(0, min(4096, len(queries))), 10
    ways: tuple[Ties, ...] = ("first", "any")
    for ties in ways:
        seconds, _ = measured(device, partial(nearest, queries[block], X, k, ties=ties))
        print(f"the {k} nearest of {block.stop:,} queries, ties={ties!r}: {seconds:.2f} s")


if __name__ == "__main__":
    main()
