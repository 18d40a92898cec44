"""The page of verdicts, `docs/claims.md`, made from the claims and the tables."""

from textwrap import fill

from unseen.papers.claims import all_images, conclusion, few_images, first_version, first_version_spaces
from unseen.papers.claims.claim import Claim, Finding, Verdict
from unseen.papers.claims.printed import printed
from unseen.papers.sources import COG_V1, COG_V2, Source

WIDTH = 118
_BY_PAPER: tuple[tuple[Source, tuple[Claim, ...]], ...] = (
    (COG_V2, all_images.CLAIMS + few_images.CLAIMS + conclusion.CLAIMS),
    (COG_V1, first_version.CLAIMS + first_version_spaces.CLAIMS),
)
CLAIMS = tuple(claim for _, claims in _BY_PAPER for claim in claims)

_COUNTED: dict[Verdict, str] = {
    "holds": "hold:",
    "holds with exceptions": "hold with exceptions:",
    "not in the tables": "not in the tables:",
    "not what the tables say": "not what the tables say:",
}
_INTRODUCTION = """\
# What the papers claim, and what their tables say

On this page you can check the conclusions of ImageNet-CoG against its own tables. It goes through the sections in
which the two versions of the paper discuss their results, restates each conclusion in a few words, and gives the
verdict of the printed numbers. In Python:

```python
from unseen.papers.claims import CLAIMS, printed

[claim] = [claim for claim in CLAIMS if claim.id == "v2-few-transformers-l5"]
print(claim.says, claim.judge(printed()).evidence)
(claim.section, claim.judge(printed()).verdict)  # ('4.2.2', 'not what the tables say')
```

A claim has one of four verdicts:

| verdict | meaning |
| --- | --- |
| holds | the claim is true in every case that it covers |
| holds with exceptions | it is true in more than half of the cases; the exceptions are named |
| not what the tables say | it is true in half of the cases or fewer |
| not in the tables | the paper does not print the numbers that are needed |

Numbers are top-1 accuracies in percent, as printed, and differences are in points, both to one decimal. Every number
that a claim states is a case, and a difference of 0.1 from the tables counts: 35.2% is not within 25 to 35%. If a
claim says that two models are on par, differences up to 0.2 points do not count. A gain below one point is small.
Other tolerances are part of the evidence. Numbers of images per concept are those that the section discusses. The
authors' explanations are not judged. Models have the names of the catalogue (`unseen ls backbones --catalogue`).

The code that judges the claims writes this page from the tables in the package, and a test compares the two.
"""


def page() -> str:
    """The page in Markdown."""
    tables = printed()
    parts = [_INTRODUCTION]
    for source, claims in _BY_PAPER:
        findings = [claim.judge(tables) for claim in claims]
        summary = fill(f"{source.reference}. {_counted(claims, findings)}", WIDTH, break_on_hyphens=False)
        parts.append(f"## {source.name}\n\n{summary}\n")
        section = ""
        for claim, finding in zip(claims, findings, strict=True):
            if claim.section != section:
                section = claim.section
                parts.append(f"### Section {section}\n")
            parts.append(_entry(claim, finding))
    return "\n".join(parts)


def _counted(claims: tuple[Claim, ...], findings: list[Finding]) -> str:
    ids: dict[Verdict, list[str]] = {verdict: [] for verdict in _COUNTED}
    for claim, finding in zip(claims, findings, strict=True):
        ids[finding.verdict].append(claim.id)
    counts = "; ".join(f"{words} {len(ids[verdict])}" for verdict, words in _COUNTED.items() if ids[verdict])
    wrong = ", ".join(f"`{one}`" for one in ids["not what the tables say"])
    return f"{len(claims)} claims; {counts}" + (f" ({wrong})." if wrong else ".")


def _entry(claim: Claim, finding: Finding) -> str:
    first = fill(f"{claim.says} **{finding.verdict.capitalize()}.** `{claim.id}`", WIDTH - 2, break_on_hyphens=False)
    second = fill(finding.evidence, WIDTH - 2, break_on_hyphens=False)
    return "- " + f"{first}\n\n{second}".replace("\n", "\n  ").replace("\n  \n", "\n\n") + "\n"
