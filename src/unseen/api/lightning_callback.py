"""`monitor.lightning()`: a monitor as a callback of Lightning."""

from typing import TYPE_CHECKING, Any

from unseen.extras import naming_extras

if TYPE_CHECKING:
    from unseen.api.monitor import Monitor

with naming_extras():
    from lightning.pytorch import Callback, LightningModule, Trainer


class MonitorCallback(Callback):
    """Calls a monitor at the start of a training and after each of its steps, and logs the scores.

    Lightning's loggers get them with their steps, and its other callbacks by name in `trainer.callback_metrics`.
    """

    def __init__(self, monitor: "Monitor", network: Any = None) -> None:
        self.monitor, self.network = monitor, network
        self._last = -1

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """The network before its first step, or after the step that a checkpoint is of."""
        self.monitor.prepare()
        self._last = -1
        self._check(trainer, pl_module)

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """After a batch, if it was the last of a step."""
        self._check(trainer, pl_module)

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Ends the trackers of the monitor."""
        self.monitor.close()

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """Tells the trackers of the monitor that the training did not finish."""
        self.monitor.close(exception)

    def _check(self, trainer: Trainer, pl_module: LightningModule) -> None:
        step = trainer.global_step
        if step == self._last:
            return
        self._last = step
        check = self.monitor(step, pl_module if self.network is None else self.network)
        if check is None or not check.means:
            return
        for logger in trainer.loggers:
            logger.log_metrics(check.means, step=step)
        if step:
            pl_module.log_dict(check.means, on_step=True, on_epoch=False, logger=False, rank_zero_only=True)
