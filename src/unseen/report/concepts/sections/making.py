"""How the levels were made: the rules, and how similar each level is to the seen concepts."""

from unseen.report.concepts.context import ConceptContext
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Cell, Column, Row, Section, Table


def build(context: ConceptContext) -> Section | None:
    """A table of rules and one of similarities, where these are known."""
    tables = [table for table in (_rules(context), _similarities(context)) if table.rows]
    return Section("making", "How levels were made", menu="Levels", tables=tables) if tables else None


def _rules(context: ConceptContext) -> Table:
    columns = [Column("Rule", number=False), Column("Removed"), Column("Left")]
    rows = [
        Row([Cell(step.rule), Cell(f"{step.removed:,}", (step.removed,)), Cell(f"{step.left:,}", (step.left,))])
        for step in context.data.steps
    ]
    return Table("rules", columns, rows, "Rules, in the order they were applied", kind="plain")


def _similarities(context: ConceptContext) -> Table:
    domains = context.data.domains
    known = [domain.similarity for domain in domains if domain.similarity is not None]
    columns = [Column("Domain", number=False), Column("Concepts"), Column("Similarity"), Column(number=False)]
    rows = [
        Row(
            [
                Cell(domain.title), Cell(str(len(domain.concepts) or "–")),
                Cell() if domain.similarity is None else Cell(f"{domain.similarity:.3f}", (domain.similarity,)),
                Cell("") if domain.similarity is None
                else Cell("", style="bar", meter=domain.similarity / max(*known, 1e-9)),
            ]
        )
        for domain in domains if known
    ]  # fmt: skip
    return Table("similarities", columns, rows, "Mean similarity to the seen concepts", kind="plain")


SECTION = PageSection("concepts", 220, build)
