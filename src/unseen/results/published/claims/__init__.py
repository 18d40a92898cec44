"""What two papers conclude from their tables, and whether the tables say so."""

from unseen.results.published.claims.claim import Claim, Finding, Verdict
from unseen.results.published.claims.printed import Printed, printed
from unseen.results.published.claims.verdicts import CLAIMS, page

__all__ = ["CLAIMS", "Claim", "Finding", "Printed", "Verdict", "page", "printed"]
