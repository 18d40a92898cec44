"""What a run shows first, in sentences."""

from collections.abc import Mapping, Sequence

import numpy as np
from markupsafe import Markup

from unseen.metrics.resampling import Interval
from unseen.report.concepts.rows import Row, main_row, metric_title
from unseen.runs.data import Domain, RunData
from unseen.runs.tables import LOGISTIC

OverConcepts = Mapping[tuple[str, str, str], Interval]


def findings(data: RunData, rows: Sequence[Row]) -> list[Markup]:
    """Sentences on what the page shows first: who is best on the first domain and on the last, and the way between."""
    main = main_row(rows)
    cells = {
        (r.backbone, r.domain): r for r in rows
        if (r.setting, r.shots, r.metric) == (main.setting, main.shots, main.metric)
    }  # fmt: skip
    scored = main.metric == "top1" and main.setting.endswith(f", {LOGISTIC} probe")
    over_concepts = data.concept_intervals if scored else {}
    domains = [domain for domain in data.domains if any((b.name, domain.name) in cells for b in data.backbones)]
    seen = next((domain for domain in domains if domain.seen), None)
    start = seen or domains[0]
    # Without a seen domain there is nothing that others fall from.
    end = next((domain for domain in reversed(domains) if domain != start), None) if seen else None
    shots = "all samples" if main.shots == "all" else f"{main.shots} shot{'s' if main.shots != '1' else ''}"
    where = f" ({main.setting})" if len({row.setting for row in rows}) > 1 else ""
    best = _best(cells, over_concepts, start, f" {metric_title(main.metric)}")
    opening = Markup("With {}{}, {}.").format(shots, where, best)
    if end is None:
        return [opening]
    ranked = sorted((row for row in cells.values() if row.domain == start.name), key=lambda row: -row.mean)
    pairs = [(row, cells[row.backbone, end.name]) for row in ranked if (row.backbone, end.name) in cells]
    sentences = [opening]
    if pairs:
        among = ""
        if len(pairs) > 6:
            among = f"; these are the extremes of {len(pairs)} backbones"
            pairs.sort(key=lambda pair: pair[1].mean - pair[0].mean)
            pairs = [pairs[0], pairs[-1]]
        names, beware = _ends(start, end)
        sentences.append(Markup("From {} to {}, {}{}{}.").format(*names, _ways(pairs), among, beware))
    if len(data.backbones) > 1:
        sentences.append(_best(cells, over_concepts, end) + ".")
    return sentences


def _ends(start: Domain, end: Domain) -> tuple[list[str], str]:
    """What two domains are called, and what to beware of where one has more classes to tell apart than the other."""
    counts = [domain.classes or len(domain.concepts) for domain in (start, end)]
    if counts[0] == counts[1] or not all(counts):
        return [start.title, end.title], ""
    names = [f"{domain.title} ({count:,} classes)" for domain, count in zip((start, end), counts, strict=True)]
    return names, "; the numbers of classes differ, so this difference does not measure generalization"


def _code(name: str) -> Markup:
    return Markup("<code>{}</code>").format(name)


def _best(cells: Mapping[tuple[str, str], Row], over_concepts: OverConcepts, domain: Domain, unit: str = "") -> Markup:
    """Who is best on a domain; where the intervals of others overlap with its own, that too."""
    ranked = sorted((row for row in cells.values() if row.domain == domain.name), key=lambda row: -row.mean)
    best = ranked[0]
    value = f"{100 * best.mean:.1f}%{unit}"
    if len(ranked) == 1:
        return Markup("{} reaches {} on {}").format(_code(best.backbone), value, domain.title)
    ends = [_widest(row, over_concepts) for row in ranked]
    close = [
        row for row, end in zip(ranked[1:], ends[1:], strict=True) if end and ends[0] and end.high >= ends[0].low
    ]  # fmt: skip
    if not close:
        return Markup("{} has the highest mean on {} ({})").format(_code(best.backbone), domain.title, value)
    more = f" and {len(close) - 1} more" if len(close) > 1 else ""
    known = set(map(id, over_concepts.values()))
    spread = "intervals over seeds and concepts" if any(id(end) in known for end in ends) else "spread over seeds"
    return Markup("{} has the highest mean on {} ({}), with {}{} within the {}").format(
        _code(best.backbone), domain.title, value, _code(close[0].backbone), more, spread
    )


def _widest(row: Row, over_concepts: OverConcepts) -> Interval | None:
    """The interval over seeds or that over concepts too, whichever is wider; none where there is neither."""
    over_seeds = Interval(row.mean, row.low, row.high) if row.low is not None and row.high is not None else None
    both = (over_concepts.get((row.backbone, row.domain, row.shots)), over_seeds)
    return max((found for found in both if found), key=lambda found: found.high - found.low, default=None)


def _ways(pairs: Sequence[tuple[Row, Row]]) -> Markup:
    """How far means move from one row to the other, with the deviation of that over seeds, in words and points."""
    parts, verb, unit = list[Markup](), "", " points"
    for start, end in pairs:
        change = 100 * (end.mean - start.mean)
        if abs(change) < 0.05:
            parts.append(Markup("{} stays as it is").format(_code(start.backbone)))
            verb = ""
            continue
        shared = [100 * (end.values[seed] - start.values[seed]) for seed in start.values if seed in end.values]
        spread = f" ± {np.std(shared, ddof=1):.1f}" if len(shared) > 1 else ""
        said, verb = verb, "falls " if change < 0 else "rises "
        text = f"{verb if verb != said else ''}by {abs(change):.1f}{spread}{unit}"
        parts.append(Markup("{} {}").format(_code(start.backbone), text))
        unit = ""
    return Markup(" and ").join([*([Markup(", ").join(parts[:-1])] if len(parts) > 1 else []), parts[-1]])
