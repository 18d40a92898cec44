"""The page of a network in training: the best step and what is not resolved from it, curves, and the cost of checks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from unseen.errors import UserError
from unseen.metrics.catalogue import METRICS, Metric
from unseen.monitoring.about import is_of_monitor
from unseen.monitoring.best import Best, Curve, best, curves, is_resolved, known_metrics
from unseen.monitoring.records import Records
from unseen.monitoring.scores import Check
from unseen.report.core.looks import COLOURS, DASHES, SYMBOLS
from unseen.report.core.metric_words import metric_words, probe_words
from unseen.report.core.model import Cell, Column, Figure, Page, Row, Section, Series, Table
from unseen.report.core.provenance import provenance_section
from unseen.report.monitoring.provenance import monitor_provenance
from unseen.runs.score import shots_name
from unseen.text.words import counted, duration, joined, signed

TITLE = "Scores of a network in training"
CHANCE = (
    "The best step is chosen on the test images that its score is computed from, so the score is a little too high. "
    "Measure the checkpoint that you keep on data that this page does not show."
)
BARS = (
    "Bars are 95% intervals over the test images, and over seeds if there are several. Differences between steps are "
    "compared on the same test images, which resolves smaller ones than the bars suggest."
)
MOST_NAMED = 6
"""Steps that a sentence names."""
Metrics = Mapping[str, Metric]


def monitor_page(folder: Path, checks: Mapping[int, Check], metrics: Metrics) -> Page:
    """The page of all checks.

    Args:
        folder: that of the monitor, whose description of what is measured is shown if it is there.
    """
    every, metrics = curves(checks.values()), known_metrics(metrics, checks.values())
    if not every:
        raise UserError(f"{folder}: there are no scores yet; a page needs at least one check")
    first = [each for each in every if each.is_first and metrics[each.place.metric].higher_is_better is not None]
    first = first or [each for each in every if each.is_first]
    others = [each for each in every if each not in first]
    lines = [*dict.fromkeys(_line_name(each, every) for each in every)]
    shown = _scores("scores", "Scores against steps", first, lines, metrics)
    sections = [replace(shown, tables=[_table(first, metrics)], note=BARS)]
    if others:
        sections.append(_scores("further", "Further metrics", others, lines, metrics))
    sections.append(_cost(checks))
    steps = f"steps {min(checks):,} to {max(checks):,}" if len(checks) > 1 else f"step {min(checks):,}"
    facts = [counted(len(checks), "check"), steps]
    findings = [*_findings(checks, first, metrics)]
    notices = [*([CHANCE] if len(checks) > 1 else []), *_failures(checks)]
    title = f"{TITLE}: {folder.resolve().name}"
    sections.append(provenance_section(monitor_provenance(folder)))
    return Page(title, sections, facts=facts, notices=notices, findings=findings)


def is_monitored(folders: Sequence[Path]) -> bool:
    """Whether this is the folder of a monitor; several folders of which one is are an error."""
    found = [folder for folder in folders if is_of_monitor(folder)]
    if found and len(folders) > 1:
        raise UserError(f"{found[0]}: the folder of an unseen.Monitor; a page shows one monitor, give it alone")
    return bool(found)


def page_of_folder(folder: Path) -> Page:
    """The page of what a monitor has written so far; metrics of the user's own are without direction here."""
    records = Records.read(folder)
    page = monitor_page(folder, records.checks, METRICS)
    return replace(page, notices=[*page.notices, *filter(None, [records.odd_words])])


def _failures(checks: Mapping[int, Check]) -> Iterator[str]:
    """A notice about each thing that failed, with its steps."""
    steps: dict[str, list[int]] = {}
    for step, check in checks.items():
        for each in check.failures:
            steps.setdefault(each.words, []).append(step)
    for words, at in steps.items():
        yield f"Failed at {_some_steps(at)}: {words}."


