// Plots of a study of shifts: projections on each ID test set, the fitted plane, and the ρ of every model.

// Groups that share a colour differ in symbol, and therefore in the dashes of their line.
const dashOf = { circle: "dot", square: "dashdot", diamond: "longdash", cross: "longdashdot", x: "dash" };
// Symbols that Plotly also draws open in three dimensions.
const withOpen = ["circle", "square", "diamond"];
// Fractions that may label an axis, in order of preference.
const tickShares = [
  0.5, 0.1, 0.9, 0.01, 0.99, 0.7, 0.3, 0.001, 0.999, 0.05, 0.95, 0.02, 0.98, 0.2, 0.8, 0.0001, 0.9999, 0.4, 0.6, 0.75,
  0.85, 0.25, 0.15, 0.005, 0.002, 0.65, 0.55, 0.45, 0.35, 0.92, 0.94, 0.96, 0.97, 0.03, 0.08, 0.72, 0.74, 0.76, 0.78,
];

const logit = (share) => Math.log(share / (1 - share));

// The normal quantile, by bisection on the series of the distribution function; a plot needs few digits.
function probit(share) {
  let [low, high] = [-9, 9];
  for (let step = 0; step < 40; step += 1) {
    const middle = (low + high) / 2;
    if (normalShare(middle) < share) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

function normalShare(z) {
  let term = z, sum = z;
  for (let n = 1; n < 200; n += 1) {
    term *= (z * z) / (2 * n + 1);
    sum += term;
  }
  return 0.5 + (sum * Math.exp((-z * z) / 2)) / Math.sqrt(2 * Math.PI);
}

const scaled = data.scale === "probit" ? probit : logit;

// Labels in percent, at least a tenth of the axis apart.
function ticksWithin([low, high], distance = 0.1) {
  const kept = [];
  for (const share of tickShares) {
    const at = scaled(share);
    const free = kept.every((other) => Math.abs(scaled(other) - at) > distance * (high - low));
    if (at >= low && at <= high && free) kept.push(share);
  }
  return { tickvals: kept.map(scaled), ticktext: kept.map((share) => `${+(100 * share).toFixed(2)}%`), tickangle: 0 };
}

function panel() {
  return data.panels[choices.ood];
}

function pointsOf(group) {
  return data.rows.filter((row) => row.domain === panel().name && row.group === group);
}

function shownGroups() {
  return data.groups.filter((group) => !hidden.groups.has(group.name));
}

function percent(share) {
  return `${(100 * share).toFixed(1)}%`;
}

function signed(points) {
  return `${points > 0 ? "+" : ""}${points.toFixed(2)}`.replace("-", "−");
}

function hoverText(row) {
  const ids = data.id_sets.map((name, i) => `${plotText(name)}: ${percent(row.id_accuracy[i])}`);
  return [
    `<b>${plotText(row.model)}</b> (${plotText(row.group)}${row.in_fit ? "" : ", only scored"})`, ...ids,
    `${plotText(row.domain)}: ${percent(row.accuracy)}, expected ${percent(row.expected)}`,
    `ρ ${signed(100 * row.rho)} (${signed(100 * row.low)} to ${signed(100 * row.high)})`,
  ].join("<br>");
}

function faded(colour, share) {
  return colour.replace(/^rgb\((.*)\)$/, `rgba($1, ${share})`);
}

function markers(rows, colour, symbol, size) {
  return {
    size, symbol, color: rows.map((row) => (row.in_fit ? colour : "rgba(0,0,0,0)")),
    line: { color: colour, width: rows.map((row) => (row.in_fit ? 0 : 1.6)) }, opacity: 0.85,
  };
}

function pointTraces(place, look) {
  return shownGroups().map((group) => {
    const rows = pointsOf(group.name);
    return {
      type: "scatter", mode: "markers", name: plotText(group.name),
      x: rows.map((row) => scaled(place(row))), y: rows.map((row) => scaled(row.accuracy)),
      marker: markers(rows, look.colours[group.colour], group.symbol, rows.length > 100 ? 6 : 8),
      text: rows.map(hoverText), hovertemplate: "%{text}<extra></extra>",
    };
  });
}

// The ends of an axis with room for the outermost points.
function reach(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = 0.06 * (high - low) || 0.1;
  return [low - room, high + room];
}

function lineTraces(line, look) {
  const style = { color: look.ink, width: 1.6 };
  const edge = { type: "scatter", mode: "lines", x: line.grid, line: { width: 0 }, hoverinfo: "skip" };
  const text = `slope ${line.weight.toFixed(3)}, R² ${line.r2.toFixed(4)}, MAE ${line.mae.toFixed(2)}`;
  return [
    { ...edge, y: line.low },
    { ...edge, y: line.high, fill: "tonexty", fillcolor: faded(look.soft, 0.25) },
    { ...edge, y: line.grid.map((x) => line.weight * x + line.intercept), line: style, hoverinfo: "text", text },
    ...shownGroups().flatMap((group) =>
      line.groups.filter((own) => own.group === group.name).map((own) => (
        {
          ...edge, x: own.x, y: own.y, hoverinfo: "text", text: `${plotText(group.name)} alone`,
          line: { color: look.colours[group.colour], width: 1.4, dash: dashOf[group.symbol] },
        }
      )),
    ),
  ];
}

drawings.projection = (figure, look) => {
  const which = figure.data?.id;
  const expected = which === undefined;
  const place = expected ? (row) => row.expected : (row) => row.id_accuracy[which];
  const rows = data.rows.filter((row) => row.domain === panel().name);
  const [xs, ys] = [reach(rows.map((row) => scaled(place(row)))), reach(rows.map((row) => scaled(row.accuracy)))];
  const ends = [Math.min(xs[0], ys[0]), Math.max(xs[1], ys[1])];
  const equal = {
    type: "scatter", mode: "lines", x: ends, y: ends, hoverinfo: "skip",
    line: { color: look.soft, dash: expected ? "solid" : "dash", width: 1.3 },
  };
  const line = expected ? [] : lineTraces(panel().lines[which], look);
  const title = expected ? "Expected accuracy" : plotText(data.id_sets[which]);
  return {
    traces: [equal, ...line, ...pointTraces(place, look)],
    layout: layout(
      look, axis(look, title, { ...ticksWithin(xs), range: xs }),
      axis(look, plotText(panel().name), { ...ticksWithin(ys), range: ys }),
    ),
  };
};

// The names of the models farthest from the fit, placed again after every zoom; those without room are left out.
function nameModels(plot, figure) {
  const { xaxis, yaxis } = plot._fullLayout;
  const which = figure.data?.id;
  const place = which === undefined ? (row) => row.expected : (row) => row.id_accuracy[which];
  const shown = new Set(shownGroups().map(({ name }) => name));
  const points = data.rows.filter((row) => row.domain === panel().name && shown.has(row.group)).map((row) => {
    const at = [scaled(place(row)), scaled(row.accuracy)];
    const text = panel().named.includes(row.model) ? plotText(shortened(row.model, 24)) : "";
    return { x: xaxis.d2p(at[0]), y: yaxis.d2p(at[1]), at, text, optional: true };
  });
  const inside = points.filter(({ x, y }) => x >= 0 && y >= 0 && x <= xaxis._length && y <= yaxis._length);
  const named = inside.filter(({ text }) => text);
  const annotations = placedLabels(named, inside, [xaxis._length, yaxis._length], currentLook());
  if (!plot.named) {
    plot.named = true;
    plot.on("plotly_relayout", (change) => { if (!("annotations" in change)) nameModels(plot, figure); });
  }
  return Plotly.relayout(plot, { annotations });
}

afterDrawing.projection = (plot) => nameModels(plot, data.figures[plot.dataset.figure]);

// The part of a convex polygon where a linear function of the corners is not negative.
function cut(corners, value) {
  return corners.flatMap((corner, i) => {
    const next = corners[(i + 1) % corners.length];
    const [here, there] = [value(corner), value(next)];
    const kept = here >= 0 ? [corner] : [];
    if (here >= 0 === there >= 0) return kept;
    const share = here / (here - there);
    return [...kept, [0, 1].map((side) => corner[side] + share * (next[side] - corner[side]))];
  });
}

// In 3-D, models that were only scored are open, or pale if the symbol has no open form.
function solidMarkers(rows, colour, symbol) {
  const open = withOpen.includes(symbol);
  return {
    size: 4, color: rows.map((row) => (row.in_fit || open ? colour : faded(colour, 0.4))),
    symbol: rows.map((row) => (row.in_fit || !open ? symbol : `${symbol}-open`)),
  };
}

drawings.plane = (figure, look) => {
  const { weights, intercept, name, eye } = panel();
  const narrow = look.width < 560;
  const far = narrow ? 2.5 : 2.2;
  const rows = data.rows.filter((row) => row.domain === name);
  const [xs, ys] = [0, 1].map((i) => reach(rows.map((row) => scaled(row.id_accuracy[i]))));
  const zs = reach(rows.map((row) => scaled(row.accuracy)));
  const height = ([x, y]) => weights[0] * x + weights[1] * y + intercept;
  const corners = [[xs[0], ys[0]], [xs[1], ys[0]], [xs[1], ys[1]], [xs[0], ys[1]]];
  const above = cut(corners, (corner) => height(corner) - zs[0]);
  const polygon = cut(above, (corner) => zs[1] - height(corner));
  const fan = polygon.slice(2).map((_, i) => i + 1);
  const surface = {
    type: "mesh3d", x: polygon.map(([x]) => x), y: polygon.map(([, y]) => y), z: polygon.map(height),
    i: fan.map(() => 0), j: fan, k: fan.map((i) => i + 1), color: look.soft, opacity: 0.25, hoverinfo: "skip",
  };
  // Vertical lines from the points to the plane.
  const seen = shownGroups().flatMap((group) => pointsOf(group.name));
  const stem = (of) => seen.flatMap((row) => [of(row, scaled(row.accuracy)), of(row, scaled(row.expected)), null]);
  const residuals = {
    type: "scatter3d", mode: "lines", x: stem((row) => scaled(row.id_accuracy[0])),
    y: stem((row) => scaled(row.id_accuracy[1])), z: stem((row, level) => level), hoverinfo: "skip",
    line: { color: look.soft, width: seen.length > 100 ? 1 : 2 },
  };
  const traces = shownGroups().map((group) => {
    const points = pointsOf(group.name);
    return {
      type: "scatter3d", mode: "markers", x: points.map((row) => scaled(row.id_accuracy[0])),
      y: points.map((row) => scaled(row.id_accuracy[1])), z: points.map((row) => scaled(row.accuracy)),
      marker: solidMarkers(points, look.colours[group.colour], group.symbol),
      text: points.map(hoverText), hovertemplate: "%{text}<extra></extra>",
    };
  });
  const side = (title, range) => (
    {
      title: { text: plotText(narrow ? shortened(title, 16) : title), font: { size: narrow ? 10 : 14 } },
      tickfont: { size: narrow ? 9 : 12 }, ...ticksWithin(range, 0.14), range, gridcolor: look.line, color: look.ink,
    }
  );
  const scene = {
    // A narrow plot has no room for the name of the vertical axis, which is chosen above it.
    xaxis: side(data.id_sets[0], xs), yaxis: side(data.id_sets[1], ys), zaxis: side(narrow ? "" : name, zs), aspectmode: "cube",
    // The ticks below the axes need more room than what is above them.
    camera: { center: { x: 0, y: 0, z: -0.12 }, eye: Object.fromEntries(["x", "y", "z"].map((side, i) => [side, far * eye[i]])) },
    // Dragging zooms other plots, except on touch screens; it rotates this one, and redrawing keeps the rotation.
    dragmode: "turntable", uirevision: name,
  };
  return { traces: [surface, residuals, ...traces], layout: { ...layout(look, {}, {}), scene, margin: { l: 0, r: 0, t: 10, b: 0 } } };
};

drawings.residuals = (figure, look) => {
  const rows = shownGroups().flatMap((group) => pointsOf(group.name)).sort((a, b) => a.rho - b.rho);
  const places = new Map(rows.map((row, place) => [row, place]));
  const few = rows.length <= 40 && look.width / rows.length > 15;
  const traces = shownGroups().map((group) => {
    const own = rows.filter((row) => row.group === group.name);
    const colour = look.colours[group.colour];
    return {
      type: "scatter", mode: "markers", x: own.map((row) => places.get(row)), y: own.map((row) => 100 * row.rho),
      marker: markers(own, colour, group.symbol, rows.length > 100 ? 5 : 8),
      error_y: {
        type: "data", symmetric: false, color: faded(colour, rows.length > 100 ? 0.35 : 0.6), thickness: 1.2, width: 0,
        array: own.map((row) => 100 * Math.max(0, row.high - row.rho)),
        arrayminus: own.map((row) => 100 * Math.max(0, row.rho - row.low)),
      },
      text: own.map(hoverText), hovertemplate: "%{text}<extra></extra>",
    };
  });
  const names = {
    tickvals: rows.map((_, place) => place), tickangle: -45,
    ticktext: rows.map((row) => plotText(shortened(row.model, 24))),
  };
  const range = [-0.8, rows.length - 0.2];
  const xaxis = axis(look, few ? "" : "Models", { ...(few ? names : { showticklabels: false, ticks: "" }), range, showgrid: false });
  const yaxis = axis(look, "ρ (points)", { zeroline: true, zerolinecolor: look.soft });
  return { traces, layout: layout(look, xaxis, yaxis) };
};

// Plotly keeps the rotation when a mouse button is released, but loses it when a finger is lifted.
onAll(".plot.plane", "touchend", (plane) => plane.querySelector("canvas").dispatchEvent(new MouseEvent("mouseup")));
