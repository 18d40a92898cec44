"""The report of a run: one HTML file that needs nothing else."""

import base64
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from unseen.errors import UserError, did_you_mean
from unseen.files import atomic_write
from unseen.report.run_data import Backbone, Domain, Example, RunData
from unseen.results.tables import GROUP, score_table, summarise, with_comparisons
from unseen.version import __version__

TEMPLATES = Path(__file__).parent / "templates"
SCRIPTS = ("plots.js", "table.js", "page.js")
# A backbone's colour tells its category; symbol and dash tell members of a category apart (7 × 6 pairs before
# one comes again). The colours themselves, for light and for dark, are --c0 … --c7 in page.css.
COLOURS = 8
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
SMALL_IMAGE = 64
METRICS = {"top1": "top-1 accuracy", "top5": "top-5 accuracy"}


@dataclass(frozen=True)
class Row:
    """A row of the full table: shares in [0, 1]; `values` has the score of each seed. One seed has no spread."""

    setting: str
    backbone: str
    category: str
    domain: str
    shots: str
    metric: str
    mean: float
    deviation: float | None
    low: float | None
    high: float | None
    gap: float | None
    rank: int
    seeds: int
    values: Mapping[int, float]


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
    return RunData(
        data.title, data.scores, [*data.domains, *domains], [*data.backbones, *backbones], data.baseline,
        data.notice, data.steps, data.provenance,
    )  # fmt: skip


def _render(data: RunData) -> str:
    import jinja2
    from plotly.offline import get_plotlyjs

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"percent": _percent, "points": _points, "duration": _duration, "metric": _metric}
    rows = _rows(data)
    script = "(() => {\n" + "\n".join(_source(name) for name in SCRIPTS) + "})();\n"
    plotly: str = get_plotlyjs()
    styles = _styles(data.backbones)
    payload = {
        "baseline": data.baseline,
        "seen": _seen(data),
        "domains": [{"name": domain.name, "title": domain.title} for domain in data.domains],
        "backbones": [{"name": b.name} | style for b, style in zip(data.backbones, styles, strict=True)],
        "metrics": METRICS,
        "rows": [asdict(row) for row in rows],
    }
    return environment.get_template("page.html.j2").render(
        data=data, rows=rows, payload=payload, version=__version__,
        styles={backbone.name: style for backbone, style in zip(data.backbones, styles, strict=True)},
        groups=_grouped(data.backbones), titles={domain.name: domain.title for domain in data.domains},
        domain_order={domain.name: place for place, domain in enumerate(data.domains)},
        settings=_unique(row.setting for row in rows), metrics=_unique(row.metric for row in rows),
        shots=sorted({row.shots for row in rows}, key=_shots_order), shots_order=_shots_order,
        seeds=len({score.seed for score in data.scores}), chosen=_main(rows),
        findings=findings(data, rows), timings=_timings(data), image=_image,
        # The two scripts and the sheet are the package's own; the policy lets the browser run and load nothing else.
        css=Markup(_source("page.css")), script=Markup(script), plotly=Markup(plotly),  # noqa: S704
        hashes=[_hash(plotly), _hash(script)],
    )  # fmt: skip


