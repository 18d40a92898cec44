// The table: sorting by a column, the filter, and the rows shown as CSV.

const table = document.getElementById("table");
const csvColumns = [
  "setting", "backbone", "category", "domain", "shots", "metric", "mean", "deviation", "low", "high", "concept_low",
  "concept_high", "gap", "rank", "seeds",
];

// A cell's number where it has one (null when empty), its text otherwise.
function sortValue(row, column) {
  const { dataset, textContent } = row.cells[column];
  if (dataset.value === undefined) return textContent;
  return dataset.value === "" ? null : Number(dataset.value);
}

// Empty cells come last in both directions.
function compare(a, b, direction) {
  if (a === null || b === null) return (a === null) - (b === null);
  const order = typeof a === "number" ? (a > b) - (a < b) : a.localeCompare(b, "en", { numeric: true });
  return direction * order;
}

function sortBy(header) {
  const ascending = header.getAttribute("aria-sort") !== "ascending";
  for (const other of header.parentNode.cells) other.setAttribute("aria-sort", "none");
  header.setAttribute("aria-sort", ascending ? "ascending" : "descending");
  const keyed = [...table.tBodies[0].rows].map((row) => [sortValue(row, header.cellIndex), row]);
  keyed.sort((a, b) => compare(a[0], b[0], ascending ? 1 : -1));
  table.tBodies[0].append(...keyed.map(([, row]) => row));
}

// A row stays when each word is somewhere in it: `l5 top1` means both.
function filterRows(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  let left = 0;
  for (const row of table.tBodies[0].rows) {
    const { domain } = data.rows[row.dataset.row];
    const content = [domain, ...[...row.cells].map((item) => item.textContent)].join(" ").toLowerCase();
    row.hidden = !words.every((word) => content.includes(word));
    left += !row.hidden;
  }
  return left;
}

function csvField(value) {
  const text = String(value ?? "");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// Shares as in the run's own tables, not rounded; the rows shown, in the order shown.
function tableAsCsv() {
  const rows = [...table.tBodies[0].rows].filter((row) => !row.hidden).map((row) => data.rows[row.dataset.row]);
  const lines = rows.map((row) => csvColumns.map((name) => csvField(row[name])).join(","));
  return [csvColumns.join(","), ...lines, ""].join("\n");
}

// Browsers that keep the clipboard from pages in files still let a selection be copied.
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

async function copyTable() {
  const text = tableAsCsv();
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copySelection(text);
  }
  return text.split("\n").length - 2;
}
