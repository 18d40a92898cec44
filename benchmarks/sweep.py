"""Speed of the logistic sweep of `cog-v2` compared with a plain PyTorch loop over its trials.

    .venv/bin/python benchmarks/sweep.py --device cuda            # 1.1M × 2048 × 1000, minutes on one GPU
    .venv/bin/python benchmarks/sweep.py --device cpu             # a few steps of the same shape, and a small one

On a GPU, one domain and seed is run completely: 30 trials of 100 epochs and the final fit. The plain loop is timed
over some hundreds of training and validation batches and scaled to the same work.
"""

import argparse
import resource
import time
from dataclasses import replace
from functools import partial

import torch
from torch import Generator, Tensor
from torch.nn.functional import normalize

from machine import describe, product_rate, synchronise, timed
from plain_loop import PlainLoop
from unseen.device import default_device
from unseen.metrics.geometry import unit_rows
from unseen.probes.logistic import Setting, probe_settings
from unseen.probes.protocol import COG_V2
from unseen.probes.sampling import split_validation
from unseen.probes.sgd.memory import SweepSize, fitting_trials
from unseen.probes.sgd.rows import Streamed
from unseen.probes.sgd.stacked import initial_weights, train_stacked
from unseen.probes.sgd.trainer import Trainer

SHOTS = (1, 2, 4, 8, 16, 32, 64, 128)


