"""The report of a run: one HTML file that needs nothing else."""

import base64
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas as pd

from unseen.errors import UserError, did_you_mean
from unseen.files import atomic_write
from unseen.report.concepts.extended_sections import extended_sections
from unseen.report.concepts.findings import findings
from unseen.report.concepts.level_sections import concept_section, sample_section
from unseen.report.concepts.published_sections import published_sections
from unseen.report.concepts.rows import (
    METRICS,
    Row,
    main_row,
    make_rows,
    metric_title,
    seen_domain,
    shots_order,
    unique,
)
from unseen.report.concepts.variant_sections import main_part, variant_sections
from unseen.report.core.render import render
from unseen.report.core.sections import Section
from unseen.runs.comparability_words import comparison_notices
from unseen.runs.data import Backbone, Domain, Example, RunData
from unseen.runs.provenance import provenance
from unseen.runs.tables import score_table, summarise, with_concept_intervals
from unseen.words import duration, signed

SCRIPTS = ("plots.js", "sections.js", "table.js", "look.js", "page.js")
# A backbone's colour tells its category; symbol and dash tell members of a category apart (7 × 6 pairs before
# one comes again). The colours themselves, for light and for dark, are --c0 … --c7 in page.css.
COLOURS = 8
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
SMALL_IMAGE = 64


def write_report(data: RunData, path: Path) -> None:
    """Write the page; the same data give the same bytes. Names from the data are only ever text in it."""
    page = _render(_complete(data))
    with atomic_write(path) as file:
        file.write(page.encode(errors="replace"))


def _complete(data: RunData) -> RunData:
    """The data with a domain and a backbone for every score, so that nothing is left out silently."""
    names = [backbone.name for backbone in data.backbones]
    backbones = [
        Backbone(name, "other") for name in dict.fromkeys(s.backbone for s in data.scores) if name not in names
    ]
    known = {domain.name for domain in data.domains}
    domains = [Domain(name, name) for name in dict.fromkeys(s.domain for s in data.scores) if name not in known]
    names += [backbone.name for backbone in backbones]
    if data.baseline not in names:
        raise UserError(f"no backbone '{data.baseline}' to take differences from{did_you_mean(data.baseline, names)}")
    return replace(data, domains=[*data.domains, *domains], backbones=[*data.backbones, *backbones])


def _render(data: RunData) -> str:
    table = score_table(data.scores)
    summary = with_concept_intervals(summarise(table), data.concept_intervals)
    rows, sections, main = make_rows(data, table, summary), _sections(data, summary), main_part(data)
    plotted = [row for row in rows if row.is_accuracy]
    styles = _styles(data.backbones)
    payload = {
        "baseline": data.baseline,
        "seen": seen_domain(data),
        "domains": [{"name": domain.name, "title": domain.title} for domain in main.domains],
        "backbones": [{"name": b.name} | style for b, style in zip(data.backbones, styles, strict=True)],
        "metrics": METRICS,
        "rows": [asdict(row) for row in rows],
        "sections": [asdict(section) for section in sections],
    }
    values = {
        "data": data, "rows": rows, "payload": payload, "sections": sections, "groups": _grouped(data.backbones),
        "styles": {backbone.name: style for backbone, style in zip(data.backbones, styles, strict=True)},
        "titles": {domain.name: domain.title for domain in data.domains},
        "domain_order": {domain.name: place for place, domain in enumerate(data.domains)},
        "settings": unique(row.setting for row in rows), "plotted_settings": unique(row.setting for row in plotted),
        "metrics": unique(row.metric for row in plotted),
        "shots": sorted({row.shots for row in rows}, key=shots_order), "shots_order": shots_order,
        "seeds": len({score.seed for score in data.scores}), "chosen": main_row(plotted),
        "findings": findings(main, plotted), "comparisons": comparison_notices(data),
        "timings": _timings(data), "image": _image, "provenance": provenance(data),
    }  # fmt: skip
    filters: dict[str, Callable[..., str]] = {
        "in_unit": _in_unit,
        "points": _points,
        "duration": duration,
        "metric": metric_title,
    }
    return render("page.html.j2", sheets=("page.css",), scripts=SCRIPTS, filters=filters, values=values)


def _sections(data: RunData, summary: pd.DataFrame) -> list[Section]:
    """What else the run answers, each a section where it has the scores for it."""
    main = main_part(data)
    rest = [
        *variant_sections(data, summary),
        sample_section(main, summary),
        *extended_sections(main, summary),
        concept_section(main),
    ]
    return [*published_sections(data, summary), *(section for section in rest if section)]


def _styles(backbones: Sequence[Backbone]) -> list[dict[str, Any]]:
    categories = unique(backbone.category for backbone in backbones)
    members, styles = Counter[str](), []
    for number, backbone in enumerate(backbones):
        # With a single category its colour would tell nothing: backbones get their own.
        hue = number if len(categories) == 1 else categories.index(backbone.category)
        place = members[backbone.category]
        members[backbone.category] += 1
        symbol, dash = SYMBOLS[(hue + place) % len(SYMBOLS)], DASHES[place % len(DASHES)]
        styles.append({"colour": hue % COLOURS, "symbol": symbol, "dash": dash})
    return styles


def _grouped(backbones: Sequence[Backbone]) -> dict[str, list[Backbone]]:
    groups: dict[str, list[Backbone]] = {}
    for backbone in backbones:
        groups.setdefault(backbone.category, []).append(backbone)
    return groups


def _timings(data: RunData) -> list[tuple[str, int, float]]:
    """Backbone, jobs and their seconds; the scores of one job name its time once each."""
    jobs: dict[str, dict[object, float]] = {backbone.name: {} for backbone in data.backbones}
    for s in data.scores:
        key = s.key or (s.study, s.protocol, s.domain, s.probe, s.shots, s.seed)
        jobs[s.backbone][key] = s.seconds
    return [(name, len(times), sum(times.values())) for name, times in jobs.items() if times]


def _image(example: Example) -> dict[str, Any]:
    """The attributes of an <img>; a PNG says its size in bytes 16 to 24."""
    width, height = (int.from_bytes(example.png[place : place + 4]) for place in (16, 20))
    uri = "data:image/png;base64," + base64.b64encode(example.png).decode()
    return {"uri": uri, "width": width, "height": height, "small": max(width, height) <= SMALL_IMAGE}


def _in_unit(value: float, row: Row) -> str:
    return f"{100 * value:.1f}" if row.is_share else f"{value:.3f}"


def _points(share: float) -> str:
    return signed(100 * share)
