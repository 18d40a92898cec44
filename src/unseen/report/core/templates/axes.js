// The page across axes: lines of ranks, the scatter plot of two measures, and the backbones that a reader follows.

let pointed = null;

function emphasised(place) {
  if (pointed !== null) return place === pointed;
  return !followed.size || followed.has(data.backbones[place].name);
}

// Names that fit into a margin; long names often differ at their end.
function endName(name) {
  return plotText(name.length > 22 ? `${name.slice(0, 8)}…${name.slice(-13)}` : name);
}

// The names of lines, at both ends if they have values there.
function endLabels(look) {
  const last = data.measures.length - 1;
  return data.backbones.flatMap((backbone, place) => [[0, "right", -16], [last, "left", 16]].flatMap(([at, anchor, shift]) => {
    const spot = data.measures[at].spots[place];
    if (spot === null) return [];
    return [{
      x: at, y: spot, xanchor: anchor, xshift: shift, text: endName(backbone.name), showarrow: false,
      font: { size: 12, color: look.ink }, opacity: emphasised(place) ? 1 : 0.25,
    }];
  }));
}

// A title over the measures of each axis, and a faint band behind every other axis.
function axisBands(look, top, bottom) {
  const shapes = [], titles = [];
  let start = 0;
  data.axes.forEach(([name, count], number) => {
    const [from, to] = [start - 0.5, start + count - 0.5];
    titles.push({
      x: (from + to) / 2, y: top, yanchor: "bottom", text: `<b>${plotText(name)}</b>`, showarrow: false,
      font: { size: 13, color: look.soft },
    });
    if (number % 2) {
      const box = { type: "rect", x0: from, x1: to, y0: top, y1: bottom, layer: "below", line: { width: 0 } };
      shapes.push({ ...box, fillcolor: look.line, opacity: 0.35 });
    }
    start += count;
  });
  return { shapes, titles };
}

function rankTrace(backbone, place, look) {
  const colour = look.colours[backbone.colour];
  return {
    type: "scatter", mode: "lines+markers+text", x: data.measures.map((_, at) => at),
    y: data.measures.map(({ spots }) => spots[place]), connectgaps: false,
    text: data.measures.map(({ ranks }) => String(ranks[place] ?? "")), textposition: "middle center",
    textfont: { size: 11, color: textOn(colour) }, line: { color: colour, width: 3, shape: "spline", smoothing: 0.6 },
    marker: { color: colour, size: 21, symbol: backbone.symbol }, opacity: emphasised(place) ? 1 : 0.15,
    hovertext: data.measures.map(
      (measure) => `<b>${plotText(backbone.name)}</b><br>${plotText(measure.title)}: ${measure.texts[place]}<br>${measure.rankTexts[place]}`,
    ),
    hovertemplate: "%{hovertext}<extra></extra>",
  };
}

function foldedTitle(text) {
  return plotText(text).replaceAll(" ", "<br>");
}

drawings.bump = (figure, look, place) => {
  const lowest = Math.max(...data.measures.flatMap(({ ranks }) => ranks.map((rank) => rank ?? 1)));
  const { shapes, titles } = axisBands(look, 0.4, lowest + 0.6);
  const names = Math.max(...data.backbones.map(({ name }) => Math.min(name.length, 22)));
  const room = 28 + 7 * names;
  place.style.height = `${126 + 44 * lowest}px`;
  place.style.minWidth = `${2 * room + 74 * data.measures.length}px`;
  const xaxis = axis(look, "", {
    tickvals: data.measures.map((_, at) => at), ticktext: data.measures.map(({ title }) => foldedTitle(title)),
    range: [-0.5, data.measures.length - 0.5], showgrid: false, tickangle: 0, fixedrange: true,
  });
  const yaxis = axis(look, "", {
    range: [lowest + 0.6, 0.4], showgrid: false, showticklabels: false, ticks: "", automargin: false, fixedrange: true,
  });
  return {
    traces: data.backbones.map((backbone, place) => rankTrace(backbone, place, look)),
    layout: {
      ...layout(look, xaxis, yaxis), shapes, annotations: [...titles, ...endLabels(look)], dragmode: false,
      margin: { l: room, r: room, t: 30, b: 66 }, hoverdistance: 30,
    },
  };
};