def _some_steps(steps: Sequence[int]) -> str:
    """Steps in words: the first ones, and the number of the others."""
    named, more = [f"{step:,}" for step in steps[:MOST_NAMED]], len(steps) - MOST_NAMED
    word = "step" if len(steps) == 1 else "steps"
    return f"{word} {', '.join(named)} and {more} more" if more > 0 else f"{word} {joined(named)}"


def _findings(checks: Mapping[int, Check], first: Sequence[Curve], metrics: Metrics) -> Iterator[str]:
    """The best step by each probe, averaged over data sets."""
    for name in dict.fromkeys(each.place.probe for each in first):
        own = [each for each in first if each.place.probe == name]
        if metrics[own[0].place.metric].higher_is_better is None:
            continue
        found = best(checks, probe=name, metrics=metrics)
        if found is not None:
            several = len({each.place.dataset for each in own})
            if len(checks) > 1:
                yield _best_words(found, several, metrics[found.metric])
            else:
                yield f"At step {found.step:,} by {_value_words(found, several, metrics[found.metric])}."


def _value_words(found: Best, datasets: int, metric: Metric) -> str:
    mean = f", mean over {datasets} data sets" if datasets > 1 else ""
    return f"{probe_name(found.probe)}: {metric_words(found.metric)} {_number(found.value, metric)}{mean}"


def _best_words(found: Best, datasets: int, metric: Metric) -> str:
    probe, _, value = _value_words(found, datasets, metric).partition(": ")
    if not found.compared:
        equal = f"; {_some_steps(found.ties)} has the same value" if len(found.ties) == 1 else ""
        equal = f"; {_some_steps(found.ties)} have the same value" if len(found.ties) > 1 else equal
        return f"By {probe}, step {found.step:,} is best ({value}{equal}), without a test of the difference."
    if not found.ties:
        return f"Best by {probe}: step {found.step:,} ({value})."
    others = _some_steps(found.ties)
    return f"By {probe}, step {found.step:,} is best ({value}), but not resolved from {others}."


def probe_name(name: str) -> str:
    """A probe or one of its variants in words, such as `k nearest neighbours (20)`."""
    base, _, variant = name.rpartition("-")
    if probe_words(name) != name or not base or probe_words(base) == base:
        return probe_words(name)
    return f"{probe_words(base)} ({variant})"


def _scores(name: str, title: str, every: Sequence[Curve], lines: Sequence[str], metrics: Metrics) -> Section:
    """A figure for each metric and data set, with a line for each probe.

    Args:
        lines: the names of all lines of the page, which decide their looks.
    """
    figures = list[Figure]()
    order = [*dict.fromkeys(each.place.metric for each in every)]
    places = dict.fromkeys((each.place.metric, each.place.dataset) for each in every)
    for metric, dataset in sorted(places, key=lambda place: order.index(place[0])):
        own = [each for each in every if (each.place.metric, each.place.dataset) == (metric, dataset)]
        series = [_series(each, _line_name(each, every), lines, metrics[metric]) for each in own]
        unit = {"share": "%", "degrees": "°", "metres": "m"}.get(metrics[metric].unit, "")
        label = metric_words(metric) + (f" ({unit})" if unit else "")
        figures.append(Figure(dataset, "Training step", _capital(label), series))
    return Section(name, title, figures=figures)


def _line_name(curve: Curve, every: Sequence[Curve]) -> str:
    """Its probe, and its shots if there are several numbers of them."""
    several = len({each.place.shots for each in every if each.place.probe == curve.place.probe}) > 1
    shots = f", {shots_name(curve.place.shots)} shots" if several else ""
    return f"{probe_name(curve.place.probe)}{shots}"


