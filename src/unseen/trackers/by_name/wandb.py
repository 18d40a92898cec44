"""Weights & Biases: one run per backbone, in a group that has the name of the folder of the run.

The environment variables of W&B apply: `WANDB_MODE=offline` writes into the folder of the run, for `wandb sync`.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from secrets import token_hex
from threading import Thread
from typing import TYPE_CHECKING

from unseen.errors import UserError
from unseen.text.plain import plain_text
from unseen.trackers.tracker import LoggedEnd, LoggedPlan, LoggedScore, Logger

if TYPE_CHECKING:
    from wandb import Run

PROJECT = "unseen"
PATIENCE = 120
"""Seconds to wait for the upload at the end: without a network, W&B would wait for ever before the page is written."""
SEEDS, STEP = "unseen_seeds", "unseen_step"
"""What the charts of scores have on the horizontal axis: the number of seeds of a mean, or the training step."""


@dataclass
class WeightsAndBiases:
    """Logs to W&B.

    Scores of a network in training go to the run that the training loop has begun, if there is one.

    Attributes:
        where: `PROJECT` or `ENTITY/PROJECT`; by default that of the environment.
    """

    where: str = ""
    _plan: LoggedPlan | None = None
    _ids: dict[str, str] = field(default_factory=dict)
    _runs: "dict[str, Run]" = field(default_factory=dict)
    _axes: set[tuple[str, str]] = field(default_factory=set)

    def on_plan(self, plan: LoggedPlan) -> Mapping[str, str] | None:
        self._plan = plan
        self._ids = {name: plan.ids.get(name) or token_hex(4) for name in plan.backbones}
        if plan.backbones:
            self._run(plan.backbones[0])  # a missing login is said before the work
        return self._ids

    def on_score(self, score: LoggedScore) -> None:
        run, axis = self._run(score.backbone), SEEDS if score.step is None else STEP
        if (score.backbone, score.name) not in self._axes:
            # W&B's own steps only grow, and those of a training loop are not ours to move.
            run.define_metric(axis, hidden=True)
            run.define_metric(score.name, step_metric=axis)
            self._axes.add((score.backbone, score.name))
        run.log({score.name: score.plotted, axis: score.place})

    def on_end(self, end: LoggedEnd) -> None:
        runs, self._runs = self._runs, {}
        ending = Thread(target=_finish, args=(runs.values(), int(end.status != "finished")), daemon=True)
        ending.start()
        ending.join(PATIENCE)
        if ending.is_alive():
            raise TimeoutError(f"uploading has not ended after {PATIENCE} s, and W&B goes on with it at the exit")

    def _run(self, backbone: str) -> "Run":
        import wandb

        if not backbone and wandb.run is not None:
            return wandb.run
        if backbone not in self._runs:
            self._runs[backbone] = self._begun(backbone)
        return self._runs[backbone]

    def _begun(self, backbone: str) -> "Run":
        import wandb

        plan = self._plan
        assert plan is not None, "on_plan comes first"
        entity, _, project = self.where.rpartition("/")
        named = {"study": plan.study, "backbone": backbone, **plan.settings}
        configuration = {key: plain_text(each) if isinstance(each, str) else each for key, each in named.items()}
        plan.folder.mkdir(parents=True, exist_ok=True)
        try:
            return wandb.init(
                entity=entity or None,
                project=project or os.environ.get("WANDB_PROJECT") or PROJECT,
                name=plain_text(backbone or plan.title),
                id=self._ids.get(backbone),
                group=plan.folder.resolve().name,
                job_type=plan.study,
                config=configuration,
                allow_val_change=True,
                dir=os.environ.get("WANDB_DIR") or plan.folder,
                resume="allow" if backbone in plan.ids else None,
                reinit="create_new",
                settings=wandb.Settings(console="off", quiet=True),
            )
        except wandb.errors.UsageError as error:
            raise UserError(
                f"Weights & Biases: {str(error).rstrip('.')}; without a network, set WANDB_MODE=offline"
            ) from None


def _finish(runs: "Iterable[Run]", code: int) -> None:
    for run in runs:
        run.finish(exit_code=code)


LOGGER = Logger(
    "wandb", "Weights & Biases", f"PROJECT or ENTITY/PROJECT; {PROJECT} by default", WeightsAndBiases, "wandb"
)
