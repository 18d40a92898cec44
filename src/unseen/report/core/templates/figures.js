// Figures: from plain data to traces in the colours of the page. `drawings` has functions for special figures, by name.

const data = JSON.parse(document.getElementById("data").textContent);
const choices = {}, drawings = {}, afterDrawing = {}, whenChosen = {};
const hidden = { groups: new Set(), backbones: new Set() };

// Plotly interprets some tags in its texts, so names are escaped.
function plotText(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

// Slanted labels end at their ticks; Plotly drops labels that would end outside the figure.
function axis(look, title, more) {
  return {
    title: { text: title, standoff: 8, font: { size: look.small ? 11 : 13 } }, gridcolor: look.line, zeroline: false, linecolor: look.line,
    tickcolor: look.line, automargin: true, autotickangles: [0, -30, 90],
    fixedrange: look.small || look.touch, ...more,
  };
}

function layout(look, xaxis, yaxis) {
  return {
    xaxis, yaxis, showlegend: false, hovermode: "closest", dragmode: look.small || look.touch ? false : "zoom",
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: look.font, size: look.small ? 11 : 13, color: look.ink },
    hoverlabel: { bgcolor: look.raised, bordercolor: look.line, font: { color: look.ink }, align: "left" },
    margin: look.small ? { l: 44, r: 12, t: 12, b: 40 } : { l: 58, r: 20, t: 36, b: 50 },
  };
}

function errorBars({ y, low, high, strong }, colour) {
  if (!low) return undefined;
  const between = (a, b) => (a === null || b === null ? 0 : Math.abs(a - b));
  return {
    type: "data", symmetric: false, thickness: strong ? 1.5 : 1, width: 3, color: colour,
    array: y.map((value, i) => between(high[i], value)), arrayminus: y.map((value, i) => between(value, low[i])),
  };
}

function colourOf(series, look) {
  if (typeof series.colour === "string") return levelColour(series.colour);
  return look.colours[series.colour] ?? look.soft;
}

function seriesTrace(series, look) {
  const colour = colourOf(series, look);
  const { mode = "lines+markers", strong = false, hover = [] } = series;
  const shared = {
    name: plotText(series.name), x: series.x, y: series.y, error_y: errorBars(series, colour),
    opacity: strong || mode !== "lines+markers" ? 1 : 0.5, showlegend: strong && series.name !== "",
    text: hover.map(plotText), hovertemplate: hover.length ? "%{text}<extra></extra>" : undefined,
  };
  if (mode === "bars") return { ...shared, type: "bar", marker: { color: colour }, textposition: "none" };
  if (mode === "box") {
    return {
      ...shared, type: "box", boxpoints: "all", jitter: 0.35, pointpos: 0, width: 0.5, hoveron: "points",
      line: { color: colour, width: 1.6 }, marker: { color: colour, size: 5, opacity: 0.7 }, fillcolor: "rgba(0,0,0,0)",
    };
  }
  const size = series.x.length > 60 ? 4 : strong ? (mode === "markers" ? 11 : 8) : 5;
  return {
    ...shared, type: "scatter", mode,
    line: { color: colour, width: strong ? 3 : typeof series.colour === "string" ? 2.2 : 1.2, dash: series.dash ?? "solid" },
    marker: { color: colour, symbol: series.symbol ?? "circle", size },
  };
}

// Very long words would leave no room for the plot; the text of a point has the whole name.
function clipped(text, most) {
  return text.split(" ").map((word) => (word.length > most ? `${word.slice(0, most - 1)}…` : word)).join(" ");
}

function ticks(places = [], most = 14) {
  const texts = places.map(([, text]) => plotText(clipped(text, most)));
  return places.length ? { tickvals: places.map(([at]) => at), ticktext: texts } : {};
}

// Names of layers differ at their ends, so that what is too long is left out in the middle.
function shortened(text, most) {
  return text.length > most ? `${text.slice(0, most / 2 - 1)}…${text.slice(-most / 2)}` : text;
}

// A text in lines of at most some letters.
function wrapped(text, letters) {
  return text.split(" ").reduce((lines, word) => {
    const last = lines.at(-1);
    return last !== undefined && last.length + word.length < letters
      ? [...lines.slice(0, -1), `${last} ${word}`] : [...lines, word];
  }, []).join("<br>");
}

// Long tick labels are wrapped, or vertical if there is little room, so that none is cut off.
function foldedTicks(places = [], width = 600) {
  const made = ticks(places);
  if (!places.some(([, text]) => text.length > 12)) return made;
  const room = width / places.length;
  if (room < 84) return { ...made, tickangle: 90 };
  return { ...made, tickangle: 0, ticktext: made.ticktext.map((text) => wrapped(text, Math.min(28, room / 7.5))) };
}

function isShown({ group = "", backbone = "" }) {
  return !hidden.groups.has(group) && !hidden.backbones.has(backbone);
}

function bandShapes(bands) {
  const shapes = bands.map(({ start, end, colour }) => (
    { type: "rect", yref: "paper", x0: start, x1: end, y0: 0, y1: 1, fillcolor: colour, opacity: 0.12, line: { width: 0 } }
  ));
  const annotations = bands.map(({ start, end, label }) => (
    { x: (start + end) / 2, y: 1, yref: "paper", yanchor: "bottom", text: `<b>${plotText(label)}</b>`, showarrow: false }
  ));
  return { shapes, annotations };
}

