"""Tables and notes on probes and metrics that are not of this package: the user's own, and those of other packages."""

from collections.abc import Iterable, Sequence

from unseen.extension.own_code import SHORT
from unseen.probes.own import OWN, OWN_METRIC
from unseen.report.core.model import Cell, Column, Row, Table
from unseen.runs.data import known_metrics
from unseen.runs.setup import ProtocolUsed

COLUMNS = (
    Column("Name", number=False, names=("name",)),
    Column("Description", number=False, names=("title",)),
    Column("Scores", number=False, names=("scores",)),
    Column("File or package", number=False, names=("file",)),
    Column("SHA-256", number=False, names=("code",)),
)
NOTE = (
    "There are no published numbers for your own code. The hash covers the file and the modules that it imports from "
    "its own folder; results of other code are never reused."
)


def own_probes(code: Iterable[ProtocolUsed]) -> list[ProtocolUsed]:
    """The probes among the user's own code."""
    return [each for each in code if each.name == OWN]


def own_metrics(code: Iterable[ProtocolUsed]) -> list[ProtocolUsed]:
    """The metrics among the user's own code."""
    return [each for each in code if each.name == OWN_METRIC]


def code_table(code: Sequence[ProtocolUsed]) -> Table:
    """One row per probe and metric, with its title and file."""
    known = known_metrics(code)
    rows = []
    for each in (*own_probes(code), *own_metrics(code)):
        names = each.settings.get("metrics")
        scored = [str(name) for name in names] if isinstance(names, list) else [each.probe]
        scores = "; ".join(
            (f"{name}: " if isinstance(names, list) else "") + known[name].range_and_direction
            for name in scored
            if name in known
        )
        cells = [each.probe, str(each.settings.get("title", "")), scores, _place(each)]
        rows.append(Row([Cell(text) for text in (*cells, str(each.settings.get("code", ""))[:SHORT])]))
    return Table("own-code", COLUMNS, rows)


def _place(code: ProtocolUsed) -> str:
    """The file, or the package and its version."""
    known = code.settings
    return str(known["file"]) if "file" in known else f"{known.get('package', '')} {known.get('version', '')}".strip()
