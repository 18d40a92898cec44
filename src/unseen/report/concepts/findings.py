"""The findings of a run in sentences, at the top of its page."""

from collections.abc import Mapping, Sequence

import numpy as np
from markupsafe import Markup

from unseen.analyses.core.comparable import Comparable
from unseen.analyses.core.comparables import Comparables
from unseen.metrics.resampling import Interval
from unseen.report.concepts.rows import Row, main_row, metric_title
from unseen.runs.data import Domain, RunData
from unseen.runs.tables import LOGISTIC
from unseen.text.words import signed

OverConcepts = Mapping[tuple[str, str, str], Interval]
NOTHING = Comparables(())


def findings(
    data: RunData, rows: Sequence[Row], drops: OverConcepts | None = None, every: Comparables = NOTHING
) -> list[Markup]:
    """Sentences on what the page shows first: how far accuracy falls from the seen concepts to the last level, which
    backbone is best on either, and whether a level is harder than its place suggests.

    Args:
        drops: accuracy on a level minus that on the seen concepts, by backbone, level and shots.
        every: what can be compared on the same images, which decides who is called best.
    """
    main = main_row(rows)
    cells = {
        (r.backbone, r.domain): r for r in rows
        if (r.setting, r.shots, r.metric) == (main.setting, main.shots, main.metric)
    }  # fmt: skip
    scored = main.metric == "top1" and main.setting.endswith(f", {LOGISTIC} probe")
    domains = [domain for domain in data.domains if any((b.name, domain.name) in cells for b in data.backbones)]
    seen = next((domain for domain in domains if domain.seen), None)
    start = seen or domains[0]
    # Without a seen domain there is nothing that others fall from.
    end = next((domain for domain in reversed(domains) if domain != start), None) if seen else None
    shots = "all samples" if main.shots == "all" else f"{main.shots} shot{'s' if main.shots != '1' else ''}"
    where = f" ({main.setting})" if len({row.setting for row in rows}) > 1 else ""

    def ranked_on(domain: Domain) -> Comparable | None:
        number = None if main.shots == "all" else int(main.shots)
        return every.of(domain.name, main.probe, number) if main.metric == "top1" else None

    best = _best(cells, ranked_on(start), start, f" {metric_title(main.metric)}")
    opening = Markup("With {}{}, {}.").format(shots, where, best)
    if end is None:
        return [opening]
    ranked = sorted((row for row in cells.values() if row.domain == start.name), key=lambda row: -row.mean)
    pairs = [(row, cells[row.backbone, end.name]) for row in ranked if (row.backbone, end.name) in cells]
    sentences = list[Markup]()
    if pairs:
        among = ""
        if len(pairs) > 6:
            among = f"; these are the extremes of {len(pairs)} backbones"
            pairs.sort(key=lambda pair: pair[1].mean - pair[0].mean)
            pairs = [pairs[0], pairs[-1]]
        names, beware = _ends(start, end)
        if end.similarity is not None and end.similarity <= min(
            d.similarity for d in domains if d.similarity is not None
        ):
            names[1] += ", the least similar level"
        known = {
            name: drop for (name, domain, of), drop in (drops or {}).items() if (domain, of) == (end.name, main.shots)
        }
        changes = _changes(pairs, known if scored else {})
        sentences.append(Markup("From {} to {}, {}{}{}.").format(*names, changes, among, beware))
    sentences.append(opening)
    if len(data.backbones) > 1:
        sentences.append(_best(cells, ranked_on(end), end) + ".")
    levels = [domain for domain in domains if not domain.seen]
    return [*sentences, *_dip(data, cells, levels)]


def _dip(data: RunData, cells: Mapping[tuple[str, str], Row], levels: Sequence[Domain]) -> list[Markup]:
    """Why the first level is below the second, where it is for every backbone."""
    if len(levels) < 2 or levels[0].similarity is None:
        return []
    first, second = levels[:2]
    pairs = {
        backbone.name: (cells[backbone.name, first.name].mean, cells[backbone.name, second.name].mean)
        for backbone in data.backbones
        if (backbone.name, first.name) in cells and (backbone.name, second.name) in cells
    }
    if len(pairs) < 2 or any(near >= far for near, far in pairs.values()):
        return []
    untrained = [b.name for b in data.backbones if b.category == "baseline" and b.name in pairs]
    even = Markup(", even {}").format(_listed([_code(name) for name in untrained])) if untrained else ""
    return [
        Markup(
            "Every backbone is less accurate on {} than on {}{}: levels are ordered by similarity to the seen "
            "concepts, not by difficulty, and the concepts of {} are harder to tell apart."
        ).format(first.title, second.title, even, first.title)
    ]


