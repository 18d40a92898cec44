"use strict";
// What is drawn, from the rows and the reader's choice:
// {mode: "absolute" | "relative" | "drop", baseline, shots, metric, setting, hidden: Set of backbones}.

const data = JSON.parse(document.getElementById("data").textContent);
const cellKey = (...names) => JSON.stringify(names);
const cells = new Map(
  data.rows.map((row) => [cellKey(row.setting, row.backbone, row.domain, row.shots, row.metric), row]),
);

function cell(choice, backbone, domain, shots = choice.shots) {
  return cells.get(cellKey(choice.setting, backbone, domain, shots, choice.metric));
}

// Plotly reads some tags in its texts: names must not be taken for tags.
function plotText(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function sampleDeviation(values) {
  if (values.length < 2) return null;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1));
}

// Percent and its deviation over seeds, or null where there is nothing to show.
function absolute(row) {
  return row && { value: 100 * row.mean, deviation: row.deviation === null ? null : 100 * row.deviation };
}

// Points between two rows; the deviation is that of the differences seed by seed.
function difference(row, base) {
  if (!row || !base) return undefined;
  const shared = Object.keys(row.values).filter((seed) => seed in base.values);
  const deviation = sampleDeviation(shared.map((seed) => 100 * (row.values[seed] - base.values[seed])));
  return { value: 100 * (row.mean - base.mean), deviation: row === base ? null : deviation };
}

function levelPoint(choice, backbone, domain) {
  const row = cell(choice, backbone, domain);
  if (choice.mode === "relative") return difference(row, cell(choice, choice.baseline, domain));
  if (choice.mode === "drop") return difference(row, cell(choice, backbone, data.seen));
  return absolute(row);
}

function pointText(backbone, place, point, unit) {
  const spread = point.deviation === null ? "" : ` ± ${point.deviation.toFixed(1)}`;
  const sign = unit === " points" && point.value > 0 ? "+" : "";
  const value = (sign + point.value.toFixed(1)).replace("-", "−");
  return `<b>${plotText(backbone)}</b><br>${plotText(place)}: ${value}${spread}${unit}`;
}

// A line of one backbone; points that are undefined leave a hole.
function trace(backbone, xs, points, places, unit, look) {
  const colour = look.colours[backbone.colour];
  return {
    type: "scatter", mode: "lines+markers", name: plotText(backbone.name), x: xs,
    y: points.map((point) => point?.value ?? null),
    error_y: {
      type: "data", array: points.map((point) => point?.deviation ?? 0), visible: points.some((p) => p?.deviation),
      thickness: 1.3, width: look.small ? 2 : 3, color: colour,
    },
    line: { color: colour, dash: backbone.dash, width: look.small ? 1.7 : 2.2 },
    marker: { color: colour, symbol: backbone.symbol, size: look.small || data.backbones.length > 12 ? 6 : 9 },
    text: points.map((point, i) => (point ? pointText(backbone.name, places[i], point, unit) : "")),
    hovertemplate: "%{text}<extra></extra>",
  };
}

function shown(choice) {
  return data.backbones.filter((backbone) => !choice.hidden.has(backbone.name));
}

function axis(look, title, more) {
  return {
    title: { text: title, standoff: 8, font: { size: look.small ? 11 : 13 } }, gridcolor: look.line, zeroline: false, linecolor: look.line,
    tickcolor: look.line, automargin: true, fixedrange: look.small || look.touch, ...more,
  };
}

function layout(look, xaxis, yaxis) {
  return {
    xaxis, yaxis, showlegend: false, hovermode: "closest", dragmode: look.small || look.touch ? false : "zoom",
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: look.font, size: look.small ? 11 : 13, color: look.ink },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: look.soft, activecolor: look.ink },
    hoverlabel: { bgcolor: look.raised, bordercolor: look.line, font: { color: look.ink }, align: "left" },
    margin: look.small ? { l: 44, r: 12, t: 12, b: 40 } : { l: 58, r: 20, t: 36, b: 50 },
  };
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function levelPlot(choice, look) {
  const unit = choice.mode === "absolute" ? "%" : " points";
  const titles = data.domains.map((domain) => domain.title);
  const lines = shown(choice);
  const step = Math.min(0.035, 0.3 / lines.length);
  const traces = lines.map((backbone, i) => {
    // Side by side, so that error bars do not hide each other.
    const xs = titles.map((_, place) => place + (i - (lines.length - 1) / 2) * step);
    const points = data.domains.map((domain) => levelPoint(choice, backbone.name, domain.name));
    return trace(backbone, xs, points, titles, unit, look);
  });
  const what = { absolute: " (%)", relative: " minus the baseline’s (points)", drop: " minus that on seen (points)" };
  const metric = capital(plotText(data.metrics[choice.metric] ?? choice.metric));
  const zero = choice.mode === "absolute" ? {} : { zeroline: true, zerolinecolor: look.soft, zerolinewidth: 1.2 };
  const xaxis = axis(look, "Domain", {
    tickvals: titles.map((_, place) => place), ticktext: titles.map(plotText), range: [-0.4, titles.length - 0.6],
    showgrid: false,
  });
  return { traces, layout: layout(look, xaxis, axis(look, metric + what[choice.mode], zero)) };
}

// Where shots are on the axis: the logarithm, and all samples a step and a half beyond the last number.
function shotPlaces() {
  const numbers = [...new Set(data.rows.map((row) => row.shots))].filter((shots) => shots !== "all").map(Number);
  numbers.sort((a, b) => a - b);
  const places = numbers.map((shots) => ({ shots: String(shots), x: Math.log2(shots) }));
  if (data.rows.some((row) => row.shots === "all")) {
    places.push({ shots: "all", x: (places.at(-1)?.x ?? -1.5) + 1.5 });
  }
  return places;
}

// The same range of accuracy in each of the small plots, so that they compare.
function fewShotRange(choice) {
  const rows = data.rows.filter(
    (row) => row.setting === choice.setting && row.metric === choice.metric && !choice.hidden.has(row.backbone),
  );
  if (!rows.length) return [0, 100];
  const low = Math.min(...rows.map((row) => 100 * (row.mean - (row.deviation ?? 0))));
  const high = Math.max(...rows.map((row) => 100 * (row.mean + (row.deviation ?? 0))));
  const room = Math.max(1, 0.06 * (high - low));
  return [low - room, high + room];
}

function fewShotPlot(choice, domain, look) {
  const places = shotPlaces();
  const names = places.map(({ shots }) => (shots === "all" ? "all samples" : `${shots} shot${shots === "1" ? "" : "s"}`));
  const traces = shown(choice).map((backbone) => {
    const points = places.map(({ shots }) => absolute(cell(choice, backbone.name, domain, shots)));
    return trace(backbone, places.map(({ x }) => x), points, names, "%", look);
  });
  const xaxis = axis(look, "Shots", {
    tickvals: places.map(({ x }) => x), ticktext: places.map(({ shots }) => shots), showgrid: false,
    range: [places[0].x - 0.4, places.at(-1).x + 0.4],
  });
  const metric = capital(plotText(data.metrics[choice.metric] ?? choice.metric));
  return { traces, layout: layout(look, xaxis, axis(look, `${metric} (%)`, { range: fewShotRange(choice) })) };
}
