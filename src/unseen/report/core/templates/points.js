// The points of a figure by keyboard: arrow keys go through them, and a screen reader hears each one.

function plainText(text) {
  const area = document.createElement("textarea");
  area.innerHTML = text.replaceAll("<br>", ", ").replace(/<[^>]*>/g, "");
  return area.value;
}

// Curve, place and text of each point that has a text, in the order drawn.
function namedPoints(plot) {
  return (plot.data ?? []).flatMap(({ hovertext, text, y = [], hoverinfo }, curveNumber) => {
    const texts = Array.isArray(hovertext) ? hovertext : text;
    if (hoverinfo === "skip" || !Array.isArray(texts)) return [];
    return texts.flatMap((said, pointNumber) => (said && y[pointNumber] !== null ? [{ curveNumber, pointNumber, said }] : []));
  });
}

function showPoint(plot, step) {
  const points = namedPoints(plot);
  if (!points.length || !plot._fullLayout.xaxis) return;
  plot.point = ((plot.point ?? (step > 0 ? -1 : 0)) + step + points.length) % points.length;
  const { curveNumber, pointNumber, said } = points[plot.point];
  Plotly.Fx.hover(plot, [{ curveNumber, pointNumber }]);
  document.getElementById("point").textContent = plainText(said);
}

const pointSteps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

for (const plot of document.querySelectorAll(".plot")) {
  plot.addEventListener("keydown", (event) => {
    if (event.key === "Escape") Plotly.Fx.unhover(plot);
    if (!(event.key in pointSteps)) return;
    event.preventDefault();
    showPoint(plot, pointSteps[event.key]);
  });
}
