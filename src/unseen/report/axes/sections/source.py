"""The sources of the numbers."""

from dataclasses import replace

from unseen.report.axes.page_data import AxesPage
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Cell, Column, Row, Section, Table
from unseen.report.core.provenance import provenance_section


def build(page: AxesPage) -> Section:
    """The last section; with published models, also the weights that two papers share."""
    section = provenance_section(page.provenance)
    if not page.models:
        return section
    columns = [Column(title, number=False) for title in ("ImageNet-CoG", "Ericsson et al.", "Weights", "What differs")]
    rows = [
        Row(
            [
                Cell(model.name),
                Cell(model.other),
                Cell(model.weights),
                Cell(model.differs or "nothing known", style="text"),
            ]
        )
        for model in page.models
    ]
    note = (
        "Only for these models do both papers name the same file of weights. One paper measured concepts, the other "
        "tasks, each with its own code."
    )
    return replace(section, tables=[Table("weights", columns, rows, "The same weights in two papers", note=note)])


SECTION = PageSection("axes", 900, build)