function errorEnds(measure, shown) {
  const known = shown.filter((place) => measure.ends[place]);
  if (!known.length) return { visible: false };
  const away = (place, end) => (measure.ends[place] ? Math.abs(measure.ends[place][end] - measure.values[place]) : 0);
  return {
    type: "data", symmetric: false, thickness: 1.2, width: 3,
    array: shown.map((place) => away(place, 1)), arrayminus: shown.map((place) => away(place, 0)),
  };
}

function measureAxis(measure, look) {
  const marks = measure.ticks.length
    ? { tickvals: measure.ticks.map(([at]) => at), ticktext: measure.ticks.map(([, text]) => text) } : {};
  const turned = measure.lowBetter ? { autorange: "reversed" } : {};
  return axis(look, plotText(measure.label), { ...marks, ...turned, tickangle: 0 });
}

drawings.pair = (figure, look) => {
  const [across, up] = ["across", "up"].map((side) => data.measures[choices[side]]);
  const traces = data.backbones.flatMap((backbone, place) => {
    if (across.values[place] === null || up.values[place] === null) return [];
    const colour = look.colours[backbone.colour];
    return [{
      type: "scatter", mode: "markers", x: [across.values[place]], y: [up.values[place]], meta: place, cliponaxis: false,
      marker: { color: colour, symbol: backbone.symbol, size: 11 }, opacity: emphasised(place) ? 1 : 0.2,
      error_x: { ...errorEnds(across, [place]), color: colour }, error_y: { ...errorEnds(up, [place]), color: colour },
      hovertext: [`<b>${plotText(backbone.name)}</b><br>${plotText(across.title)}: ${across.texts[place]}<br>${plotText(up.title)}: ${up.texts[place]}`],
      hovertemplate: "%{hovertext}<extra></extra>",
    }];
  });
  const shape = layout(look, measureAxis(across, look), measureAxis(up, look));
  if (!traces.length) {
    const said = { x: 0.5, y: 0.5, xref: "paper", yref: "paper", text: "No backbone has both.", showarrow: false };
    shape.annotations = [said];
  }
  return { traces, layout: shape };
};

// Names of all points, or of the followed ones if there are too many for a name each.
function nameLabels(points, width, height, look) {
  const named = points.filter(({ place }) => data.backbones.length <= 24 || followed.has(data.backbones[place].name));
  return placedLabels(named.map(({ place, ...point }) => (
    { ...point, text: endName(data.backbones[place].name), opacity: emphasised(place) ? 1 : 0.2 }
  )), points, [width, height], look);
}

// Names are placed for the visible ranges, so a zoom, a new size or another pair places them again.
function placeNames(plot, wider) {
  const full = plot._fullLayout;
  const look = currentLook();
  const [width, height] = [full.xaxis._length, full.yaxis._length];
  const range = (shown) => {
    const room = wider * (shown.range[1] - shown.range[0]);
    return [shown.range[0] - room, shown.range[1] + room];
  };
  const [across, up] = [range(full.xaxis), range(full.yaxis)];
  const points = plot.data.map(({ x, y, meta }) => ({
    place: meta, at: [x[0], y[0]],
    x: (width * (x[0] - across[0])) / (across[1] - across[0]), y: (height * (up[1] - y[0])) / (up[1] - up[0]),
  }));
  if (!points.length) return undefined;
  const annotations = nameLabels(points, width, height, look);
  return Plotly.relayout(plot, { annotations, "xaxis.range": across, "yaxis.range": up });
}

// Other lines fade while the pointer is on one. Only opacities change: redrawing would lose the pointer.
function fade(plot, place) {
  pointed = place;
  Plotly.restyle(plot, { opacity: data.backbones.map((_, number) => (emphasised(number) ? 1 : 0.15)) });
}

afterDrawing.bump = (plot) => {
  if (plot.followable) return;
  plot.followable = true;
  plot.on("plotly_hover", ({ points }) => fade(plot, points[0].curveNumber));
  plot.on("plotly_unhover", () => fade(plot, null));
  plot.on("plotly_click", ({ points }) => pressBackbone(data.backbones[points[0].curveNumber].name));
};

afterDrawing.pair = (plot) => {
  if (!plot.zoomable) {
    plot.zoomable = true;
    plot.on("plotly_relayout", (change) => { if (!("annotations" in change)) placeNames(plot, 0); });
  }
  return placeNames(plot, 0.06);
};

onAll("[data-across]", "click", ({ dataset }) => {
  choose("across", dataset.across);
  choose("up", dataset.up);
  draw();
  document.getElementById("scatter").scrollIntoView({ behavior: "smooth" });
});
