"use strict";
// The look of plots: the colours of the style sheet in the current theme.

// No buttons of Plotly: a plot is one image to screen readers, the page has buttons of its own to save it, and nothing
// may be sent to Plotly's servers.
const plotOptions = { responsive: true, displayModeBar: false, showSendToCloud: false, plotlyServerURL: "" };
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

// Black or white, whichever is easier to read on a colour: the better of the two always has a contrast of 4.5 or more.
function textOn(colour) {
  const light = colour.match(/[\d.]+/g).slice(0, 3).map((value) => {
    const share = value / 255;
    return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2] > 0.179 ? "#000000" : "#ffffff";
}

function currentLook() {
  const names = ["ink", "soft", "line", "raised"];
  return {
    ...Object.fromEntries(names.map((name) => [name, cssColour(name)])),
    colours: [0, 1, 2, 3, 4, 5, 6, 7].map((number) => cssColour(`c${number}`)),
    font: getComputedStyle(document.body).fontFamily, touch: matchMedia("(pointer: coarse)").matches, small: false,
  };
}

function isDark() {
  return (root.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
}

// A colour of a level, with white on dark pages, as `coloured` in parts.html.j2 has it.
function levelColour(colour) {
  if (!isDark()) return colour;
  const channels = [1, 3, 5].map((place) => parseInt(colour.slice(place, place + 2), 16));
  return `rgb(${channels.map((value) => Math.round(0.6 * value + 0.4 * 255)).join(", ")})`;
}

function toggleTheme() {
  root.dataset.theme = isDark() ? "light" : "dark";
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
