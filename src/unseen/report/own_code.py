"""What pages say of probes and metrics of the user's own."""

from collections.abc import Iterable

from unseen.metrics.own import MetricUsed
from unseen.own_code import SHORT
from unseen.probes.own import OWN
from unseen.report.core.model import Cell, Column, Row, Table
from unseen.runs.data import OWN_METRIC, RunData
from unseen.runs.setup import ProtocolUsed

COLUMNS = (
    Column("Name", number=False, names=("name",)),
    Column("What it is", number=False, names=("title",)),
    Column("Scores", number=False, names=("scores",)),
    Column("File", number=False, names=("file",)),
    Column("SHA-256", number=False, names=("code",)),
)
NOTE = (
    "Code of your own: no published number is of it. The hash is of the file and of the modules that it imports from "
    "its own folder; results of other code are not taken for these."
)


def own_probes(data: RunData) -> list[ProtocolUsed]:
    """What a run says of its user's probes; of several runs together, of all."""
    return [each for each in _used(data) if each.name == OWN]


def own_metrics(data: RunData) -> list[ProtocolUsed]:
    """What a run says of its user's metrics."""
    return [each for each in _used(data) if each.name == OWN_METRIC]


def _used(data: RunData) -> Iterable[ProtocolUsed]:
    used = [each for _, part in data.parts for each in part.protocols] or data.protocols
    return {each.probe: each for each in used}.values()


def code_table(data: RunData) -> Table:
    """A row for each probe and metric: what it is, and which file it comes from."""
    known = data.metrics
    rows = []
    for each in (*own_probes(data), *own_metrics(data)):
        names = each.settings.get("metrics")
        scored = [str(name) for name in names] if isinstance(names, list) else [each.probe]
        scores = "; ".join(
            (f"{name}: " if isinstance(names, list) else "") + MetricUsed.of(known[name]).range
            for name in scored
            if name in known
        )
        cells = [each.probe, str(each.settings.get("title", "")), scores, str(each.settings.get("file", ""))]
        rows.append(Row([Cell(text) for text in (*cells, str(each.settings.get("code", ""))[:SHORT])]))
    return Table("own-code", COLUMNS, rows)
