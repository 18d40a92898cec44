"""Charts as one self-contained HTML file, with Plotly."""

import html
import math
from pathlib import Path
from typing import Any

from unseen.files import atomic_write
from unseen.report.core.chart import GREY, INK, Chart
from unseen.version import __version__

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="unseen {version}">
<title>{title}</title>
<style>
body {{ margin: 2rem auto; max-width: 64rem; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif; color: {ink}; }}
h1 {{ font-size: 1.3rem; margin: 0; }}
p {{ margin: .2rem 0 1rem; color: #4a5060; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p>{caption}</p>
{plot}
</body>
</html>
"""


def save_interactive(chart: Chart, path: Path) -> None:
    """Write a page that needs no network; all texts are escaped."""
    import plotly.graph_objects as go
    import plotly.io as pio

    figure = go.Figure()
    for band in chart.bands:
        figure.add_vrect(
            x0=band.start, x1=band.end, fillcolor=band.colour, opacity=0.12, line_width=0,
            annotation={"text": f"<b>{html.escape(band.label)}</b>", "font": {"color": band.colour}, "opacity": 1},
            annotation_position="top",
        )  # fmt: skip
    for line in chart.lines:
        style: dict[str, Any] = {"color": line.colour, "width": 2.2}
        hover = [html.escape(text) for text in line.hover]
        figure.add_scatter(
            x=list(line.x), y=list(line.y), mode="lines", line=style,
            name=html.escape(line.name), showlegend=bool(line.name),
            text=hover or None, hovertemplate="%{text}<extra></extra>" if hover else None,
        )  # fmt: skip
    if chart.marks:
        figure.add_scatter(
            x=[mark.x for mark in chart.marks], y=[mark.y for mark in chart.marks], mode="markers+text",
            showlegend=False, marker={"color": [mark.colour for mark in chart.marks], "size": 9},
            textposition="top right", text=[html.escape(mark.text) for mark
            in chart.marks], hovertext=[html.escape(mark.hover or mark.text) for mark in
            chart.marks], hovertemplate="%{hovertext}<extra></extra>",
        )  # fmt: skip
    figure.update_layout(
        template="simple_white", margin={"l": 60, "r": 20, "t": 45, "b": 55}, height=520, font={"color": INK}
    )
    ends = [math.log10(end) for end in chart.x_range] if chart.x_range and chart.log_x else chart.x_range
    figure.update_xaxes(title=html.escape(chart.x_label), range=ends, type="log" if chart.log_x else None)
    figure.update_yaxes(title=html.escape(chart.y_label), range=chart.y_range, gridcolor=GREY, showgrid=False)
    plot = pio.to_html(
        figure,
        include_plotlyjs=True,
        full_html=False,
        div_id="chart",
        config={"displaylogo": False, "showSendToCloud": False},
    )
    page = PAGE.format(
        version=__version__, title=html.escape(chart.title), caption=html.escape(chart.caption), plot=plot, ink=INK
    )
    with atomic_write(path) as file:
        file.write(page.encode())
