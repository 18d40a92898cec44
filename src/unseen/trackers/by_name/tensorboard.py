"""TensorBoard: one folder of event files per backbone, which TensorBoard shows as its runs.

Events are written at once and in this process, so that an error is raised by the score that it concerns: the writers of
TensorBoard and PyTorch write in a thread.
"""

import os
import socket
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unseen.files import check_writable
from unseen.text.plain import plain_text
from unseen.trackers.metric_names import folder_name
from unseen.trackers.tracker import LoggedEnd, LoggedPlan, LoggedScore, Logger

if TYPE_CHECKING:
    from tensorboard.summary.writer.record_writer import RecordWriter

FOLDER = "tensorboard"


@dataclass
class TensorBoard:
    """Writes event files.

    Attributes:
        where: folder of the logs; that of a study has the name of its run folder. Empty for one in the run folder.
    """

    where: str = ""
    _plan: LoggedPlan | None = None
    _writers: "dict[str, RecordWriter]" = field(default_factory=dict)

    def on_plan(self, plan: LoggedPlan) -> None:
        self._plan = plan
        check_writable(self._folder(plan))

    def on_score(self, score: LoggedScore) -> None:
        self._write(score.backbone, {"tag": score.name, "simple_value": score.plotted}, step=score.place)

    def on_end(self, end: LoggedEnd) -> None:
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()

    def _folder(self, plan: LoggedPlan) -> Path:
        if not self.where:
            return plan.folder / FOLDER
        return Path(self.where, plan.folder.resolve().name) if plan.backbones else Path(self.where)

    def _write(self, backbone: str, value: dict[str, Any], step: int = 0) -> None:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        if backbone not in self._writers:
            self._open(backbone)
        event = Event(wall_time=time.time(), step=step, summary=Summary(value=[Summary.Value(**value)]))
        self._writers[backbone].write(event.SerializeToString())
        self._writers[backbone].flush()

    def _open(self, backbone: str) -> None:
        """Begin an event file, with the settings of the study as a text."""
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import SummaryMetadata
        from tensorboard.compat.proto.tensor_pb2 import TensorProto
        from tensorboard.compat.proto.types_pb2 import DT_STRING
        from tensorboard.summary.writer.record_writer import RecordWriter

        plan = self._plan
        assert plan is not None, "on_plan comes first"
        taken = {folder_name(other) for other in plan.backbones if other != backbone}
        folder = self._folder(plan) / folder_name(backbone, taken) if backbone else self._folder(plan)
        folder.mkdir(parents=True, exist_ok=True)
        place = folder / f"events.out.tfevents.{time.time_ns()}.{socket.gethostname()}.{os.getpid()}"
        writer = self._writers[backbone] = RecordWriter(place.open("ab"))
        writer.write(Event(wall_time=time.time(), file_version="brain.Event:2").SerializeToString())
        lines = "\n".join(f"    {name} = {' '.join(str(value).splitlines())}" for name, value in plan.settings.items())
        text = plain_text(f"{plan.title} ({plan.study})\n\n{lines}")
        metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
        self._write(
            backbone,
            {"tag": "study", "metadata": metadata, "tensor": TensorProto(dtype=DT_STRING, string_val=[text.encode()])},
        )


LOGGER = Logger(
    "tensorboard", "TensorBoard", f"folder of the logs; {FOLDER}/ in the folder of the run by default", TensorBoard,
    "tensorboard",
)  # fmt: skip