def _source(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _seen(data: RunData) -> str | None:
    return next((domain.name for domain in data.domains if domain.seen), None)


def _shots_order(shots: str) -> float:
    return float("inf") if shots == "all" else int(shots)


def _rows(data: RunData) -> list[Row]:
    """The summary of the scores in the order of the page: by backbone, domain, shots."""
    table = score_table(data.scores)
    summary = with_comparisons(summarise(table), seen=_seen(data) or "")
    values: dict[tuple[Any, ...], dict[int, float]] = {}
    for record in table.to_dict("records"):
        values.setdefault(tuple(record[name] for name in GROUP), {})[record["seed"]] = record["value"]
    categories = {backbone.name: backbone.category for backbone in data.backbones}
    rows = []
    for r in summary.to_dict("records"):
        spread = r["seeds"] > 1
        rows.append(
            Row(
                setting=f"{r['study']}: {r['protocol']}, {r['probe']} probe",
                backbone=r["backbone"], category=categories[r["backbone"]], domain=r["domain"],
                shots=r["shots"], metric=r["metric"], mean=r["mean"], deviation=r["deviation"] if spread else None,
                low=r["low"] if spread else None, high=r["high"] if spread else None,
                gap=None if np.isnan(r["gap"]) else r["gap"], rank=int(r["rank"]), seeds=int(r["seeds"]),
                values=dict(sorted(values[tuple(r[name] for name in GROUP)].items())),
            )
        )  # fmt: skip
    backbones, domains = [b.name for b in data.backbones], [d.name for d in data.domains]
    settings, metrics = _unique(row.setting for row in rows), sorted({row.metric for row in rows})

    def place(row: Row) -> tuple[float, ...]:
        where = (settings.index(row.setting), metrics.index(row.metric), -_shots_order(row.shots))
        return (*where, backbones.index(row.backbone), domains.index(row.domain))

    return sorted(rows, key=place)


def _styles(backbones: Sequence[Backbone]) -> list[dict[str, Any]]:
    categories = _unique(backbone.category for backbone in backbones)
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


def _main(rows: Sequence[Row]) -> Row:
    """A row of what the page shows first: top-1 accuracy and most shots, in the setting that comes first."""
    first = [row for row in rows if row.setting == rows[0].setting]
    metric = "top1" if any(row.metric == "top1" for row in first) else first[0].metric
    return max((row for row in first if row.metric == metric), key=lambda row: _shots_order(row.shots))


def findings(data: RunData, rows: Sequence[Row]) -> list[Markup]:
    """Sentences on what the page shows first: who is best on the first domain and on the last, and the way between."""
    main = _main(rows)
    cells = {
        (r.backbone, r.domain): r for r in rows
        if (r.setting, r.shots, r.metric) == (main.setting, main.shots, main.metric)
    }  # fmt: skip
    domains = [domain for domain in data.domains if any((b.name, domain.name) in cells for b in data.backbones)]
    seen = next((domain for domain in domains if domain.seen), None)
    start = seen or domains[0]
    # Without a seen domain there is nothing that others fall from.
    end = next((domain for domain in reversed(domains) if domain != start), None) if seen else None
    shots = "all samples" if main.shots == "all" else f"{main.shots} shot{'s' if main.shots != '1' else ''}"
    where = f" ({main.setting})" if len({row.setting for row in rows}) > 1 else ""
    opening = Markup("With {}{}, {}.").format(shots, where, _best(cells, start, f" {_metric(main.metric)}"))
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
        sentences.append(Markup("From {} to {}, {}{}.").format(start.title, end.title, _ways(pairs), among))
    if len(data.backbones) > 1:
        sentences.append(_best(cells, end) + ".")
    return sentences


def _code(name: str) -> Markup:
    return Markup("<code>{}</code>").format(name)


def _best(cells: Mapping[tuple[str, str], Row], domain: Domain, unit: str = "") -> Markup:
    """Who is best on a domain; where the intervals of others overlap with its own, that too."""
    ranked = sorted((row for row in cells.values() if row.domain == domain.name), key=lambda row: -row.mean)
    best = ranked[0]
    value = f"{_percent(best.mean)}%{unit}"
    if len(ranked) == 1:
        return Markup("{} reaches {} on {}").format(_code(best.backbone), value, domain.title)
    close = [row for row in ranked[1:] if row.high is not None and best.low is not None and row.high >= best.low]
    if not close:
        return Markup("{} has the highest mean on {} ({})").format(_code(best.backbone), domain.title, value)
    more = f" and {len(close) - 1} more" if len(close) > 1 else ""
    return Markup("{} has the highest mean on {} ({}), with {}{} within the spread over seeds").format(
        _code(best.backbone), domain.title, value, _code(close[0].backbone), more
    )


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


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _points(share: float) -> str:
    return f"{100 * share:+.1f}".replace("-", "−").replace("+0.0", "0.0").replace("−0.0", "0.0")


def _metric(name: str) -> str:
    return METRICS.get(name, name)


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{seconds / 60:.1f} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
