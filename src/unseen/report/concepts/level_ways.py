"""The ways in which levels were made, where runs with different ones share a page."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from unseen.runs.data import Domain, RunData
from unseen.runs.provenance import levels_text
from unseen.runs.setup import LevelsUsed

RANDOM = "random"
"""The domain that scores on random sets of concepts are pooled in."""


@dataclass(frozen=True)
class Way:
    """A way in which levels were made.

    Attributes:
        domains: what a level is called in its own run → its domain, in order.
    """

    name: str
    domains: Mapping[str, Domain]


def main_part(data: RunData) -> RunData:
    """The run with one way of making levels: that of the first run, where several were merged.

    Levels of the same name beside each other on one axis would be hard to read. Random sets are left out where there
    are levels.
    """
    ways = level_ways(data)
    other = {domain.name for way in ways[1:] for domain in way.domains.values()}
    other |= {domain.name for domain in random_domains(data)} if ways else set()
    if not other:
        return data
    return replace(
        data,
        domains=[domain for domain in data.domains if domain.name not in other],
        concept_accuracy=[item for item in data.concept_accuracy if item.domain not in other],
        concept_hits=[hits for hits in data.concept_hits if hits.domain not in other],
    )


def random_domains(data: RunData) -> list[Domain]:
    """The means over random sets of concepts; of each run that has one, if several were merged."""
    return [domain for domain in data.domains if _own_name(domain) == RANDOM]


def level_ways(data: RunData) -> list[Way]:
    """The ways in which the levels of a run were made, that of levels with their own names first.

    One level alone is none: a run of two or more is what may have its like.
    """
    found: dict[LevelsUsed | str, dict[str, Domain]] = {"": {}}
    levels = [domain for domain in data.domains if not domain.seen and domain not in random_domains(data)]
    for domain in levels:
        name, origin = _own_name(domain), domain.origin
        # Parts of one study, run on several machines, have the same levels.
        way = (origin.levels or origin.run) if origin and name != domain.name else ""
        found.setdefault(way, {})[name] = domain
    ways = {made: domains for made, domains in found.items() if len(domains) > 1}
    if "" not in ways:
        return []
    first = next(iter(ways[""].values())).origin
    made_by = [made or (first and first.levels) or "the first run" for made in ways]
    often = Counter(made.name for made in made_by if isinstance(made, LevelsUsed))
    return [Way(_way_name(made, often), domains) for made, domains in zip(made_by, ways.values(), strict=True)]


def _way_name(made: LevelsUsed | str, often: Mapping[str, int]) -> str:
    """The name of levels, with their hash where others have that name too; the name of a run that does not say."""
    if isinstance(made, str):
        return made
    return made.name if often[made.name] == 1 else levels_text(made)


def _own_name(domain: Domain) -> str:
    """What a domain is called in its own run."""
    return domain.origin.name if domain.origin else domain.name
