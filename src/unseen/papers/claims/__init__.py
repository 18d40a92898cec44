"""The conclusions of two papers, and whether their tables support them."""

from unseen.papers.claims.claim import Claim, Finding, Verdict
from unseen.papers.claims.printed import Printed, printed
from unseen.papers.claims.verdicts import CLAIMS, page

__all__ = ["CLAIMS", "Claim", "Finding", "Printed", "Verdict", "page", "printed"]
