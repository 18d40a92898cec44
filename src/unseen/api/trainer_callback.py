"""`monitor.trainer()`: a monitor as a callback of the `Trainer` of transformers."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from unseen.extras import naming_extras

if TYPE_CHECKING:
    from unseen.api.monitor import Monitor

with naming_extras():
    from transformers import TrainerCallback


class MonitorCallback(TrainerCallback):  # type: ignore[misc]  # transformers is not typed
    """Calls a monitor at the start of a training and after each of its steps.

    Attributes:
        log: receives the scores by name; without it they are added to the history of the trainer.
    """

    def __init__(self, monitor: "Monitor", log: Callable[[dict[str, float]], object] | None = None) -> None:
        self.monitor, self.log = monitor, log

    def on_train_begin(self, args: Any, state: Any, control: Any, **of: Any) -> None:
        """The network before its first step, or after the step that a checkpoint is of."""
        self.monitor.prepare()
        self._check(state, of["model"])

    def on_step_end(self, args: Any, state: Any, control: Any, **of: Any) -> None:
        """After a step of the optimiser."""
        self._check(state, of["model"])

    def on_train_end(self, args: Any, state: Any, control: Any, **of: Any) -> None:
        """Ends the trackers of the monitor."""
        self.monitor.close()

    def _check(self, state: Any, model: Any) -> None:
        check = self.monitor(state.global_step, model)
        if check is None or not check.means:
            return
        if self.log is not None:
            self.log(check.means)
        else:
            state.log_history.append({**check.means, "step": state.global_step})
