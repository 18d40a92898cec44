"""DINOv2's grid of linear classifiers (4 inputs × 13 learning rates), beside a plain loop that trains all 52 at once.

    PYTHONPATH=src python benchmarks/dinov2_linear.py --device cuda               # 1.28 million × 5 × 768, 1000 classes
    PYTHONPATH=src python benchmarks/dinov2_linear.py --device cuda --whole       # and one whole fit of 12,500 steps
    PYTHONPATH=src python benchmarks/dinov2_linear.py --quick                     # small, on a CPU, to see that it runs

The features are random numbers in 16 bits, all on the device: the best case for both, since neither waits for a disk.
The loop does what the public code does in a step: a module per classifier on its slice of the batch in 32 bits, the sum
of their losses, and one optimiser with a group per classifier, whose rates follow a cosine. It runs as it is, with
TF32 products, and with 16-bit products by autocast. The table has medians over rounds in which all take turns, of the
seconds of a step without setup: those of a long training minus those of a short one. "Products" are the eight matrix
products of a step alone, which no implementation avoids. Times of 12,500 steps are extrapolated from a step.
"""

import argparse
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from statistics import median

import torch
from torch import Tensor, nn

from machine import describe, timed
from unseen.probes.by_name.dinov2_linear import DINOv2Linear
from unseen.probes.probe import ProbeData, Size, ValidationData
from unseen.probes.protocol import Setting
from unseen.probes.sgd.grid import train_grid
from unseen.probes.sgd.grid_protocol import DINOV2_LINEAR, Range
from unseen.probes.sgd.rows import ALIGNED, Resident, Streamed
from unseen.probes.sgd.schedule import sample_stream
from unseen.studies.rates import product_rate

BATCH, RATES = DINOV2_LINEAR.batch, [rate * DINOV2_LINEAR.scale for rate in DINOV2_LINEAR.rates]


