"""Training logistic regressions on parts of the same features, on any device and for any number of samples."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Generator, Tensor
from torch.nn.functional import pad

from unseen.errors import UserError
from unseen.features.device_memory import free_bytes
from unseen.features.features import Rows
from unseen.metrics.geometry import unit_rows
from unseen.probes.protocol import LogisticProtocol
from unseen.probes.sgd.few_samples import WORTH, shrinkage, small_problem
from unseen.probes.sgd.kernels.layout import padded
from unseen.probes.sgd.memory import SweepSize, fitting_trials
from unseen.probes.sgd.paired import train_paired
from unseen.probes.sgd.pruning import Stops
from unseen.probes.sgd.rows import Mapped, Resident, Streamed
from unseen.probes.sgd.schedule import Schedule, steps_of_epoch
from unseen.probes.sgd.search import Pair
from unseen.probes.sgd.stacked import initial_weights, train_stacked

MANY = 1 << 26
"""Bytes of features from which processes that train on a CPU share them."""
BUSY = 1 << 24
"""Number of weights trained together that keep a GPU busy; more at once would not be faster."""


@dataclass(frozen=True)
class Trainer:
    """Features ready for training, and the way they are trained on.

    Attributes:
        y: (n,) class indices on the host; `labels` are the same on the device.
        dtype: of the factors in products.
    """

    source: Resident | Streamed | Mapped
    y: Tensor
    labels: Tensor
    dimension: int
    classes: int
    protocol: LogisticProtocol
    dtype: torch.dtype

    @classmethod
    def load(
        cls,
        X: Tensor | Rows,
        y: Tensor,
        classes: int,
        protocol: LogisticProtocol,
        *,
        device: torch.device,
        dtype: torch.dtype,
    ) -> "Trainer":
        """Bring features to the device, normalised, or stream them if they do not fit beside the weights.

        On a CPU, large features stay in their file, whose memory processes share.
        """
        if device.type == "cpu" and dtype == torch.float32 and not isinstance(X, Tensor) and _bytes(X) >= MANY:
            return cls(Mapped(X, name="training"), y.cpu(), y.to(device), X.shape[1], classes, protocol, dtype)
        size = SweepSize(1, protocol.round_size, classes, X.shape[1], protocol.batch, item=dtype.itemsize)
        fits = len(X) * X.shape[1] * dtype.itemsize + size.bytes <= free_bytes(device)
        load = Resident.load if fits else Streamed
        source = load(X, unit_rows, device=device, dtype=dtype, name="training")
        return cls(source, y.cpu(), y.to(device), X.shape[1], classes, protocol, dtype)

    def steps(self, samples: int) -> int:
        """Steps per epoch on this many samples."""
        return steps_of_epoch(samples, self.protocol.batch)

    def problems_together(self) -> int:
        """Number of problems, with a round of trials each, trained at once: one on a CPU, enough on a GPU."""
        if self.labels.device.type == "cpu":
            return 1
        return max(BUSY // (self.protocol.round_size * self.classes * self.dimension), 1)

    def fit(
        self,
        parts: Sequence[Tensor],
        pairs: Sequence[Sequence[Pair]],
        generators: Sequence[Generator],
        stops: Stops | None = None,
        *,
        mark_diverged: bool = False,
    ) -> list[Tensor]:
        """For each problem, the (k, d + 1, c) weights of its k pairs of rate and decay, on the device.

        Args:
            parts: for each problem, the rows it trains on, on the host; all with equally many steps.
            generators: for each problem, for its initial weights and the order of samples.
            stops: when trials are stopped; the weights are those of the others.
            mark_diverged: whether weights are NaN if training diverged, instead of those before. Not with `stops`.
        """
        initial = [initial_weights(self.dimension, self.classes, generator) for generator in generators]
        states = [generator.get_state() for generator in generators]
        hyper = torch.tensor([list(each) for each in pairs], dtype=torch.float64)

        def fit(some: Tensor, stops: Stops | None) -> list[Tensor]:
            for generator, state in zip(generators, states, strict=True):
                generator.set_state(state)  # every trial sees the samples in the same order
            return self._fit(parts, some[..., 0], some[..., 1], initial, generators, stops, mark_diverged)

        most = self._most_trials(parts, hyper.shape[1])
        while stops and stops.epochs and hyper.shape[1] > most:
            # All trials have to be compared, but not all fit: those that continue are trained again from the start.
            seen: list[list[Tensor]] = [[] for _ in parts]
            for some in torch.split(hyper, most, dim=1):
                fit(some, stops.end_at_first(seen))
            kept = [stops.choose(i, stops.epochs[0], torch.cat(weights)) for i, weights in enumerate(seen)]
            hyper = torch.stack([some[places] for some, places in zip(hyper, kept, strict=True)])
            stops = replace(stops, epochs=stops.epochs[1:])
        fits = [fit(some, stops) for some in torch.split(hyper, most, dim=1)]
        return fits[0] if len(fits) == 1 else [torch.cat(pieces) for pieces in zip(*fits, strict=True)]

    def _most_trials(self, parts: Sequence[Tensor], trials: int) -> int:
        """Number of trials of each problem that fit in device memory at once.

        If these are not all, the weights of all trials are kept meanwhile, and twice while they are joined.
        """
        rows = padded(min(self.protocol.batch, max(len(part) for part in parts)), 16)
        size = SweepSize(len(parts), 1, self.classes, self.dimension, rows, item=self.dtype.itemsize)
        free = free_bytes(self.labels.device)
        most = fitting_trials(size, free)
        if most < trials:
            kept = 2 * trials * len(parts) * self.classes * (self.dimension + 1)
            most = fitting_trials(size, free - kept * max(self.dtype.itemsize, 4))
        if most == 0:
            raise UserError(
                f"a classifier of {self.classes} classes on {self.dimension} dimensions needs "
                f"{size.bytes / 2**30:.1f} GiB of device memory; use a device with more, or the CPU"
            )
        return most

    def _fit(
        self,
        parts: Sequence[Tensor],
        rates: Tensor,
        decays: Tensor,
        initial: Sequence[Tensor],
        generators: Sequence[Generator],
        stops: Stops | None,
        mark_diverged: bool,
    ) -> list[Tensor]:
        if max(len(part) for part in parts) > WORTH * self.dimension:
            return self._train(
                self.source, self.labels, parts, rates, decays, initial, generators, stops, mark_diverged
            )
        small = [small_problem(self._rows(part), start) for part, start in zip(parts, initial, strict=True)]
        most = max(len(part) for part in parts)
        samples = torch.cat([pad(each.samples, (0, padded(most, 8) - len(each.samples))) for each in small])
        source = Resident(pad(samples, (0, 0, 0, 1)).to(self.dtype))
        ends = torch.tensor([len(part) for part in parts]).cumsum(0).tolist()
        places = [torch.arange(end - len(part), end) for part, end in zip(parts, ends, strict=True)]
        labels = self.labels[torch.cat(list(parts)).to(self.labels.device)]
        starts = [pad(each.initial, (0, 0, 0, most - len(each.initial))) for each in small]
        factors = Schedule(parts, self.protocol.epochs, self.protocol.batch).factors()
        running = [torch.arange(rates.shape[1]) for _ in parts]

        def restored(problem: int, weights: Tensor, epochs: int) -> Tensor:
            hyper = rates[problem, running[problem]], decays[problem, running[problem]]
            steps = epochs * self.steps(len(parts[problem]))
            left = shrinkage(*hyper, factors[:steps], self.protocol.momentum)
            return small[problem].restore(weights[:, : len(small[problem].initial)], left)

        def choose(problem: int, epoch: int, weights: Tensor) -> Tensor:
            assert stops
            kept = stops.choose(problem, epoch, restored(problem, weights, epoch))
            running[problem] = running[problem][kept]
            return kept

        inside = Stops(stops.epochs, choose) if stops else None
        trained = self._train(source, labels, places, rates, decays, starts, generators, inside, mark_diverged)
        return [restored(problem, weights, self.protocol.epochs) for problem, weights in enumerate(trained)]

    def _train(
        self,
        source: Resident | Streamed | Mapped,
        labels: Tensor,
        parts: Sequence[Tensor],
        rates: Tensor,
        decays: Tensor,
        initial: Sequence[Tensor],
        generators: Sequence[Generator],
        stops: Stops | None,
        mark_diverged: bool,
    ) -> list[Tensor]:
        """Train two steps at a time, all problems together, on a GPU or in 16 bits; else step by step, each alone."""
        protocol = self.protocol
        if (labels.is_cuda or self.dtype == torch.float16) and not isinstance(source, Mapped):
            schedule = Schedule(parts, protocol.epochs, protocol.batch)
            stacked = torch.stack([start.to(labels.device) for start in initial])
            trained = train_paired(
                source,
                labels,
                schedule,
                stacked,
                rates,
                decays,
                momentum=protocol.momentum,
                generators=generators,
                dtype=self.dtype,
                stops=stops,
                mark_diverged=mark_diverged,
            )
            return list(trained)
        fits = []
        problems = zip(parts, rates, decays, initial, generators, strict=True)
        for number, (part, rate, decay, start, generator) in enumerate(problems):
            # A single batch is gathered once; more would be a second copy of the features.
            in_place = not isinstance(source, Streamed) and len(part) > protocol.batch
            if isinstance(source, Mapped) and in_place:
                X: Tensor | Mapped = source
            else:
                rows = source.X if isinstance(source, Resident) and in_place else source.take(part)
                X = rows[:, : len(start)]
            fit = train_stacked(
                X,
                labels if in_place else labels[part],
                start,
                rate,
                decay,
                epochs=protocol.epochs,
                batch=min(protocol.batch, len(part)),
                momentum=protocol.momentum,
                generator=generator,
                rows=part if in_place else None,
                stops=stops.of(number) if stops else None,
                mark_diverged=mark_diverged,
            )
            fits.append(fit)
        return fits

    def _rows(self, part: Tensor) -> Tensor:
        return self.source.take(part)[:, : self.dimension + 1]


def _bytes(X: Rows) -> int:
    return len(X) * X.shape[1] * X.dtype.itemsize
