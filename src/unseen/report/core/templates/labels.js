// Labels beside points, placed so that none lies on another label or point.

// Where a label may be placed relative to its point, in pixels: the nearest places first.
const PLACES = [18, 32, 48, 66, 86, 110, 140].flatMap((radius) =>
  [-90, 90, -50, 50, -130, 130, 0, 180, -20, 20, -160, 160].map((angle) => [
    radius * Math.cos((angle * Math.PI) / 180), radius * Math.sin((angle * Math.PI) / 180),
  ]));
const NEAR = 48; // the places within 66 pixels, for optional labels
const pen = document.createElement("canvas").getContext("2d");
pen.font = "12px system-ui, sans-serif";

function overlap(a, b) {
  const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
  const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
  return width > 0 && height > 0 ? width * height : 0;
}

function box(x, y, width, height) {
  return { left: x - width / 2, right: x + width / 2, top: y - height / 2, bottom: y + height / 2 };
}

// The area outside of the plot costs as much as the area that covers something else.
function outside(a, [width, height]) {
  const inside = overlap(a, { left: 0, right: width, top: 0, bottom: height });
  return (a.right - a.left) * (a.bottom - a.top) - inside;
}

// Plotly annotations for `named` points: {x, y} in pixels, `at` in the units of the axes, text, opacity. A thin line
// leads to labels that are far from their points. An optional label without a free place is left out.
function placedLabels(named, points, size, look, bars = []) {
  const taken = [...points.map(({ x, y }) => box(x, y, 14, 14)), ...bars];
  return named.flatMap(({ x, y, at, text, opacity = 1, optional = false }) => {
    const extent = [pen.measureText(text).width + 8, 17];
    let best = null;
    for (const [dx, gap] of optional ? PLACES.slice(0, NEAR) : PLACES) {
      // A label beside a point starts at the edge of the point.
      const shift = dx + Math.sign(Math.round(dx)) * (extent[0] / 2 - 8);
      const here = box(x + shift, y + gap, ...extent);
      const cost = outside(here, size) + taken.reduce((sum, other) => sum + overlap(here, other), 0);
      if (best === null || cost < best.cost) best = { cost, here, shift, gap };
      if (cost === 0) break;
    }
    if (optional && best.cost > 0) return [];
    taken.push(best.here);
    const near = Math.abs(best.gap) < 20 && Math.abs(best.shift) < extent[0] / 2 + 14;
    return [{
      x: at[0], y: at[1], ax: best.shift, ay: best.gap, text, showarrow: true, arrowhead: 0, arrowwidth: 0.8, standoff: 6,
      arrowcolor: near ? "rgba(0,0,0,0)" : look.soft, xanchor: "center", yanchor: "middle", borderpad: 1,
      font: { size: 12, color: look.ink }, opacity,
    }];
  });
}

// The labels of a figure's series, placed again after every zoom and every change of size.
function labelSeries(plot, figure) {
  const { xaxis, yaxis } = plot._fullLayout;
  const shown = (axis, value) => (axis.type === "log" ? Math.log10(value) : value);
  const points = figure.series.filter(isShown).flatMap(({ x, y, labels = [], mode }) => (mode === "lines" ? [] : x).flatMap(
    (across, place) => (y[place] === null ? [] : [{
      x: xaxis.d2p(across), y: yaxis.d2p(y[place]), at: [shown(xaxis, across), shown(yaxis, y[place])],
      text: plotText(labels[place] ?? ""), optional: true,
    }]),
  ));
  const bars = figure.series.filter(isShown).flatMap(({ x, low, high }) => (low ? x : []).flatMap((across, place) => {
    const [top, bottom] = [high[place], low[place]].map((end) => (end === null ? NaN : yaxis.d2p(end)));
    return bottom > top ? [box(xaxis.d2p(across), (top + bottom) / 2, 9, bottom - top)] : [];
  }));
  // Steps, whose parts are along an axis; labels may lie on other lines, which have too many parts to avoid.
  const steps = figure.series.filter(({ mode }) => mode === "lines").filter(isShown).flatMap(({ x, y }) => x.slice(1).flatMap((across, last) => {
    if ((across !== x[last] && y[last + 1] !== y[last]) || y[last] === null || y[last + 1] === null) return [];
    const [a, b, c, d] = [xaxis.d2p(x[last]), xaxis.d2p(across), yaxis.d2p(y[last]), yaxis.d2p(y[last + 1])];
    return [box((a + b) / 2, (c + d) / 2, Math.abs(b - a) + 2, Math.abs(d - c) + 2)];
  }));
  const size = [xaxis._length, yaxis._length];
  const annotations = placedLabels(points.filter(({ text }) => text), points, size, currentLook(), [...bars, ...steps]);
  if (!plot.labelled) {
    plot.labelled = true;
    plot.on("plotly_relayout", (change) => { if (!("annotations" in change)) labelSeries(plot, figure); });
  }
  return Plotly.relayout(plot, { annotations });
}