def _series(curve: Curve, name: str, lines: Sequence[str], metric: Metric) -> Series:
    steps, place = sorted(curve.values), lines.index(name)
    scale = 100.0 if metric.unit == "share" else 1.0
    intervals = [curve.interval(step) for step in steps]
    known = all(each is not None for each in intervals)
    hover = [f"{name}, step {step:,}: {_number(curve.values[step], metric)}" for step in steps]
    return Series(
        name,
        steps,
        [scale * curve.values[step] for step in steps],
        place % len(COLOURS),
        strong=True,
        symbol=SYMBOLS[place % len(SYMBOLS)],
        dash=DASHES[place // len(COLOURS) % len(DASHES)],
        low=[scale * each[0] for each in intervals if each] if known else (),
        high=[scale * each[1] for each in intervals if each] if known else (),
        hover=hover,
    )


def _table(every: Sequence[Curve], metrics: Metrics) -> Table:
    """The first, the best and the last check of each curve."""
    rows = [_row(each, metrics[each.place.metric]) for each in every]
    columns = [
        Column("Data set", number=False, names=["dataset"]),
        Column("Probe", number=False, names=["probe"]),
        Column("Shots", names=["shots"]),
        Column("Metric", number=False, names=["metric"]),
        Column("First", "at the first check", names=["first"]),
        Column("Best", "the highest, or the lowest where lower is better", names=["best", "step"]),
        Column("Last", "at the last check", names=["last"]),
        Column("Last − best", "with its 95% interval on the same test images", names=["change", "low", "high"]),
    ]
    return Table("steps", columns, rows, "First, best and last scores, means over seeds", sortable=True, head=True)


def _row(curve: Curve, metric: Metric) -> Row:
    values, place = curve.values, curve.place
    steps = sorted(values)
    sign = -1 if metric.higher_is_better is False else 1
    top = max(steps, key=lambda step: (sign * values[step], -step))
    last, scale = steps[-1], 100 if metric.unit == "share" else 1
    found = curve.difference(last, top) if last != top else None
    change, directed = Cell("–"), metric.higher_is_better is not None
    if last != top and directed:
        ends = None if found is None else found.interval()
        text = signed(scale * (values[last] - values[top]))
        small = "" if ends is None else f"{signed(scale * ends.low)} to {signed(scale * ends.high)}"
        resolved = found is not None and is_resolved(found)
        change = Cell(
            text, [values[last] - values[top], *([ends.low, ends.high] if ends else [])], small=small,
            style="strong" if resolved else "",
        )  # fmt: skip
    return Row(
        [
            Cell(place.dataset, style="model"),
            Cell(probe_name(place.probe), [place.probe]),
            Cell(shots_name(place.shots)),
            Cell(metric_words(place.metric), [place.metric]),
            Cell(_number(values[steps[0]], metric), [values[steps[0]]]),
            Cell(_number(values[top], metric), [values[top], top], small=f"step {top:,}") if directed else Cell("–"),
            Cell(_number(values[last], metric), [values[last]]),
            change,
        ]
    )


def _cost(checks: Mapping[int, Check]) -> Section:
    rows = [
        Row(
            [
                Cell(f"{step:,}", [step]),
                Cell(duration(check.extraction), [check.extraction]),
                Cell(duration(check.seconds - check.extraction), [check.seconds - check.extraction]),
                Cell(duration(check.seconds), [check.seconds]),
                Cell(f"{len(check.scores):,}", [len(check.scores)]),
                Cell(f"{len(check.failures):,}" if check.failures else "–", [len(check.failures)]),
            ]
        )
        for step, check in checks.items()
    ]
    columns = [
        Column("Step"),
        Column("Features", "seconds of the extraction; with decoding where images were not decoded yet"),
        Column("Probes"),
        Column("Together"),
        Column("Scores"),
        Column("Failures"),
    ]
    took = sum(check.seconds for check in checks.values())
    sentences = [f"{counted(len(checks), 'check').capitalize()} took {duration(took)} of the training."]
    return Section(
        "cost", "Time of the checks", sentences, tables=[Table("checks", columns, rows, folded="All checks")]
    )


def _number(value: float, metric: Metric) -> str:
    return f"{100 * value:.1f}%" if metric.unit == "share" else f"{value:.3g}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