def mixture(n: int, d: int, classes: int, device: torch.device, noise: float, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Unit features around class centres of their own spectrum, and labels."""
    torch.manual_seed(0)
    spectrum = (1 + torch.arange(d, device=device)) ** -0.25
    centres = torch.randn(classes, d, device=device) * spectrum
    torch.manual_seed(seed)
    y = torch.arange(n, device=device) % classes
    X = torch.empty(n, d, device=device)
    for start in range(0, n, 1 << 16):
        rows = y[start : start + (1 << 16)]
        X[start : start + len(rows)] = normalize(
            centres[rows] + noise * torch.randn(len(rows), d, device=device) * spectrum, dim=1
        )
    return X, y


def plain_seconds(X: Tensor, y: Tensor, classes: int, steps: int) -> tuple[float, float]:
    """Seconds of a training batch and of a validation batch of the plain loop."""
    loop = PlainLoop(X, y, rate=1.0, decay=1e-6, classes=classes)
    order = torch.split(torch.randperm(len(X), device=X.device), loop.batch)
    batches = [order[i % (len(order) - 1 or 1)] for i in range(steps)]
    for chosen in batches[:10]:
        loop.step(chosen)
    training = timed(lambda: [loop.step(chosen) for chosen in batches], X.device) / steps
    rows = slice(0, min(len(X), steps * loop.batch))
    count = -(-len(X[rows]) // loop.batch)
    return training, timed(lambda: loop.validate(X[rows], y[rows]), X.device) / count


def on_gpu(options: argparse.Namespace) -> None:
    device = torch.device("cuda")
    n, d, classes, protocol = options.n, options.d, options.classes, COG_V2
    print(f"{describe(device)}; {n} × {d}, {classes} classes")
    peak = product_rate(device, (8192, 8192, 8192), torch.float16)
    X, y = mixture(n, d, classes, device, options.noise)
    X_test, y_test = mixture(50 * classes, d, classes, device, options.noise, seed=1)
    part, held = split_validation(y, protocol.validation, Generator().manual_seed(0))
    training, validation = plain_seconds(X, y, classes, options.plain_steps)
    steps, checks, final = (-(-number // protocol.batch) for number in (len(part), len(held), n))
    tests = -(-len(X_test) // protocol.batch)
    plain = protocol.epochs * (
        protocol.trials * (steps * training + checks * validation) + final * training + tests * validation
    )
    print(f"plain loop: {training * 1e3:.2f} ms a training batch, {validation * 1e3:.2f} ms a validation batch;")
    print(f"  {protocol.trials} trials and the final fit: {plain / 60:.0f} min (scaled)")

    host, labels = X.half().cpu(), y.cpu()
    del X
    torch.cuda.empty_cache()
    tests_host = X_test.half().cpu(), y_test.cpu()
    for k in (10, 20, 30):
        trainer = Trainer.load(host, labels, classes, protocol, device=device, dtype=torch.float16)
        quick = replace(trainer, protocol=replace(protocol, epochs=6))
        pairs = [[(float(10 ** (3 * i / k - 1)), 1e-6) for i in range(k)]]
        quick.fit([part[:20_000]], pairs, [Generator().manual_seed(0)])  # compiles the kernels
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        seconds = timed(partial(quick.fit, [part], pairs, [Generator().manual_seed(0)]), device)
        each = seconds / (6 * steps * k)
        used = torch.cuda.max_memory_allocated() - before
        promised = SweepSize(1, k, classes, d + 8).bytes
        flops = 4 * protocol.batch * d * classes
        print(
            f"k = {k}: {each * 1e6:.1f} µs a trial-step ({(training / each):.0f}× the training batch alone), "
            f"{flops / each / 1e12:.0f} TFLOP/s, {flops / each / peak:.0%} of a large product's {peak / 1e12:.0f}; "
            f"{used / 2**30:.2f} GiB besides the features, {promised / 2**30:.2f} stated"
        )
        del trainer, quick
    free, _ = torch.cuda.mem_get_info()
    print(f"trials that would fit at once: {fitting_trials(SweepSize(1, 1, classes, d + 8), free)}")

    def settings(chosen: list[Setting]) -> float:
        """Seconds of some settings, the loading of their features included."""
        synchronise(device)
        start = time.perf_counter()
        found = probe_settings(host, labels, *tests_host, chosen, protocol=protocol, device=device)
        for setting, result in found:
            print(f"  {setting}: top-1 {result.top1:.4f} at {time.perf_counter() - start:.1f} s", flush=True)
        return time.perf_counter() - start

    loading = timed(lambda: Trainer.load(host, labels, classes, protocol, device=device, dtype=torch.float16), device)
    print(f"features from the host's memory to the device, checked and normalised: {loading:.1f} s a domain")
    chosen = [Setting(shots, seed) for shots in SHOTS for seed in range(options.few_seeds)]
    settings([Setting(1, 0)])  # compiles the kernels of final fits
    few = (settings(chosen) - loading) / options.few_seeds
    whole = settings([Setting(None, 0)]) - loading
    print(
        f"one (domain, seed): {whole:.1f} s, {plain / whole:.0f}× the plain loop; its 8 few-shot settings: {few:.1f} s"
    )
    model = 30 * (whole + few) + 6 * loading
    print(f"a model, 6 domains × 9 settings × 5 seeds: {model / 60:.1f} min (scaled)")


def streaming(options: argparse.Namespace) -> None:
    """Features left in host memory, against features on the device."""
    device = torch.device("cuda")
    n, d, classes = options.n // 4, options.d, options.classes
    X, y = mixture(n, d, classes, device, options.noise)
    host, labels = X.half().cpu(), y.cpu()
    del X
    trainer = Trainer.load(host, labels, classes, replace(COG_V2, epochs=3), device=device, dtype=torch.float16)
    streamed = replace(trainer, source=Streamed(host, unit_rows, device=device, dtype=torch.float16, name="training"))
    pairs = [[(float(10 ** (3 * i / 10 - 1)), 1e-6) for i in range(10)]]
    for name, chosen in (("on the device", trainer), ("streamed", streamed)):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        seconds = timed(partial(chosen.fit, [torch.arange(n)], pairs, [Generator().manual_seed(0)]), device)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**20
        each = seconds / (3 * -(-n // 1024) * 10)
        print(f"{name}: {each * 1e6:.1f} µs a trial-step, {grown:.2f} GiB more of host memory")


def on_cpu() -> None:
    device = torch.device("cpu")
    print(describe(device))
    print("| n × d, classes, k | products alone | sweep | share | plain loop | ratio |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for n, d, classes, k in ((4096, 2048, 1000, 10), (8192, 512, 200, 10), (3600, 256, 45, 10)):
        X, y = mixture(n, d, classes, device, 2.0)
        batch = 1024
        with_one = torch.cat([X, torch.ones(n, 1)], dim=1)
        start = initial_weights(d, classes, Generator().manual_seed(0))
        rates, decays = torch.logspace(-1, 2, k, dtype=torch.float64), torch.full((k,), 1e-6, dtype=torch.float64)
        epochs = max(4, int(2e11 / (4 * n * d * classes * k)))
        times, shares, loops = [], [], []
        for _ in range(3):
            rate = 2 / sum(
                1 / product_rate(device, shape, torch.float32, 1.0)
                for shape in ((batch, d + 1, k * classes), (d + 1, batch, k * classes))
            )
            generator = Generator().manual_seed(0)
            train = partial(train_stacked, epochs=epochs, batch=batch, momentum=0.9, generator=generator)
            seconds = timed(partial(train, with_one, y, start, rates, decays), device)
            speed = 4 * n * (d + 1) * classes * k * epochs / seconds
            training, _ = plain_seconds(X, y, classes, 20)
            times.append(speed)
            shares.append(speed / rate)
            loops.append(training / (seconds / (epochs * -(-n // batch) * k)))
        middle = sorted(range(3), key=lambda i: shares[i])[1]
        print(
            f"| {n} × {d}, {classes}, {k} | {times[middle] / shares[middle] / 1e9:.0f} GFLOP/s | "
            f"{times[middle] / 1e9:.0f} GFLOP/s | {shares[middle]:.0%} | "
            f"{times[middle] / loops[middle] / 1e9:.0f} GFLOP/s | {loops[middle]:.2f}× |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default=default_device().type)
    parser.add_argument("--n", type=int, default=1_100_000)
    parser.add_argument("--d", type=int, default=2048)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--noise", type=float, default=12.0)
    parser.add_argument("--plain-steps", type=int, default=1000)
    parser.add_argument("--few-seeds", type=int, default=1)
    options = parser.parse_args()
    if options.device == "cpu":
        on_cpu()
    else:
        on_gpu(options)
        streaming(options)


if __name__ == "__main__":
    main()
