"""Sections on variants of the study: features against fine-tuning, and levels that were made in different ways.

Their counterparts are Figs. 6 and 7 of ImageNet-CoG (Sariyildiz et al. 2021) and Fig. 11 of its first version.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pandas as pd

from unseen.report.concepts.rows import shots_order
from unseen.report.concepts.section_parts import COLOURS, domain_ticks
from unseen.report.core.sections import Plot, Section, Series
from unseen.runs.data import Domain, RunData
from unseen.runs.provenance import levels_text
from unseen.runs.setup import LevelsUsed
from unseen.words import signed

FINE_TUNED = "fine-tuned"
RANDOM = "random"
"""The domain that scores on random sets of concepts are pooled in."""
DASHES = ("solid", "dash", "dashdot", "longdash", "longdashdot")


@dataclass(frozen=True)
class Way:
    """A way in which levels were made.

    Attributes:
        domains: what a level is called in its own run → its domain, in order.
    """

    name: str
    domains: Mapping[str, Domain]


def variant_sections(data: RunData, summary: pd.DataFrame) -> list[Section]:
    """Those of the two sections that the run has the scores for."""
    found = (fine_tuning_section(main_part(data), summary), ways_section(data, summary))
    return [section for section in found if section]


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


def fine_tuning_section(data: RunData, summary: pd.DataFrame) -> Section | None:
    """Accuracy of the regression on all samples relative to that of fine-tuning, by domain."""
    table = summary[(summary["metric"] == "top1") & (summary["shots"] == "all")]
    means = 100 * table.pivot_table(index=["backbone", "domain"], columns="probe", values="mean")
    if not {FINE_TUNED, "logistic"} <= set(means.columns):
        return None
    both = means[["logistic", FINE_TUNED]].dropna()
    domains = [domain for domain in data.domains if domain.name in set(both.index.get_level_values("domain"))]
    absolute, relative, sentences = list[Series](), list[Series](), list[str]()
    for number, backbone in enumerate(data.backbones):
        known = [domain for domain in domains if (backbone.name, domain.name) in both.index]
        if not known:
            continue
        colour, places = number % COLOURS, [float(domains.index(domain)) for domain in known]
        cells = [both.loc[(backbone.name, domain.name)] for domain in known]
        features, tuned = ([float(cell[probe]) for cell in cells] for probe in ("logistic", FINE_TUNED))
        less = [one - other for one, other in zip(features, tuned, strict=True)]
        texts = [
            f"{backbone.name}, {domain.title}: {a:.1f}% on features, {b:.1f}% fine-tuned, {signed(a - b)} points"
            for domain, a, b in zip(known, features, tuned, strict=True)
        ]
        name = f"{backbone.name}, fine-tuned"
        absolute.append(Series(name, places, tuned, colour, strong=True, dash="dash", symbol="diamond", hover=texts))
        absolute.append(Series(f"{backbone.name}, features", places, features, colour, strong=True, hover=texts))
        relative.append(Series(backbone.name, places, less, colour, strong=True, hover=texts))
        sentences.append(_fine_tuning_sentence(backbone.name, known, features, tuned))
    if not relative:
        return None
    ticks = domain_ticks(domains)
    plots = [
        Plot(
            "Relative to fine-tuning", "Domain", "Top-1 minus that of fine-tuning (points)", relative, ticks, zero=True
        ),
        Plot("Accuracy", "Domain", "Top-1 accuracy (%)", absolute, ticks),
    ]
    note = (
        "Fine-tuned: the whole backbone and a new linear layer, trained on the images of the domain. If levels were "
        "only of different difficulty, features would lose as much to it on each of them."
    )
    return Section("fine-tuning", "Features relative to fine-tuning", sentences, plots, note)


def _fine_tuning_sentence(backbone: str, domains: list[Domain], features: list[float], tuned: list[float]) -> str:
    ends = dict.fromkeys((0, len(domains) - 1))
    parts = [
        f"{signed(features[place] - tuned[place])} points on {domains[place].title} ({features[place]:.1f}% against "
        f"{tuned[place]:.1f}%)"
        for place in ends
    ]
    return f"Relative to fine-tuning, the features of {backbone} have {' and '.join(parts)}."


def ways_section(data: RunData, summary: pd.DataFrame) -> Section | None:
    """Accuracy by level, a line for each way of making levels; the mean of random sets is a flat line."""
    ways, random = level_ways(data), random_domains(data)
    table = summary[(summary["metric"] == "top1") & (summary["probe"] == "logistic")]
    if not ways or len(ways) + len(random) < 2 or table.empty:
        return None
    shots = max(table["shots"], key=shots_order)
    means = 100 * table[table["shots"] == shots].set_index(["backbone", "domain"])["mean"]
    seen = {domain.name: domain for domain in data.domains if domain.seen}
    titles = {name: domain.title for name, domain in {**seen, **ways[0].domains}.items()}
    titles |= {name: name.upper() for way in ways[1:] for name in way.domains if name not in titles}
    series, sentences = list[Series](), list[str]()
    for number, backbone in enumerate(data.backbones):
        own = {domain: float(mean) for (name, domain), mean in means.items() if name == backbone.name}
        said = []
        for place, way in enumerate(ways):
            line = {name: own[d.name] for name, d in {**seen, **way.domains}.items() if d.name in own}
            levels = [name for name in line if name in way.domains]
            if levels:
                series.append(_way_line(data, number, place, way, {titles[name]: line[name] for name in line}, titles))
                first, last = levels[0], levels[-1]
                said.append(
                    f"{line[first]:.1f}% on {titles[first]} and {line[last]:.1f}% on {titles[last]} of {way.name}"
                )
        for domain in random:
            if domain.name in own:
                series.append(_flat_line(data, number, domain, own[domain.name], len(seen), len(titles)))
                said.append(f"{own[domain.name]:.1f}% on the {domain.title}")
        if said:
            sentences.append(f"With {_samples(shots)}, {backbone.name} has {_listed(said)}.")
    if not series:
        return None
    ticks = tuple((float(place), title) for place, title in enumerate(titles.values()))
    flat = " The flat line is the mean over random sets of concepts." if random else ""
    note = (
        f"A line for each way of making levels, over the same seen concepts.{flat} Other plots by level show the "
        f"levels of {ways[0].name} alone; the table has all."
    )
    plot = Plot("", "Domain", "Top-1 accuracy (%)", series, ticks)
    return Section("ways", "Levels made in different ways", sentences, [plot], note)


def _way_line(
    data: RunData, number: int, place: int, way: Way, values: Mapping[str, float], titles: Mapping[str, str]
) -> Series:
    """The line of a backbone and a way, each by its number; `values` are percent by title of the level."""
    places = {title: float(place) for place, title in enumerate(titles.values())}
    return Series(
        name=_named(data, number, way.name),
        x=[places[title] for title in values],
        y=list(values.values()),
        colour=_colour(data, number, place),
        strong=True,
        dash=DASHES[place % len(DASHES)],
        hover=[
            f"{data.backbones[number].name}, {title} of {way.name}: {value:.1f}%" for title, value in values.items()
        ],
    )


def _flat_line(data: RunData, number: int, domain: Domain, value: float, start: int, stop: int) -> Series:
    """The mean of random sets, over the places of the levels."""
    places = [float(place) for place in range(start, stop)]
    return Series(
        name=_named(data, number, domain.title),
        x=places,
        y=[value] * len(places),
        colour=None if len(data.backbones) == 1 else number % COLOURS,
        strong=True,
        mode="lines",
        dash="dot",
        hover=[f"{data.backbones[number].name}, {domain.title}: {value:.1f}%"] * len(places),
    )


def _named(data: RunData, number: int, what: str) -> str:
    return what if len(data.backbones) == 1 else f"{data.backbones[number].name}, {what}"


def _colour(data: RunData, backbone: int, way: int) -> int:
    """Of a line: a backbone has one colour and its ways are told apart by dashes; alone, each way has its own."""
    return (way if len(data.backbones) == 1 else backbone) % COLOURS


def _samples(shots: str) -> str:
    return "all samples" if shots == "all" else f"{shots} sample{'' if shots == '1' else 's'} a concept"


def _listed(parts: list[str]) -> str:
    return "; ".join(parts[:-1]) + "; and " + parts[-1] if len(parts) > 1 else parts[0]
