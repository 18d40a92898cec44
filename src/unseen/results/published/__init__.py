"""The numbers that papers printed, as tables."""

from unseen.results.published.load import cog_models, cog_v1_models, notes, published
from unseen.results.published.sources import TABLES, PrintedTable, Source

__all__ = ["TABLES", "PrintedTable", "Source", "cog_models", "cog_v1_models", "notes", "published"]
