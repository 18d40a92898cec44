"use strict";
// How plots look: the colours of the style sheet as they are now, in light or in dark.

// Plotly's own "share" button would send the data away: it has no place here.
const plotOptions = {
  responsive: true, displaylogo: false, showSendToCloud: false, plotlyServerURL: "",
  modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d"],
};
const dark = matchMedia("(prefers-color-scheme: dark)");
const root = document.documentElement;

function cssColour(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

function currentLook() {
  const names = ["ink", "soft", "line", "raised"];
  return {
    ...Object.fromEntries(names.map((name) => [name, cssColour(name)])),
    colours: [0, 1, 2, 3, 4, 5, 6, 7].map((number) => cssColour(`c${number}`)),
    font: getComputedStyle(document.body).fontFamily, touch: matchMedia("(pointer: coarse)").matches, small: false,
  };
}

function toggleTheme() {
  const isDark = (root.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  root.dataset.theme = isDark ? "light" : "dark";
  draw();
}

// The backbones that a reader follows, on pages where pressing a name does not hide it.
const followed = new Set();

function onAllNow(selector, action) {
  for (const element of document.querySelectorAll(selector)) action(element);
}

function onAll(selector, event, action) {
  onAllNow(selector, (element) => element.addEventListener(event, () => action(element)));
}
