// Plots of sections: plain data in, traces in the colours of the page out.

const hiddenGroups = new Set();

function errorBars(series, colour) {
  if (!series.low.length) return undefined;
  const between = (a, b) => (a === null || b === null ? 0 : Math.abs(a - b));
  return {
    type: "data", symmetric: false, thickness: series.strong ? 1.5 : 1, width: 3, color: colour,
    array: series.y.map((y, i) => between(series.high[i], y)),
    arrayminus: series.y.map((y, i) => between(y, series.low[i])),
  };
}

function seriesTrace(series, look) {
  const colour = series.colour === null ? look.soft : look.colours[series.colour];
  const shared = {
    name: plotText(series.name), x: series.x, y: series.y, error_y: errorBars(series, colour),
    opacity: series.strong || series.mode !== "lines+markers" ? 1 : 0.5, showlegend: series.strong,
    text: series.hover.map(plotText), hovertemplate: series.hover.length ? "%{text}<extra></extra>" : undefined,
  };
  if (series.mode === "bars") return { ...shared, type: "bar", marker: { color: colour }, textposition: "none" };
  const crowded = series.x.length > 60;
  return {
    ...shared, type: "scatter", mode: series.mode,
    line: { color: colour, width: series.strong ? 3 : 1.2, dash: series.dash },
    marker: { color: colour, symbol: series.symbol, size: crowded ? 4 : series.strong ? 8 : 5 },
  };
}

function ticks(places) {
  return places.length ? { tickvals: places.map(([at]) => at), ticktext: places.map(([, text]) => plotText(text)) } : {};
}

// Long names of things side by side stand in several lines, or upright where there is no room, so that none is cut off.
function foldedTicks(places, width) {
  const made = ticks(places);
  if (!places.some(([, text]) => text.length > 12)) return made;
  if (width / places.length < 84) return { ...made, tickangle: 90 };
  return { ...made, tickangle: 0, ticktext: made.ticktext.map((text) => text.replaceAll(" ", "<br>")) };
}

// Where the section has a legend of its own, plots need none.
function sectionPlot(plot, look, legendOutside) {
  const seen = plot.series.filter((series) => !hiddenGroups.has(series.group));
  const order = [...seen.filter((series) => !series.strong), ...seen.filter((series) => series.strong)];
  const zero = plot.zero ? { zeroline: true, zerolinecolor: look.soft, zerolinewidth: 1.2 } : {};
  const turned = plot.top_is_low ? { autorange: "reversed" } : {};
  const made = layout(
    look, axis(look, plotText(plot.x_label), { showgrid: false, ...foldedTicks(plot.x_ticks, look.width) }),
    axis(look, plotText(plot.y_label), { ...zero, ...turned, ...ticks(plot.y_ticks) }),
  );
  const named = !legendOutside && seen.some((series) => series.strong);
  const legend = { orientation: "h", x: 0, y: 1, yanchor: "bottom", font: { size: look.small ? 11 : 12 } };
  return {
    traces: order.map((series) => seriesTrace(series, look)),
    layout: { ...made, showlegend: named, legend, margin: { ...made.margin, t: named ? 34 : 12 } },
  };
}

function drawSections(look) {
  for (const place of document.querySelectorAll("[data-section]")) {
    const section = data.sections.find(({ name }) => name === place.dataset.section);
    const small = section.plots.length > 2;
    const outside = place.closest("section").querySelector(".names") !== null;
    const own = { ...look, small, width: place.clientWidth };
    const { traces, layout: shape } = sectionPlot(section.plots[Number(place.dataset.plot)], own, outside);
    Plotly.react(place, traces, shape, { ...plotOptions, displayModeBar: small ? false : undefined });
  }
}

function toggleGroup(name) {
  if (!hiddenGroups.delete(name)) hiddenGroups.add(name);
  for (const button of document.querySelectorAll("[data-group]")) {
    if (button.dataset.group === name) button.setAttribute("aria-pressed", String(!hiddenGroups.has(name)));
  }
  draw();
}
