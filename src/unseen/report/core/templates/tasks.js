// The task study's own plots, the radars of ranks, and the page's controls.

// Names of settings in two or three lines, so that they fit beside a small circle.
function folded(text) {
  return plotText(text).replaceAll(", ", ",<br>");
}

function radarPlot(radar, look) {
  const colour = look.colours[radar.colour];
  const round = (list) => [...list, list[0]];
  const trace = {
    type: "scatterpolar", mode: "lines+markers", theta: round(radar.spokes.map(folded)), r: round(radar.heights),
    fill: "toself", line: { color: colour, width: radar.strong ? 3 : 1.5 }, marker: { color: colour, size: 5 },
    text: round(radar.texts.map(plotText)), hovertemplate: "%{text}<extra></extra>",
  };
  const made = layout({ ...look, small: true }, {}, {});
  const spoke = { gridcolor: look.line, linecolor: look.line, tickfont: { size: 9, color: look.soft } };
  const polar = {
    bgcolor: "rgba(0,0,0,0)", angularaxis: { ...spoke, direction: "clockwise" },
    radialaxis: { range: [0, 1.02], showticklabels: false, ticks: "", gridcolor: look.line, linecolor: look.line },
  };
  return { traces: [trace], layout: { ...made, polar, margin: { l: 58, r: 58, t: 34, b: 34 } } };
}

function draw() {
  const look = currentLook();
  drawSections(look);
  for (const place of document.querySelectorAll("[data-radar]")) {
    const { traces, layout: shape } = radarPlot(data.radars[Number(place.dataset.radar)], look);
    Plotly.react(place, traces, shape, { ...plotOptions, displayModeBar: false });
  }
}

onAll("[data-group]", "click", (button) => toggleGroup(button.dataset.group));
onAll("#theme", "click", toggleTheme);
dark.addEventListener("change", draw);
draw();
