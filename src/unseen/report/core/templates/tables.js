// Tables: sorting by a column, filtering, and the visible rows as CSV.

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

function sortBy(header) {
  const table = header.closest("table");
  const ascending = header.getAttribute("aria-sort") !== "ascending";
  for (const other of header.parentNode.cells) other.setAttribute("aria-sort", "none");
  header.setAttribute("aria-sort", ascending ? "ascending" : "descending");
  const keyed = [...table.tBodies[0].rows].map((row) => [sortValue(row.cells[header.cellIndex]), row]);
  keyed.sort((a, b) => compare(a[0], b[0], ascending ? 1 : -1));
  table.tBodies[0].append(...keyed.map(([, row]) => row));
}

// A row is visible if its group is shown and it contains every word, in its text or in its CSV values.
function filterRows(name) {
  const text = document.querySelector(`[data-filter="${name}"]`)?.value ?? "";
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  let left = 0;
  for (const row of document.getElementById(`table-${name}`).tBodies[0].rows) {
    const content = [...row.cells].map((cell) => `${cell.textContent} ${cell.dataset.v ?? ""}`).join(" ").toLowerCase();
    row.hidden = hidden.groups.has(row.dataset.category) || !words.every((word) => content.includes(word));
    left += !row.hidden;
  }
  return left;
}

function csvField(value) {
  const plain = String(value ?? "");
  // A spreadsheet would execute such a text as a formula.
  const text = /^'*[=+\-@\t\r]/.test(plain) && Number.isNaN(Number(plain)) ? `'${plain}` : plain;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// The visible rows in their current order, with numbers that are not rounded.
function tableAsCsv(name) {
  const table = document.getElementById(`table-${name}`);
  const names = [...table.tHead.rows[table.tHead.rows.length - 1].cells].map(
    (cell) => (cell.dataset.names ?? cell.textContent).split("\t"),
  );
  const rows = [...table.tBodies[0].rows].filter((row) => !row.hidden && !row.classList.contains("foot"));
  const lines = rows.map((row) => [...row.cells].flatMap((cell, place) => {
    const values = cell.dataset.v?.split("\t") ?? [cell.textContent === "–" ? "" : cell.textContent];
    return names[place].map((_, number) => csvField(values[number]));
  }).join(","));
  return [names.flat().map(csvField).join(","), ...lines, ""].join("\n");
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
