// Controls: what the reader chooses, and drawing again when that changes.

function selected(control) {
  return document.querySelector(`select[data-control="${control}"]`)?.value;
}

const choice = {
  mode: "absolute", baseline: selected("baseline"), shots: selected("shots"), metric: selected("metric"),
  setting: selected("setting") ?? data.rows[0].setting, hidden: new Set(),
};

function draw() {
  const look = currentLook();
  const levels = levelPlot(choice, look);
  Plotly.react("levels-plot", levels.traces, levels.layout, plotOptions);
  for (const place of document.querySelectorAll("[data-domain]")) {
    const few = fewShotPlot(choice, place.dataset.domain, { ...look, small: true });
    Plotly.react(place, few.traces, few.layout, { ...plotOptions, displayModeBar: false });
  }
  drawSections(look);
}

function setMode(mode) {
  choice.mode = mode;
  document.querySelector(`input[name="mode"][value="${mode}"]`).checked = true;
}

// The same choice can be offered twice on the page: both follow.
function choose(control, value) {
  choice[control] = value;
  for (const select of document.querySelectorAll(`select[data-control="${control}"]`)) select.value = value;
  if (control === "baseline") setMode("relative");
  draw();
}

function markHidden() {
  for (const button of document.querySelectorAll("[data-backbone]")) {
    button.setAttribute("aria-pressed", String(!choice.hidden.has(button.dataset.backbone)));
  }
  const text = choice.hidden.size ? "show all" : "hide all";
  for (const button of document.querySelectorAll("[data-all]")) button.textContent = text;
}

function toggleBackbone(name) {
  if (!choice.hidden.delete(name)) choice.hidden.add(name);
  markHidden();
  draw();
}

function toggleAll() {
  choice.hidden = new Set(choice.hidden.size ? [] : data.backbones.map((backbone) => backbone.name));
  markHidden();
  draw();
}

function say(text) {
  document.getElementById("status").textContent = text;
}

function counted(rows) {
  return `${rows} row${rows === 1 ? "" : "s"}`;
}

async function copy() {
  try {
    say(`copied ${counted(await copyTable())}`);
  } catch (error) {
    say(`not copied: ${error.message}`);
  }
}

function start() {
  onAll("select[data-control]", "change", (select) => choose(select.dataset.control, select.value));
  onAll('input[name="mode"]', "change", (input) => { setMode(input.value); draw(); });
  onAll("[data-backbone]", "click", (button) => toggleBackbone(button.dataset.backbone));
  onAll("[data-all]", "click", toggleAll);
  onAll("[data-group]", "click", (button) => toggleGroup(button.dataset.group));
  onAll("#theme", "click", toggleTheme);
  onAll("#table th button", "click", (button) => sortBy(button.parentNode));
  onAll("#filter", "input", (input) => say(counted(filterRows(input.value))));
  onAll("#copy", "click", copy);
  dark.addEventListener("change", draw);
  draw();
}

start();
