"""`unseen.Monitor`: the probes of a study on a network while it trains."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from unseen.extras import naming_extras
from unseen.text.notebook import table_html
from unseen.text.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from unseen.data.core.decoding.transform import Transform
    from unseen.data.core.open_dataset import OpenDataset
    from unseen.monitoring.best import Best
    from unseen.monitoring.network import Features
    from unseen.monitoring.scores import Check
    from unseen.studies.study import Study
    from unseen.trackers.tracker import Tracker

Place = str | PathLike[str]


class Monitor:
    """Measures a network while it trains, with the probes and data sets of a study, and keeps the scores by step.

    Call it in a training loop with the step and the network, or use `lightning()` or `trainer()`. The training is left
    as it was: mode, buffers, gradients, random states and autocast are restored exactly. Errors during the training
    become warnings and are recorded. A training that is started again continues the file, and checks that were done
    are not done again.

    Example:
        >>> monitor = unseen.Monitor(study, every=1000, out="monitor/", data="/data")
        >>> for step, (images, labels) in enumerate(loader):
        ...     train(network, images, labels)
        ...     monitor(step, network)
        ...     if (best := monitor.best()) and best.since >= 5:
        ...         break
        >>> monitor.report("page.html")
    """

    @naming_extras()
    def __init__(
        self,
        study: "Study | Place",
        *,
        every: int,
        out: Place,
        data: "Place | OpenDataset | Mapping[str, Place] | Sequence[OpenDataset] | None" = None,
        features: "Features" = None,
        transform: "Transform | int" = 224,
        workers: int = 0,
        share: bool = False,
        replace: bool = False,
        progress: "bool | str | Tracker | Sequence[str | Tracker]" = True,
    ) -> None:
        """Open the data sets of a study; whatever is wrong with it is an error now, before the training.

        Args:
            study: the result of `unseen.study`, or what it takes. Probes of feature vectors are fitted; others are
                left out, and named.
            every: number of steps between checks.
            out: folder of the scores and of the decoded images; that of a training that is started again.
            data: as for `unseen.run`.
            features: what of the network is measured, if not its output: the name of a module in it, or a function of
                the network and normalised images (b, 3, size, size) that returns (b, d) features.
            transform: the size of images, whose shortest side is resized to it (bicubic) before a centre crop, with
                ImageNet's mean and standard deviation; or a `Transform` with other values.
            workers: number of processes that decode images, once.
            share: in a training with several processes, let all of them extract a part of the images; all must then
                call the monitor at the same steps, and get the scores. Otherwise the first one measures alone.
            replace: remove scores that the folder has, instead of continuing them.
            progress: trackers, which receive the scores with their steps: names such as "tensorboard" (as for
                `unseen.run`), or objects.
        """
        from unseen.api.running import study as find
        from unseen.errors import UserError
        from unseen.files import check_writable
        from unseen.monitoring.about import FEATURES, keep_same, refuse_other_folder, start_anew
        from unseen.monitoring.check import Checks
        from unseen.monitoring.logged import Logged
        from unseen.monitoring.measured_study import measured_study, transform_of
        from unseen.monitoring.measurements import Measurements, is_first_started
        from unseen.monitoring.network import described_features
        from unseen.monitoring.processes import Processes
        from unseen.monitoring.records import Records
        from unseen.monitoring.undisturbed import same_random_state
        from unseen.studies.given import Given
        from unseen.studies.progress_bars import bars
        from unseen.studies.study import Study
        from unseen.trackers.chosen import choose
        from unseen.trackers.journal import Journal
        from unseen.trackers.sheltered import Sheltered
        from unseen.trackers.tracker import LoggedPlan

        if not isinstance(every, int) or isinstance(every, bool) or every < 1:
            raise UserError(f"every must be a number of steps of at least 1, not {every!r}")
        if not isinstance(study, Study | str | PathLike):
            raise UserError(f"study must be the name of one, a file, or the result of unseen.study, not {study!r:.60}")
        if not isinstance(out, str | PathLike):
            raise UserError(f"out must be a folder, not {out!r:.60}")
        what = described_features(features)
        self.folder, self.every = Path(out), every
        chosen = study if isinstance(study, Study) else find(fspath(study))
        with same_random_state(), bars(show=False) as watch:
            given = Given.in_python(data, None, allow_code=chosen.allow_code)
            opened = measured_study(chosen, given, transform_of(transform), watch)
            found = [] if isinstance(progress, bool) else choose(progress)
            check_writable(self.folder)
            first, trackers = is_first_started(), list[Logged]()
            if first:
                refuse_other_folder(self.folder)
            if first and replace:
                start_anew(self.folder)
            records = Records.read(self.folder)
            if first:
                keep_same(self.folder, {**opened.described, FEATURES: what}, scored=records.has_scores)
                for each in found:
                    journal = Journal(self.folder, each.word) if each.word else None
                    trackers.append(Logged(Sheltered(each.tracker, each.title, watch.tell), journal))
                    trackers[-1].begin(LoggedPlan(chosen.name, chosen.title or chosen.name, self.folder))
            for sentence in filter(None, [records.odd_words, records.done_words]):
                watch.tell(sentence)
        checks = Checks(opened, self.folder, Processes(), workers)
        self._measurements = Measurements(checks, records, trackers, features, share)

    def __call__(self, step: int, network: Any) -> "Check | None":
        """Measure a network if a check is due at this step.

        Args:
            step: number of the training step; checks are due at multiples of `every`, step 0 included.
            network: a `torch.nn.Module`, or a function from normalised images (b, 3, size, size) to (b, d) features,
                whose modules are found if it is a method of one or uses them by name.

        Returns:
            The check, with `.means` (name to mean over seeds) and `.scores`; None if none is due.
        """
        from unseen.monitoring.measurements import step_number

        return self.check(step, network) if step_number(step) % self.every == 0 else None

    def check(self, step: int, network: Any) -> "Check | None":
        """Measure a network at any step; arguments as for a call."""
        from unseen.monitoring.measurements import step_number

        return self._measurements.check(step_number(step), network)

    def prepare(self) -> None:
        """Decode all images now, instead of in the first check; damaged ones are an error now."""
        self._measurements.decode()

    @property
    def checks(self) -> "Mapping[int, Check]":
        """All checks by step, those of earlier trainings in this folder included."""
        return self._measurements.records.checks

    def scores(self) -> "pd.DataFrame":
        """One row per score: step, dataset, probe, shots, seed, metric, value, low, high and seconds."""
        from unseen.monitoring.tables import score_frame

        return score_frame(self.checks.values())

    def best(self, *, dataset: str | None = None, probe: str | None = None, metric: str | None = None) -> "Best | None":
        """The best check so far, by the mean of one score over data sets; None before the first.

        Args:
            dataset: only this one.
            probe: by its name in scores; by default the first of the study whose metric has a better direction.
            metric: by default the first of the probe.

        Returns:
            Its `step` and `value`, `since` (the number of checks after it, for early stopping) and `ties` (steps that
            the same test images do not tell from it).
        """
        from unseen.monitoring.best import best

        metrics = self._measurements.checks.study.metrics
        return best(self.checks, dataset=dataset, probe=probe, metric=metric, metrics=metrics)

    def report(self, out: Place) -> Path:
        """Write a page of scores against steps and return its path."""
        from unseen.report.core.render import write_page
        from unseen.report.monitoring.page import monitor_page

        page = Path(out)
        write_page(monitor_page(self.folder, self.checks, self._measurements.checks.study.metrics), page)
        return page

    def lightning(self, network: Any = None) -> Any:
        """A callback for Lightning: `Trainer(callbacks=[monitor.lightning()])`; its loggers get the scores too.

        Args:
            network: what is measured, if not the LightningModule.
        """
        from unseen.api.lightning_callback import MonitorCallback

        return MonitorCallback(self, network)

    def trainer(self, log: "Callable[[dict[str, float]], object] | None" = None) -> Any:
        """A callback for the `Trainer` of transformers: `Trainer(…, callbacks=[monitor.trainer()])`.

        Args:
            log: receives the scores by name; `trainer.log` passes them to all that the trainer reports to. By default
                they are only in `trainer.state.log_history`.
        """
        from unseen.api.trainer_callback import MonitorCallback

        return MonitorCallback(self, log)

    def close(self, error: BaseException | None = None) -> None:
        """Tell the trackers that there will be no more scores; also done at the end of a `with` block.

        Args:
            error: what ended the training, if an error did.
        """
        self._measurements.end(error)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self.close(error)

    def __repr__(self) -> str:
        last = f", the last at step {max(self.checks):,}" if self.checks else ""
        return (
            f"Monitor({self.folder}: every {counted(self.every, 'step')}, {counted(len(self.checks), 'check')}{last})"
        )

    def _repr_html_(self) -> str:
        return table_html(repr(self), self.scores()) if self.checks else repr(self)
