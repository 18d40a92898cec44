// Controls: the choices of the reader, and redrawing when they change.

// A choice that appears twice on the page changes in both places.
function choose(name, value) {
  choices[name] = value;
  for (const control of document.querySelectorAll(`[data-choice="${name}"]`)) {
    if (control.type === "radio") control.checked = control.value === value;
    else control.value = value;
  }
}

function press(kind, name) {
  const set = hidden[kind];
  if (!set.delete(name)) set.add(name);
}

function mark() {
  for (const button of document.querySelectorAll("button[data-group]")) {
    button.setAttribute("aria-pressed", String(!hidden.groups.has(button.dataset.group)));
  }
  for (const button of document.querySelectorAll("button[data-backbone]")) {
    button.setAttribute("aria-pressed", String(data.follow ? followed.has(button.dataset.backbone) : !hidden.backbones.has(button.dataset.backbone)));
  }
  for (const row of document.querySelectorAll("[data-row]")) row.classList.toggle("followed", followed.has(row.dataset.row));
  const text = hidden.backbones.size ? "show all" : "hide all";
  for (const button of document.querySelectorAll("[data-all]")) button.textContent = text;
  draw();
}

function pressBackbone(name) {
  if (!data.follow) press("backbones", name);
  else if (!followed.delete(name)) followed.add(name);
  mark();
}

for (const control of document.querySelectorAll("[data-choice]")) {
  if (control.type !== "radio" || control.checked) choices[control.dataset.choice] = control.value;
}
Object.assign(usualChoices, choices);
onAll("[data-choice]", "change", ({ dataset, value }) => {
  choose(dataset.choice, value);
  whenChosen[dataset.choice]?.(value);
  keepView();
  draw();
});
onAll("button[data-backbone]", "click", ({ dataset }) => {
  pressBackbone(dataset.backbone);
  keepView();
});
onAll("[data-all]", "click", () => {
  hidden.backbones = new Set(hidden.backbones.size ? [] : data.backbones.map(({ name }) => name));
  keepView();
  mark();
});
onAll("button[data-group]", "click", ({ dataset }) => {
  press("groups", dataset.group);
  onAllNow("[data-filter]", (input) => say(input, counted(filterRows(input.dataset.filter))));
  keepView();
  mark();
});
onAll("[data-filter]", "input", (input) => {
  say(input, counted(filterRows(input.dataset.filter)));
  keepView();
});
onAll("table.sortable th button", "click", (button) => {
  sortBy(button.parentNode);
  keepView();
});
onAllNow(".wide table[id]", (table) => {
  if (columnKeys(table).length > 3) addColumnChoice(table, keepView);
});
onAll("[data-view]", "click", copyView);
onAll("[data-copy]", "click", copyTable);
onAll("[data-csv]", "click", saveTable);
onAll("[data-save]", "click", saveFigure);
onAll("#theme", "click", toggleTheme);
dark.addEventListener("change", draw);
if (viewInAddress().view.size) showView();
else draw();
