"""The papers behind the numbers of runs, for `results.bib`."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from unseen.analyses.core.suites import suites_of
from unseen.data.registry import find_datasets
from unseen.papers.references import CALIBRATION, COG, ERICSSON, PAIRED, SHI, SIMILARITY, WORDNET, bibliography
from unseen.papers.suites import SUITES
from unseen.probes.by_name import all_probes
from unseen.report.core.model import Page
from unseen.runs.data import RunData

PROTOCOLS = {"cog-": COG, "ericsson-2021": ERICSSON}
"""First letters of the name of a protocol → its paper."""
SECTIONS = {"similarity": SIMILARITY, "comparison": PAIRED, "fits": SHI, "calibration": CALIBRATION, "published": COG}
"""Section of a page → the papers of its statistics, or of the numbers that it shows beside those of the run."""


def page_references(page: Page) -> list[str]:
    """The entries of a page of which no more is known than its sections."""
    return bibliography(_of_sections(page))


def run_references(page: Page, data: RunData, folders: Sequence[Path]) -> list[str]:
    """The entries of a page of runs: unseen, protocols, probes, data sets and the statistics of its sections."""
    return bibliography(_citations(page, data, folders))


def _citations(page: Page, data: RunData, folders: Sequence[Path]) -> Iterator[str]:
    protocols = {score.protocol for score in data.scores} | {each.name for each in data.protocols}
    yield from (paper for start, paper in PROTOCOLS.items() if any(name.startswith(start) for name in protocols))
    if data.published or any(domain.axis == "concepts" for domain in data.domains):
        yield from (COG, WORDNET)
    suites = suites_of(folders)
    yield from (suite.papers for name, suite in SUITES.items() if name in suites)
    probes = all_probes()
    used = dict.fromkeys(score.probe for score in data.scores)
    for name in used:
        # A variant, such as pca-32, is of the probe whose name begins it.
        known = max((each for each in probes if name == each or name.startswith(f"{each}-")), key=len, default="")
        if known:
            yield probes[known].citation
    datasets = find_datasets()
    for domain in data.domains:
        name = domain.origin.name if domain.origin else domain.name
        own = data.remarks.get(f"citation of {domain.name}", "")
        yield own or (datasets[name].citation if name in datasets else "")
    yield from _of_sections(page)


def _of_sections(page: Page) -> Iterator[str]:
    names = {each.name for each in page.sections}
    yield from (papers for section, papers in SECTIONS.items() if section in names)