@dataclass(frozen=True)
class Problem:
    """Features with a 1 and zeros at the end of each row, the last row of zeros; labels; the inputs."""

    X: Tensor
    y: Tensor
    ranges: tuple[Range, ...]
    classes: int
    initial: list[Tensor]

    @classmethod
    def random(cls, rows: int, width: int, classes: int, device: torch.device) -> "Problem":
        d = width
        dtype = torch.float16 if device.type == "cuda" else torch.float32
        generator = torch.Generator(device).manual_seed(0)
        X = torch.zeros(rows + 1, -(-(5 * d + 1) // ALIGNED) * ALIGNED, dtype=dtype, device=device)
        for start in range(0, rows, 1 << 16):
            part = X[start : min(start + (1 << 16), rows), : 5 * d]
            part.copy_(torch.randn(part.shape, generator=generator, device=device))
        X[:rows, 5 * d] = 1
        y = torch.randint(classes, (rows,), generator=generator, device=device)
        ranges = (
            Range("cls1", 3 * d, 4 * d),
            Range("cls1-avg", 3 * d, 5 * d),
            Range("cls4", 0, 4 * d),
            Range("cls4-avg", 0, 5 * d),
        )
        starts = [DINOV2_LINEAR.deviation * torch.randn(each.width, classes) for each in ranges]
        return cls(X, y, ranges, classes, starts)

    @property
    def rows(self) -> int:
        return len(self.X) - 1

    @property
    def weights(self) -> int:
        return sum(each.width for each in self.ranges) * self.classes * len(RATES)


def ours(problem: Problem, steps: int, source: Resident | Streamed | None = None) -> list[Tensor]:
    """Our training, with its setup and its results."""
    d = problem.ranges[-1].stop
    return train_grid(
        source or Resident(problem.X, d),
        problem.y,
        torch.arange(problem.rows),
        problem.ranges,
        problem.initial,
        [torch.tensor(RATES, dtype=torch.float64)] * len(problem.ranges),
        steps=steps,
        batch=BATCH,
        momentum=DINOV2_LINEAR.momentum,
        generator=torch.Generator().manual_seed(0),
        dtype=problem.X.dtype,
    )


def loop(problem: Problem, steps: int, products: str) -> list[list[nn.Linear]]:
    """The plain loop: products in "float32", "tf32", or "float16" by autocast."""
    device = problem.X.device
    heads = dict[tuple[Range, int], nn.Linear]()
    groups = []
    for each, start in zip(problem.ranges, problem.initial, strict=True):
        for number, rate in enumerate(RATES):
            head = nn.Linear(each.width, problem.classes, device=device)
            head.weight.data.copy_(start.T)
            head.bias.data.zero_()
            heads[each, number] = head
            groups.append({"params": head.parameters(), "lr": rate})
    optimiser = torch.optim.SGD(groups, momentum=DINOV2_LINEAR.momentum, weight_decay=0)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps, eta_min=0)
    torch.set_float32_matmul_precision("high" if products == "tf32" else "highest")
    every = torch.arange(problem.rows, device=device)
    for chosen in sample_stream(every, steps, BATCH, 1, torch.Generator().manual_seed(0), problem.rows):
        X, y = problem.X[chosen].float(), problem.y[chosen]
        with torch.autocast(device.type, torch.float16) if products == "float16" else nullcontext():
            outputs = {(each, number): head(X[:, each.columns]) for (each, number), head in heads.items()}
            loss = torch.stack([nn.functional.cross_entropy(scores, y) for scores in outputs.values()]).sum()
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
    torch.set_float32_matmul_precision("highest")
    return [[heads[each, number] for number in range(len(RATES))] for each in problem.ranges]


def products_alone(problem: Problem, steps: int) -> None:
    """The two products of each input."""
    columns = len(RATES) * problem.classes
    X = problem.X[:BATCH]
    for each in problem.ranges:
        W = torch.zeros(each.width, columns, dtype=X.dtype, device=X.device)
        V = torch.zeros(each.width, columns, dtype=X.dtype, device=X.device)
        S = torch.zeros(BATCH, columns, dtype=X.dtype, device=X.device)
        for _ in range(steps):
            torch.mm(X[:, each.columns], W, out=S)
            torch.mm(X[:, each.columns].T, S, out=V)


def per_step(run: Callable[[int], object], steps: int, device: torch.device) -> float:
    """Seconds of a step without setup."""
    few = max(steps // 10, 1)
    return (timed(lambda: run(steps + few), device) - timed(lambda: run(few), device)) / steps


def peak(run: Callable[[int], object], device: torch.device) -> str:
    """GiB of device memory during a few steps, beside the features."""
    if device.type != "cuda":
        return "–"
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    run(4)
    return f"{(torch.cuda.max_memory_allocated() - before) / 2**30:.2f} GiB"


def compare(problem: Problem, rounds: int, steps: int, loop_steps: int, device: torch.device) -> None:
    ways: dict[str, tuple[Callable[[int], object], int]] = {
        "unseen": (lambda n: ours(problem, n), steps),
        "plain loop, 32 bits": (lambda n: loop(problem, n, "float32"), loop_steps),
    }
    if device.type == "cuda":
        ways["plain loop, TF32"] = (lambda n: loop(problem, n, "tf32"), loop_steps)
        ways["plain loop, autocast to 16 bits"] = (lambda n: loop(problem, n, "float16"), loop_steps)
    ways["products"] = (lambda n: products_alone(problem, n), steps)
    memory = {name: peak(run, device) for name, (run, _) in ways.items()}  # this also compiles kernels
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, (run, number) in ways.items():
            seconds[name].append(per_step(run, number, device))
    fastest = median(seconds["unseen"])
    print("| | a step | of unseen's | range of rounds | steps per second | 12,500 steps | TFLOP/s | memory |")
    print("| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: |")
    for name, taken in seconds.items():
        step = median(taken)
        rate = 4 * BATCH * problem.weights / step / 1e12
        least, most = 1e3 * min(taken), 1e3 * max(taken)
        print(
            f"| {name} | {1e3 * step:.3f} ms | {step / fastest:.2f}× | {least:.3f} to {most:.3f} ms "
            f"| {1 / step:.1f} | {DINOV2_LINEAR.steps * step:.1f} s | {rate:.1f} | {memory[name]} |",
            flush=True,
        )


def agree(problem: Problem, steps: int) -> None:
    """How far weights are from those of the loop in 32 bits after some steps."""
    for each, mine, row in zip(problem.ranges, ours(problem, steps), loop(problem, steps, "float32"), strict=True):
        theirs = torch.stack([torch.cat([head.weight.detach().T, head.bias.detach()[None]]) for head in row])
        gap = float((mine - theirs).abs().max() / theirs.abs().max())
        print(f"{each.name}: after {steps} steps, weights differ by at most {gap:.1e} of the largest")


def whole(problem: Problem, steps: int, device: torch.device) -> None:
    """One fit by the probe, with its estimates."""
    held = min(50_000, problem.rows // 4)
    d = problem.ranges[-1].stop
    X, y = problem.X[:-1, :d], problem.y.cpu()
    y[: problem.classes] = y[held : held + problem.classes] = torch.arange(problem.classes)
    data = ProbeData(
        X[held:], y[held:], X[:held], y[:held], problem.classes, device.type, ValidationData(X[:held], y[:held])
    )
    gpu = device.type == "cuda"
    probe = DINOv2Linear(steps=steps, inputs=tuple(each.text for each in problem.ranges)).resolved
    size = Size(problem.rows - held, held, problem.classes, (d,))
    rate = product_rate(probe.timed_product(size, gpu=gpu), probe.multiplies(gpu=gpu))
    before = 0
    if gpu:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
    took = timed(lambda: list(probe.fit(data, [Setting()])), device)
    announced = probe.seconds(size, Setting(), rate, gpu=gpu)
    print(f"one fit of {steps} steps: {took:.1f} s, {announced:.1f} s announced, ratio {took / announced:.2f}")
    if gpu:
        used, told = torch.cuda.max_memory_allocated() - before, probe.memory(size, gpu=True)
        print(f"memory: {used / 2**30:.1f} GiB, {told / 2**30:.1f} announced, ratio {used / told:.2f}")


def streamed(problem: Problem, steps: int, device: torch.device) -> None:
    """Training on features that stay in main memory."""
    d = problem.ranges[-1].stop
    rows = min(problem.rows, 200_000)
    X = problem.X[:rows, :d].cpu()
    source = Streamed(X, lambda part: part, device=device, dtype=problem.X.dtype, name="training")
    some = Problem(problem.X[: rows + 1], problem.y[:rows], problem.ranges, problem.classes, problem.initial)
    ours(some, 4, source)
    step = per_step(lambda n: ours(some, n, source), steps, device)
    print(f"streamed from main memory: {1e3 * step:.3f} ms a step, {DINOV2_LINEAR.steps * step:.1f} s for 12,500")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--rows", type=int, default=1_280_000)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--loop-steps", type=int, default=20, help="steps of the loop per round, which is slower")
    parser.add_argument("--whole", action="store_true", help="also one whole fit, with its estimates")
    options = parser.parse_args()
    device = torch.device(options.device)
    if options.quick:
        options.rows, options.width, options.classes = 5000, 32, 20
        options.rounds, options.steps, options.loop_steps = 3, 20, 10
    print(describe(device))
    problem = Problem.random(options.rows, options.width, options.classes, device)
    print(
        f"{options.rows:,} × 5 × {options.width}, {options.classes} classes, {len(RATES)} rates on 4 inputs: "
        f"{problem.weights / 1e6:.1f} million weights, {4 * BATCH * problem.weights / 1e12:.3f} TFLOP a step\n"
    )
    agree(problem, 10)
    print()
    compare(problem, options.rounds, options.steps, options.loop_steps, device)
    print()
    if device.type == "cuda":
        streamed(problem, options.steps, device)
    if options.whole or options.quick:
        whole(problem, 100 if options.quick else DINOV2_LINEAR.steps, device)


if __name__ == "__main__":
    main()