def _ends(start: Domain, end: Domain) -> tuple[list[str], str]:
    """What two domains are called, and what to beware of where one has more classes to tell apart than the other."""
    counts = [domain.classes or len(domain.concepts) for domain in (start, end)]
    if counts[0] == counts[1] or not all(counts):
        return [start.title, end.title], ""
    names = [f"{domain.title} ({count:,} classes)" for domain, count in zip((start, end), counts, strict=True)]
    return names, "; the numbers of classes differ, so this difference does not measure generalization"


def _code(name: str) -> Markup:
    return Markup("<code>{}</code>").format(name)


def _best(cells: Mapping[tuple[str, str], Row], compared: Comparable | None, domain: Domain, unit: str = "") -> Markup:
    """Who is best on a domain if the comparisons resolve it, else the first by its mean and who is too close.

    One seed shows nothing of what other seeds would change, so that a lead is of these fits only.
    """
    best, *others = sorted((row for row in cells.values() if row.domain == domain.name), key=lambda row: -row.mean)
    value, names = f"{100 * best.mean:.1f}%{unit}", [row.backbone for row in others]
    standings = compared.standings if compared is not None and best.backbone in compared.kept else None
    tested = set(standings.names) if standings else set[str]()
    if others and standings and standings.winner == best.backbone and tested >= {*names}:
        one = compared is not None and all(len(seeds) == 1 for seeds in compared.kept.values())
        fits = " with the one seed of this run" if one else ""
        return Markup("{} is best on {} ({}){}").format(_code(best.backbone), domain.title, value, fits)
    first = set(standings.groups[0]) if standings else set[str]()
    close = [_code(name) for name in names if name in first]
    unknown = [_code(name) for name in names if name not in tested]
    smallest = compared.detectable(best.backbone) if compared is not None and close else None
    seen = f" (this run resolves {100 * smallest:.1f} points)" if smallest is not None else ""
    ahead = Markup(", not clearly ahead of {}{}").format(_few(close), seen) if close else Markup("")
    without = Markup("; its lead over {} was not tested").format(_few(unknown)) if unknown else ""
    return Markup("{} reaches {} on {}{}{}").format(_code(best.backbone), value, domain.title, ahead, without)


def _few(names: Sequence[Markup]) -> Markup:
    return _listed([*names[:2], Markup("{} more").format(len(names) - 2)] if len(names) > 3 else names)


def _changes(pairs: Sequence[tuple[Row, Row]], drops: Mapping[str, Interval]) -> Markup:
    """How far means move from one row to the other, in words and points.

    Changes within their interval over concepts come last, as they may be chance. Without that interval, a change has
    its deviation over seeds.
    """
    clear, unclear, verb, unit = list[Markup](), list[Markup](), "", " points of accuracy"
    for start, end in pairs:
        name, change, drop = start.backbone, 100 * (end.mean - start.mean), drops.get(start.backbone)
        if drop and drop.low <= 0 <= drop.high:
            unclear.append(Markup("{} ({})").format(_code(name), signed(change)))
            continue
        if abs(change) < 0.05:
            clear.append(Markup("{} does not change").format(_code(name)))
            verb = ""
            continue
        shared = [100 * (end.values[seed] - start.values[seed]) for seed in start.values if seed in end.values]
        spread = f" ± {np.std(shared, ddof=1):.1f}" if len(shared) > 1 and not drop else ""
        before, verb = verb, "loses " if change < 0 else "gains "
        clear.append(
            Markup("{} {}").format(_code(name), f"{verb if verb != before else ''}{abs(change):.1f}{spread}{unit}")
        )
        unit = ""
    parts = [_listed(clear)] if clear else []
    if unclear:
        does = "do" if len(unclear) > 1 else "does"
        parts.append(Markup("{} {} not clearly change").format(_listed(unclear), does))
    return Markup("; ").join(parts)


def _listed(parts: Sequence[Markup]) -> Markup:
    return Markup(" and ").join([*([Markup(", ").join(parts[:-1])] if len(parts) > 1 else []), *parts[-1:]])
