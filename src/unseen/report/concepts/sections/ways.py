"""Levels that were made in different ways (Fig. 7 of ImageNet-CoG, and Fig. 11 of its first version)."""

from collections.abc import Mapping

from unseen.report.concepts.context import ConceptContext
from unseen.report.concepts.level_ways import Way, level_ways, random_domains
from unseen.report.concepts.rows import shots_order
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Figure, Section, Series
from unseen.runs.data import Domain, RunData

RANDOM_VARIANT = 2
"""Dots, which no way of making levels has."""


def build(context: ConceptContext) -> Section | None:
    """Accuracy by level, a line for each way of making levels; the mean of random sets is a flat line."""
    data, summary = context.data, context.summary
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
        f"One line per way of making levels, for the same seen concepts.{flat} Other figures by level show only the "
        f"levels of {ways[0].name}; the table of all scores has all levels."
    )
    figure = Figure("", "Domain", "Top-1 accuracy (%)", series, ticks)
    return Section("ways", "Levels made in different ways", sentences, [figure], note)


def _way_line(
    data: RunData, number: int, place: int, way: Way, values: Mapping[str, float], titles: Mapping[str, str]
) -> Series:
    """The line of a backbone and a way, each by its number; `values` are percent by title of the level."""
    places = {title: float(place) for place, title in enumerate(titles.values())}
    return Series(
        name=_named(data, number, way.name),
        x=[places[title] for title in values],
        y=list(values.values()),
        strong=True,
        backbone=data.backbones[number].name,
        variant=place + (place >= RANDOM_VARIANT),
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
        strong=True,
        mode="lines",
        backbone=data.backbones[number].name,
        variant=RANDOM_VARIANT,
        hover=[f"{data.backbones[number].name}, {domain.title}: {value:.1f}%"] * len(places),
    )


def _named(data: RunData, number: int, what: str) -> str:
    return what if len(data.backbones) == 1 else f"{data.backbones[number].name}, {what}"


def _samples(shots: str) -> str:
    return "all samples" if shots == "all" else f"{shots} sample{'' if shots == '1' else 's'} per concept"


def _listed(parts: list[str]) -> str:
    return "; ".join(parts[:-1]) + "; and " + parts[-1] if len(parts) > 1 else parts[0]


SECTION = PageSection("concepts", 80, build)
