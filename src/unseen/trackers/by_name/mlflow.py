"""MLflow: one run per backbone, in an experiment that has the name of the study."""

import logging
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from socket import create_connection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from unseen.errors import UserError
from unseen.files import check_file_writable
from unseen.text.plain import plain_text
from unseen.trackers.tracker import LoggedEnd, LoggedPlan, LoggedScore, Logger

if TYPE_CHECKING:
    from mlflow import MlflowClient

DATABASE = "mlflow.db"
LONGEST, LONGEST_NAME, MOST = 500, 250, 100
"""What every version of MLflow takes: characters of a parameter and of its name, and parameters in one call."""
NOT_ALLOWED = re.compile(r"[^A-Za-z0-9_. -]")
SQLITE, MAGIC = "sqlite:///", b"SQLite format 3\0"
"""How the addresses of databases begin, and how their files do."""
PORTS = {"http": 80, "https": 443}
PATIENCE = 10
"""Seconds to wait for a server."""
STATUS = {"finished": "FINISHED", "failed": "FAILED", "interrupted": "KILLED"}


@dataclass
class MLflow:
    """Logs to an MLflow server or database.

    Scores of a network in training go to the run that the training loop has begun, if there is one.

    Attributes:
        where: the address of a server, or an SQLite file; by default that of the environment, or one in the run folder.
    """

    where: str = ""
    _client: "MlflowClient | None" = None
    _plan: LoggedPlan | None = None
    _experiment: str = ""
    _ids: dict[str, str] = field(default_factory=dict)
    _begun: set[str] = field(default_factory=set)

    def on_plan(self, plan: LoggedPlan) -> Mapping[str, str] | None:
        from mlflow import MlflowClient
        from mlflow.exceptions import MlflowException

        self._plan, address = plan, self._address(plan)
        _refuse_unreachable(address or os.environ.get("MLFLOW_TRACKING_URI", ""))
        logging.getLogger("mlflow.store.db.utils").setLevel(logging.WARNING)  # it speaks of every table it creates
        try:
            self._client = client = MlflowClient(tracking_uri=address)
            name = os.environ.get("MLFLOW_EXPERIMENT_NAME") or plan.study
            found = client.get_experiment_by_name(name)
            self._experiment = found.experiment_id if found else client.create_experiment(name)
            for backbone in plan.backbones:
                self._continue(backbone) if backbone in plan.ids else self._begin(backbone)
        except (MlflowException, ImportError) as error:
            raise UserError(f"MLflow: {str(error).splitlines()[0].rstrip('.')}") from None
        return self._ids

    def on_score(self, score: LoggedScore) -> None:
        client = self._client
        assert client is not None, "on_plan comes first"
        client.log_metric(self._run(score.backbone), score.name, score.plotted, step=score.place)

    def on_end(self, end: LoggedEnd) -> None:
        if self._client is not None:
            for run in self._begun:
                self._client.set_terminated(run, STATUS[end.status])

    def _address(self, plan: LoggedPlan) -> str | None:
        """The tracking URI; None for that of the environment."""
        if "://" in self.where or self.where.startswith("databricks"):
            return self.where
        if not self.where and (os.environ.get("MLFLOW_TRACKING_URI") or not plan.backbones):
            return None
        path = Path(self.where) if self.where else plan.folder / DATABASE
        _refuse_damaged(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        return f"{SQLITE}{path.absolute()}"

    def _run(self, backbone: str) -> str:
        """The identifier of a run, which is begun with the first score."""
        if backbone not in self._ids:
            import mlflow

            active = None if backbone else mlflow.active_run()
            if active is not None:
                self._ids[backbone] = active.info.run_id
            else:
                self._begin(backbone)
        return self._ids[backbone]

    def _begin(self, backbone: str) -> None:
        from mlflow.entities import Param

        client, plan = self._client, self._plan
        assert client is not None
        assert plan is not None
        tags = {"unseen.study": plan.study, "unseen.folder": plan.folder.resolve().name}
        run = client.create_run(self._experiment, run_name=plain_text(backbone or plan.title), tags=tags).info.run_id
        settings = {NOT_ALLOWED.sub("_", name)[:LONGEST_NAME]: value for name, value in plan.settings.items()}
        texts = {name: plain_text(str(value))[:LONGEST] for name, value in (settings | {"backbone": backbone}).items()}
        parameters = [Param(name, value) for name, value in texts.items()]
        for start in range(0, len(parameters), MOST):
            client.log_batch(run, params=parameters[start : start + MOST])
        self._ids[backbone] = run
        self._begun.add(run)

    def _continue(self, backbone: str) -> None:
        client, plan = self._client, self._plan
        assert client is not None
        assert plan is not None
        self._ids[backbone] = run = plan.ids[backbone]
        client.update_run(run, status="RUNNING")
        self._begun.add(run)


def _refuse_unreachable(address: str) -> None:
    """Refuse a database or server that cannot be reached: MLflow itself would try for minutes, with many warnings."""
    if address.startswith(SQLITE):
        _refuse_damaged(Path(address.removeprefix(SQLITE)))
    url = urlsplit(address)
    if url.scheme not in PORTS or not url.hostname or (url.scheme in getproxies() and not proxy_bypass(url.hostname)):
        return
    try:
        create_connection((url.hostname, url.port or PORTS[url.scheme]), PATIENCE).close()
    except (OSError, ValueError):
        raise UserError(f"MLflow: no server answers at {address}; start it, or give another address") from None


def _refuse_damaged(path: Path) -> None:
    """Refuse a file that cannot be written to, or that is no SQLite database."""
    check_file_writable(path)
    if path.exists() and path.stat().st_size:
        with path.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise UserError(f"{path}: no SQLite database; give another file for MLflow")


LOGGER = Logger(
    "mlflow", "MLflow", f"address of a server, or an SQLite file; {DATABASE} in the folder of the run by default",
    MLflow, "mlflow",
)  # fmt: skip