function seriesPlot(figure, look, place) {
  if (figure.polar) return polarPlot(figure, look);
  // One line per name: many names need more height.
  const lines = figure.top_is_low ? (figure.y_ticks ?? []).length : 0;
  if (lines) place.style.height = `${Math.max(160, 70 + (lines > 40 ? 17 : 26) * lines)}px`;
  const seen = figure.series.filter(isShown);
  const order = [...seen.filter(({ strong }) => !strong), ...seen.filter(({ strong }) => strong)];
  const range = (ends) => (ends ? { range: ends } : {});
  const across = figure.log_x && figure.x_range ? figure.x_range.map(Math.log10) : figure.x_range;
  const made = layout(
    look,
    axis(look, plotText(figure.x_label), {
      showgrid: false, ...(figure.log_x ? { type: "log" } : {}), ...range(across), ...foldedTicks(figure.x_ticks, look.width),
    }),
    axis(look, plotText(figure.y_label), {
      ...(figure.zero ? { zeroline: true, zerolinecolor: look.soft, zerolinewidth: 1.2 } : {}),
      ...(figure.top_is_low && !figure.y_range ? { autorange: "reversed" } : {}), ...range(figure.y_range),
      ...ticks(figure.y_ticks, look.small ? 14 : 28),
    }),
  );
  const named = !look.named && seen.some(({ strong, name }) => strong && name);
  const legend = { orientation: "h", x: 0, y: 1, yanchor: "bottom", font: { size: look.small ? 11 : 12 } };
  const { shapes, annotations } = bandShapes(figure.bands ?? []);
  const top = named || shapes.length ? 34 : 12;
  return {
    traces: order.map((series) => seriesTrace(series, look)),
    layout: { ...made, showlegend: named, legend, shapes, annotations, margin: { ...made.margin, t: top } },
  };
}

// A matrix of values from 0 to 1 with the same names on both axes; a choice of the reader leads to each of several.
drawings.matrix = ({ data: { choice, parts } }, look, place) => {
  const { names, cells, hover } = parts[choices[choice] ?? 0];
  const at = names.map((_, number) => number);
  const texts = names.map((name) => plotText(shortened(name, 34)));
  place.style.height = `${Math.max(300, 150 + (names.length > 16 ? 19 : 30) * names.length)}px`;
  const named = { tickvals: at, ticktext: texts, showgrid: false };
  const made = layout(
    look, axis(look, "", { ...named, autotickangles: [0, 90] }),
    axis(look, "", { ...named, autorange: "reversed" }),
  );
  const trace = {
    type: "heatmap", z: cells, x: at, y: at, zmin: 0, zmax: 1, xgap: 1, ygap: 1, showscale: false,
    colorscale: [[0, look.raised], [1, look.colours[0]]], text: hover.map((row) => row.map(plotText)),
    hovertemplate: "%{text}<extra></extra>",
  };
  if (names.length <= 16) trace.texttemplate = "%{z:.2f}";
  return { traces: [trace], layout: { ...made, margin: { ...made.margin, t: 12 } } };
};

// Spokes around a circle, with one word per line in their names, so that they fit beside a small circle.
function polarPlot(figure, look) {
  const round = (list) => [...list, list[0]];
  const spokes = figure.x_ticks.map(([, text]) => plotText(text).replaceAll(" ", "<br>"));
  const traces = figure.series.map((series) => {
    const colour = colourOf(series, look);
    return {
      type: "scatterpolar", mode: "lines+markers", theta: round(spokes), r: round(series.y), fill: "toself",
      line: { color: colour, width: series.strong ? 3 : 1.5 }, marker: { color: colour, size: 5 },
      text: round(series.hover.map(plotText)), hovertemplate: "%{text}<extra></extra>",
    };
  });
  const spoke = { gridcolor: look.line, linecolor: look.line, tickfont: { size: 9, color: look.soft } };
  const polar = {
    bgcolor: "rgba(0,0,0,0)", angularaxis: { ...spoke, direction: "clockwise" },
    radialaxis: { range: [0, 1.02], showticklabels: false, ticks: "", gridcolor: look.line, linecolor: look.line },
  };
  return { traces, layout: { ...layout({ ...look, small: true }, {}, {}), polar, margin: { l: 58, r: 58, t: 42, b: 42 } } };
}

function drawFigure(place, look) {
  const figure = data.figures[place.dataset.figure];
  const small = place.closest(".multiples, .radars") !== null;
  // Figures need no legend if the section has one.
  const named = place.closest("section").querySelector(".names, [data-backbone]") !== null;
  const own = { ...look, small, named, width: place.clientWidth };
  const { traces, layout: shape } = (drawings[figure.drawing] ?? seriesPlot)(figure, own, place);
  return Plotly.react(place, traces, shape, plotOptions).then((plot) => {
    if (figure.series?.some(({ labels }) => labels)) return labelSeries(plot, figure);
    return afterDrawing[figure.drawing]?.(plot);
  });
}

// A figure of a choice that the reader has not made is not drawn: it would have no size.
function draw() {
  const look = currentLook();
  for (const figure of document.querySelectorAll("[data-when]")) figure.hidden = choices[figure.dataset.when] !== figure.dataset.value;
  for (const place of document.querySelectorAll("[data-figure]")) {
    if (!place.closest("[hidden]")) drawFigure(place, look);
  }
}

function fileName(...parts) {
  return parts.join("-").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") || "figure";
}

// Files are made in the browser from the figure as shown.
function saveFigure(button) {
  const figure = button.closest("figure");
  const place = figure.querySelector("[data-figure]");
  const filename = fileName(place.closest("section").id, figure.querySelector("figcaption span").textContent);
  return Plotly.downloadImage(place, { format: button.dataset.save, filename, width: 1000, height: 600, scale: 2 });
}
