"""The numbers printed in the papers, as tables."""

from unseen.papers.load import cog_models, cog_v1_models, notes, published
from unseen.papers.sources import TABLES, PrintedTable, Source

__all__ = ["TABLES", "PrintedTable", "Source", "cog_models", "cog_v1_models", "notes", "published"]
