// Tables: sorting by a column, choosing columns, filtering, and the visible rows as CSV.

// The number of a cell (null if empty), or its text.
function sortValue(cell) {
  const text = cell.dataset.o ?? cell.dataset.v?.split("\t")[0] ?? cell.textContent;
  if (text === "" || text === "–") return null;
  return Number.isNaN(Number(text)) ? text : Number(text);
}

// Empty cells come last in both directions.
function compare(a, b, direction) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a === "number" && typeof b === "number") return direction * ((a > b) - (a < b));
  return direction * String(a).localeCompare(String(b), "en", { numeric: true });
}

const orders = new WeakMap(); // the first order of the rows of each table, which decides between equal values

// Empty cells and totals come last in both directions; a column of −1 gives the first order again.
function sortRows(table, column, ascending) {
  const body = table.tBodies[0];
  if (!orders.has(body)) orders.set(body, [...body.rows]);
  const headings = table.tHead.rows[table.tHead.rows.length - 1].cells;
  [...headings].forEach((cell, place) => {
    cell.setAttribute("aria-sort", place !== column ? "none" : ascending ? "ascending" : "descending");
  });
  const rows = orders.get(body), last = (row) => row.classList.contains("foot");
  const keyed = column < 0 ? rows : rows.map((row) => [last(row) ? null : sortValue(row.cells[column]), row])
    .sort((a, b) => last(a[1]) - last(b[1]) || compare(a[0], b[0], ascending ? 1 : -1)).map(([, row]) => row);
  body.append(...keyed);
  table.classList.toggle("reordered", column >= 0);
}

// The column that a table is sorted by, −1 for none.
function sortOf(table) {
  const headings = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
  const column = headings.findIndex((cell) => ["ascending", "descending"].includes(cell.getAttribute("aria-sort")));
  return { column, ascending: headings[column]?.getAttribute("aria-sort") === "ascending" };
}

function sortBy(header) {
  sortRows(header.closest("table"), header.cellIndex, header.getAttribute("aria-sort") !== "ascending");
}

// The name of each column in the address: its first one in CSV, or its heading; numbered where that is not unique.
function columnKeys(table) {
  const used = new Map();
  return [...table.tHead.rows[table.tHead.rows.length - 1].cells].map((cell) => {
    const key = cell.dataset.names?.split("\t")[0] || cell.textContent.trim();
    used.set(key, (used.get(key) ?? 0) + 1);
    return used.get(key) > 1 ? `${key}.${used.get(key)}` : key;
  });
}

function isHiddenColumn(table, place) {
  return table.tHead.rows[table.tHead.rows.length - 1].cells[place].hidden;
}

// Hide or show a column; the heading above several columns is as wide as those of them that are shown.
function hideColumn(table, place, hide) {
  if (isHiddenColumn(table, place) === hide) return;
  for (const row of [table.tHead.rows[table.tHead.rows.length - 1], ...table.tBodies[0].rows]) row.cells[place].hidden = hide;
  const box = table.closest(".table").querySelectorAll(".choose input")[place - 1];
  if (box) box.checked = !hide;
  let start = 1;
  for (const above of table.tHead.rows.length > 1 ? [...table.tHead.rows[0].cells].slice(1) : []) {
    above.dataset.count ??= above.colSpan;
    const places = Array.from({ length: Number(above.dataset.count) }, (_, number) => start + number);
    const shown = places.filter((each) => !isHiddenColumn(table, each)).length;
    above.hidden = shown === 0;
    above.colSpan = Math.max(shown, 1);
    start += places.length;
  }
}

// A list of the columns of a wide table but the first, to choose from.
function addColumnChoice(table, changed) {
  const headings = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
  const menu = document.createElement("details"), title = document.createElement("summary"), list = document.createElement("div");
  menu.className = "choose";
  title.textContent = "Columns";
  headings.slice(1).forEach((heading, number) => {
    const label = document.createElement("label"), input = document.createElement("input");
    input.type = "checkbox";
    input.checked = true;
    input.addEventListener("change", () => {
      hideColumn(table, number + 1, !input.checked);
      changed();
    });
    label.append(input, heading.textContent.trim());
    list.append(label);
  });
  menu.append(title, list);
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    menu.open = false;
    title.focus();
  });
  document.addEventListener("click", (event) => {
    if (!menu.contains(event.target)) menu.open = false;
  });
  table.closest(".table").querySelector(".tool").before(menu);
}

// A row is visible if its group is shown and it contains every word, in its text or in its CSV values.
function filterRows(name) {
  const text = document.querySelector(`[data-filter="${name}"]`)?.value ?? "";
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const table = document.getElementById(`table-${name}`);
  let left = 0;
  for (const row of table.tBodies[0].rows) {
    const content = [...row.cells].map((cell) => `${cell.textContent} ${cell.dataset.v ?? ""}`).join(" ").toLowerCase();
    row.hidden = hidden.groups.has(row.dataset.category) || !words.every((word) => content.includes(word));
    left += !row.hidden;
  }
  table.classList.toggle("filtered", left < table.tBodies[0].rows.length);
  return left;
}

function csvField(value) {
  const plain = String(value ?? "");
  // A spreadsheet would execute such a text as a formula.
  const text = /^'*[=+\-@\t\r]/.test(plain) && Number.isNaN(Number(plain)) ? `'${plain}` : plain;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// The visible rows in their current order and the visible columns, with numbers that are not rounded.
function tableAsCsv(name) {
  const table = document.getElementById(`table-${name}`);
  const names = [...table.tHead.rows[table.tHead.rows.length - 1].cells].map(
    (cell) => (cell.dataset.names ?? cell.textContent).split("\t"),
  );
  const rows = [...table.tBodies[0].rows].filter((row) => !row.hidden && !row.classList.contains("foot"));
  const lines = rows.map((row) => [...row.cells].flatMap((cell, place) => {
    if (cell.hidden) return [];
    const values = cell.dataset.v?.split("\t") ?? [cell.textContent === "–" ? "" : cell.textContent];
    return names[place].map((_, number) => csvField(values[number]));
  }).join(","));
  return [names.filter((_, place) => !isHiddenColumn(table, place)).flat().map(csvField).join(","), ...lines, ""].join("\n");
}

function saveTable(button) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([tableAsCsv(button.dataset.csv)], { type: "text/csv" }));
  link.download = `${fileName(button.dataset.csv)}.csv`;
  link.click();
  URL.revokeObjectURL(link.href);
}

// Browsers that deny clipboard access to local files still allow copying a selection.
function copySelection(text) {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "hidden";
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("the browser refused");
}

function say(element, text) {
  element.closest(".controls").querySelector(".status").textContent = text;
}

function counted(rows) {
  return `${rows} row${rows === 1 ? "" : "s"}`;
}

async function copyTable(button) {
  const text = tableAsCsv(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(text).catch(() => copySelection(text));
    say(button, `copied ${counted(text.split("\n").length - 2)}`);
  } catch (error) {
    say(button, `not copied: ${error.message}`);
  }
}
