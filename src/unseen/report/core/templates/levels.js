// Accuracy by level and by shots, from the rows and the reader's choices:
// {mode: "drop" | "absolute" | "relative", baseline, shots, metric, setting}.

const cellKey = (...names) => JSON.stringify(names);
const rowFields = ["setting", "backbone", "domain", "shots", "metric", "mean", "deviation", "values", "ends", "dropEnds"];
const scoreRows = data.rows.map((row) => Object.fromEntries(rowFields.map((name, place) => [name, row[place]])));
const scoreCells = new Map(
  scoreRows.map((row) => [cellKey(row.setting, row.backbone, row.domain, row.shots, row.metric), row]),
);

const differenceEnds = new Map();
for (const [first, second, domain, shots, low, high] of data.differences) {
  differenceEnds.set(cellKey(first, second, domain, shots), [low, high]);
  differenceEnds.set(cellKey(second, first, domain, shots), [-high, -low]);
}

function scoreCell(backbone, domain, shots = choices.shots) {
  return scoreCells.get(cellKey(choices.setting, backbone, domain, shots, choices.metric));
}

function sampleDeviation(values) {
  if (values.length < 2) return null;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1));
}

// A value with the ends of its error bar: an interval over concepts (shares), or a deviation over seeds either way.
function point(value, ends, deviation) {
  if (ends) return { value, low: 100 * ends[0], high: 100 * ends[1], deviation: null };
  return { value, low: value - (deviation ?? 0), high: value + (deviation ?? 0), deviation };
}

// Percent, or undefined where there is nothing to show.
function absolute(row) {
  return row && point(100 * row.mean, row.ends, row.deviation === null ? null : 100 * row.deviation);
}

// Points between two rows; without an interval over concepts, the deviation is that of the differences seed by seed.
function difference(row, base, ends) {
  if (!row || !base) return undefined;
  if (row === base) return point(0, null, null);
  const shared = Object.keys(row.values).filter((seed) => seed in base.values);
  const deviation = sampleDeviation(shared.map((seed) => 100 * (row.values[seed] - base.values[seed])));
  return point(100 * (row.mean - base.mean), ends, deviation);
}

function levelPoint(backbone, domain) {
  const row = scoreCell(backbone, domain);
  if (choices.mode === "relative") {
    const ends = row?.ends && differenceEnds.get(cellKey(backbone, choices.baseline, domain, choices.shots));
    return difference(row, scoreCell(choices.baseline, domain), ends);
  }
  if (choices.mode === "drop") return difference(row, scoreCell(backbone, data.seen), row?.dropEnds);
  return absolute(row);
}

function pointText(backbone, place, { value, low, high, deviation }, unit) {
  const sign = (number) => (unit === " points" && number > 0 ? "+" : "") + number.toFixed(1).replace("-", "−");
  const spread = deviation !== null ? ` ± ${deviation.toFixed(1)}` : "";
  const interval = deviation === null && low < high ? ` (${sign(low)} to ${sign(high)})` : "";
  return `<b>${plotText(backbone)}</b><br>${plotText(place)}: ${sign(value)}${spread}${unit}${interval}`;
}

// The line of one backbone; undefined points leave a gap.
function backboneTrace(backbone, xs, points, places, unit, look) {
  const colour = look.colours[backbone.colour];
  return {
    type: "scatter", mode: "lines+markers", name: plotText(backbone.name), x: xs,
    y: points.map((point) => point?.value ?? null),
    error_y: {
      type: "data", symmetric: false, array: points.map((point) => (point ? point.high - point.value : 0)),
      arrayminus: points.map((point) => (point ? point.value - point.low : 0)),
      visible: points.some((point) => point && point.low < point.high),
      thickness: 1.3, width: look.small ? 2 : 3, color: colour,
    },
    line: { color: colour, dash: backbone.dash, width: look.small ? 1.7 : 2.2 },
    marker: { color: colour, symbol: backbone.symbol, size: look.small || data.backbones.length > 12 ? 6 : 9 },
    text: points.map((point, i) => (point ? pointText(backbone.name, places[i], point, unit) : "")),
    hovertemplate: "%{text}<extra></extra>",
  };
}

function shownBackbones() {
  return data.backbones.filter(({ name }) => !hidden.backbones.has(name));
}

function metricTitle() {
  const text = plotText(data.metrics[choices.metric] ?? choices.metric);
  return text.charAt(0).toUpperCase() + text.slice(1);
}

drawings.levels = (figure, look) => {
  const unit = choices.mode === "absolute" ? "%" : " points";
  const titles = data.domains.map(({ title }) => title);
  const lines = shownBackbones();
  const step = Math.min(0.035, 0.3 / lines.length);
  const traces = lines.map((backbone, i) => {
    // Side by side, so that error bars do not hide each other.
    const xs = titles.map((_, place) => place + (i - (lines.length - 1) / 2) * step);
    const points = data.domains.map(({ name }) => levelPoint(backbone.name, name));
    return backboneTrace(backbone, xs, points, titles, unit, look);
  });
  const what = { absolute: " (%)", relative: " minus the baseline’s (points)", drop: " minus that on seen (points)" };
  const zero = choices.mode === "absolute" ? {} : { zeroline: true, zerolinecolor: look.soft, zerolinewidth: 1.2 };
  const xaxis = axis(look, "Domain", {
    tickvals: titles.map((_, place) => place), ticktext: titles.map(plotText), range: [-0.4, titles.length - 0.6],
    showgrid: false,
  });
  return { traces, layout: layout(look, xaxis, axis(look, metricTitle() + what[choices.mode], zero)) };
};

// Positions of shots on the axis: the logarithm; all samples are a step and a half beyond the last number.
function shotPlaces() {
  const numbers = [...new Set(scoreRows.map(({ shots }) => shots))].filter((shots) => shots !== "all").map(Number);
  numbers.sort((a, b) => a - b);
  const places = numbers.map((shots) => ({ shots: String(shots), x: Math.log2(shots) }));
  if (scoreRows.some(({ shots }) => shots === "all")) {
    places.push({ shots: "all", x: (places.at(-1)?.x ?? -1.5) + 1.5 });
  }
  return places;
}

// The same range of accuracy in all small figures, so that they can be compared.
function fewShotRange() {
  const rows = scoreRows.filter(
    (row) => row.setting === choices.setting && row.metric === choices.metric && !hidden.backbones.has(row.backbone),
  );
  if (!rows.length) return [0, 100];
  const points = rows.map(absolute);
  const [low, high] = [Math.min(...points.map((each) => each.low)), Math.max(...points.map((each) => each.high))];
  const room = Math.max(1, 0.06 * (high - low));
  return [low - room, high + room];
}

drawings["few-shots"] = (figure, look) => {
  const places = shotPlaces();
  const names = places.map(({ shots }) => (shots === "all" ? "all samples" : `${shots} shot${shots === "1" ? "" : "s"}`));
  const traces = shownBackbones().map((backbone) => {
    const points = places.map(({ shots }) => absolute(scoreCell(backbone.name, figure.data.domain, shots)));
    return backboneTrace(backbone, places.map(({ x }) => x), points, names, "%", look);
  });
  const xaxis = axis(look, "Shots", {
    tickvals: places.map(({ x }) => x), ticktext: places.map(({ shots }) => shots), showgrid: false,
    range: [places[0].x - 0.4, places.at(-1).x + 0.4],
  });
  return { traces, layout: layout(look, xaxis, axis(look, `${metricTitle()} (%)`, { range: fewShotRange() })) };
};

// Choosing a baseline shows the differences from it.
whenChosen.baseline = () => choose("mode", "relative");
